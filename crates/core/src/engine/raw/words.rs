//! Raw words: what stands between white space, before it is normalized.
//!
//! In: a description, then texts. Out: the words of a text, and the pretokens of each. White space around a word must
//! never change its pretokens, and must have none itself.
//!
//! BERT, T5 and others cut a text at white space, which they drop, and look at each piece alone. What they do before
//! that looks at one character at a time, or at a character and the marks that follow it. So a word is looked up as it
//! comes, and only one that misses the cache takes the way through the stages. Whether a space, a tab or a line feed is
//! such white space is not derived from the steps but tried.
use std::sync::Arc;

use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::{IDEOGRAPHS, MadeOnce, WordBits};

use crate::aligned::{AlignedText, Origins};
use crate::charsmap::Charsmap;
use crate::description::{Description, Normalizer, Pattern, PreTokenizer, PrependScheme};
use crate::engine::cuts::{LAST_LETTER, is_letter, looks_at_marks_at_most};
use crate::error::Result;
use crate::model::Model;
use crate::normalize::{Normalizers, is_ideograph};
use crate::pretokenize::PreTokenizers;
use crate::watch::{Ticker, Unwatched};

use super::plain::PlainWords;
use super::scratch::WordScratch;

/// The white space that is tried.
const WHITE_SPACE: [u8; 4] = [b' ', b'\t', b'\n', b'\r'];

/// How words are found.
#[derive(Debug)]
pub(crate) struct RawWords {
    /// Is this byte white space that is dropped?
    is_white: [bool; 256],
    /// The same bytes, some of them more than once.
    white: [u8; 4],
    /// Is each ideograph a word of its own?
    isolates_ideographs: bool,
    /// Which characters may stand beside a gap between words.
    edges: Edges,
    /// The pretokens of plain words, if they are known.
    plain: Option<Box<PlainWords>>,
}

/// The characters that may stand beside a gap.
#[derive(Debug)]
enum Edges {
    All,
    /// Those that a map of characters never joins with others: ASCII characters, and letters, if it keeps these too,
    /// which takes a while to find out.
    Kept {
        map: Arc<[u8]>,
        letters: MadeOnce<bool>,
    },
}

