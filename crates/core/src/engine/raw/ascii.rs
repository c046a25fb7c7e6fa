//! Words of ASCII: what the stages make of them, by tables.
//!
//! In: a word that misses the cache. Out: its pretokens. They must be those of the stages; a word of which that is not
//! known takes the way through them.
use crate::description::{Description, PreTokenizer, PrependScheme};
use crate::normalize::Normalizers;
use crate::pretokenize::PreTokenizers;

/// What the stages make of ASCII characters other than white space.
#[derive(Debug)]
pub(in crate::engine) struct AsciiWords {
    /// What each character becomes; 0 where that is not known.
    images: [u8; 128],
    /// For each image, a bit for each that may follow: is there always a cut between the two, or never?
    cuts: [u128; 128],
    joins: [u128; 128],
    /// What is put before a word. If there is something, words must be one pretoken.
    prefix: String,
}

/// The pretokens of a word: their text, and where each ends.
#[derive(Debug, Default)]
pub(in crate::engine) struct AsciiPretokens {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl AsciiPretokens {
    /// The pretokens in order.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }

    /// The only one.
    pub(in crate::engine) fn only(&self) -> Option<&[u8]> {
        (self.ends.len() == 1).then_some(&self.text)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

impl AsciiWords {
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
            [_, rest @ ..] if rest.iter().any(puts_before) => return None,
            _ => String::new(),
        };
        let image = |code: u8| {
            let image = normalizers.kept_in_ascii(char::from(code));
            let is_fine = |image: &char| image.is_ascii_graphic() && !prefix.starts_with(*image);
            image.filter(|image| code.is_ascii_graphic() && is_fine(image)).map_or(0, |image| image as u8)
        };
        let images: [u8; 128] = std::array::from_fn(|code| image(code as u8));
        let (mut cuts, mut joins) = ([0; 128], [0; 128]);
        for left in images.into_iter().filter(|&image| image != 0) {
            for right in images.into_iter().filter(|&image| image != 0) {
                let pair = (char::from(left), char::from(right));
                let (row, bit) = (usize::from(left), 1 << right);
                cuts[row] |= if pre_tokenizers.cuts_between(pair.0, pair.1) { bit } else { 0 };
                joins[row] |= if pre_tokenizers.joins(pair.0, pair.1) { bit } else { 0 };
            }
        }
        Some(Self { images, cuts, joins, prefix })
    }

    /// Writes the pretokens of a word. Returns whether they are known; else nothing is said of what was written.
    pub(in crate::engine) fn write(&self, word: &[u8], pretokens: &mut AsciiPretokens) -> bool {
        let AsciiPretokens { text, ends } = pretokens;
        text.clear();
        ends.clear();
        text.extend_from_slice(self.prefix.as_bytes());
        let mut before = 0;
        for &byte in word {
            let Some(&image) = self.images.get(usize::from(byte)).filter(|&&image| image != 0) else {
                return false;
            };
            if before != 0 {
                let (row, bit) = (usize::from(before), 1 << image);
                if self.cuts[row] & bit != 0 && self.prefix.is_empty() {
                    ends.push(text.len());
                } else if self.joins[row] & bit == 0 {
                    return false;
                }
            }
            text.push(image);
            before = image;
        }
        ends.push(text.len());
        before != 0
    }
}

/// May the step put something in front of a piece, or write its characters in another way?
fn puts_before(step: &PreTokenizer) -> bool {
    matches!(step, PreTokenizer::Metaspace { .. } | PreTokenizer::PrefixSpace | PreTokenizer::ByteAlphabet)
}
