//! Errors as data: a kind, and the place in a file or table.
//!
//! Kinds have fields, not sentences; the sentence is made when the error is displayed. The Python classes of
//! `tokenmill.errors` have the same fields.
mod defect;
mod place;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

pub use defect::Defect;
pub use place::{FieldPath, Place};
use tokenmill_kernels::OutOfMemory;
use tokenmill_kernels::image::ImageError;

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: what happened, in which file and where in it. In a box, because results are returned for each batch of
/// lookups and each call: as large as the fields, they would be copied from function to function. An error about a lack
/// of memory needs a few bytes, too, as the exception does.
#[derive(Debug)]
pub struct Error(Box<ErrorFields>);

/// The fields of an [`Error`].
#[derive(Debug)]
pub struct ErrorFields {
    /// The kind, with its data.
    pub kind: Kind,
    /// The file in which it happened, filled in by the module that opened it.
    pub path: Option<PathBuf>,
    /// The place in that file or table, outermost part first.
    pub field: FieldPath,
}

/// The kinds of errors.
#[derive(Debug)]
pub enum Kind {
    /// A file or table that violates its format, or a format that cannot hold what is to be saved.
    Format {
        /// The kind of defect, a stable word.
        defect: Defect,
        /// What was found and what was expected.
        reason: String,
        /// The limit that was exceeded, for [`Defect::Limit`].
        limit: Option<u64>,
    },
    /// A split pattern that is invalid, or that exceeded its limit on a text.
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// The position in the pattern in characters, if the engine reports it.
        position: Option<usize>,
        /// For an exceeded limit: where in the text the search began; `None` for a text of a corpus.
        searched_from: Option<Place>,
        /// What is wrong.
        reason: String,
    },
    /// A special token that is not allowed here, or not usable.
    SpecialToken {
        /// Its literal.
        token: String,
        /// Its position in the text.
        position: Option<Place>,
        /// What is wrong.
        reason: String,
    },
    /// A character that the vocabulary cannot spell, if there is no unknown token.
    UnknownToken {
        /// The character as the caller wrote it; a byte that is not a character as `0xNN`; for a model of whole
        /// pretokens, the pretoken.
        symbol: String,
        /// Its position in the text.
        position: Place,
    },
    /// An id that does not exist, or a table of ids that contradicts itself.
    Vocabulary {
        /// The id in question, if there is one. The caller may have given a number that cannot be an id.
        id: Option<i128>,
        /// Its index in the list of ids.
        position: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// Text that cannot be trained on, or arguments of `train` that contradict each other.
    Training {
        /// The row of the source, from 1 on.
        row: Option<u64>,
        /// Byte position in the source.
        byte: Option<u64>,
        /// What is wrong.
        reason: String,
    },
    /// A budget of ids that cannot be met, or a vocabulary that an algorithm cannot serve.
    Budget {
        /// The ids that are needed at least, if the budget is too small.
        needed: Option<usize>,
        /// The ids that are allowed.
        limit: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A manifest that does not match the files next to it, or that cannot say what it is to say.
    Manifest {
        /// The content according to the manifest.
        expected: String,
        /// The content of the files.
        found: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A function of the caller returned an invalid result.
    Hook {
        /// Its name, if it has one.
        name: Option<String>,
        /// The position in the text.
        position: Option<Place>,
        /// What is wrong.
        reason: String,
    },
    /// A function of the caller raised an exception, which reaches the caller unchanged.
    Raised {
        /// The exception.
        error: Box<dyn std::error::Error + Send + Sync>,
        /// Is it a request to stop, so that work on other threads is not worth waiting for?
        is_interrupt: bool,
    },
    /// A wrong argument that no other kind covers.
    Argument(String),
    /// An allocation that failed.
    Memory {
        /// The number of bytes requested.
        bytes: usize,
    },
    /// Work that is not begun, because it would take more memory than there is.
    MemoryEstimate {
        /// The number of bytes that it would take.
        bytes: u64,
        /// The number of bytes that can be had, if that is known.
        available: Option<u64>,
        /// What it is that would take them, and what to do instead.
        reason: String,
    },
    /// An error of the operating system.
    Os(std::io::Error),
    /// The caller asked to stop.
    Cancelled,
    /// A bug in this library.
    Internal(String),
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(ErrorFields { kind, path: None, field: FieldPath::default() }))
    }
}

impl Deref for Error {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl From<OutOfMemory> for Error {
    #[cold]
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Kind::Memory { bytes }.into()
    }
}

