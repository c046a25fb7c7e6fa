//! Raw words: what stands between white space, before it is normalized.
//!
//! In: a description, then texts. Out: the words of a text, and the pretokens of each. White space around a word must
//! never change its pretokens, and must have none itself.
//!
//! BERT, T5 and others cut a text at white space, which they drop, and look at each piece alone. What they do before
//! that looks at one character at a time, or at a character and the marks that follow it. So a word is looked up as it
//! comes, and only one that misses the cache takes the way through the stages. Whether a space, a tab or a line feed is
//! such white space is not derived from the steps but tried.
use crate::aligned::{AlignedText, Origins};
use crate::charsmap::Charsmap;
use crate::description::{Description, Normalizer, Pattern, PreTokenizer, PrependScheme};
use crate::engine::cuts::is_letter;
use crate::error::Result;
use crate::model::Model;
use crate::normalize::{Normalizers, is_ideograph};
use crate::pretokenize::PreTokenizers;
use crate::watch::{Ticker, Unwatched};

use super::ascii::AsciiWords;
use super::scratch::WordScratch;

/// The white space that is tried.
const WHITE_SPACE: [u8; 4] = [b' ', b'\t', b'\n', b'\r'];

/// How words are found.
#[derive(Debug)]
pub(crate) struct RawWords {
    /// Is this byte white space that is dropped?
    is_white: [bool; 256],
    /// May a word end before this byte?
    is_of_interest: [bool; 256],
    /// Which characters may stand beside a gap between words.
    edges: Edges,
    /// The pretokens of ASCII words, if tables say them.
    ascii: Option<Box<AsciiWords>>,
}

/// The characters that may stand beside a gap.
#[derive(Debug, Clone, Copy)]
enum Edges {
    All,
    /// Letters that a map of characters never joins with others, and other ASCII characters, if they are too.
    Letters {
        and_ascii: bool,
    },
}

/// The words of a tokenizer, and the stages before its model.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Words<'a> {
    pub(in crate::engine) raw: &'a RawWords,
    pub(in crate::engine) normalizers: &'a Normalizers,
    pub(in crate::engine) pre_tokenizers: &'a PreTokenizers,
}

impl RawWords {
    /// `None` if a stage may look farther than a word.
    pub(super) fn new(
        description: &Description,
        model: &Model,
        normalizers: &Normalizers,
        pre_tokenizers: &PreTokenizers,
    ) -> Option<Self> {
        // Over bytes, pretokens are merged side by side, which takes text that the model can read.
        if model.as_bpe().is_some_and(|bpe| bpe.canonical().is_some()) || !cuts_at_white_space(description) {
            return None;
        }
        let edges = edges(&description.normalizer)?;
        let isolates_ideographs = matches!(edges, Edges::All) && isolates_ideographs(description);
        let mut words = Self { is_white: [false; 256], is_of_interest: [false; 256], edges, ascii: None };
        let stages = Words { raw: &words, normalizers, pre_tokenizers };
        // A map of characters was asked about spaces alone.
        let tried = if matches!(edges, Edges::All) { &WHITE_SPACE[..] } else { b" " };
        let white: Vec<u8> = tried.iter().copied().filter(|&white| stages.drops(&[white])).collect();
        let pairs = || white.iter().flat_map(|&first| white.iter().map(move |&second| [first, second]));
        if white.is_empty() || !pairs().all(|pair| stages.drops(&pair)) {
            return None;
        }
        for white in white {
            words.is_white[usize::from(white)] = true;
            words.is_of_interest[usize::from(white)] = true;
        }
        words.is_of_interest[usize::from(FIRST_IDEOGRAPH)..].fill(isolates_ideographs);
        words.ascii = AsciiWords::new(description, normalizers, pre_tokenizers).map(Box::new);
        Some(words)
    }

    /// The pretokens of ASCII words, if tables say them.
    pub(in crate::engine) fn ascii(&self) -> Option<&AsciiWords> {
        self.ascii.as_deref()
    }

