//! The ids of a part of a text that begins at a cut.
use std::ops::Range;

use tokenmill_kernels::Prefetcher;

use crate::engine::{Counter, Cut, Engine, IdSink, Recognizer, Text, UntrustedRanges};
use crate::error::{Error, Place, Result};
use crate::ids::TokenId;
use crate::watch::Watch;

/// What encodes parts of texts.
#[derive(Clone, Copy)]
pub(super) struct PartEncoder<'a> {
    pub(super) engine: &'a Engine,
    pub(super) recognizer: &'a Recognizer<'a>,
    pub(super) watch: &'a dyn Watch,
}

impl PartEncoder<'_> {
    /// Appends the ids of the part of a text from a cut on. The part is encoded with the character before it, so
    /// that nothing takes it for the start of a text, and the ids of that character are left out. Where the text
    /// itself begins, `before` and `at` are equal.
    pub(super) fn append(self, text: Text<'_>, from: Cut, to: usize, ids: &mut Vec<TokenId>) -> Result<()> {
        let first = ids.len();
        self.encode(text, from.before..to, ids)?;
        if from.before < from.at {
            let mut before = Vec::new();
            self.encode(text, from.before..from.at, &mut before)?;
            if !ids[first..].starts_with(&before) {
                return Err(Error::internal("a text was cut where its ids go on"));
            }
            ids.drain(first..first + before.len());
        }
        Ok(())
    }

    /// The number of ids of a part of a text, encoded by itself.
    pub(super) fn count(self, text: &str, part: Range<usize>) -> Result<usize> {
        self.count_bytes(Text::Str(text), part)
    }

    /// As [`Self::count`], of bytes that need not be text.
    pub(super) fn count_bytes(self, text: Text<'_>, part: Range<usize>) -> Result<usize> {
        let mut counter = Counter::default();
        self.encode(text, part, &mut counter)?;
        Ok(counter.count())
    }

    fn encode<S: IdSink>(self, text: Text<'_>, part: Range<usize>, sink: &mut S) -> Result<()> {
        let start = part.start;
        let part = match text {
            Text::Str(text) => Text::Str(&text[part]),
            Text::Bytes(bytes) => Text::Bytes(&bytes[part]),
        };
        let Self { engine, recognizer, watch } = self;
        let trusted = UntrustedRanges::none();
        let done = engine.encode_ids(part, recognizer, trusted, Prefetcher::default(), watch, sink);
        // An error names the byte of the text.
        done.map_err(|error| {
            error.placed(|place| if let Place::Byte(at) = place { Place::Byte(at + start) } else { place })
        })
    }
}
