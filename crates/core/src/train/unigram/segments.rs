//! What Unigram is trained on: the distinct pretokens, character by character.
//!
//! In: distinct pretokens with their counts, and which of their characters a tokenizer shall cover. Out: segments of
//! covered characters, sorted by their bytes, each with its count. A character that is not covered is cut out.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};
use crate::ids::to_u32;
use crate::train::table::Table;
use crate::train::types::{Types, text};
use crate::watch::Ticker;

/// Follows each segment; no byte of a text.
pub(super) const END: u8 = 0xFF;

/// The work of training is cut into this many parts, whatever the number of threads, so that sums are the same for any.
const BLOCKS: usize = 16;

/// Segments with their counts. A position is the number of a character, counted over all segments.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// The bytes of all segments, each followed by [`END`].
    text: Vec<u8>,
    /// The first byte of the character at each position.
    at: Vec<u32>,
    /// The first position of each segment, and after the last the number of positions.
    first: Vec<u32>,
    counts: Vec<u64>,
}

impl Segments {
    /// The segments of distinct pretokens.
    ///
    /// # Errors
    /// Those of the watch; a training error if they have 2^32 bytes or more.
    pub(super) fn new(
        types: &Types,
        is_covered: impl Fn(char) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let mut is_cut = false;
        for (bytes, _) in types.iter() {
            ticker.spend(bytes.len())?;
            is_cut |= !text(bytes)?.chars().all(&is_covered);
        }
        if !is_cut {
            return Self::of(types, ticker);
        }
        let mut table = Table::new(false);
        for (bytes, count) in types.iter() {
            ticker.spend(bytes.len())?;
            let parts = text(bytes)?.split(|char| !is_covered(char));
            parts
                .filter(|part| !part.is_empty())
                .try_for_each(|part| table.add(part.as_bytes(), count, 0))?;
        }
        Self::of(&Types::from_table(&table, false, ticker)?, ticker)
    }

    fn of(types: &Types, ticker: &mut Ticker<'_>) -> Result<Self> {
        let size = types.bytes() + types.len();
        if u32::try_from(size).is_err() {
            return Err(Error::training("distinct pretokens of more than 4 GiB; train on less text"));
        }
        let mut all = Self {
            text: try_alloc::vec(size)?,
            at: Vec::new(),
            first: try_alloc::vec(types.len() + 1)?,
            counts: try_alloc::vec(types.len())?,
        };
        for (bytes, count) in types.iter() {
            ticker.spend(bytes.len())?;
            all.first.push(to_u32(all.at.len()));
            all.counts.push(count);
            let start = all.text.len();
            for (i, _) in text(bytes)?.char_indices() {
                try_alloc::push(&mut all.at, to_u32(start + i))?;
            }
            all.text.extend_from_slice(bytes);
            all.text.push(END);
        }
        all.first.push(to_u32(all.at.len()));
        Ok(all)
    }

    /// Number of positions.
    pub(super) fn positions(&self) -> usize {
        self.at.len()
    }

    /// The text from a position on, past the end of its segment.
    pub(super) fn from(&self, position: u32) -> &[u8] {
        &self.text[self.at[position as usize] as usize..]
    }

    /// The bytes of `length` characters of a segment.
    pub(super) fn bytes(&self, position: u32, length: usize) -> &[u8] {
        let from = self.from(position);
        let next = self.at.get(position as usize + length).map_or(usize::MAX, |&at| at as usize);
        let size = next.saturating_sub(self.at[position as usize] as usize).min(from.len());
        // The next position may be that of another segment.
        let bytes = &from[..size];
        bytes.strip_suffix(&[END]).unwrap_or(bytes)
    }

    /// The positions of a segment.
    pub(super) fn positions_of(&self, segment: usize) -> Range<usize> {
        self.first[segment] as usize..self.first[segment + 1] as usize
    }

    /// How often a segment occurs.
    pub(super) fn count(&self, segment: usize) -> u64 {
        self.counts[segment]
    }

    /// The segment of each position.
    pub(super) fn segment_of_positions(&self) -> Result<Vec<u32>> {
        let mut segments = try_alloc::vec(self.positions())?;
        for segment in 0..self.len() {
            segments.extend(self.positions_of(segment).map(|_| to_u32(segment)));
        }
        Ok(segments)
    }

    /// Number of segments.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The segments in [`BLOCKS`] parts with about as many positions.
    pub(super) fn blocks(&self) -> Vec<Range<usize>> {
        let bound = |block: usize| {
            let positions = (self.positions() as u64 * block as u64 / BLOCKS as u64) as u32;
            self.first[..self.len()].partition_point(|&first| first < positions)
        };
        (0..BLOCKS)
            .map(|block| bound(block)..if block + 1 == BLOCKS { self.len() } else { bound(block + 1) })
            .collect()
    }
}
