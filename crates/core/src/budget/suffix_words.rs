//! The number of ids of a text that grows at its start, word by word, for tokenizers whose stages look at more than a
//! pretoken.
//!
//! In: the text, after it has grown. Out: the number of ids after the first cut, and of the part before it. Only that
//! part is encoded again.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::engine::{Cut, Engine, Special, Text};
use crate::error::Result;
use crate::watch::Watch;

use super::parts::PartEncoder;

/// How far from the start of a text a cut is searched for, in bytes.
const REACH: usize = 1 << 12;

/// The words of a text that grows at its start.
#[derive(Debug, Default)]
pub(super) struct SuffixWords {
    /// The cuts, from the last to the first.
    cuts: Vec<Known>,
    /// The number of ids before the first cut.
    rest: usize,
}

/// A cut. Positions are distances from the end of the text.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    at: usize,
    /// See [`Cut::before`].
    before: usize,
    /// The number of ids after it.
    count: usize,
}

impl SuffixWords {
    /// Reads the text up to the first cut.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        (engine, special): (&Engine, &Special),
        watch: &dyn Watch,
    ) -> Result<()> {
        let recognizer = &engine.recognizer(special)?;
        let encoder = PartEncoder { engine, recognizer, watch };
        let first = self.first();
        let head = text_at_end(&text[..text.len() - first.at]);
        // Whether a place is a cut may depend on characters after the known cut.
        let end = text.len().min(head.end + 8);
        let around = &text[head.start..end];
        let around = match std::str::from_utf8(around) {
            Ok(around) => around,
            Err(error) => std::str::from_utf8(&around[..error.valid_up_to()]).unwrap_or_default(),
        };
        let reach = head.len().min(REACH);
        if let Some(cut) = engine.cuts(special).next(around, 0..reach) {
            let place = |at: usize| text.len() - (head.start + at);
            let mut ids = Vec::new();
            let from =
                Cut { at: head.start + cut.at, before: head.start + cut.before, seen: head.start + cut.seen };
            encoder.append(Text::Bytes(text), from, text.len() - first.at, &mut ids)?;
            let known =
                Known { at: place(cut.at), before: place(cut.before), count: first.count + ids.len() };
            try_alloc::push(&mut self.cuts, known)?;
        }
        let mut ids = Vec::new();
        let start = Cut::default();
        encoder.append(Text::Bytes(text), start, text.len() - self.first().at, &mut ids)?;
        self.rest = ids.len();
        Ok(())
    }

    fn first(&self) -> Known {
        self.cuts.last().copied().unwrap_or_default()
    }

    /// The number of ids of the text.
    pub(super) fn count(&self) -> usize {
        self.first().count + self.rest
    }

    /// Forgets everything before the last `length` bytes; the text must then be read again.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.cuts.last().is_some_and(|cut| cut.before > length) {
            self.cuts.pop();
        }
    }

    /// The number of bytes at the end whose ids no prepended text changes, and the number of these ids.
    pub(super) fn stable(&self) -> (usize, usize) {
        (self.first().at, self.first().count)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Known>() * self.cuts.capacity()
    }
}

/// The range of the valid UTF-8 at the end of a text.
fn text_at_end(text: &[u8]) -> Range<usize> {
    let mut start = 0;
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        at += chunk.valid().len() + chunk.invalid().len();
        if !chunk.invalid().is_empty() {
            start = at;
        }
    }
    start..text.len()
}
