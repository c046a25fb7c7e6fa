//! Plain words: words whose characters are normalized one at a time, and cut by pairs.
//!
//! In: a word that missed the cache. Out: its pretokens, from tables, without running the normalizers and
//! pre-tokenizers. They must be the pretokens that these stages give; a word for which that is not known is left to
//! them.
use crate::description::{Behavior, Description, PreTokenizer, PrependScheme};
use crate::normalize::Normalizers;
use crate::pretokenize::{Between, PreTokenizers};

/// The stages before the model as tables: what a character is normalized to, and where two characters are cut.
#[derive(Debug)]
pub(in crate::engine) struct PlainWords {
    /// The normalized form of each ASCII character; 0 if it has none of one character.
    normalized: [u8; 128],
    /// By two normalized ASCII characters: are they cut?
    between: Box<[[Between; 128]; 128]>,
    /// The mark that is put before every word, if any. If there is one, words with cuts are left to the stages.
    prefix: String,
    /// Can non-ASCII characters be normalized one at a time? With a precompiled map, those that are clusters of their
    /// own.
    takes_non_ascii: bool,
}

/// The pretokens of a word.
#[derive(Debug)]
pub(super) struct PlainPretokens<'a> {
    text: &'a str,
    /// Where each ends in `text`.
    ends: &'a [usize],
}

/// Buffers for the pretokens of a word. It also remembers normalized characters between words.
#[derive(Debug, Default)]
pub(super) struct PlainScratch {
    text: String,
    ends: Vec<usize>,
    normalized: Vec<NormalizedChar>,
}

/// A character and its normalized form.
#[derive(Debug, Clone, Copy)]
struct NormalizedChar {
    of: char,
    /// [`UNKNOWN`] if the form depends on neighbours, or is longer than [`LONGEST`] bytes.
    length: u8,
    bytes: [u8; LONGEST],
}

const LONGEST: usize = 7;
const UNKNOWN: u8 = u8::MAX;

/// The most bytes of an ASCII word that is normalized and cut in one loop: the cuts are the bits of a word.
const SHORT: usize = 64;

/// Entries of the direct-mapped table of normalized characters.
const REMEMBERED: usize = 1 << 9;

/// A non-ASCII letter that no normal form changes.
const LETTER: char = 'ж';

impl<'a> PlainPretokens<'a> {
    /// The pretokens in order.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        let (text, mut start) = (self.text, 0);
        self.ends.iter().map(move |&end| &text[std::mem::replace(&mut start, end)..end])
    }
}

impl PlainScratch {
    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.normalized.capacity() * size_of::<NormalizedChar>()
    }

    /// The normalized form of a non-ASCII character; `None` if it depends on neighbours, or is too long.
    fn normalized(&mut self, c: char, normalizers: &Normalizers) -> Option<NormalizedChar> {
        if self.normalized.is_empty() {
            self.normalized = vec![NormalizedChar { of: '\0', length: 0, bytes: [0; LONGEST] }; REMEMBERED];
        }
        let entry = &mut self.normalized[u32::from(c) as usize % REMEMBERED];
        if entry.of != c {
            *entry = NormalizedChar { of: c, length: UNKNOWN, bytes: [0; LONGEST] };
            if let Some(text) = normalizers.normalized_alone(c)
                && let Some(bytes) = entry.bytes.get_mut(..text.len())
            {
                bytes.copy_from_slice(text.as_bytes());
                entry.length = text.len() as u8;
            }
        }
        Some(*entry).filter(|entry| entry.length != UNKNOWN)
    }
}

impl PlainWords {
    /// `None` if a step of pre-tokenization drops a part of a word, or a later one puts something before a piece
    /// other than one mark before each word.
    pub(super) fn new(
        description: &Description,
        normalizers: &Normalizers,
        pre_tokenizers: &PreTokenizers,
    ) -> Option<Self> {
        let prefix = match &description.pre_tokenizer[..] {
            [first, ..] if may_drop(first) => return None,
            [PreTokenizer::Metaspace { replacement, prepend: PrependScheme::Always, .. }]
            | [_, PreTokenizer::Metaspace { replacement, prepend: PrependScheme::Always, .. }] => {
                replacement.to_string()
            }
            [_, rest @ ..] if rest.iter().any(|step| puts_before(step) || may_drop(step)) => return None,
            _ => String::new(),
        };
        let normalized = |code: u8| {
            let normalized = normalizers.kept_in_ascii(char::from(code)).filter(|_| code.is_ascii_graphic());
            let is_fine = |c: &char| c.is_ascii_graphic() && !prefix.starts_with(*c);
            normalized.filter(is_fine).map_or(0, |c| c as u8)
        };
        let normalized: [u8; 128] = std::array::from_fn(|code| normalized(code as u8));
        let mut between = Box::new([[Between::Unknown; 128]; 128]);
        let occurs = |code: &u8| normalized.contains(code);
        for left in (b'!'..=b'~').filter(occurs) {
            for right in (b'!'..=b'~').filter(occurs) {
                let pair = (char::from(left), char::from(right));
                between[usize::from(left)][usize::from(right)] = if normalizers.may_join(pair.0, pair.1) {
                    Between::Unknown
                } else {
                    pre_tokenizers.between(pair.0, pair.1)
                };
            }
        }
        let takes_non_ascii = normalizers.normalized_alone(LETTER).is_some();
        Some(Self { normalized, between, prefix, takes_non_ascii })
    }

    /// Is nothing put before a word?
    pub(super) fn adds_nothing(&self) -> bool {
        self.prefix.is_empty()
    }

