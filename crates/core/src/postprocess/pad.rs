//! Encodings made equally long.
use super::OutputPart;
use crate::description::{Padding, PaddingLength, Side};
use crate::error::{Error, Result};
use crate::ids::TokenId;

/// Ids of padding in one encoding.
const LENGTH_LIMIT: usize = 1 << 30;

/// The padding of a call: to which length, where and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad {
    length: usize,
    direction: Side,
    id: TokenId,
    type_id: u32,
}

/// The length that encodings are padded to, the longest of which has `longest` ids.
///
/// # Errors
/// A wrong argument: the length is out of reason.
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
    /// Padding of encodings, the longest of which has `longest` ids.
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

    /// Pads one; a longer one stays as it is.
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
