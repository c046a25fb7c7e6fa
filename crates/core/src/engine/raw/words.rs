//! Raw words: the words between white space, looked up before they are normalized.
//!
//! In: a description, then texts. Out: the words of a text, and the pretokens of a word that missed the cache. A word
//! must have the pretokens that it has in its text, and the white space around it must have none.
//!
//! BERT, T5, CLIP and others split at white space, drop it, and process each piece by itself. Their normalizers look
//! at one character at a time, at a character and the combining marks after it, or at a grapheme cluster ([`Edges`]),
//! so they never look across white space either. Whether a space, a tab or a line break is such white space is not
//! derived from the steps: it is tried when the tokenizer is compiled.
use crate::aligned::{AlignedText, Origins};
use crate::description::Description;
use crate::error::Result;
use crate::model::Model;
use crate::model::unigram::{Unigram, WordSums};
use crate::normalize::Normalizers;
use crate::pretokenize::{Emit, PreTokenizers};
use crate::span::Span;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::edges::{Edges, white_space};
use super::finder::{Gap, WordFinder};
use super::plain::{PlainPretokens, PlainScratch, PlainWords};
use super::scratch::WordScratch;

/// How the words of a text are found and split.
#[derive(Debug)]
pub(crate) struct RawWords {
    finder: WordFinder,
    plain: Option<Box<PlainWords>>,
    /// Set if the ids of a word may depend on the words before it.
    sums: Option<WordSums>,
}

/// How words are found, and the stages that a word goes through before the model.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Words<'a> {
    pub(in crate::engine) raw: &'a RawWords,
    pub(in crate::engine) normalizers: &'a Normalizers,
    pub(in crate::engine) pre_tokenizers: &'a PreTokenizers,
}

impl RawWords {
    /// `None` if a stage may look beyond a word.
    pub(super) fn new(
        description: &Description,
        (model, vocabulary): (&Model, &Vocabulary),
        (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers),
    ) -> Option<Self> {
        // With canonical merges the miss queue would merge the bytes of words as if they were pretokens.
        if model.as_bpe().is_some_and(|bpe| bpe.canonical().is_some()) {
            return None;
        }
        if let Some((edges, white)) = Edges::beside_spaces(description, normalizers) {
            let Model::Unigram(unigram) = model else { return None };
            let sums = WordSums::new(unigram, vocabulary)?;
            let mut finder = WordFinder::new(edges, false);
            finder.set_gaps(&white, Gap::Dropped);
            return Some(Self { finder, plain: None, sums: Some(sums) });
        }
        let edges = Edges::new(description, normalizers)?;
        // An error would be positioned in the word, and that of its text is where the space is that its mark stands for.
        let spells_everything = model.is_byte_complete() || description.model.unk().is_some();
        if edges.are_beside_marks() && !spells_everything {
            return None;
        }
        let finder = WordFinder::new(edges, edges.isolate_ideographs(description));
        let mut words = Self { finder, plain: None, sums: None };
        let stages = Words { raw: &words, normalizers, pre_tokenizers };
        let mut white = white_space(normalizers);
        let is_kept = |&white: &u8| stages.gap(&[white]) == Some(Gap::KeptAtEnd);
        let kind = if white.iter().any(is_kept) { Gap::KeptAtEnd } else { Gap::Dropped };
        white.retain(|&white| stages.gap(&[white]) == Some(kind));
        if !edges.are_all() && white.contains(&b'\r') != white.contains(&b'\n') {
            // Together they are one cluster.
            white.retain(|&white| white != b'\r' && white != b'\n');
        }
        let pairs = || white.iter().flat_map(|&first| white.iter().map(move |&second| [first, second]));
        if white.is_empty() || !pairs().all(|pair| stages.gap(&pair) == Some(kind)) {
            return None;
        }
        words.finder.set_gaps(&white, kind);
        words.plain = PlainWords::new(description, normalizers, pre_tokenizers).map(Box::new);
        Some(words)
    }

    /// What splits plain words, if that is possible.
    pub(in crate::engine) fn plain(&self) -> Option<&PlainWords> {
        self.plain.as_deref()
    }

    /// Finds the words of a text.
    pub(in crate::engine) fn finder(&self) -> &WordFinder {
        &self.finder
    }