    /// Is an ASCII word the only pretoken that it has?
    pub(in crate::engine) fn keeps_ascii(&self, word: &[u8]) -> bool {
        let is_same = |&byte: &u8| byte != 0 && self.normalized.get(usize::from(byte)) == Some(&byte);
        let joins =
            |pair: &[u8]| self.between[usize::from(pair[0])][usize::from(pair[1])] == Between::Nothing;
        self.prefix.is_empty() && word.iter().all(is_same) && word.windows(2).all(joins)
    }

    /// Is the capital of a letter normalized to the letter?
    pub(in crate::engine) fn lowers(&self, letter: u8) -> bool {
        self.normalized.get(usize::from(letter.to_ascii_uppercase())) == Some(&letter)
    }

    /// The pretokens of a word; `None` if they are not known.
    #[inline]
    pub(super) fn split<'a>(
        &self,
        word: &'a str,
        stages: (&Normalizers, &PreTokenizers),
        scratch: &'a mut PlainScratch,
    ) -> Option<PlainPretokens<'a>> {
        scratch.ends.clear();
        if word.len() <= SHORT && word.is_ascii() {
            return self.split_ascii(word, scratch);
        }
        scratch.text.clear();
        scratch.text.push_str(&self.prefix);
        let mut left = None;
        for c in word.chars() {
            let is_known = match self.normalized.get(c as usize) {
                Some(0) => false,
                Some(&normalized) => self.push(char::from(normalized), stages.1, &mut left, scratch),
                None => self.takes_non_ascii && self.push_non_ascii(c, stages, &mut left, scratch),
            };
            if !is_known {
                return None;
            }
        }
        scratch.ends.push(scratch.text.len());
        left.map(|_| PlainPretokens { text: &scratch.text, ends: &scratch.ends })
    }

    /// As [`Self::split`], for an ASCII word of at most [`SHORT`] bytes.
    #[inline]
    fn split_ascii<'a>(&self, word: &'a str, scratch: &'a mut PlainScratch) -> Option<PlainPretokens<'a>> {
        let of = |byte: u8| self.normalized[usize::from(byte & 0x7F)];
        let mut left = of(*word.as_bytes().first()?);
        if left == 0 {
            return None;
        }
        let mut buffer = [0; SHORT];
        // Bit `i` is about the place before byte `i`. Bit 0 has no meaning.
        let (mut cuts, mut unknown, mut changes) = (0_u64, 0_u64, 0);
        for (i, (place, &byte)) in buffer.iter_mut().zip(word.as_bytes()).enumerate() {
            let normalized = of(byte);
            let between = self.between[usize::from(left & 0x7F)][usize::from(normalized & 0x7F)];
            cuts |= u64::from(between == Between::Cut) << i;
            unknown |= u64::from(between == Between::Unknown) << i;
            changes |= normalized ^ byte;
            (*place, left) = (normalized, normalized);
        }
        cuts &= !1;
        if unknown & !1 != 0 || (cuts != 0 && !self.prefix.is_empty()) {
            return None;
        }
        let text = if changes == 0 && self.prefix.is_empty() {
            word
        } else {
            scratch.text.clear();
            scratch.text.push_str(&self.prefix);
            scratch.text.push_str(std::str::from_utf8(&buffer[..word.len()]).ok()?);
            &scratch.text
        };
        while cuts != 0 {
            scratch.ends.push(cuts.trailing_zeros() as usize);
            cuts &= cuts - 1;
        }
        scratch.ends.push(text.len());
        Some(PlainPretokens { text, ends: &scratch.ends })
    }

    /// Pushes the normalized form of a non-ASCII character, as [`Self::push`].
    fn push_non_ascii(
        &self,
        c: char,
        (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers),
        left: &mut Option<char>,
        scratch: &mut PlainScratch,
    ) -> bool {
        let Some(form) = scratch.normalized(c, normalizers) else { return false };
        let form = form.bytes.get(..usize::from(form.length)).map(std::str::from_utf8);
        let Some(Ok(form)) = form else { return false };
        form.chars().all(|c| {
            let is_plain = !c.is_whitespace() && !self.prefix.contains(c);
            is_plain && self.push(c, pre_tokenizers, left, scratch)
        })
    }

    /// Pushes a normalized character after `left`, the one before it, which it replaces. If there is a cut between
    /// the two, a pretoken ends there. Returns false if it is not known whether there is.
    #[inline]
    fn push(
        &self,
        c: char,
        pre_tokenizers: &PreTokenizers,
        left: &mut Option<char>,
        scratch: &mut PlainScratch,
    ) -> bool {
        let between = match *left {
            None => Between::Nothing,
            Some(left) => match self.between.get(left as usize) {
                Some(row) if c.is_ascii() => row[c as usize],
                _ => pre_tokenizers.between(left, c),
            },
        };
        match between {
            Between::Nothing => {}
            Between::Cut if self.prefix.is_empty() => scratch.ends.push(scratch.text.len()),
            Between::Cut | Between::Unknown => return false,
        }
        scratch.text.push(c);
        *left = Some(c);
        true
    }
}

/// May the step drop a part of a word?
fn may_drop(step: &PreTokenizer) -> bool {
    matches!(
        step,
        PreTokenizer::Split { behavior: Behavior::Removed, .. }
            | PreTokenizer::Punctuation(Behavior::Removed)
            | PreTokenizer::CharDelimiter(_)
            | PreTokenizer::Hook(_)
    )
}

/// May the step put something in front of a piece, or write its characters in another way?
fn puts_before(step: &PreTokenizer) -> bool {
    matches!(step, PreTokenizer::Metaspace { .. } | PreTokenizer::PrefixSpace | PreTokenizer::ByteAlphabet)
}
