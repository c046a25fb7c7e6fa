//! The symbols that merging starts from, for models whose symbols are ids.
//!
//! In: a pretoken. Out: a row of symbols, and where the part of the pretoken that each stands for ends. Text that
//! is no symbol becomes byte tokens, the unknown token, or an error; it must never be skipped.
use std::collections::HashMap;

use foldhash::fast::FixedState;
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::try_alloc;

use crate::byte_alphabet::{BYTE_TO_CHAR, written_byte};
use crate::description::{BpeDescription, EndOfWord, EndOfWordForm};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::unknown::{unknown_char, unknown_symbol};
use crate::vocabulary::Vocabulary;

/// Writes the row of symbols. The caller has reserved its capacity.
///
/// The end of a symbol is the sum of the widths before it, as in the reference, which may write byte tokens before
/// an earlier unknown character that still waits for its neighbour.
pub(super) struct SymbolWriter<'a> {
    symbols: &'a mut Vec<u32>,
    bounds: &'a mut Vec<u32>,
    at: u32,
    /// The width of an unknown symbol that is not written yet.
    pending: Option<u32>,
}

impl<'a> SymbolWriter<'a> {
    /// The vectors are empty.
    pub(super) fn new(symbols: &'a mut Vec<u32>, bounds: &'a mut Vec<u32>) -> Self {
        Self { symbols, bounds, at: 0, pending: None }
    }

    #[inline]
    fn push(&mut self, symbol: u32, width: usize) {
        self.at += to_u32(width);
        self.symbols.push(symbol);
        self.bounds.push(self.at);
    }

    /// Reserves capacity for `count` more symbols.
    fn reserve(&mut self, count: usize) -> Result<()> {
        try_alloc::reserve(self.symbols, count)?;
        Ok(try_alloc::reserve(self.bounds, count)?)
    }

    /// Writes a symbol that stands for the next `width` bytes.
    #[inline]
    fn write(&mut self, symbol: u32, width: usize, fallback: &Fallback) {
        self.flush(fallback);
        self.push(symbol, width);
    }

    /// Writes the pending unknown symbol.
    fn flush(&mut self, fallback: &Fallback) {
        if let (Some(width), Some(unk)) = (self.pending.take(), fallback.unk) {
            self.push(unk, width as usize);
        }
    }

    /// Writes `before`, `char` and `after`, which together are no symbol; only `char`, of `width` bytes, is in the
    /// pretoken. Returns false if no token can stand for it.
    fn write_unknown(&mut self, [before, char, after]: [&str; 3], width: usize, fallback: &Fallback) -> bool {
        let parts = [(before, 0), (char, width), (after, 0)];
        if parts.iter().all(|(part, _)| fallback.tokens_of(part.as_bytes()).is_some()) {
            for (part, mut left) in parts {
                for token in fallback.tokens_of(part.as_bytes()).into_iter().flatten() {
                    let one = left.min(1);
                    left -= one;
                    self.push(token, one);
                }
            }
            return true;
        }
        if fallback.unk.is_none() {
            return false;
        }
        match &mut self.pending {
            Some(pending) if fallback.fuse => *pending += to_u32(width),
            _ => {
                self.flush(fallback);
                self.pending = Some(to_u32(width));
            }
        }
        true
    }
}

/// The symbol of each byte; `NO_ID` if there is none.
pub(super) fn byte_symbols(
    vocabulary: &Vocabulary,
    is_special: &dyn Fn(TokenId) -> bool,
) -> Box<[TokenId; 256]> {
    let mut table = Box::new([NO_ID; 256]);
    for (id, bytes) in vocabulary.tokens().iter() {
        if let &[byte] = bytes
            && !is_special(id)
        {
            table[usize::from(byte)] = id;
        }
    }
    table
}

/// Splits a pretoken into bytes, some of which are no symbols. In the reference a byte is its character in the byte
/// alphabet, so for a missing one the bytes of that character are looked up as `<0xNN>`.
#[cold]
pub(super) fn split_bytes(
    pretoken: &[u8],
    table: &[TokenId; 256],
    fallback: &Fallback,
    mut row: SymbolWriter<'_>,
) -> Result<()> {
    row.reserve(pretoken.len())?;
    for (i, &byte) in pretoken.iter().enumerate() {
        match table[usize::from(byte)] {
            NO_ID => {
                let written = BYTE_TO_CHAR[usize::from(byte)].encode_utf8(&mut [0; 4]).to_owned();
                row.reserve(written.len() + pretoken.len() - i)?;
                if !row.write_unknown(["", &written, ""], 1, fallback) {
                    return Err(unknown_char(pretoken, i));
                }
            }
            id => row.write(id, 1, fallback),
        }
    }
    row.flush(fallback);
    Ok(())
}

