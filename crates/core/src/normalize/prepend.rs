//! Prepends a literal, unless the text is empty. It stands for the first character, as in the
//! tokenizers library.
use super::edit::Edit;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::span::Span;

pub(super) fn apply(prefix: &str, from: AlignedText<'_>, to: &mut Rewritten) -> Outcome {
    let Some(first) = from.text.chars().next().filter(|_| !prefix.is_empty()) else { return Outcome::Same };
    let mut edit = Edit::new(from, to);
    edit.insert(0, prefix, Span::new(0, first.len_utf8()));
    edit.finish()
}
