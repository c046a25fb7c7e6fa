//! Snapshots of a growing text.
//!
//! In: the lengths that the text was truncated to. Out: whether a snapshot can still be restored.
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};

/// A state that a growing text can be restored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Snapshot {
    length: usize,
    cut_count: u64,
}

impl Snapshot {
    /// The length of the text in bytes.
    pub fn length(self) -> usize {
        self.length
    }
}

/// The truncations of a growing text.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The number of each truncation and its length; only those that no later one went below.
    cuts: Vec<(u64, usize)>,
    cut_count: u64,
}

impl History {
    /// Records a truncation.
    pub(super) fn note_cut(&mut self, length: usize) -> Result<()> {
        self.cut_count += 1;
        while self.cuts.last().is_some_and(|&(_, other)| other >= length) {
            self.cuts.pop();
        }
        Ok(try_alloc::push(&mut self.cuts, (self.cut_count, length))?)
    }

    /// A snapshot of the text with its current length.
    pub(super) fn snapshot(&self, length: usize) -> Snapshot {
        Snapshot { length, cut_count: self.cut_count }
    }

    /// Checks that the text, now of this length, still contains what it had at the snapshot.
    ///
    /// # Errors
    /// A budget error if it was truncated below that.
    pub(super) fn check(&self, snapshot: Snapshot, length: usize) -> Result<()> {
        let since = self.cuts.partition_point(|&(number, _)| number <= snapshot.cut_count);
        let lowest = self.cuts.get(since).map_or(usize::MAX, |&(_, length)| length);
        if lowest < snapshot.length || snapshot.length > length {
            let reason = format!(
                "the text was cut to {} bytes after this snapshot of {} bytes, which cannot be restored; take \
                 another one after cutting",
                lowest.min(length),
                snapshot.length
            );
            return Err(Error::budget(None, None, reason));
        }
        Ok(())
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of::<(u64, usize)>() * self.cuts.capacity()
    }
}