/// Symbols that are characters, in the forms that depend on their position in the pretoken.
#[derive(Debug)]
pub(super) struct Chars {
    prefix: String,
    suffix: String,
    /// The symbols of characters by form: plain (0), after the first (1), at the end (2), both (3).
    forms: [CharTable; 4],
    /// Which forms differ: 1 with a prefix, 2 with a suffix. The tables of others are empty.
    differ: usize,
    /// The symbol after the last character.
    end: Option<TokenId>,
}

impl Chars {
    pub(super) fn new(
        prefix: Option<&str>,
        end_of_word: Option<&EndOfWord>,
        vocabulary: &Vocabulary,
    ) -> Self {
        let mut chars = Self::without_symbols(prefix, end_of_word);
        let separate = end_of_word.filter(|mark| mark.form == EndOfWordForm::Separate);
        chars.end = separate.and_then(|mark| vocabulary.find(mark.symbol.as_bytes()));
        let Self { prefix, suffix, forms, differ, end } = &mut chars;
        for (id, bytes) in vocabulary.tokens().iter() {
            // An end-of-word symbol of one character is not a character of the text.
            let Ok(token) = std::str::from_utf8(bytes) else { continue };
            if Some(id) == *end || vocabulary.is_special(id) {
                continue;
            }
            for (form, table) in forms.iter_mut().enumerate().filter(|(form, _)| form & !*differ == 0) {
                let token = if form & 1 == 0 { Some(token) } else { token.strip_prefix(&**prefix) };
                let token =
                    token.and_then(|t| if form & 2 == 0 { Some(t) } else { t.strip_suffix(&**suffix) });
                if let Some(char) = token.and_then(only_char) {
                    table.insert(char, id);
                }
            }
        }
        chars
    }

    /// The forms that differ, without the symbols.
    fn without_symbols(prefix: Option<&str>, end_of_word: Option<&EndOfWord>) -> Self {
        let prefix = prefix.unwrap_or_default().to_owned();
        let is_suffix = |mark: &&EndOfWord| mark.form == EndOfWordForm::Suffix;
        let suffix = end_of_word.filter(is_suffix).map(|mark| mark.symbol.clone()).unwrap_or_default();
        let differ = usize::from(!prefix.is_empty()) + 2 * usize::from(!suffix.is_empty());
        let forms = std::array::from_fn(|_| CharTable::default());
        Self { prefix, suffix, forms, differ, end: None }
    }

    /// Appends the symbols to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        self.forms.iter().for_each(|table| table.write(image));
        image.number(u64::from(self.end.unwrap_or(NO_ID)));
    }

    /// The symbols of an image, for the same settings.
    pub(super) fn read(
        prefix: Option<&str>,
        end_of_word: Option<&EndOfWord>,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        let mut chars = Self::without_symbols(prefix, end_of_word);
        for table in &mut chars.forms {
            *table = CharTable::read(image)?;
        }
        chars.end = Some(image.number_below(1 << 32)?).filter(|&id| id != NO_ID);
        Ok(chars)
    }

    pub(super) fn split(&self, text: &str, fallback: &Fallback, mut row: SymbolWriter<'_>) -> Result<()> {
        // At most one symbol for each byte, and the end-of-word symbol.
        row.reserve(text.len() + 1)?;
        for (i, char) in text.char_indices() {
            let width = char.len_utf8();
            let (is_first, is_last) = (i == 0, i + width == text.len());
            let form = usize::from(!is_first) + 2 * usize::from(is_last);
            if let Some(symbol) = self.forms[form & self.differ].get(char) {
                row.write(symbol, width, fallback);
                continue;
            }
            let before = if is_first { "" } else { &self.prefix };
            let after = if is_last { &self.suffix } else { "" };
            let char = &text[i..i + width];
            // It may become more tokens than it has bytes.
            row.reserve(before.len() + after.len() + text.len() - i + 1)?;
            if !row.write_unknown([before, char, after], width, fallback) {
                return Err(unknown_symbol(char, i));
            }
        }
        row.flush(fallback);
        if let Some(end) = self.end {
            row.push(end, 0);
        }
        Ok(())
    }

    pub(super) fn memory(&self) -> usize {
        self.forms.iter().map(CharTable::memory).sum()
    }
}

