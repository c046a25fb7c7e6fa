//! Errors for text that the vocabulary cannot spell.
//!
//! In: a pretoken and a position in it. Out: an error that shows the text there, cut to a length that fits into a
//! message.
use crate::error::{Error, Kind, Place};

/// The most characters of a pretoken that a message shows.
const SHOWN: usize = 100;

/// The error for a symbol at a byte of the pretoken.
pub(super) fn unknown_symbol(symbol: impl Into<String>, at: usize) -> Error {
    Kind::UnknownToken { symbol: symbol.into(), position: Place::Byte(at) }.into()
}

/// The error for the character at a byte of the pretoken.
pub(super) fn unknown_char(pretoken: &[u8], at: usize) -> Error {
    let rest = pretoken[at..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let symbol = match rest.chars().next() {
        Some(char) => char.to_string(),
        None => pretoken.get(at).map_or_else(String::new, |byte| format!("0x{byte:02X}")),
    };
    unknown_symbol(symbol, at)
}

/// The error for a pretoken that is no token, or is too long for the model.
pub(super) fn unknown_pretoken(pretoken: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&pretoken[..pretoken.len().min(8 * SHOWN)]);
    unknown_symbol(text.chars().take(SHOWN).collect::<String>(), 0)
}
