//! The position of a text in the arguments of a call, as errors name it: `texts[3]`, `pair[3][2]`.
use std::fmt;

use tokenmill_core::error::{Error, FieldPath};

/// The position of a text: an argument, and the indices within it.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentPlace {
    argument: &'static str,
    indices: [Option<usize>; 3],
    /// Is it the only text of the call? Then errors need not name it.
    is_only: bool,
}

/// How errors name the sequences of a call's samples.
#[derive(Clone, Copy)]
pub(crate) enum Naming {
    /// One sample: `text`, `pair`.
    One,
    /// A list of each: `text[3]`, `pair[3]`.
    Lists,
    /// A list: `texts[3]`.
    Texts,
    /// A list of texts and of pairs: `input[3]`, `input[3][1]`.
    Inputs,
}

impl ArgumentPlace {
    /// The only text of a call.
    pub(crate) const TEXT: Self = Self { is_only: true, ..Self::argument("text") };

    pub(crate) const fn argument(argument: &'static str) -> Self {
        Self { argument, indices: [None; 3], is_only: false }
    }

    /// The position of an item of this one.
    pub(crate) fn item(mut self, index: usize) -> Self {
        if let Some(free) = self.indices.iter_mut().find(|one| one.is_none()) {
            *free = Some(index);
        }
        self.is_only = false;
        self
    }

    /// ` in texts[3]`; nothing for the only text of a call.
    pub(crate) fn suffix(self) -> String {
        if self.is_only { String::new() } else { format!(" in {self}") }
    }

    /// The same error with this position instead of that of the core.
    pub(crate) fn locate(self, mut error: Error) -> Error {
        error.field = FieldPath::default();
        if self.is_only {
            return error;
        }
        let error = self.indices.into_iter().flatten().rev().fold(error, Error::at_index);
        error.at(self.argument)
    }
}

impl fmt::Display for ArgumentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.argument)?;
        self.indices.iter().flatten().try_for_each(|index| write!(f, "[{index}]"))
    }
}

impl Naming {
    /// The position of a sequence of a sample that has `count` sequences.
    pub(crate) fn place(self, row: usize, sequence: usize, count: usize) -> ArgumentPlace {
        let argument = ArgumentPlace::argument(if sequence == 0 { "text" } else { "pair" });
        match self {
            Self::One if count < 2 => ArgumentPlace::TEXT,
            Self::One => argument,
            Self::Lists => argument.item(row),
            Self::Texts => ArgumentPlace::argument("texts").item(row),
            Self::Inputs if count < 2 => ArgumentPlace::argument("input").item(row),
            Self::Inputs => ArgumentPlace::argument("input").item(row).item(sequence),
        }
    }

    /// The error of a sample, with the position of the sequence that it concerns, if it concerns one.
    pub(crate) fn locate_sequence(self, error: Error, row: usize, count: usize) -> Error {
        match error.field.first_index() {
            Some(sequence) => self.place(row, sequence, count).locate(error),
            None => error,
        }
    }
}
