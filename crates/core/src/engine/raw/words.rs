//! Raw words: the words between white space, looked up before they are normalized.
//!
//! In: a description, then texts. Out: the words of a text, and the pretokens of a word that missed the cache. A word
//! must have the pretokens that it has in its text, and the white space around it must have none.
//!
//! BERT, T5, CLIP and others split at white space, drop it, and process each piece by itself. Their normalizers look
//! at one character at a time, at a character and the combining marks after it, or at a grapheme cluster ([`Edges`]),
//! so they never look across white space either. Whether a space, a tab or a line break is such white space is not
//! derived from the steps: it is tried when the tokenizer is compiled.
use tokenmill_kernels::WordBits;
use tokenmill_kernels::cpu::{self, Level};

use crate::aligned::{AlignedText, Origins};
use crate::charsmap::Charsmap;
use crate::description::{Behavior, Description, Normalizer, Pattern, PreTokenizer, PrependScheme};
use crate::engine::cuts::looks_at_marks_at_most;
use crate::error::Result;
use crate::model::Model;
use crate::normalize::{BesideSpace, Normalizers, is_ideograph, is_letter};
use crate::pattern::avoids;
use crate::pretokenize::{Emit, PreTokenizers};
use crate::span::Span;
use crate::watch::{Ticker, Unwatched};

use super::plain::PlainWords;
use super::scratch::WordScratch;

/// The bytes that are tried as white space.
const WHITE_SPACE: [u8; 4] = [b' ', b'\t', b'\n', b'\r'];

/// The first ideograph is U+3400. Ideographs begin with this byte or a larger one.
const IDEOGRAPHS: u8 = 0xE3;

/// The bytes of a block, and the most words that can begin or end in one.
const BLOCK: usize = 64;
const WORDS_OF_BLOCK: usize = BLOCK / 2 + 2;

/// How the words of a text are found.
#[derive(Debug)]
pub(crate) struct RawWords {
    /// Is this byte white space that is dropped?
    is_white: [bool; 256],
    /// The bytes for which this is so; some of them may be repeated.
    white: [u8; 4],
    /// Is each ideograph a word of its own?
    isolates_ideographs: bool,
    /// White space is a gap between words only if both of its neighbours are edges.
    edges: Edges,
    plain: Option<Box<PlainWords>>,
}

/// The characters that may stand beside a gap.
#[derive(Debug, Clone, Copy)]
enum Edges {
    All,
    /// The first step is a precompiled map, which replaces grapheme clusters: characters that are in no cluster with
    /// white space on that side.
    OfMap,
    /// There are steps before the map, so it sees what these make of the text: printable ASCII and letters, which are
    /// in no cluster with white space after them either.
    OfLaterMap,
}

impl Edges {
    /// May this character stand before a gap?
    #[inline]
    fn contain_before(self, c: char) -> bool {
        c.is_ascii_graphic() || is_letter(c) || self.by_clusters(c, BesideSpace::ends_before)
    }

    /// May this character stand after a gap?
    #[inline]
    fn contain_after(self, c: char) -> bool {
        c.is_ascii_graphic() || is_letter(c) || self.by_clusters(c, BesideSpace::begins_after)
    }

