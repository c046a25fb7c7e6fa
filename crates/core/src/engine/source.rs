//! Texts that are not kept as UTF-8, and are read as that where it is needed.
use std::ops::Range;

use tokenmill_kernels::Ahead;

use super::encode::Text;
use crate::error::Result;

/// A text in code units of its own, such as a string of Python.
pub trait CodeUnits: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Are there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes of UTF-8 they are, rather too many than too few.
    fn bytes(&self) -> usize;

    /// Appends the characters of some units; says where they end, which is behind the last of them where that is only a
    /// part of a character.
    ///
    /// # Errors
    /// Where there are units that stand for no character.
    fn append(&self, units: Range<usize>, text: &mut String) -> Result<usize>;

    /// The memory of all units from there on.
    fn ahead(&self, from: usize) -> Ahead;
}

/// A text of a batch.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// As it is.
    Text(Text<'a>),
    /// Read when its turn comes, so that it is near when it is encoded, and by the thread that does it.
    Units(&'a dyn CodeUnits),
}

impl Source<'_> {
    /// About how many bytes it has.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.as_bytes().len(),
            Self::Units(units) => units.bytes(),
        }
    }

    /// The text, perhaps in `room`.
    ///
    /// # Errors
    /// As [`CodeUnits::append`].
    pub(super) fn read<'a>(&'a self, room: &'a mut String) -> Result<Text<'a>> {
        match self {
            Self::Text(text) => Ok(*text),
            Self::Units(units) => {
                room.clear();
                units.append(0..units.len(), room)?;
                Ok(Text::Str(room))
            }
        }
    }
}