    /// May the ids of a word depend on the words before it?
    pub(in crate::engine) fn are_summed(&self) -> bool {
        self.sums.is_some()
    }

    /// What tells words apart from the sums of a text. `None` if their ids do not depend on the words before them.
    pub(in crate::engine) fn sums<'a>(&'a self, model: &'a Model) -> Option<(&'a Unigram, &'a WordSums)> {
        match model {
            Model::Unigram(unigram) => Some((unigram, self.sums.as_ref()?)),
            _ => None,
        }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        let plain = self.plain.as_ref().map_or(0, |plain| size_of_val(&**plain));
        size_of::<Self>() + plain + self.sums.as_ref().map_or(0, WordSums::memory)
    }
}

impl Words<'_> {
    /// Passes the pretokens of a word to `emit`: of a plain word at once, of others by the stages. If origins are
    /// given, only ASCII words that get no prefix are plain.
    ///
    /// # Errors
    /// Those of the stages and of `emit`, positioned in the word if origins are given.
    pub(in crate::engine) fn for_each_pretoken(
        self,
        (word, origins): (&str, Option<Origins<'_>>),
        scratch: &mut WordScratch,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let origins = origins.unwrap_or(Origins::Untracked);
        let may_be_plain = match origins {
            Origins::Untracked => true,
            // Each byte of such a word becomes one byte.
            Origins::Same(_) => {
                word.is_ascii() && self.raw.plain.as_ref().is_some_and(|plain| plain.adds_nothing())
            }
            Origins::Mapped { .. } => false,
        };
        if may_be_plain && let Some(pretokens) = self.plain_pretokens(word, &mut scratch.plain) {
            let mut at = word.len() - self.raw.finder.without_gap(word).len();
            return pretokens.iter().try_for_each(|text| {
                let span = Span::new(at, at + text.len());
                at = span.end;
                emit(AlignedText { text, origins: origins.slice(span) }, ticker)
            });
        }
        self.for_each_by_stages((word, origins), scratch, ticker, emit)
    }

    /// The pretokens of a plain word, whose origins are not asked for; `None` for other words.
    #[inline]
    pub(in crate::engine) fn plain_pretokens<'p>(
        self,
        word: &'p str,
        scratch: &'p mut PlainScratch,
    ) -> Option<PlainPretokens<'p>> {
        let kept = self.raw.finder.without_gap(word);
        self.raw.plain.as_ref()?.split(kept, (self.normalizers, self.pre_tokenizers), scratch)
    }

    /// As [`Self::for_each_pretoken`], by the stages.
    ///
    /// # Errors
    /// As [`Self::for_each_pretoken`].
    pub(in crate::engine) fn for_each_by_stages(
        self,
        (word, origins): (&str, Origins<'_>),
        scratch: &mut WordScratch,
        ticker: &mut Ticker<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let WordScratch { normalized, pretokenized, .. } = scratch;
        let piece = AlignedText { text: word, origins };
        let piece = self.normalizers.apply(piece, normalized, ticker)?;
        self.pre_tokenizers.for_each(piece, pretokenized, ticker, emit)
    }

    /// What becomes of this white space, tried between two letters, before one, after one and alone. `None` if it is no
    /// gap.
    fn gap(self, white: &[u8]) -> Option<Gap> {
        let white = std::str::from_utf8(white).unwrap_or_default();
        let pretokens = |text: &str| {
            let mut found = Vec::new();
            let (scratch, ticker) = (&mut WordScratch::default(), &mut Ticker::new(&Unwatched));
            let text = (text, Origins::Untracked);
            let done = self.for_each_by_stages(text, scratch, ticker, &mut |pretoken, _| {
                found.push(pretoken.text.to_owned());
                Ok(())
            });
            done.ok().map(|()| found)
        };
        let (left, right, alone) = (pretokens("a")?, pretokens("B")?, pretokens(white)?);
        let is_gap = pretokens(&format!("a{white}B")) == Some([&left[..], &right].concat())
            && pretokens(&format!("a{white}")) == Some([&left[..], &alone].concat())
            && pretokens(&format!("{white}B")) == Some(right);
        is_gap.then_some(if alone.is_empty() { Gap::Dropped } else { Gap::KeptAtEnd })
    }
}
