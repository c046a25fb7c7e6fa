//! What a step of normalization did with a text.
use crate::span::Span;

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing.
    Same,
    /// This part is left.
    Part(Span),
    /// There is a new text.
    New,
}
