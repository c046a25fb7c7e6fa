//! Encodes the text ahead of a search, in blocks, on several threads.
//!
//! In: a text and its cuts. Out: the ids from a cut on, and where the token of each ends. A block begins and ends at a
//! cut, so that its ids are those of every longer part. Only for tokenizers whose ids stand for the bytes of the text.
//! Memory depends on the number of threads, not on the length of the text, except for a part without cuts.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::engine::{Cut, Cuts, Text};
use crate::error::{Kind, Result};
use crate::ids::TokenId;
use crate::threads;

use crate::budget::parts::PartEncoder;

/// Bytes that a thread encodes at a time: if it is the only one, and if there are several. Tests use small blocks, so
/// that a short text has many.
const UNIT: (usize, usize) = (if cfg!(test) { 1 << 4 } else { 1 << 16 }, threads::BYTES_PER_THREAD);

/// Units per thread in a block.
const TURNS: usize = 4;

/// The ids of a part of the text.
#[derive(Default)]
struct Part {
    ids: Vec<TokenId>,
    /// Where the token of each ends in the text.
    ends: Vec<usize>,
}

/// The block of the text that was encoded last.
pub(super) struct ReadAhead {
    threads: usize,
    /// The end of the block in the text.
    end: usize,
    known: Part,
    /// The number of ids in the block before the last requested cut.
    number: usize,
    /// A block could not be encoded. The search reports the error when it reaches the place.
    is_off: bool,
}

impl ReadAhead {
    /// Up to `threads` threads encode a block.
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, end: 0, known: Part::default(), number: 0, is_off: false }
    }

    /// The ids from a cut on, and where each ends: `count` of them, or fewer if the text ends. Cuts must not descend
    /// from call to call. `None` if a block could not be encoded.
    pub(super) fn ids(
        &mut self,
        from: usize,
        count: usize,
        (text, cuts): (&str, &Cuts<'_>),
        encoder: &PartEncoder<'_>,
    ) -> Result<Option<(&[TokenId], &[usize])>> {
        let Part { ids, ends } = &mut self.known;
        if from >= self.end {
            ids.clear();
            ends.clear();
            (self.number, self.end) = (0, from);
        } else {
            self.number += ends[self.number..].partition_point(|&end| end <= from);
        }
        while self.known.ids.len() - self.number < count && self.end < text.len() && !self.is_off {
            // The search never goes back.
            self.known.ids.drain(..self.number);
            self.known.ends.drain(..self.number);
            self.number = 0;
            self.encode_block((text, cuts), encoder)?;
        }
        if self.is_off {
            return Ok(None);
        }
        let Part { ids, ends } = &self.known;
        let range = self.number..ids.len().min(self.number + count);
        Ok(Some((&ids[range.clone()], &ends[range])))
    }

    /// Encodes what follows the block.
    fn encode_block(&mut self, (text, cuts): (&str, &Cuts<'_>), encoder: &PartEncoder<'_>) -> Result<()> {
        let rest = text.len() - self.end;
        let threads = threads::threads_for(rest, self.threads);
        let size = if threads > 1 { UNIT.1 } else { UNIT.0 };
        let count = if threads > 1 { threads * TURNS } else { 1 };
        let mut places: Vec<usize> = try_alloc::vec(count + 1)?;
        places.push(self.end);
        while places.len() <= count && places.last() != Some(&text.len()) {
            let from = places.last().map_or(0, |&at| at + size);
            let cut = if from < text.len() { cuts.next(text, from..text.len()) } else { None };
            places.push(cut.map_or(text.len(), |cut| cut.at));
        }
        let part = |unit: usize| places[unit]..places[unit + 1];
        let done = if count == 1 {
            self.known.read(text, part(0), encoder)
        } else {
            let units = threads::run(places.len() - 1, threads, encoder.watch, |unit, watch| {
                let mut read = Part::default();
                read.read(text, part(unit), &PartEncoder { watch, ..*encoder }).map(|()| read)
            });
            units.and_then(|units| units.iter().try_for_each(|unit| self.known.append(unit)))
        };
        match done {
            Ok(()) => self.end = places.last().copied().unwrap_or(text.len()),
            // The text before the error may be cut without it.
            Err(error) if matches!(error.kind, Kind::UnknownToken { .. } | Kind::Pattern { .. }) => {
                self.is_off = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Part {
    /// Appends the ids of a part of the text between two cuts.
    fn read(&mut self, text: &str, part: Range<usize>, encoder: &PartEncoder<'_>) -> Result<()> {
        let mut at = part.start;
        let first = self.ids.len();
        let from = Cut { at, before: at, seen: at };
        encoder.append(Text::Str(text), from, part.end, &mut self.ids)?;
        try_alloc::reserve(&mut self.ends, self.ids.len() - first)?;
        let decoded = encoder.engine.vocabulary().decoded_tokens();
        self.ends.extend(self.ids[first..].iter().map(|&id| {
            at += decoded.length(id);
            at
        }));
        Ok(())
    }

    fn append(&mut self, more: &Self) -> Result<()> {
        try_alloc::extend(&mut self.ids, &more.ids)?;
        Ok(try_alloc::extend(&mut self.ends, &more.ends)?)
    }
}

impl PartEncoder<'_> {
    /// The bytes of a token.
    pub(super) fn length_of(&self, id: TokenId) -> usize {
        self.engine.vocabulary().decoded_tokens().length(id)
    }
}
