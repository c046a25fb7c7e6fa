//! The result of a normalization step: unchanged, a part of the text, or a new text.
use crate::span::Span;

/// The result of a normalization step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The text is unchanged.
    Same,
    /// The result is this part of the text.
    Part(Span),
    /// The result is a new text.
    New,
}
