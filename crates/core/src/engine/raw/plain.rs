//! Plain words: words whose characters are normalized one at a time, and cut by pairs.
//!
//! In: a word that missed the cache. Out: its pretokens, from tables, without running the normalizers and
//! pre-tokenizers. They must be the pretokens that these stages give; a word for which that is not known is left to
//! them.
use super::ascii_cuts::{AsciiCuts, NormalizedWord, SHORT};
use crate::description::{Behavior, Description, PreTokenizer, PrependScheme};
use crate::normalize::Normalizers;
use crate::pretokenize::{Between, CharClass, PreTokenizers};

/// The stages before the model as tables: what a character is normalized to, and where two characters are cut.
#[derive(Debug)]
pub(in crate::engine) struct PlainWords {
    /// The normalized form of each ASCII character; 0 if it has none of one character.
    normalized: [u8; 128],
    /// By two normalized ASCII characters: are they cut?
    between: Box<[[Between; 128]; 128]>,
    /// Cuts short words of ASCII at once.
    ascii: Option<AsciiCuts>,
    /// The mark that is put before every word, if any. If there is one, words with cuts are left to the stages.
    prefix: String,
    /// Can non-ASCII characters be normalized one at a time? With a precompiled map, those that are clusters of their
    /// own.
    takes_non_ascii: bool,
}

/// The pretokens of a word.
#[derive(Debug)]
pub(in crate::engine) struct PlainPretokens<'a> {
    text: &'a str,
    /// Where each ends in `text`.
    ends: &'a [usize],
}

/// Buffers for the pretokens of a word. It also remembers normalized characters between words.
#[derive(Debug, Default)]
pub(in crate::engine) struct PlainScratch {
    text: String,
    ends: Vec<usize>,
    normalized: Vec<NormalizedChar>,
}

/// A character and its normalized form.
#[derive(Debug, Clone, Copy)]
struct NormalizedChar {
    of: char,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    /// One character, as nearly always.
    One(FormChar),
    /// None or several: the number of bytes, and the bytes.
    Several(u8, [u8; LONGEST]),
    /// Depends on neighbours, is longer than [`LONGEST`] bytes, or is left to the stages.
    Unknown,
}

/// A character of a normalized form, and what is known of its cuts.
#[derive(Debug, Clone, Copy)]
struct FormChar {
    c: char,
    class: Option<CharClass>,
    /// Is a word cut between two characters of this class?
    within_class: Between,
}

const LONGEST: usize = 7;

/// Entries of the direct-mapped table of normalized characters.
const REMEMBERED: usize = 1 << 12;

/// A non-ASCII letter that no normal form changes.
const LETTER: char = 'ж';