    fn by_clusters(self, c: char, is_apart: fn(&BesideSpace, char) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::OfMap => is_apart(BesideSpace::get(), c),
            Self::OfLaterMap => false,
        }
    }
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
        model: &Model,
        normalizers: &Normalizers,
        pre_tokenizers: &PreTokenizers,
    ) -> Option<Self> {
        // With canonical merges the miss queue would merge the bytes of words as if they were pretokens.
        if model.as_bpe().is_some_and(|bpe| bpe.canonical().is_some()) || !cuts_at_white_space(description) {
            return None;
        }
        let edges = edges(&description.normalizer)?;
        let isolates_ideographs = matches!(edges, Edges::All) && isolates_ideographs(description);
        let mut words =
            Self { is_white: [false; 256], white: [0; 4], isolates_ideographs, edges, plain: None };
        let stages = Words { raw: &words, normalizers, pre_tokenizers };
        let mut white = white_kept_by_maps(&description.normalizer)?;
        white.retain(|&white| stages.drop_white(&[white]));
        if !matches!(edges, Edges::All) && white.contains(&b'\r') != white.contains(&b'\n') {
            // Together they are one cluster.
            white.retain(|&white| white != b'\r' && white != b'\n');
        }
        let pairs = || white.iter().flat_map(|&first| white.iter().map(move |&second| [first, second]));
        if white.is_empty() || !pairs().all(|pair| stages.drop_white(&pair)) {
            return None;
        }
        for (place, &byte) in words.white.iter_mut().zip(white.iter().cycle()) {
            *place = byte;
            words.is_white[usize::from(byte)] = true;
        }
        words.plain = PlainWords::new(description, normalizers, pre_tokenizers).map(Box::new);
        Some(words)
    }

    /// What splits plain words, if that is possible.
    pub(in crate::engine) fn plain(&self) -> Option<&PlainWords> {
        self.plain.as_deref()
    }

    /// A word without the white space before it.
    pub(in crate::engine) fn without_gap<'w>(&self, word: &'w str) -> &'w str {
        let gap = word.bytes().take_while(|&byte| self.is_white[usize::from(byte)]).count();
        &word[gap..]
    }

    /// Finds the next words of a text. A word or white space must begin at `from`. Returns where to go on.
    pub(in crate::engine) fn next(&self, text: &str, from: usize, found: &mut WordSpans) -> usize {
        let (bytes, level) = (text.as_bytes(), cpu::level());
        let mut at = from;
        found.clear();
        while at < bytes.len() && !found.is_full() {
            if let Some((length, bits)) = self.known_block(bytes, at, level) {
                found.push_block(at, length, bits.white);
                at += length;
            } else if self.is_white[usize::from(bytes[at])] {
                let (end, is_gap) = self.white_space_at(text, at);
                if is_gap {
                    found.end(at);
                } else {
                    found.begin(at);
                }
                at = end;
            } else {
                let Some(c) = text[at..].chars().next() else { break };
                let end = at + c.len_utf8();
                if self.isolates_ideographs && is_ideograph(c) {
                    found.end(at);
                    found.begin(at);
                    found.end(end);
                } else {
                    found.begin(at);
                }
                at = end;
            }
        }
        if at == bytes.len() {
            found.end(at);
        }
        // A word that has no end yet is found again.
        found.open().unwrap_or(at)
    }

    /// The masks of the block at `at`, and the number of its bytes in which white space alone tells the words. `None`
    /// if there is no such byte.
    #[inline]
    fn known_block(&self, bytes: &[u8], at: usize, level: Level) -> Option<(usize, WordBits)> {
        let rest = &bytes[at..];
        let first_unknown = match self.edges {
            Edges::All if self.isolates_ideographs => IDEOGRAPHS,
            Edges::All => u8::MAX,
            Edges::OfMap | Edges::OfLaterMap => 0x80,
        };
        if rest[0] >= first_unknown {
            return None;
        }
        let mut padded = [0; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let (length, bits) = (rest.len().min(BLOCK), WordBits::of(level, block, self.white, IDEOGRAPHS));
        let length = self.known_length(bytes, at, length, bits);
        (length > 0).then_some((length, bits))
    }

    /// See [`Self::known_block`], for the first `length` bytes of the block.
    #[inline]
    fn known_length(&self, bytes: &[u8], at: usize, length: usize, bits: WordBits) -> usize {
        let until = |bits: u64| length.min(bits.trailing_zeros() as usize);
        match self.edges {
            Edges::All if self.isolates_ideographs => until(bits.high),
            Edges::All => length,
            Edges::OfMap | Edges::OfLaterMap => {
                let known = until(!(bits.white | bits.graphic));
                // White space at the start or the end of the block has a neighbour outside of it.
                let follows_edge = at == 0 || bytes[at - 1].is_ascii_graphic();
                if known == 0 || (bits.white & 1 == 1 && !follows_edge) {
                    0
                } else if at + known == bytes.len() {
                    known
                } else {
                    let white_at_end = (bits.white << (BLOCK - known)).leading_ones() as usize;
                    known - known.min(white_at_end)
                }
            }
        }
    }

    /// Where the white space at `at` ends, and whether it is a gap between words. At the end of `text` it is: no key of a
    /// map begins with white space, so what follows there changes nothing before it.
    fn white_space_at(&self, text: &str, at: usize) -> (usize, bool) {
        let is_white = |&&byte: &&u8| self.is_white[usize::from(byte)];
        let end = at + text.as_bytes()[at..].iter().take_while(is_white).count();
        let is_gap = matches!(self.edges, Edges::All)
            || (text[..at].chars().next_back().is_none_or(|c| self.edges.contain_before(c))
                && text[end..].chars().next().is_none_or(|c| self.edges.contain_after(c)));
        (end, is_gap)
    }

    /// The first place inside a text, from a byte on, where a gap begins.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let is_white = |byte: u8| self.is_white[usize::from(byte)];
        let bytes = text.as_bytes();
        let mut at = from.max(1);
        loop {
            at += bytes.get(at..)?.iter().position(|&byte| is_white(byte))?;
            let (end, is_gap) = self.white_space_at(text, at);
            // If the white space began before `from`, its start is no longer in question.
            if is_gap && !is_white(bytes[at - 1]) {
                return Some(at);
            }
            at = end;
        }
    }
}

