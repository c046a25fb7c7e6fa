//! Where an error is: a position in a text, and a place in a file or table.
use std::fmt;

/// A position in a text, with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The number of bytes before it, in UTF-8 or in the bytes that were given.
    Byte(usize),
    /// The number of characters before it, as the caller counts them.
    Character(usize),
}

impl Place {
    /// The number without the unit.
    pub fn number(self) -> usize {
        match self {
            Self::Byte(number) | Self::Character(number) => number,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(number) => write!(f, "byte {number}"),
            Self::Character(number) => write!(f, "character {number}"),
        }
    }
}

/// A place in a file or table: `model.merges[17]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Name(String),
    Index(usize),
}

impl FieldPath {
    /// The first index in the path: the row of a batch.
    pub fn first_index(&self) -> Option<usize> {
        self.0.iter().find_map(|part| match part {
            Part::Index(index) => Some(*index),
            Part::Name(_) => None,
        })
    }

    pub(super) fn prepend_name(&mut self, name: String) {
        self.0.insert(0, Part::Name(name));
    }

    pub(super) fn prepend_index(&mut self, index: usize) {
        self.0.insert(0, Part::Index(index));
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            match part {
                Part::Name(name) if i == 0 => write!(f, "{name}")?,
                Part::Name(name) => write!(f, ".{name}")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
