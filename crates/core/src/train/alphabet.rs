//! The alphabet of training: the base symbols, and pretokens spelled in them.
use super::characters::Characters;
use super::options::{BpeOptions, TrainAlphabet};
use super::types::{Types, text};
use crate::description::{EndOfWord, EndOfWordForm};
use crate::error::{Error, Result};
use crate::watch::Ticker;

/// The base symbols, in the order of their ids.
#[derive(Debug)]
pub(super) struct Alphabet {
    /// The bytes of each symbol in the vocabulary.
    pub(super) symbols: Vec<Vec<u8>>,
    /// The length of each symbol as counted by `max_token_length`.
    pub(super) sizes: Vec<u32>,
    coding: Coding,
}

#[derive(Debug)]
enum Coding {
    Bytes,
    Chars {
        /// The symbol of each character, by code point.
        plain: Vec<u32>,
        last: Last,
    },
}

/// The form of the end of a pretoken.
#[derive(Debug)]
enum Last {
    Plain,
    /// This symbol follows the last character.
    Mark(u32),
    /// The last character becomes the symbol at its code point.
    Glued(Vec<u32>),
}

/// In place of a symbol: the character does not occur, or is not covered.
pub(super) const UNSEEN: u32 = u32::MAX;

impl Alphabet {
    /// The alphabet of these pretokens.
    ///
    /// # Errors
    /// A training error if a character of the text is the end-of-word symbol.
    pub(super) fn new(options: &BpeOptions, types: &Types, ticker: &mut Ticker<'_>) -> Result<Self> {
        match options.alphabet {
            TrainAlphabet::Bytes => Ok(Self {
                symbols: (0..=u8::MAX).map(|byte| vec![byte]).collect(),
                sizes: vec![1; 256],
                coding: Coding::Bytes,
            }),
            TrainAlphabet::Chars => {
                let characters = Characters::new(&options.characters, None, None, types, ticker)?;
                Self::of_chars(options.end_of_word.as_ref(), &characters, types, ticker)
            }
        }
    }

    fn of_chars(
        mark: Option<&EndOfWord>,
        characters: &Characters,
        types: &Types,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let glue = mark.is_some_and(|mark| mark.form == EndOfWordForm::Suffix);
        let mut plain: Vec<u32> = Vec::new();
        let mut glued: Vec<u32> = Vec::new();
        for (bytes, _) in types.iter() {
            ticker.spend(bytes.len())?;
            let text = text(bytes)?;
            let head = match text.char_indices().next_back() {
                Some((at, last)) if glue => {
                    if characters.covers(last) {
                        see(&mut glued, last);
                    }
                    &text[..at]
                }
                _ => text,
            };
            for char in head.chars().filter(|&char| characters.covers(char)) {
                see(&mut plain, char);
            }
        }
        for char in characters.unseen() {
            see(&mut plain, char);
            if glue {
                see(&mut glued, char);
            }
        }
        if let Some(mark) = mark {
            let mut chars = mark.symbol.chars();
            if let (Some(only), None) = (chars.next(), chars.next())
                && [&plain, &glued].iter().any(|seen| seen.get(only as usize).is_some_and(|&s| s != UNSEEN))
            {
                return Err(Error::training(format!(
                    "the text holds the end-of-word symbol {:?}; choose one that it does not hold",
                    mark.symbol
                ))
                .at("end_of_word"));
            }
        }
        let mut symbols = Vec::new();
        number(&mut plain, "", &mut symbols);
        number(&mut glued, mark.map_or("", |mark| &mark.symbol), &mut symbols);
        let mut sizes = vec![1; symbols.len()];
        let last = match mark {
            None => Last::Plain,
            Some(_) if glue => Last::Glued(glued),
            Some(mark) => {
                symbols.push(mark.symbol.clone().into_bytes());
                sizes.push(0);
                Last::Mark(symbols.len() as u32 - 1)
            }
        };
        Ok(Self { symbols, sizes, coding: Coding::Chars { plain, last } })
    }

    /// Calls `emit` with the symbols of a pretoken, in order; [`UNSEEN`] for a character that is not covered.
    pub(super) fn spell(&self, bytes: &[u8], mut emit: impl FnMut(u32)) -> Result<()> {
        let Coding::Chars { plain, last } = &self.coding else {
            for &byte in bytes {
                emit(u32::from(byte));
            }
            return Ok(());
        };
        let text = text(bytes)?;
        let mut chars = text.chars();
        let of = |symbols: &[u32], char: char| symbols.get(char as usize).copied().unwrap_or(UNSEEN);
        let end = match last {
            Last::Plain => None,
            Last::Mark(mark) => Some(*mark),
            Last::Glued(glued) => chars.next_back().map(|char| of(glued, char)),
        };
        for char in chars {
            emit(of(plain, char));
        }
        if let Some(end) = end {
            emit(end);
        }
        Ok(())
    }
}

/// Marks a character as one that occurs.
pub(super) fn see(seen: &mut Vec<u32>, char: char) {
    let at = char as usize;
    if seen.len() <= at {
        seen.resize(at + 1, UNSEEN);
    }
    seen[at] = 0;
}

/// Numbers the characters that occur, by code point, after the existing symbols.
fn number(seen: &mut [u32], suffix: &str, symbols: &mut Vec<Vec<u8>>) {
    for (at, symbol) in seen.iter_mut().enumerate().filter(|(_, symbol)| **symbol != UNSEEN) {
        *symbol = symbols.len() as u32;
        let char = char::from_u32(at as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        symbols.push(format!("{char}{suffix}").into_bytes());
    }
}