/// Words that were found: where each begins and ends in the text.
#[derive(Debug)]
pub(in crate::engine) struct WordSpans {
    /// One more than `ends` if the last word has no end yet.
    starts: [usize; Self::MOST],
    ends: [usize; Self::MOST],
    count: usize,
    is_open: bool,
}

impl Default for WordSpans {
    fn default() -> Self {
        Self { starts: [0; _], ends: [0; _], count: 0, is_open: false }
    }
}

impl WordSpans {
    const MOST: usize = 256;

    /// Where the words begin and where they end.
    pub(in crate::engine) fn get(&self) -> (&[usize], &[usize]) {
        (&self.starts[..self.count], &self.ends[..self.count])
    }

    fn clear(&mut self) {
        (self.count, self.is_open) = (0, false);
    }

    /// Might the words of another block not fit?
    fn is_full(&self) -> bool {
        self.count + WORDS_OF_BLOCK > Self::MOST
    }

    /// Where the word begins that has no end yet.
    fn open(&self) -> Option<usize> {
        self.is_open.then(|| self.starts[self.count])
    }

    /// A word begins here, unless one has begun before.
    fn begin(&mut self, at: usize) {
        if !self.is_open {
            (self.starts[self.count], self.is_open) = (at, true);
        }
    }

    /// A word ends here, if one has begun.
    fn end(&mut self, at: usize) {
        if self.is_open {
            self.ends[self.count] = at;
            (self.count, self.is_open) = (self.count + 1, false);
        }
    }

    /// Pushes the words of the first `length` bytes of a block at `at`. Bits that are set in `white` are gaps.
    #[inline]
    fn push_block(&mut self, at: usize, length: usize, white: u64) {
        let kept = u64::MAX >> (BLOCK - length);
        let after_gap = white << 1 | u64::from(!self.is_open);
        let (mut begins, mut ends) = (!white & after_gap & kept, white & !after_gap & kept);
        let mut begun = self.count + usize::from(self.is_open);
        while begins != 0 {
            self.starts[begun] = at + begins.trailing_zeros() as usize;
            (begun, begins) = (begun + 1, begins & (begins - 1));
        }
        while ends != 0 {
            self.ends[self.count] = at + ends.trailing_zeros() as usize;
            (self.count, ends) = (self.count + 1, ends & (ends - 1));
        }
        self.is_open = begun > self.count;
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
        let kept = self.raw.without_gap(word);
        if let Some(plain) = &self.raw.plain
            && match origins {
                Origins::Untracked => true,
                // Each byte of such a word becomes one byte.
                Origins::Same(_) => word.is_ascii() && plain.adds_nothing(),
                Origins::Mapped { .. } => false,
            }
            && let Some(pretokens) =
                plain.split(kept, (self.normalizers, self.pre_tokenizers), &mut scratch.plain)
        {
            let mut at = word.len() - kept.len();
            return pretokens.iter().try_for_each(|text| {
                let span = Span::new(at, at + text.len());
                at = span.end;
                emit(AlignedText { text, origins: origins.slice(span) }, ticker)
            });
        }
        self.for_each_by_stages((word, origins), scratch, ticker, emit)
    }

