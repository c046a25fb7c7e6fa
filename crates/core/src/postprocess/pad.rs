//! Padding: encodings of equal length.
use super::OutputPart;
use crate::description::{Padding, PaddingLength, Side};
use crate::error::{Error, Result};
use crate::ids::TokenId;

/// Maximum number of ids in a padded encoding.
const LENGTH_LIMIT: usize = 1 << 30;

/// The padding of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad {
    length: usize,
    direction: Side,
    id: TokenId,
    type_id: u32,
}

/// The length to which encodings are padded; `longest` is the number of ids of the longest one.
///
/// # Errors
/// An argument error for a length above the limit.
pub fn padded_length(padding: &Padding, longest: usize) -> Result<usize> {
    let length = match padding.length {
        PaddingLength::Longest => longest,
        PaddingLength::Fixed(length) => length,
    };
    let multiple = padding.multiple_of.unwrap_or(0).max(1);
    let rounded =
        length.checked_next_multiple_of(multiple).filter(|&length| length <= LENGTH_LIMIT.max(longest));
    rounded.ok_or_else(|| {
        Error::argument(format!("padding to {length} ids, a multiple of {multiple}, is too much"))
    })
}

impl Pad {
    /// The padding of a batch; `longest` is the number of ids of the longest encoding.
    ///
    /// # Errors
    /// As [`padded_length`].
    pub fn new(padding: &Padding, longest: usize) -> Result<Self> {
        Ok(Self {
            length: padded_length(padding, longest)?,
            direction: padding.direction,
            id: padding.id,
            type_id: padding.type_id,
        })
    }

    /// Pads one encoding; a longer one is unchanged.
    pub fn apply(&self, parts: &mut Vec<OutputPart>) {
        let now: usize = parts.iter().map(OutputPart::len).sum();
        if now >= self.length {
            return;
        }
        let padding = OutputPart::Padding { count: self.length - now, id: self.id, type_id: self.type_id };
        match self.direction {
            Side::Left => parts.insert(0, padding),
            Side::Right => parts.push(padding),
        }
    }
}
