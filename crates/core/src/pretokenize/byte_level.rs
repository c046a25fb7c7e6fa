//! The two parts of byte-level pre-tokenization that rewrite text: a prepended space, and bytes as
//! characters of the byte alphabet.
use crate::aligned::{AlignedText, Rewritten};
use crate::byte_alphabet::BYTE_TO_CHAR;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Puts a space before a piece that does not start with one; it stands for the first character.
pub(super) fn prefix_space(
    piece: AlignedText<'_>,
    buffer: &mut Rewritten,
    ticker: &mut Ticker<'_>,
    emit: &mut super::Emit<'_>,
) -> Result<()> {
    if piece.text.starts_with(' ') {
        return emit(piece, ticker);
    }
    ticker.spend(piece.text.len())?;
    let first = piece.text.chars().next().map_or(0, char::len_utf8);
    buffer.start(piece);
    buffer.put_char(' ', piece, Span::new(0, first));
    buffer.keep(piece, Span::new(0, piece.text.len()));
    buffer.check()?;
    emit(buffer.piece(), ticker)
}

/// Writes every byte as its character in the byte alphabet, which has the origin of the byte.
pub(super) fn byte_alphabet(
    piece: AlignedText<'_>,
    buffer: &mut Rewritten,
    ticker: &mut Ticker<'_>,
    emit: &mut super::Emit<'_>,
) -> Result<()> {
    // Printable ASCII is unchanged.
    if piece.text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return emit(piece, ticker);
    }
    buffer.start(piece);
    for (at, byte) in piece.text.bytes().enumerate() {
        ticker.spend(1)?;
        buffer.put_char(BYTE_TO_CHAR[usize::from(byte)], piece, Span::new(at, at + 1));
    }
    buffer.check()?;
    emit(buffer.piece(), ticker)
}
