//! What becomes of the matches of a split.
use crate::description::Behavior;
use crate::error::Result;
use crate::span::Span;

/// Takes the matches and the gaps of a text in order, and gives out its pieces. None is empty; an
/// empty match ends the piece before it.
pub(super) struct Joiner {
    behavior: Behavior,
    invert: bool,
    /// What is not given out yet, because the next span may join it.
    pending: Option<Span>,
    /// Was the last span a match?
    was_match: bool,
}

impl Joiner {
    /// With `invert` gaps are taken for matches and the other way round.
    pub(super) fn new(behavior: Behavior, invert: bool) -> Self {
        Self { behavior, invert, pending: None, was_match: false }
    }

    /// The next span of the text.
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
            Behavior::Removed | Behavior::Isolated => return give(span, emit),
            Behavior::Contiguous => is_match == was_match,
            Behavior::MergedWithPrevious => is_match && !was_match,
            Behavior::MergedWithNext => was_match && !is_match,
        };
        match &mut self.pending {
            Some(pending) if joins => {
                pending.end = span.end;
                Ok(())
            }
            pending => pending.replace(span).map_or(Ok(()), |done| give(done, emit)),
        }
    }

    /// The text ends.
    pub(super) fn finish(self, emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
        self.pending.map_or(Ok(()), |span| give(span, emit))
    }
}

#[inline]
fn give(span: Span, emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
    if span.is_empty() { Ok(()) } else { emit(span) }
}
