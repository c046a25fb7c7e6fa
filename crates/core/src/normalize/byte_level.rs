//! Writes every byte as its character in the byte alphabet.
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::byte_alphabet::BYTE_TO_CHAR;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

pub(super) fn apply(from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
    if from.text.is_empty() {
        return Ok(Outcome::Same);
    }
    to.start(from);
    for (at, byte) in from.text.bytes().enumerate() {
        ticker.spend(2)?;
        to.put_char(BYTE_TO_CHAR[usize::from(byte)], from, Span::new(at, at + 1));
    }
    Ok(Outcome::New)
}
