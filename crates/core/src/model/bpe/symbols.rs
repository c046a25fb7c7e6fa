//! Breaking a pretoken up into the symbols that merging starts from.
//!
//! Comes in: a pretoken. Goes out: a row of symbols and where the part of the pretoken that each
//! stands for ends. What is no symbol becomes tokens for its bytes, the unknown token, or an error.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use tokenmill_kernels::try_alloc;

use crate::byte_alphabet::BYTE_TO_CHAR;
use crate::description::{EndOfWord, EndOfWordForm};
use crate::error::{Error, Kind, Place, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::vocabulary::Vocabulary;

/// A number for each of some characters.
#[derive(Debug, Clone)]
pub(super) struct CharTable {
    /// Most text is ASCII; `NO_ID` where there is none.
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

/// What becomes of what is no symbol.
#[derive(Debug)]
pub(super) struct Unknown {
    /// What stands for it.
    pub(super) unk: Option<TokenId>,
    /// Do those beside each other become one?
    pub(super) fuse: bool,
    /// The tokens `<0xNN>`, `NO_ID` where there is none; before the unknown token, if all are there.
    pub(super) bytes: Option<Box<[TokenId; 256]>>,
}

impl Unknown {
    /// The tokens `<0xNN>` are found by how they are written. Special ones are never made from text.
    pub(super) fn new(
        unk: Option<TokenId>,
        fuse: bool,
        byte_fallback: bool,
        vocabulary: &Vocabulary,
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Self {
        let find = |byte: usize| {
            let id = vocabulary.find(format!("<0x{byte:02X}>").as_bytes());
            id.filter(|&id| !is_special(id)).unwrap_or(NO_ID)
        };
        let bytes = byte_fallback.then(|| Box::new(std::array::from_fn(find)));
        Self { unk, fuse, bytes }
    }

    /// The tokens of these bytes, if all are there.
    pub(super) fn tokens_of(&self, bytes: &[u8]) -> Option<impl Iterator<Item = TokenId>> {
        let table = self.bytes.as_ref()?;
        let token = |byte: &u8| table[usize::from(*byte)];
        bytes.iter().all(|byte| token(byte) != NO_ID).then(|| bytes.iter().map(token))
    }

    /// Can nothing be unknown?
    pub(super) fn spells_all(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| !bytes.contains(&NO_ID))
    }
}

/// The error for what cannot be spelled.
pub(super) fn unknown_token(symbol: impl Into<String>, position: usize) -> Error {
    Kind::UnknownToken { symbol: symbol.into(), position: Place::Byte(position) }.into()
}

/// The list of symbols while it is filled. The caller has reserved its capacity.
///
/// Where a symbol ends is the sum of what was put before, as in the reference: it puts the tokens of
/// bytes before an unknown character that still waits for its neighbour.
pub(super) struct Row<'a> {
    pub(super) symbols: &'a mut Vec<u32>,
    pub(super) bounds: &'a mut Vec<u32>,
    at: u32,
    /// How wide an unknown symbol is that was met and not yet put.
    waiting: Option<u32>,
}

impl<'a> Row<'a> {
    pub(super) fn new(symbols: &'a mut Vec<u32>, bounds: &'a mut Vec<u32>) -> Self {
        Self { symbols, bounds, at: 0, waiting: None }
    }

    #[inline]
    fn put(&mut self, symbol: u32, width: usize) {
        self.at += to_u32(width);
        self.symbols.push(symbol);
        self.bounds.push(self.at);
    }

    /// Makes room for so many more symbols.
    fn reserve(&mut self, count: usize) -> Result<()> {
        try_alloc::reserve(self.symbols, count)?;
        Ok(try_alloc::reserve(self.bounds, count)?)
    }

    /// Puts a symbol that stands for the next `width` bytes.
    #[inline]
    fn known(&mut self, symbol: u32, width: usize, unknown: &Unknown) {
        self.settle(unknown);
        self.put(symbol, width);
    }

    fn settle(&mut self, unknown: &Unknown) {
        if let (Some(width), Some(unk)) = (self.waiting.take(), unknown.unk) {
            self.put(unk, width as usize);
        }
    }

    /// Meets `before`, `char` and `after`, which are no symbol together; only `char`, of `width`
    /// bytes, stands in the pretoken. False if nothing can stand for it.
    fn unknown(&mut self, [before, char, after]: [&str; 3], width: usize, unknown: &Unknown) -> bool {
        let parts = [(before, 0), (char, width), (after, 0)];
        if parts.iter().all(|(part, _)| unknown.tokens_of(part.as_bytes()).is_some()) {
            for (part, mut left) in parts {
                for token in unknown.tokens_of(part.as_bytes()).into_iter().flatten() {
                    let one = left.min(1);
                    left -= one;
                    self.put(token, one);
                }
            }
            return true;
        }
        if unknown.unk.is_none() {
            return false;
        }
        match &mut self.waiting {
            Some(waiting) if unknown.fuse => *waiting += to_u32(width),
            _ => {
                self.settle(unknown);
                self.waiting = Some(to_u32(width));
            }
        }
        true
    }
}

/// The symbol of each byte, `NO_ID` where there is none.
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

/// Breaks bytes up of which some are no symbols. In the reference such a byte is the character that
/// it is written as, so it is that character's bytes that are looked for as `<0xNN>`.
#[cold]
pub(super) fn break_up_bytes(
    pretoken: &[u8],
    table: &[TokenId; 256],
    unknown: &Unknown,
    mut row: Row<'_>,
) -> Result<()> {
    row.reserve(pretoken.len())?;
    for (i, &byte) in pretoken.iter().enumerate() {
        match table[usize::from(byte)] {
            NO_ID => {
                let written = BYTE_TO_CHAR[usize::from(byte)].encode_utf8(&mut [0; 4]).to_owned();
                row.reserve(written.len() + pretoken.len() - i)?;
                if !row.unknown(["", &written, ""], 1, unknown) {
                    return Err(unknown_token(format!("0x{byte:02X}"), i));
                }
            }
            id => row.known(id, 1, unknown),
        }
    }
    row.settle(unknown);
    Ok(())
}

/// Symbols that are characters, marked by where they stand in the pretoken.
#[derive(Debug)]
pub(super) struct Chars {
    prefix: String,
    suffix: String,
    /// The symbols of characters: plain, after the first (1), at the end (2), both (3).
    forms: [CharTable; 4],
    /// Which of them differ: 1 with a prefix, 2 with a suffix. The others are empty.
    differ: usize,
    /// What follows the last character.
    end: Option<TokenId>,
}

impl Chars {
    pub(super) fn new(
        prefix: Option<&str>,
        end_of_word: Option<&EndOfWord>,
        vocabulary: &Vocabulary,
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Self {
        let mark = |form| end_of_word.filter(|mark| mark.form == form).map(|mark| mark.symbol.as_str());
        let end = mark(EndOfWordForm::Separate).and_then(|symbol| vocabulary.find(symbol.as_bytes()));
        let prefix = prefix.unwrap_or_default().to_owned();
        let suffix = mark(EndOfWordForm::Suffix).unwrap_or_default().to_owned();
        let differ = usize::from(!prefix.is_empty()) + 2 * usize::from(!suffix.is_empty());
        let mut forms: [CharTable; 4] = std::array::from_fn(|_| CharTable::default());
        for (id, bytes) in vocabulary.tokens().iter() {
            // A mark of one character is no character of the text.
            let Ok(token) = std::str::from_utf8(bytes) else { continue };
            if Some(id) == end || is_special(id) {
                continue;
            }
            for (form, table) in forms.iter_mut().enumerate().filter(|(form, _)| form & !differ == 0) {
                let token = if form & 1 == 0 { Some(token) } else { token.strip_prefix(&prefix) };
                let token = token.and_then(|t| if form & 2 == 0 { Some(t) } else { t.strip_suffix(&suffix) });
                if let Some(char) = token.and_then(only_char) {
                    table.insert(char, id);
                }
            }
        }
        Self { prefix, suffix, forms, differ, end }
    }

    pub(super) fn break_up(&self, text: &str, unknown: &Unknown, mut row: Row<'_>) -> Result<()> {
        // No more characters than bytes, and an end.
        row.reserve(text.len() + 1)?;
        for (i, char) in text.char_indices() {
            let width = char.len_utf8();
            let (is_first, is_last) = (i == 0, i + width == text.len());
            let form = usize::from(!is_first) + 2 * usize::from(is_last);
            if let Some(symbol) = self.forms[form & self.differ].get(char) {
                row.known(symbol, width, unknown);
                continue;
            }
            let before = if is_first { "" } else { &self.prefix };
            let after = if is_last { &self.suffix } else { "" };
            let char = &text[i..i + width];
            // What stands for it may be more than its bytes.
            row.reserve(before.len() + after.len() + text.len() - i + 1)?;
            if !row.unknown([before, char, after], width, unknown) {
                return Err(unknown_token(char, i));
            }
        }
        row.settle(unknown);
        if let Some(end) = self.end {
            row.put(end, 0);
        }
        Ok(())
    }

    pub(super) fn memory(&self) -> usize {
        self.forms.iter().map(CharTable::memory).sum()
    }
}

/// The character that is all of `text`.
pub(super) fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