/// A table from characters to numbers.
#[derive(Debug, Clone)]
pub(super) struct CharTable {
    /// For ASCII, which most text is; [`NO_ID`] if a character has no number.
    ascii: [u32; 128],
    others: HashMap<char, u32, FixedState>,
}

impl Default for CharTable {
    fn default() -> Self {
        Self { ascii: [NO_ID; 128], others: HashMap::default() }
    }
}

impl CharTable {
    pub(super) fn insert(&mut self, char: char, number: u32) {
        match self.ascii.get_mut(char as usize) {
            Some(slot) => *slot = number,
            None => _ = self.others.insert(char, number),
        }
    }

    #[inline]
    pub(super) fn get(&self, char: char) -> Option<u32> {
        match self.ascii.get(char as usize) {
            Some(&number) => (number != NO_ID).then_some(number),
            None => self.others.get(&char).copied(),
        }
    }

    pub(super) fn memory(&self) -> usize {
        // A slot holds key and value, and there are at most twice as many slots as entries.
        self.others.capacity() * 16
    }
}

/// Small enough to be copied.
impl InImage for CharTable {
    fn write(&self, image: &mut ImageWriter) {
        let mut others: Vec<[u32; 2]> =
            self.others.iter().map(|(&char, &number)| [char.into(), number]).collect();
        others.sort_unstable();
        image.array(&self.ascii);
        image.array(&others);
    }

    fn read(image: &mut ImageReader) -> std::result::Result<Self, ImageError> {
        let ascii = *image.copy()?;
        let others = image.array::<[u32; 2]>()?;
        let entry = |&[char, number]: &[u32; 2]| Some((char::from_u32(char)?, number));
        let others = others.iter().map(entry).collect::<Option<_>>();
        Ok(Self { ascii, others: others.ok_or(ImageError::Inconsistent("a symbol is no character"))? })
    }
}

/// The only character of `text`; `None` if it has another number of characters.
pub(super) fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// The tokens for text that is no symbol.
#[derive(Debug)]
pub(super) struct Fallback {
    /// The unknown token.
    pub(super) unk: Option<TokenId>,
    /// Do adjacent unknown symbols become one token?
    pub(super) fuse: bool,
    /// The tokens `<0xNN>`; [`NO_ID`] for a missing one. They are preferred to the unknown token, if all that are
    /// needed exist.
    bytes: Option<Box<[TokenId; 256]>>,
}

impl Fallback {
    /// Finds the tokens `<0xNN>` by their written form. Special ones are never made from text.
    pub(super) fn new(
        &BpeDescription { unk, fuse_unk, byte_fallback, .. }: &BpeDescription,
        vocabulary: &Vocabulary,
    ) -> Self {
        let find = |byte: usize| {
            let id = vocabulary.find(written_byte(byte as u8).as_bytes());
            id.filter(|&id| !vocabulary.is_special(id)).unwrap_or(NO_ID)
        };
        let bytes = byte_fallback.then(|| Box::new(std::array::from_fn(find)));
        Self { unk, fuse: fuse_unk, bytes }
    }

    /// Appends the tokens to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        if let Some(bytes) = &self.bytes {
            image.array(&bytes[..]);
        }
    }

    /// The tokens of an image, for the same description.
    pub(super) fn read(
        &BpeDescription { unk, fuse_unk, byte_fallback, .. }: &BpeDescription,
        image: &mut ImageReader,
    ) -> std::result::Result<Self, ImageError> {
        let bytes = if byte_fallback { Some(image.copy()?) } else { None };
        Ok(Self { unk, fuse: fuse_unk, bytes })
    }

    /// The tokens `<0xNN>` of these bytes, if all are there.
    pub(super) fn tokens_of(&self, bytes: &[u8]) -> Option<impl Iterator<Item = TokenId>> {
        let table = self.bytes.as_ref()?;
        let token = |byte: &u8| table[usize::from(*byte)];
        bytes.iter().all(|byte| token(byte) != NO_ID).then(|| bytes.iter().map(token))
    }

    /// Can every text be spelled, so that nothing is unknown?
    pub(super) fn spells_all(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| !bytes.contains(&NO_ID))
    }
}
