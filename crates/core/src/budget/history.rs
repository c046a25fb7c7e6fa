//! Which earlier texts a text that grows can go back to.
//!
//! In: the lengths that a text was cut to. Out: whether it still begins (or ends) with what it was at a snapshot.
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};

/// A text that one that grows can go back to.
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

/// The cuts of a text that grows.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The length that the text was cut to, and the number of the cut: only cuts that no later one went below.
    cuts: Vec<(u64, usize)>,
    cut_count: u64,
}

impl History {
    /// Notes that the text was cut to a length.
    pub(super) fn note_cut(&mut self, length: usize) -> Result<()> {
        self.cut_count += 1;
        while self.cuts.last().is_some_and(|&(_, other)| other >= length) {
            self.cuts.pop();
        }
        Ok(try_alloc::push(&mut self.cuts, (self.cut_count, length))?)
    }

    /// For a text that has this length now.
    pub(super) fn snapshot(&self, length: usize) -> Snapshot {
        Snapshot { length, cut_count: self.cut_count }
    }

    /// Checks that a text of a length still has all that it had at a snapshot.
    ///
    /// # Errors
    /// A budget error if it was cut to less.
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
