//! Spaces become a visible mark, one is prepended, and each starts a piece.
//!
//! One pass: a piece with a space, or with a prepended mark, is rewritten; others are passed on unchanged.
use crate::aligned::{AlignedText, Rewritten};
use crate::description::PrependScheme;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// See [`PreTokenizer::Metaspace`](crate::description::PreTokenizer).
#[derive(Debug, Clone, Copy)]
pub(super) struct Metaspace {
    pub(super) replacement: char,
    pub(super) prepend: PrependScheme,
    pub(super) split: bool,
}

impl Metaspace {
    /// Does it write this character as a mark?
    pub(super) fn marks(self, c: char) -> bool {
        c == ' ' || c == self.replacement
    }

    /// Does the step depend on the position in the caller's text?
    pub(super) fn needs_origins(self) -> bool {
        self.prepend == PrependScheme::First
    }

    pub(super) fn apply(
        self,
        piece: AlignedText<'_>,
        buffer: &mut Rewritten,
        ticker: &mut Ticker<'_>,
        emit: &mut super::Emit<'_>,
    ) -> Result<()> {
        let is_mark = |c: char| c == ' ' || c == self.replacement;
        // A piece that starts with a space or mark gets no other.
        let prefixed = !piece.text.starts_with(is_mark)
            && match self.prepend {
                PrependScheme::Always => true,
                // At the start of the caller's text: text that a normalizer removed counts.
                PrependScheme::First => piece.is_at_start(),
                PrependScheme::Never => false,
            };
        if !self.split {
            return self.emit_part(piece, prefixed, buffer, ticker, emit);
        }
        let mut start = 0;
        let mut prefixed = prefixed;
        for (at, _) in piece.text.match_indices(is_mark) {
            if start < at {
                let part = piece.slice(Span::new(start, at));
                self.emit_part(part, std::mem::take(&mut prefixed), buffer, ticker, emit)?;
            }
            start = at;
        }
        self.emit_part(piece.slice(Span::new(start, piece.text.len())), prefixed, buffer, ticker, emit)
    }

    fn emit_part(
        self,
        piece: AlignedText<'_>,
        prefixed: bool,
        buffer: &mut Rewritten,
        ticker: &mut Ticker<'_>,
        emit: &mut super::Emit<'_>,
    ) -> Result<()> {
        ticker.spend(piece.text.len())?;
        if !prefixed && !piece.text.contains(' ') {
            return emit(piece, ticker);
        }
        buffer.start(piece);
        if prefixed {
            let first = piece.text.chars().next().map_or(0, char::len_utf8);
            buffer.put_char(self.replacement, piece, Span::new(0, first));
        }
        let mut done = 0;
        for (at, _) in piece.text.match_indices(' ') {
            buffer.keep(piece, Span::new(done, at));
            buffer.put_char(self.replacement, piece, Span::new(at, at + 1));
            ticker.spend(at + 1 - done)?;
            done = at + 1;
        }
        buffer.keep(piece, Span::new(done, piece.text.len()));
        buffer.check()?;
        emit(buffer.piece(), ticker)
    }
}
