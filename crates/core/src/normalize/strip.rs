//! Removes white space at the ends; the result is a part of the text.
use super::outcome::Outcome;
use crate::aligned::AlignedText;
use crate::span::Span;

pub(super) fn apply(from: AlignedText<'_>, left: bool, right: bool) -> Outcome {
    let text = from.text;
    let start = if left { text.len() - text.trim_start().len() } else { 0 };
    let end = if right { start + text[start..].trim_end().len() } else { text.len() };
    if end - start == text.len() { Outcome::Same } else { Outcome::Part(Span::new(start, end)) }
}