impl From<ImageError> for Error {
    fn from(error: ImageError) -> Self {
        let (defect, reason) = match error {
            ImageError::NotAnImage => (Defect::WrongKind, "this is not the image of a tokenizer".to_owned()),
            ImageError::OtherVersion(release) => {
                (Defect::Version, format!("another build of tokenmill made this image ({release}); {AGAIN}"))
            }
            ImageError::OtherMachine => {
                let reason = "this image was made on another type of machine, with another byte order or pointer width";
                (Defect::Version, format!("{reason}; {AGAIN}"))
            }
            ImageError::Size { said, is } => {
                let reason = format!("this image has {is} bytes, and says that it has {said}");
                (Defect::Truncated, format!("{reason}; {AGAIN}"))
            }
            ImageError::Changed => (
                Defect::Inconsistent,
                format!("the checksum does not fit: bytes of this image were changed; {AGAIN}"),
            ),
            ImageError::Inconsistent(reason) => (
                Defect::Inconsistent,
                format!("the parts of this image contradict each other: {reason}; {AGAIN}"),
            ),
            ImageError::OutOfMemory(error) => return error.into(),
        };
        Self::format(defect, reason)
    }
}

/// What to do about an image that cannot be read.
const AGAIN: &str = "save it again from the tokenizer it was made of";

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        // An interrupted reader wraps the reason for stopping.
        error.downcast().unwrap_or_else(|error| Kind::Os(error).into())
    }
}

impl Error {
    /// The kind, without the file and the place in it.
    pub fn into_kind(self) -> Kind {
        self.0.kind
    }

    /// A defect of a file or table.
    pub fn format(defect: Defect, reason: impl Into<String>) -> Self {
        Kind::Format { defect, reason: reason.into(), limit: None }.into()
    }

    /// A bound that was exceeded.
    pub fn limit(reason: impl Into<String>, limit: u64) -> Self {
        Kind::Format { defect: Defect::Limit, reason: reason.into(), limit: Some(limit) }.into()
    }

    /// A vocabulary that contradicts itself.
    pub fn vocabulary(id: Option<i128>, reason: impl Into<String>) -> Self {
        Kind::Vocabulary { id, position: None, reason: reason.into() }.into()
    }

    /// A special token that cannot be used.
    pub fn special(token: impl Into<String>, reason: impl Into<String>) -> Self {
        Kind::SpecialToken { token: token.into(), position: None, reason: reason.into() }.into()
    }

    /// Arguments or text that `train` cannot use.
    pub fn training<S: Into<String>>(reason: S) -> Self {
        Kind::Training { row: None, byte: None, reason: reason.into() }.into()
    }

    /// A budget of ids that cannot be met.
    pub fn budget(needed: Option<usize>, limit: Option<usize>, reason: impl Into<String>) -> Self {
        Kind::Budget { needed, limit, reason: reason.into() }.into()
    }

    /// A wrong argument.
    pub fn argument<S: Into<String>>(reason: S) -> Self {
        Kind::Argument(reason.into()).into()
    }

    /// A pattern that cannot be compiled or translated. `byte` is a byte position in it, as parsers report it; the
    /// error has the position in characters.
    pub(crate) fn pattern(pattern: &str, byte: Option<usize>, reason: impl Into<String>) -> Self {
        let position =
            byte.map(|byte| pattern.char_indices().take_while(|&(at, c)| at + c.len_utf8() <= byte).count());
        Kind::Pattern { pattern: pattern.to_owned(), position, searched_from: None, reason: reason.into() }
            .into()
    }

    /// A bug in this library.
    pub fn internal(reason: impl Into<String>) -> Self {
        Kind::Internal(reason.into()).into()
    }

    /// The same error one level up: `e.at("merges").at("model")` is `model.merges`.
    #[must_use]
    pub fn at(mut self, name: impl Into<String>) -> Self {
        self.field.prepend_name(name.into());
        self
    }

    /// The same error inside the element `index`.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.field.prepend_index(index);
        self
    }

    /// The same error with its position in the text converted to the caller's unit.
    #[must_use]
    pub fn placed(mut self, place: impl FnOnce(Place) -> Place) -> Self {
        match &mut self.kind {
            Kind::SpecialToken { position: Some(position), .. }
            | Kind::Pattern { searched_from: Some(position), .. }
            | Kind::UnknownToken { position, .. }
            | Kind::Hook { position: Some(position), .. } => {
                *position = place(*position);
            }
            _ => {}
        }
        self
    }

    /// The same error of a pattern, without the position in a text that the caller has never seen.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        if let Kind::Pattern { searched_from, .. } = &mut self.kind {
            *searched_from = None;
        }
        self
    }

    /// The same error with the file it happened in, unless one is known already.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

