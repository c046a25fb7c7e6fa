//! Turns the matches of a split and the gaps between them into pieces, by the split's behavior.
use crate::description::Behavior;
use crate::error::Result;
use crate::span::Span;

/// Takes matches and gaps in the order of the text and emits pieces. No piece is empty; an empty
/// match ends the piece before it.
pub(super) struct Joiner {
    behavior: Behavior,
    invert: bool,
    /// A span that the next one may join.
    pending: Option<Span>,
    /// Was the last span a match?
    was_match: bool,
}

impl Joiner {
    /// `invert` swaps matches and gaps.
    pub(super) fn new(behavior: Behavior, invert: bool) -> Self {
        Self { behavior, invert, pending: None, was_match: false }
    }

    /// Takes the next span of the text.
    #[inline]
    pub(super) fn push(
        &mut self,
        span: Span,
        is_match: bool,
        emit: &mut impl FnMut(Span) -> Result<()>,
    ) -> Result<()> {
        let is_match = is_match != self.invert;
        let was_match = std::mem::replace(&mut self.was_match, is_match);
        let joins = match self.behavior {
            Behavior::Removed if is_match => return Ok(()),
            Behavior::Removed | Behavior::Isolated => return emit_nonempty(span, emit),
            Behavior::Contiguous => is_match == was_match,
            Behavior::MergedWithPrevious => is_match && !was_match,
            Behavior::MergedWithNext => was_match && !is_match,
        };
        match &mut self.pending {
            Some(pending) if joins => {
                pending.end = span.end;
                Ok(())
            }
            pending => pending.replace(span).map_or(Ok(()), |done| emit_nonempty(done, emit)),
        }
    }

    /// Ends the text.
    pub(super) fn finish(self, emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
        self.pending.map_or(Ok(()), |span| emit_nonempty(span, emit))
    }
}

#[inline]
fn emit_nonempty(span: Span, emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
    if span.is_empty() { Ok(()) } else { emit(span) }
}
