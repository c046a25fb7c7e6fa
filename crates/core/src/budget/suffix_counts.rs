//! The number of ids of each suffix of a text that grows at its start.
//!
//! In: the text, after it has grown. Out: the number of ids of any suffix that starts at a character. A match never
//! looks back, so a suffix has the ids of its first pretoken plus those of the suffix after that pretoken.
//!
//! A suffix is identified by its length in bytes. Its count never changes, whatever is prepended.
use tokenmill_kernels::try_alloc;

use crate::engine::{Special, Text};
use crate::error::{Error, Result};
use crate::ids::to_u32;
use crate::pattern::{BackwardSplit, FirstPretoken, Splitter};
use crate::watch::Unwatched;

use super::suffixes::{SuffixReader, Suffixes};

/// For how many pretokens suffixes are kept: the end of the first pretoken may alternate between two positions.
const KEPT: usize = 2;

/// The counts of all suffixes of a text.
#[derive(Debug)]
pub(super) struct SuffixCounts {
    /// By length.
    suffixes: Vec<Suffix>,
    split: BackwardSplit,
    /// The end of the run of UTF-8 that `split` has read.
    split_end: usize,
    /// Suffixes of pretokens, by the end of the pretoken; the most recently used is last.
    pretokens: [(usize, Suffixes); KEPT],
}

/// A suffix of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suffix {
    /// The number of ids; [`Suffix::UNKNOWN`] if no character starts here.
    count: u32,
    /// The end of its first pretoken.
    end: u32,
    /// The end of the run of UTF-8, or of invalid bytes, that it starts with.
    run_end: u32,
    is_match: bool,
    is_text: bool,
}

impl Suffix {
    const EMPTY: Self = Self { count: 0, end: 0, run_end: 0, is_match: true, is_text: true };
    const UNKNOWN: u32 = u32::MAX;
}

impl Default for SuffixCounts {
    fn default() -> Self {
        Self {
            suffixes: vec![Suffix::EMPTY],
            split: BackwardSplit::default(),
            split_end: 0,
            pretokens: [(); KEPT].map(|()| (usize::MAX, Suffixes::default())),
        }
    }
}

impl SuffixCounts {
    /// Reads what was prepended since the last call.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        splitter: &Splitter,
        reader: &mut SuffixReader<'_, '_>,
    ) -> Result<()> {
        let new = (text.len() + 1).saturating_sub(self.suffixes.len());
        try_alloc::reserve(&mut self.suffixes, new)?;
        // The characters at the front whose suffixes are not known yet.
        let mut starts = Vec::new();
        let mut at = 0;
        while at < text.len() && self.count(text.len() - at).is_none() {
            let width = width_at(&text[at..]);
            try_alloc::push(&mut starts, (at, width))?;
            at += width.0;
        }
        for &(at, (width, is_text)) in starts.iter().rev() {
            let suffix = self.suffix(&text[at..], (width, is_text), splitter, reader)?;
            let unknown = Suffix { count: Suffix::UNKNOWN, ..Suffix::EMPTY };
            let length = text.len() - at;
            // The capacity is reserved.
            self.suffixes.resize(self.suffixes.len().max(length + 1), unknown);
            self.suffixes[length] = suffix;
        }
        Ok(())
    }

    /// The entry for a suffix, given those of shorter suffixes.
    fn suffix(
        &mut self,
        text: &[u8],
        (width, is_text): (usize, bool),
        splitter: &Splitter,
        reader: &mut SuffixReader<'_, '_>,
    ) -> Result<Suffix> {
        let length = text.len();
        let shorter = self.suffixes[length - width];
        let goes_on = width < length && shorter.is_text == is_text;
        let run_end = if goes_on { shorter.run_end as usize } else { length - width };
        let run = &text[..length - run_end];
        let first = if is_text {
            if self.split_end != run_end {
                self.split = BackwardSplit::default();
                self.split_end = run_end;
            }
            let end = length - width - shorter.end as usize;
            let next = goes_on.then_some(FirstPretoken { end, is_match: shorter.is_match });
            splitter.first_pretoken(&mut self.split, run, next)
        } else {
            if !reader.engine.description().is_byte_level() {
                // Encoding it reports the error.
                reader.engine.count(Text::Bytes(text), &Special::Text, 1, &Unwatched)?;
            }
            FirstPretoken { end: run.len(), is_match: true }
        };
        let end = length - first.end;
        let known = self.count(end).ok_or_else(|| Error::internal("a suffix that was not read"))?;
        let of_pretoken = reader.count(self.suffixes_of(end), &text[..first.end])?;
        Ok(Suffix {
            count: to_u32(known + of_pretoken),
            end: to_u32(end),
            run_end: to_u32(run_end),
            is_match: first.is_match,
            is_text,
        })
    }

    /// The suffixes of the pretoken that ends at `end`, as far as they have been read.
    fn suffixes_of(&mut self, end: usize) -> &mut Suffixes {
        if let Some(at) = self.pretokens.iter().position(|(of, _)| *of == end) {
            self.pretokens[at..].rotate_left(1);
        } else {
            self.pretokens.rotate_left(1);
            let (of, suffixes) = &mut self.pretokens[KEPT - 1];
            *of = end;
            suffixes.clear();
        }
        &mut self.pretokens[KEPT - 1].1
    }

    /// The number of ids of the suffix of a length; `None` if it was not read.
    pub(super) fn count(&self, length: usize) -> Option<usize> {
        let suffix = self.suffixes.get(length)?;
        (suffix.count != Suffix::UNKNOWN).then_some(suffix.count as usize)
    }

    /// The suffixes of the only pretoken of a text that is not split.
    pub(super) fn of_whole(&self) -> &Suffixes {
        &self.pretokens[KEPT - 1].1
    }

    /// Forgets longer suffixes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.suffixes.truncate(length + 1);
        if length < self.split_end {
            self.split = BackwardSplit::default();
        } else {
            self.split.truncate(length - self.split_end);
        }
        for (end, suffixes) in &mut self.pretokens {
            suffixes.truncate(length.saturating_sub(*end));
        }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Suffix>() * self.suffixes.capacity()
            + self.pretokens.iter().map(|(_, suffixes)| suffixes.memory()).sum::<usize>()
    }
}

/// The length of the first character and true, or of the invalid bytes at the start and false.
fn width_at(text: &[u8]) -> (usize, bool) {
    let first = &text[..text.len().min(4)];
    let chunk = first.utf8_chunks().next();
    match chunk.map(|chunk| (chunk.valid().chars().next(), chunk.invalid().len())) {
        Some((Some(first), _)) => (first.len_utf8(), true),
        Some((None, invalid)) => (invalid.max(1), false),
        None => (1, false),
    }
}
