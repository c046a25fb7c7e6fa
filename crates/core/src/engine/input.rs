//! What a call encodes: the text, and what literals of special tokens in it mean.
use crate::aligned::Origins;
use crate::error::{Error, Place};
use crate::span::Span;

/// What is encoded: text, or bytes that need not be text.
///
/// Bytes that are not UTF-8 lie between texts: each maximal run of them is a pretoken of its
/// own, and what lies between is a text of its own.
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// UTF-8.
    Str(&'a str),
    /// Any bytes; only vocabularies over bytes can spell them.
    Bytes(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Its bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The same as a `str`, where it is UTF-8.
    pub(super) fn validated(self) -> Self {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).map_or(self, Text::Str),
            Self::Str(_) => self,
        }
    }
}

/// What the literal of a special token in the text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Special {
    /// Ordinary text: nothing can be forged.
    Text,
    /// The token.
    Parse,
    /// An error.
    Raise,
    /// The token for these literals, ordinary text for the others.
    Only(Vec<String>),
}

/// An error in a pretoken, with its place in the caller's text.
pub(super) fn placed(error: Error, origins: Origins<'_>) -> Error {
    error.placed(|place| match place {
        Place::Byte(at) => Place::Byte(origins.span(Span::new(at, at)).start),
        Place::Character(_) => place,
    })
}
