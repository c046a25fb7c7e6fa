//! Errors for text that no token stands for.
//!
//! Comes in: a pretoken and a place in it. Goes out: an error that shows the text there, never more of it than a
//! message should hold.
use crate::error::{Error, Kind, Place};

/// Characters of a pretoken that a message shows.
const SHOWN: usize = 100;

/// The error of a symbol at a byte of the pretoken.
pub(super) fn unknown_symbol(symbol: impl Into<String>, at: usize) -> Error {
    Kind::UnknownToken { symbol: symbol.into(), position: Place::Byte(at) }.into()
}

/// The error of the character at a byte of the pretoken.
pub(super) fn unknown_char(pretoken: &[u8], at: usize) -> Error {
    let rest = pretoken[at..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let symbol = match rest.chars().next() {
        Some(char) => char.to_string(),
        None => pretoken.get(at).map_or_else(String::new, |byte| format!("0x{byte:02X}")),
    };
    unknown_symbol(symbol, at)
}

/// The error of a pretoken that is no token, or too long for the model.
pub(super) fn unknown_pretoken(pretoken: &[u8]) -> Error {
    let text = String::from_utf8_lossy(&pretoken[..pretoken.len().min(8 * SHOWN)]);
    unknown_symbol(text.chars().take(SHOWN).collect::<String>(), 0)
}