impl Edges {
    fn have(&self, c: char) -> bool {
        match self {
            Self::All => true,
            Self::Kept { .. } if c.is_ascii() => c.is_ascii_graphic(),
            Self::Kept { map, letters } => {
                let is_edge = |c: char| is_letter(c) || c.is_ascii_graphic();
                let keeps = |map: Charsmap| map.keeps_words_of('!'..=LAST_LETTER, is_edge);
                is_letter(c) && *letters.get_or_make(|| Charsmap::parse(map).is_ok_and(keeps))
            }
        }
    }
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
        let mut words =
            Self { is_white: [false; 256], white: [0; 4], isolates_ideographs, edges, plain: None };
        // A map of characters was asked about spaces alone.
        let tried = if matches!(words.edges, Edges::All) { &WHITE_SPACE[..] } else { b" " };
        let stages = Words { raw: &words, normalizers, pre_tokenizers };
        let white: Vec<u8> = tried.iter().copied().filter(|&white| stages.drops(&[white])).collect();
        let pairs = || white.iter().flat_map(|&first| white.iter().map(move |&second| [first, second]));
        if white.is_empty() || !pairs().all(|pair| stages.drops(&pair)) {
            return None;
        }
        for (place, &byte) in words.white.iter_mut().zip(white.iter().cycle()) {
            *place = byte;
            words.is_white[usize::from(byte)] = true;
        }
        words.plain = PlainWords::new(description, normalizers, pre_tokenizers).map(Box::new);
        Some(words)
    }

    /// The pretokens of plain words, if they are known.
    pub(in crate::engine) fn plain(&self) -> Option<&PlainWords> {
        self.plain.as_deref()
    }

    /// A word without the white space before it.
    pub(in crate::engine) fn without_gap<'w>(&self, word: &'w str) -> &'w str {
        let gap = word.bytes().take_while(|&byte| self.is_white[usize::from(byte)]).count();
        &word[gap..]
    }

    /// The next words of a text from a byte on. Returns how many were written to `starts` and `ends`, which are of the
    /// same length, and where the rest of the text begins: with a word or with white space, as it must at `from`.
    pub(in crate::engine) fn next(
        &self,
        text: &str,
        from: usize,
        starts: &mut [usize],
        ends: &mut [usize],
    ) -> (usize, usize) {
        let (bytes, level) = (text.as_bytes(), cpu::level());
        let (mut at, mut count) = (from, 0);
        // Has a word begun that has not ended? It begins at `starts[count]`.
        let mut is_open = false;
        while at < bytes.len() && count + WORDS_OF_BLOCK < starts.len() {
            if let Some((length, bits)) = self.plain_block(bytes, at, level) {
                let kept = u64::MAX >> (BLOCK - length);
                let before = bits.white << 1 | u64::from(!is_open);
                let (mut begin, mut end) = (!bits.white & before & kept, bits.white & !before & kept);
                let mut begun = count + usize::from(is_open);
                while begin != 0 {
                    starts[begun] = at + begin.trailing_zeros() as usize;
                    (begun, begin) = (begun + 1, begin & (begin - 1));
                }
                while end != 0 {
                    ends[count] = at + end.trailing_zeros() as usize;
                    (count, end) = (count + 1, end & (end - 1));
                }
                is_open = begun > count;
                at += length;
                continue;
            }
            let byte = bytes[at];
            let gap = if self.is_white[usize::from(byte)] { Some(self.gap(text, at)) } else { None };
            let ideograph = || text[at..].chars().next().filter(|&c| is_ideograph(c));
            match gap {
                Some(Ok(end)) => {
                    ends[count] = at;
                    (count, is_open) = (count + usize::from(is_open), false);
                    at = end;
                }
                None if byte >= IDEOGRAPHS
                    && self.isolates_ideographs
                    && let Some(c) = ideograph() =>
                {
                    ends[count] = at;
                    count += usize::from(is_open);
                    (starts[count], ends[count]) = (at, at + c.len_utf8());
                    (count, is_open) = (count + 1, false);
                    at += c.len_utf8();
                }
                _ => {
                    if !is_open {
                        (starts[count], is_open) = (at, true);
                    }
                    at = match gap {
                        Some(Err(end)) => end,
                        _ => at + 1 + bytes[at + 1..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count(),
                    };
                }
            }
        }
        if is_open && at == bytes.len() {
            ends[count] = at;
            return (count + 1, at);
        }
        (count, if is_open { starts[count] } else { at })
    }

    /// The bits of the next block, and how many of its bytes may be cut by these alone, if any.
    #[inline]
    fn plain_block(&self, bytes: &[u8], at: usize, level: Level) -> Option<(usize, WordBits)> {
        let rest = &bytes[at..];
        // It would say nothing.
        let first_known = match self.edges {
            Edges::All if self.isolates_ideographs => IDEOGRAPHS,
            Edges::All => u8::MAX,
            Edges::Kept { .. } => 0x80,
        };
        if rest[0] >= first_known {
            return None;
        }
        let mut padded = [0; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let (length, bits) = (rest.len().min(BLOCK), WordBits::of(level, block, self.white));
        let length = self.plain_length(bytes, at, length, bits);
        (length > 0).then_some((length, bits))
    }

    /// How many of the first `length` bytes of a block at `at` may be cut by its bits alone.
    #[inline]
    fn plain_length(&self, bytes: &[u8], at: usize, length: usize, bits: WordBits) -> usize {
        let until = |bits: u64| length.min(bits.trailing_zeros() as usize);
        match &self.edges {
            Edges::All if self.isolates_ideographs => until(bits.high),
            Edges::All => length,
            Edges::Kept { .. } => {
                // White space at either end has a neighbour outside.
                let begins_apart = bits.white & 1 == 0 || at == 0 || bytes[at - 1].is_ascii_graphic();
                let known = until(!(bits.white | bits.graphic));
                let is_end = at + known == bytes.len();
                let white = bits.white << (BLOCK - known.max(1));
                match known {
                    0 => 0,
                    _ if !begins_apart => 0,
                    _ if is_end => known,
                    _ => known - known.min(white.leading_ones() as usize),
                }
            }
        }
    }

    /// Where the white space that begins at a place ends, if it is a gap between words; else that is the error.
    fn gap(&self, text: &str, at: usize) -> std::result::Result<usize, usize> {
        let white = |&&byte: &&u8| self.is_white[usize::from(byte)];
        let end = at + text.as_bytes()[at..].iter().take_while(white).count();
        let (before, behind) = (text[..at].chars().next_back(), text[end..].chars().next());
        let is_gap = matches!(self.edges, Edges::All)
            || [before, behind].into_iter().flatten().all(|c| self.edges.have(c));
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

/// The bytes of a block, and the most words that end in one.
const BLOCK: usize = 64;
const WORDS_OF_BLOCK: usize = BLOCK / 2 + 2;

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
    let (mut edges, mut changes_edges) = (Edges::All, false);
    for step in normalizers {
        match step {
            step if looks_at_marks_at_most(step) => {}
            Normalizer::Replace { pattern: Pattern::Literal(literal), content }
                if !literal.is_empty() && !literal.contains(char::is_whitespace) =>
            {
                let keeps_edges = content.chars().all(|c| c.is_ascii_graphic()) && !content.is_empty();
                changes_edges |= !keeps_edges;
            }
            // White space is dropped later, however much of it there is.
            Normalizer::Replace { pattern: Pattern::Regex(regex), content }
                if (regex == " {2,}" || regex == r"\s+") && content == " " => {}
            Normalizer::Precompiled(blob) => {
                let is_graphic = |c: char| c.is_ascii_graphic();
                let keeps_ascii = Charsmap::parse(blob).ok()?.keeps_words_of('!'..='~', is_graphic);
                // It sees what the steps before it made of the characters beside white space.
                if !keeps_ascii || changes_edges || !matches!(edges, Edges::All) {
                    return None;
                }
                edges = Edges::Kept { map: Arc::clone(blob), letters: MadeOnce::new() };
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
