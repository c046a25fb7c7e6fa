//! Plain words: those of which the stages look at one character at a time.
//!
//! In: a word that misses the cache. Out: its pretokens. They must be those of the stages; a word of which that is not
//! known takes the way through them.
use crate::description::{Behavior, Description, PreTokenizer, PrependScheme};
use crate::normalize::Normalizers;
use crate::pretokenize::{Between, PreTokenizers};

/// What the stages make of characters, and of two that follow one another.
#[derive(Debug)]
pub(in crate::engine) struct PlainWords {
    /// What each ASCII character becomes in a word; 0 where that is not known.
    images: [u8; 128],
    /// What is between two of these images.
    between: Box<[[Between; 128]; 128]>,
    /// What is put before a word. If there is something, words must be one pretoken.
    prefix: String,
    /// Is anything known of characters that are not ASCII? Nothing where a map of characters sees them.
    knows_others: bool,
}

/// The pretokens of a word: their text, and where each ends. And what characters became, for the next words.
#[derive(Debug, Default)]
pub(in crate::engine) struct PlainPretokens {
    text: String,
    ends: Vec<usize>,
    images: Vec<Image>,
}

/// What a character becomes.
#[derive(Debug, Clone, Copy)]
struct Image {
    of: char,
    /// [`UNKNOWN`] where that is not known, or too long.
    length: u8,
    bytes: [u8; LONGEST],
}

const LONGEST: usize = 7;

/// A letter that is not ASCII, and that no normal form changes.
const LETTER: char = 'ж';
const UNKNOWN: u8 = u8::MAX;

/// Characters that are remembered, by their last bits.
const IMAGES: usize = 1 << 9;

impl PlainPretokens {
    /// The pretokens in order.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text.as_bytes()[start..end])
    }

    /// The only one.
    pub(in crate::engine) fn only(&self) -> Option<&[u8]> {
        (self.ends.len() == 1).then_some(self.text.as_bytes())
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.images.capacity() * size_of::<Image>()
    }

    /// What a character becomes that is not ASCII; `None` where that is not known.
    fn image(&mut self, c: char, normalizers: &Normalizers) -> Option<Image> {
        if self.images.is_empty() {
            self.images = vec![Image { of: '\0', length: 0, bytes: [0; LONGEST] }; IMAGES];
        }
        let place = u32::from(c) as usize % IMAGES;
        if self.images[place].of != c {
            let mut image = Image { of: c, length: UNKNOWN, bytes: [0; LONGEST] };
            if let Some(text) = normalizers.image_of(c)
                && let Some(bytes) = image.bytes.get_mut(..text.len())
            {
                bytes.copy_from_slice(text.as_bytes());
                image.length = text.len() as u8;
            }
            self.images[place] = image;
        }
        Some(self.images[place]).filter(|image| image.length != UNKNOWN)
    }
}

impl PlainWords {
    /// `None` if pieces may get something in front, other than a mark before each word.
    pub(super) fn new(
        description: &Description,
        normalizers: &Normalizers,
        pre_tokenizers: &PreTokenizers,
    ) -> Option<Self> {
        let prefix = match &description.pre_tokenizer[..] {
            [_, PreTokenizer::Metaspace { replacement, prepend: PrependScheme::Always, .. }] => {
                replacement.to_string()
            }
            [_, rest @ ..] if rest.iter().any(|step| puts_before(step) || drops(step)) => return None,
            _ => String::new(),
        };
        let image = |code: u8| {
            let image = normalizers.kept_in_ascii(char::from(code));
            let is_fine = |image: &char| image.is_ascii_graphic() && !prefix.starts_with(*image);
            image.filter(|image| code.is_ascii_graphic() && is_fine(image)).map_or(0, |image| image as u8)
        };
        let images: [u8; 128] = std::array::from_fn(|code| image(code as u8));
        let mut between = Box::new([[Between::Unknown; 128]; 128]);
        let is_image = |code: &u8| images.contains(code);
        for left in (b'!'..=b'~').filter(is_image) {
            for right in (b'!'..=b'~').filter(is_image) {
                between[usize::from(left)][usize::from(right)] =
                    pre_tokenizers.between(char::from(left), char::from(right));
            }
        }
        let knows_others = normalizers.image_of(LETTER).is_some();
        Some(Self { images, between, prefix, knows_others })
    }

    /// Writes the pretokens of a word. Returns whether they are known; else nothing is said of what was written.
    /// Without stages only words of ASCII are known.
    #[inline]
    pub(in crate::engine) fn write(
        &self,
        word: &str,
        stages: Option<(&Normalizers, &PreTokenizers)>,
        pretokens: &mut PlainPretokens,
    ) -> bool {
        pretokens.ends.clear();
        pretokens.text.clear();
        pretokens.text.push_str(&self.prefix);
        let mut before = None;
        for c in word.chars() {
            let Some(&image) = self.images.get(c as usize) else {
                let stages = stages.filter(|_| self.knows_others);
                let known = stages.and_then(|stages| self.write_image(c, stages, &mut before, pretokens));
                if known.is_none() {
                    return false;
                }
                continue;
            };
            let between = match before {
                None => Between::Nothing,
                Some(left) => self.between(stages, left, char::from(image)),
            };
            if image == 0 || !self.write_cut(between, pretokens) {
                return false;
            }
            pretokens.text.push(char::from(image));
            before = Some(char::from(image));
        }
        pretokens.ends.push(pretokens.text.len());
        before.is_some()
    }

    /// Does a capital become the letter that it is the capital of?
    pub(in crate::engine) fn lowers(&self, letter: u8) -> bool {
        self.images.get(usize::from(letter.to_ascii_uppercase())) == Some(&letter)
    }

    /// Writes what a character becomes that is not ASCII. `None` where that is not known.
    fn write_image(
        &self,
        c: char,
        (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers),
        before: &mut Option<char>,
        pretokens: &mut PlainPretokens,
    ) -> Option<()> {
        let Image { length, bytes, .. } = pretokens.image(c, normalizers)?;
        let image = std::str::from_utf8(bytes.get(..usize::from(length))?).ok()?;
        for c in image.chars() {
            if c.is_whitespace() || self.prefix.contains(c) {
                return None;
            }
            let between = match *before {
                None => Between::Nothing,
                Some(left) => self.between(Some((normalizers, pre_tokenizers)), left, c),
            };
            self.write_cut(between, pretokens).then_some(())?;
            pretokens.text.push(c);
            *before = Some(c);
        }
        Some(())
    }

    #[inline]
    fn between(&self, stages: Option<(&Normalizers, &PreTokenizers)>, left: char, right: char) -> Between {
        match (self.between.get(left as usize), stages) {
            (Some(row), _) if right.is_ascii() => row[right as usize],
            (_, Some((_, pre_tokenizers))) => pre_tokenizers.between(left, right),
            _ => Between::Unknown,
        }
    }

    /// Ends a pretoken if there is a cut. Returns whether that is known.
    #[inline]
    fn write_cut(&self, between: Between, pretokens: &mut PlainPretokens) -> bool {
        match between {
            Between::Nothing => true,
            Between::Cut if self.prefix.is_empty() => {
                pretokens.ends.push(pretokens.text.len());
                true
            }
            Between::Cut | Between::Unknown => false,
        }
    }
}

/// May the step drop a part of a word?
fn drops(step: &PreTokenizer) -> bool {
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
