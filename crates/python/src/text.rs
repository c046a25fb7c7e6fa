//! Texts from Python: `str`, and any object with bytes.
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tokenmill_core::engine::{Text, UntrustedRanges, char_offsets, to_characters};
use tokenmill_core::error::{Error, Place, Result};
use tokenmill_core::span::Span;
use tokenmill_core::watch::{Unwatched, Watch};

use crate::argument_place::ArgumentPlace;
use crate::buffer::{Surrogates, Utf8, numbers, utf8};
use crate::exceptions::wrong_type;
use crate::untrusted::{Length, ranges_of_bytes, ranges_of_characters};

/// A text that lives as long as its Python object.
pub(crate) enum PyText<'a> {
    Str { text: std::borrow::Cow<'a, str>, pairs: Vec<usize> },
    Bytes(std::borrow::Cow<'a, [u8]>),
}

impl<'a> PyText<'a> {
    /// Reads a text; errors name its position. Mutable buffers are copied, so that they cannot change while they
    /// are encoded.
    pub(crate) fn new(
        object: &'a Bound<'_, PyAny>,
        surrogates: Surrogates,
        place: ArgumentPlace,
    ) -> PyResult<Self> {
        if let Ok(string) = object.cast::<PyString>() {
            return match utf8(string, surrogates)? {
                Utf8::Borrowed(text) => Ok(Self::Str { text: text.into(), pairs: Vec::new() }),
                Utf8::Copied { text, pairs } => Ok(Self::Str { text: text.into(), pairs }),
                Utf8::Refused(at) => {
                    let place = place.suffix();
                    let reason = format!("surrogates not allowed{place}; pass surrogates=\"replace\"");
                    Err(PyUnicodeEncodeError::new_err(("utf-8", string.clone().unbind(), at, at + 1, reason)))
                }
            };
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.as_bytes().into()));
        }
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            return Ok(Self::Bytes(numbers(object.py(), &buffer)?.into()));
        }
        Err(wrong_type(&place.to_string(), "str, bytes, bytearray or memoryview", object))
    }

    pub(crate) fn as_text(&self) -> Text<'_> {
        match self {
            Self::Str { text, .. } => Text::Str(text),
            Self::Bytes(bytes) => Text::Bytes(bytes),
        }
    }

    /// Refuses a string in which a character is written as a pair of surrogates: its places are not those of the text.
    ///
    /// # Errors
    /// A budget error that names the first pair.
    pub(crate) fn refuse_pairs(&self) -> Result<()> {
        let Self::Str { pairs, .. } = self else { return Ok(()) };
        let Some(&first) = pairs.first() else { return Ok(()) };
        let reason = format!(
            "the character at {first} is written as two surrogates, which are one character of the text; join them: \
             text.encode(\"utf-16\", \"surrogatepass\").decode(\"utf-16\", \"replace\")"
        );
        Err(Error::budget(None, None, reason))
    }

    /// Character offsets in the caller's string. Bytes have no characters; their offsets count as
    /// in [`char_offsets`].
    pub(crate) fn offsets(&self, spans: &[Span], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
        let mut offsets = char_offsets(self.as_text(), spans, watch)?;
        if let Self::Str { pairs, .. } = self
            && !pairs.is_empty()
        {
            // A joined pair is two characters of the caller's string.
            for (start, end) in &mut offsets {
                *start += pairs.partition_point(|&pair| pair < *start);
                *end += pairs.partition_point(|&pair| pair < *end);
            }
        }
        Ok(offsets)
    }

    /// As [`Self::offsets`], in place.
    pub(crate) fn to_characters(&self, spans: &mut [Span], watch: &dyn Watch) -> Result<()> {
        to_characters(self.as_text(), spans, watch)?;
        if let Self::Str { pairs, .. } = self
            && !pairs.is_empty()
        {
            let moved = |at: usize| at + pairs.partition_point(|&pair| pair < at);
            for span in spans {
                *span = Span::new(moved(span.start), moved(span.end));
            }
        }
        Ok(())
    }

    /// The length of the text, in the unit of [`Self::untrusted`]. `object` is the object that it was read from.
    pub(crate) fn length(&self, object: &Bound<'_, PyAny>) -> PyResult<Length> {
        Ok(match (self, object.cast::<PyString>()) {
            (Self::Str { .. }, Ok(string)) => Length::Characters(string.len()?),
            _ => Length::Bytes(self.as_text().as_bytes().len()),
        })
    }

    /// The untrusted ranges that these pairs give, in characters of the caller's string or in bytes.
    pub(crate) fn untrusted(&self, pairs: &[(usize, usize)], watch: &dyn Watch) -> Result<UntrustedRanges> {
        match self {
            Self::Str { text, pairs: joined } => ranges_of_characters(text, joined, pairs, watch),
            Self::Bytes(_) => ranges_of_bytes(pairs),
        }
    }

    /// Moves the position of an error to the caller's text: a character of a string, a byte of bytes.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.placed(|place| match (self, place) {
            (Self::Str { .. }, Place::Byte(byte)) => {
                let offsets = self.offsets(&[Span::new(byte, byte)], &Unwatched);
                offsets.map_or(place, |offsets| Place::Character(offsets[0].0))
            }
            _ => place,
        })
    }
}
