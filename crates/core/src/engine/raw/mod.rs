//! What is looked up before a text is normalized: parts of the text as it comes.
//!
//! In: a description, then texts. Out: parts of a text, each of which has ids that nothing outside of it changes. Joined
//! they must be the ids of the text.
//!
//! `segments` is for models that take a text as one pretoken and change nothing but its spaces; `words` is for
//! pre-tokenizers that drop white space. A tokenizer has one of them, or none.
mod plain;
mod scratch;
mod segments;
mod words;

use crate::description::Description;
use crate::error::Result;
use crate::model::Model;
use crate::normalize::Normalizers;
use crate::pretokenize::PreTokenizers;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;
pub(super) use plain::{PlainPretokens, PlainWords};
pub(super) use scratch::WordScratch;
pub(super) use segments::RawSegments;
pub(super) use words::{RawWords, WordSpans, Words};

/// The parts of texts that are looked up as they come.
#[derive(Debug)]
pub(crate) enum Raw {
    Segments(Box<RawSegments>),
    Words(Box<RawWords>),
}

/// A part of a text that missed, and what spells it.
#[derive(Debug, Clone, Copy)]
pub(super) enum RawPart<'a> {
    Segment(&'a RawSegments),
    Word(Words<'a>),
}

impl Raw {
    /// `None` if all of a text must be normalized first. No added token may be looked for in normalized text.
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn new(
        description: &Description,
        (normalizers, pre_tokenizers): (&Normalizers, &PreTokenizers),
        (model, vocabulary): (&Model, &Vocabulary),
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Self>> {
        if let Some(segments) = RawSegments::new(description, model, vocabulary, ticker)? {
            return Ok(Some(Self::Segments(Box::new(segments))));
        }
        let words = RawWords::new(description, model, normalizers, pre_tokenizers);
        Ok(words.map(|words| Self::Words(Box::new(words))))
    }

    /// Where the part of a text ends that takes the way through all stages; it may be empty.
    pub(super) fn first_end(&self, text: &str) -> usize {
        match self {
            Self::Segments(segments) => segments.first_end(text.as_bytes()),
            Self::Words(_) => 0,
        }
    }

    /// The first place of a text from a byte on, inside of it, where it may be cut.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match self {
            Self::Segments(segments) => segments.safe_cut(text, from),
            Self::Words(words) => words.safe_cut(text, from),
        }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Segments(segments) => segments.memory(),
            Self::Words(_) => size_of::<RawWords>() + size_of::<PlainWords>(),
        }
    }
}

#[cfg(test)]
mod tests;
