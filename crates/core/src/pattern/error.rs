//! The error of a pattern that cannot be compiled or translated.
use crate::error::{Error, Kind};

/// `byte` is a byte position in the pattern, as parsers report it. The error has the position in characters.
pub(super) fn pattern_error(pattern: &str, byte: Option<usize>, reason: impl Into<String>) -> Error {
    let position =
        byte.map(|byte| pattern.char_indices().take_while(|&(at, c)| at + c.len_utf8() <= byte).count());
    Kind::Pattern { pattern: pattern.to_owned(), position, searched_from: None, reason: reason.into() }.into()
}