    /// A word without the white space before it.
    pub(in crate::engine) fn without_gap<'w>(&self, word: &'w [u8]) -> &'w [u8] {
        let gap = word.iter().take_while(|&&byte| self.is_white[usize::from(byte)]).count();
        &word[gap..]
    }

    /// The next words of a text from a byte on, at most as many as `starts` and `ends` have places. Returns how many,
    /// and where the rest of the text begins. A word or white space must begin at `from`.
    pub(in crate::engine) fn next(
        &self,
        text: &str,
        from: usize,
        starts: &mut [usize],
        ends: &mut [usize],
    ) -> (usize, usize) {
        let bytes = text.as_bytes();
        let (mut start, mut at, mut count) = (from, from, 0);
        let most = starts.len().min(ends.len());
        // An ideograph may end two words.
        while count + 1 < most {
            at += self.next_of_interest(&bytes[at..]);
            let Some(&byte) = bytes.get(at) else { break };
            let (end, next) = if byte >= 0x80 {
                let Some(ideograph) = text[at..].chars().next().filter(|&c| is_ideograph(c)) else {
                    at += 1 + bytes[at + 1..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
                    continue;
                };
                (at, at + ideograph.len_utf8())
            } else {
                match self.gap(text, at) {
                    Ok(end) => (at, end),
                    Err(end) => {
                        at = end;
                        continue;
                    }
                }
            };
            if start < end {
                (starts[count], ends[count]) = (start, end);
                count += 1;
            }
            if byte >= 0x80 {
                (starts[count], ends[count]) = (end, next);
                count += 1;
            }
            (start, at) = (next, next);
        }
        if at >= bytes.len() && start < bytes.len() {
            (starts[count], ends[count]) = (start, bytes.len());
            return (count + 1, bytes.len());
        }
        (count, start)
    }

    /// The bytes before the next one that may be white space or begin an ideograph.
    #[inline]
    fn next_of_interest(&self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|&&byte| !self.is_of_interest[usize::from(byte)]).count()
    }

    /// Where the white space that begins at a place ends, if it is a gap between words; else that is the error.
    fn gap(&self, text: &str, at: usize) -> std::result::Result<usize, usize> {
        let white = |&&byte: &&u8| self.is_white[usize::from(byte)];
        let end = at + text.as_bytes()[at..].iter().take_while(white).count();
        let is_gap = match self.edges {
            Edges::All => true,
            Edges::Letters { and_ascii } => {
                let is_edge = |c: char| is_letter(c) || (and_ascii && c.is_ascii_graphic());
                text[..at].chars().next_back().is_none_or(is_edge)
                    && text[end..].chars().next().is_none_or(is_edge)
            }
        };
        if is_gap { Ok(end) } else { Err(end) }
    }

    /// The first place of a text from a byte on, inside of it, where a gap begins.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let mut at = from.max(1);
        loop {
            // A gap that began before is no longer whole.
            let white = |&&byte: &&u8| self.is_white[usize::from(byte)];
            at += text.as_bytes().get(at..)?.iter().take_while(|byte| !white(byte)).count();
            if at >= text.len() {
                return None;
            }
            match self.gap(text, at) {
                Ok(_) if !self.is_white[usize::from(text.as_bytes()[at - 1])] => return Some(at),
                Ok(end) | Err(end) => at = end,
            }
        }
    }
}

/// The first byte of the first ideograph, U+3400.
const FIRST_IDEOGRAPH: u8 = 0xE3;

impl Words<'_> {
    /// Passes the pretokens of a word to `emit`.
    ///
    /// # Errors
    /// Those of the stages and of `emit`, positioned in the word.
    pub(in crate::engine) fn for_each_pretoken(
        self,
        (word, origins): (&str, Origins<'_>),
        scratch: &mut WordScratch,
        ticker: &mut Ticker<'_>,
        emit: &mut crate::pretokenize::Emit<'_>,
    ) -> Result<()> {
        let WordScratch { normalized, pretokenized, .. } = scratch;
        let piece = AlignedText { text: word, origins };
        let piece = self.normalizers.apply(piece, normalized, ticker)?;
        self.pre_tokenizers.for_each(piece, pretokenized, ticker, emit)
    }

    /// Is white space dropped between letters, before them and behind them?
    fn drops(self, white: &[u8]) -> bool {
        let white = std::str::from_utf8(white).unwrap_or_default();
        let pretokens = |text: &str| {
            let mut found = Vec::new();
            let (scratch, ticker) = (&mut WordScratch::default(), &mut Ticker::new(&Unwatched));
            let done =
                self.for_each_pretoken((text, Origins::Untracked), scratch, ticker, &mut |pretoken, _| {
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
    let cuts = matches!(first, PreTokenizer::Bert | PreTokenizer::Whitespace | PreTokenizer::WhitespaceSplit);
    let looks_around = |step: &PreTokenizer| {
        matches!(step, PreTokenizer::Hook(_) | PreTokenizer::Metaspace { prepend: PrependScheme::First, .. })
    };
    cuts && !rest.iter().any(looks_around)
}

/// The characters that may stand beside a gap; `None` if a normalizer may look across any gap.
fn edges(normalizers: &[Normalizer]) -> Option<Edges> {
    let mut edges = Edges::All;
    for step in normalizers {
        match step {
            // Each looks at a character, or at a character and the marks behind it, with which a space never joins.
            Normalizer::Nfc(_)
            | Normalizer::Nfd(_)
            | Normalizer::Nfkc(_)
            | Normalizer::Nfkd(_)
            | Normalizer::Lowercase
            | Normalizer::StripAccents
            | Normalizer::Nmt
            | Normalizer::Bert { .. } => {}
            Normalizer::Replace { pattern: Pattern::Literal(literal), .. }
                if !literal.is_empty() && !literal.contains(char::is_whitespace) => {}
            // White space is dropped later, however much of it there is.
            Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                if (regex == " {2,}" || regex == r"\s+") && content == " " => {}
            Normalizer::Precompiled(blob) => {
                let map = Charsmap::parse(blob).ok()?;
                let with_ascii = map.keeps_words(|c| is_letter(c) || c.is_ascii_graphic());
                if !with_ascii && !map.keeps_words(is_letter) {
                    return None;
                }
                let before = matches!(edges, Edges::Letters { and_ascii: false });
                edges = Edges::Letters { and_ascii: with_ascii && !before };
            }
            _ => return None,
        }
    }
    Some(edges)
}

/// Are there spaces around each ideograph before anything else looks at it?
fn isolates_ideographs(description: &Description) -> bool {
    matches!(description.normalizer.first(), Some(Normalizer::Bert { handle_chinese_chars: true, .. }))
}