/// Characters of a pattern that a message shows; the whole of it is in the field.
const PATTERN_SHOWN: usize = 400;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        match &self.kind {
            Kind::Format { reason, .. } | Kind::Budget { reason, .. } | Kind::Argument(reason) => {
                write!(f, "{reason}")
            }
            Kind::Pattern { pattern, position, searched_from, reason } => {
                let shown: String = pattern.chars().take(PATTERN_SHOWN).collect();
                let more = if shown.len() < pattern.len() { "..." } else { "" };
                write!(f, "pattern {shown:?}{more}")?;
                if let Some(at) = position {
                    write!(f, ", at character {at}")?;
                }
                if let Some(from) = searched_from {
                    write!(f, ", searched from {from} of the text")?;
                }
                write!(f, ": {reason}")
            }
            Kind::SpecialToken { token, position, reason } => match position {
                Some(at) => write!(f, "special token {token:?} at {at}: {reason}"),
                None => write!(f, "special token {token:?}: {reason}"),
            },
            Kind::UnknownToken { symbol, position } => write!(
                f,
                "the vocabulary cannot spell {} ({position} of the text) and has no \
                 unknown token; use one that holds it, or one with an unknown token",
                shown(symbol)
            ),
            Kind::Vocabulary { id, position, reason } => match (id, position) {
                (Some(id), Some(at)) => write!(f, "id {id} at position {at}: {reason}"),
                (Some(id), None) => write!(f, "id {id}: {reason}"),
                _ => write!(f, "{reason}"),
            },
            Kind::Training { row, byte, reason } => match (row, byte) {
                (Some(row), Some(byte)) => write!(f, "row {row}, at byte {byte}: {reason}"),
                (Some(row), None) => write!(f, "row {row}: {reason}"),
                (None, Some(byte)) => write!(f, "at byte {byte}: {reason}"),
                (None, None) => write!(f, "{reason}"),
            },
            Kind::Manifest { reason, .. } => f.write_str(reason),
            Kind::Hook { name, position, reason } => {
                match name {
                    Some(name) => write!(f, "hook {name:?}")?,
                    None => write!(f, "unnamed hook")?,
                }
                if let Some(at) = position {
                    write!(f, ", at {at} of the text")?;
                }
                write!(f, ": {reason}")
            }
            Kind::Raised { error, .. } => write!(f, "{error}"),
            Kind::Memory { bytes } => write!(
                f,
                "out of memory: {bytes} bytes cannot be had; give it in smaller parts, or raise the limit of the process"
            ),
            Kind::MemoryEstimate { bytes, available, reason } => {
                write!(f, "{reason}: it would take about {} MB of memory", bytes.div_ceil(1_000_000))?;
                match available {
                    Some(available) => write!(f, ", and {} MB can be had", available / 1_000_000),
                    None => write!(f, ", which cannot be had"),
                }
            }
            Kind::Os(error) => write!(f, "{error}"),
            Kind::Cancelled => write!(f, "stopped by the caller"),
            Kind::Internal(reason) => write!(f, "a fault of tokenmill, please report it: {reason}"),
        }
    }
}

/// Text in quotes; a single invisible character is shown by its code point.
fn shown(symbol: &str) -> String {
    let mut chars = symbol.chars();
    match (chars.next(), chars.next()) {
        (Some(' '), None) => "\" \"".to_owned(),
        (Some(char), None)
            if char.is_control() || char.is_whitespace() || char.escape_debug().count() > 2 =>
        {
            format!("U+{:04X}", u32::from(char))
        }
        _ => format!("{symbol:?}"),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Os(error) => Some(error),
            Kind::Raised { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_field_and_reason() {
        let error = Error::format(Defect::Merge, "left part \"xq\" is unknown")
            .at_index(17)
            .at("merges")
            .at("model")
            .in_file(Path::new("t.json"));
        assert_eq!(error.to_string(), "t.json: model.merges[17]: left part \"xq\" is unknown");
    }

    #[test]
    fn an_invisible_character_is_shown_by_its_code_point() {
        let seen = ["x", "\"", " ", "é", "0xC3"].map(|symbol| (symbol, format!("{symbol:?}")));
        let hidden = ["\u{b}", "\n", "\u{301}", "\u{3000}"].into_iter();
        let points = ["U+000B", "U+000A", "U+0301", "U+3000"].map(str::to_owned);
        for (symbol, expected) in seen.into_iter().chain(hidden.zip(points)) {
            let position = Place::Character(4);
            let error = Error::from(Kind::UnknownToken { symbol: symbol.to_owned(), position });
            let message = error.to_string();
            assert!(message.contains(&format!(" spell {expected} (character 4 of ")), "{message}");
        }
    }
}