    /// As [`Self::for_each_pretoken`], by the stages.
    fn for_each_by_stages(
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

    /// Is this white space dropped between two letters, before one and after one?
    fn drop_white(self, white: &[u8]) -> bool {
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
        let (Some(left), Some(right)) = (pretokens("a"), pretokens("B")) else { return false };
        let both = [left.clone(), right.clone()].concat();
        pretokens(white).is_some_and(|found| found.is_empty())
            && pretokens(&format!("a{white}B")) == Some(both)
            && pretokens(&format!("a{white}")) == Some(left)
            && pretokens(&format!("{white}B")) == Some(right)
    }
}

/// Does the first step of pre-tokenization cut at white space and drop it, and do the others look at a piece alone?
fn cuts_at_white_space(description: &Description) -> bool {
    let Some((first, rest)) = description.pre_tokenizer.split_first() else { return false };
    let cuts = match first {
        PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit => true,
        // Matches are kept, and what lies between them is dropped.
        PreTokenizer::Split { pattern: Pattern::Regex(regex), behavior: Behavior::Removed, invert: true } => {
            avoids(regex, &WHITE_SPACE)
        }
        _ => false,
    };
    cuts && !rest.iter().any(looks_around)
}

/// May a step of pre-tokenization look beyond its piece?
pub(super) fn looks_around(step: &PreTokenizer) -> bool {
    matches!(step, PreTokenizer::Hook(_) | PreTokenizer::Metaspace { prepend: PrependScheme::First, .. })
}

/// The characters that may stand beside a gap; `None` if a normalizer may look across white space.
fn edges(normalizers: &[Normalizer]) -> Option<Edges> {
    let (mut edges, mut changes_edges) = (Edges::All, false);
    for (number, step) in normalizers.iter().enumerate() {
        match step {
            step if looks_at_marks_at_most(step) => {}
            Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                if !literal.is_empty() && !literal.contains(char::is_whitespace) =>
            {
                let keeps_edges = content.chars().all(|c| c.is_ascii_graphic()) && !content.is_empty();
                changes_edges |= !keeps_edges;
            }
            // Runs of white space become one space; all of it is dropped later.
            Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                if (regex == " {2,}" || regex == r"\s+") && content == " " => {}
            // Two maps: the second one sees the characters of the first.
            Normalizer::Precompiled(_) if changes_edges || !matches!(edges, Edges::All) => return None,
            Normalizer::Precompiled(_) => edges = if number == 0 { Edges::OfMap } else { Edges::OfLaterMap },
            _ => return None,
        }
    }
    Some(edges)
}

/// The white space that the maps among these steps leave white space; `None` if a key begins with a space.
fn white_kept_by_maps(normalizers: &[Normalizer]) -> Option<Vec<u8>> {
    let mut white = WHITE_SPACE.to_vec();
    for step in normalizers {
        let Normalizer::Precompiled(blob) = step else { continue };
        let map = Charsmap::parse(blob).ok()?;
        if map.has_key_from(b' ') {
            return None;
        }
        let is_white = |new: &str| !new.is_empty() && new.bytes().all(|byte| WHITE_SPACE.contains(&byte));
        white.retain(|&byte| !map.goes_on(&[byte]) && map.shortest(&[byte]).is_none_or(is_white));
    }
    Some(white)
}

/// Are there spaces around each ideograph before anything else looks at it?
fn isolates_ideographs(description: &Description) -> bool {
    matches!(description.normalizer.first(), Some(Normalizer::Bert { handle_chinese_chars: true, .. }))
}