impl<'a> PlainPretokens<'a> {
    /// The pretokens in order.
    #[inline]
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &'a str> {
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
        // As in `is_plain`, a character of the prefix has no plain form.
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
        let ascii = AsciiCuts::new(&normalized, &between);
        Some(Self { normalized, between, ascii, prefix, takes_non_ascii })
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
        if let Some(ascii) = &self.ascii
            && word.len() <= SHORT
            && word.is_ascii()
        {
            return self.split_ascii(ascii, word, scratch);
        }
        let PlainScratch { text, ends, normalized } = scratch;
        text.clear();
        text.push_str(&self.prefix);
        if normalized.is_empty() {
            normalized.resize(REMEMBERED, NormalizedChar { of: '\0', form: Form::Unknown });
        }
        let mut left = None;
        for c in word.chars() {
            let entry = &mut normalized[u32::from(c) as usize % REMEMBERED];
            if entry.of != c {
                *entry = NormalizedChar { of: c, form: self.form(c, stages) };
            }
            let is_known = match entry.form {
                Form::One(form) => self.push(form, stages.1, &mut left, (text, ends)),
                Form::Several(length, bytes) => {
                    let form = std::str::from_utf8(&bytes[..usize::from(length)]).unwrap_or_default();
                    let mut chars = form.chars().map(|c| FormChar::new(c, stages.1));
                    chars.all(|form| self.push(form, stages.1, &mut left, (text, ends)))
                }
                Form::Unknown => false,
            };
            if !is_known {
                return None;
            }
        }
        ends.push(text.len());
        left.map(|_| PlainPretokens { text, ends })
    }

    /// The normalized form of a character in a word.
    fn form(&self, c: char, (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers)) -> Form {
        let of_one = |c: char| match c {
            c if self.is_plain(c) => Form::One(FormChar::new(c, pre_tokenizers)),
            _ => Form::Unknown,
        };
        match self.normalized.get(c as usize) {
            Some(0) => return Form::Unknown,
            Some(&normalized) => return of_one(char::from(normalized)),
            None if !self.takes_non_ascii => return Form::Unknown,
            None => {}
        }
        let Some(text) = normalizers.normalized_alone(c) else { return Form::Unknown };
        let mut chars = text.chars();
        if let (Some(first), None) = (chars.next(), chars.next()) {
            return of_one(first);
        }
        let mut bytes = [0; LONGEST];
        match bytes.get_mut(..text.len()) {
            Some(place) if text.chars().all(|c| self.is_plain(c)) => {
                place.copy_from_slice(text.as_bytes());
                Form::Several(text.len() as u8, bytes)
            }
            _ => Form::Unknown,
        }
    }

    /// Is a normalized character neither white space nor in the mark before a word?
    fn is_plain(&self, c: char) -> bool {
        !c.is_whitespace() && !self.prefix.contains(c)
    }

    /// As [`Self::split`], for an ASCII word of at most [`SHORT`] bytes.
    #[inline]
    fn split_ascii<'a>(
        &self,
        ascii: &AsciiCuts,
        word: &'a str,
        scratch: &'a mut PlainScratch,
    ) -> Option<PlainPretokens<'a>> {
        let NormalizedWord { bytes, is_changed, mut cuts } = ascii.split(word.as_bytes())?;
        if word.is_empty() || (cuts != 0 && !self.prefix.is_empty()) {
            return None;
        }
        let PlainScratch { text, ends, .. } = scratch;
        let text = if is_changed || !self.prefix.is_empty() {
            text.clear();
            text.push_str(&self.prefix);
            text.push_str(std::str::from_utf8(&bytes[..word.len()]).ok()?);
            &*text
        } else {
            word
        };
        while cuts != 0 {
            ends.push(cuts.trailing_zeros() as usize);
            cuts &= cuts - 1;
        }
        ends.push(text.len());
        Some(PlainPretokens { text, ends })
    }

    /// Pushes a normalized character after `left`, the one before it, which it replaces. If there is a cut between
    /// the two, a pretoken ends there. Returns false if it is not known whether there is.
    #[inline]
    fn push(
        &self,
        right: FormChar,
        pre_tokenizers: &PreTokenizers,
        left: &mut Option<FormChar>,
        (text, ends): (&mut String, &mut Vec<usize>),
    ) -> bool {
        let between = match left.replace(right) {
            None => Between::Nothing,
            Some(left) => self.between(left, right, pre_tokenizers),
        };
        match between {
            Between::Nothing => {}
            Between::Cut if self.prefix.is_empty() => ends.push(text.len()),
            Between::Cut | Between::Unknown => return false,
        }
        text.push(right.c);
        true
    }

    /// Is a word cut between these two normalized characters?
    #[inline]
    fn between(&self, left: FormChar, right: FormChar, pre_tokenizers: &PreTokenizers) -> Between {
        match (left.class, right.class) {
            // A normalizer may replace a pair of ASCII characters. The table knows these pairs, the classes do not.
            _ if left.c.is_ascii() && right.c.is_ascii() => self.between[left.c as usize][right.c as usize],
            (Some(left), Some(class)) if left == class => right.within_class,
            (Some(left), Some(right)) => pre_tokenizers.between_classes(left, right),
            _ => pre_tokenizers.between(left.c, right.c),
        }
    }
}

impl FormChar {
    fn new(c: char, pre_tokenizers: &PreTokenizers) -> Self {
        let class = pre_tokenizers.class(c);
        let within_class =
            class.map_or(Between::Unknown, |class| pre_tokenizers.between_classes(class, class));
        Self { c, class, within_class }
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
