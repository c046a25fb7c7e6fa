//! The buffers of merging, reused from pretoken to pretoken.
//!
//! Each module documents which buffers it reads and leaves. What an earlier pretoken left in a buffer must never be
//! read: a user of a buffer fills or clears it first.
use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::borders::Borders;

/// By symbol: the two symbols of the last merge that was proposed for it.
pub(super) type Splits = HashMap<u32, (u32, u32), FixedState>;

/// The buffers.
#[derive(Debug, Default)]
pub struct BpeScratch {
    /// The row of symbols that is merged.
    pub(super) symbols: Vec<u32>,
    /// Where each symbol's bytes end in the pretoken before any merge; only if ends are wanted.
    pub(super) bounds: Vec<u32>,
    /// For each symbol of a scanned row, the first original symbol that it contains; only if ends are wanted.
    pub(super) starts: Vec<u32>,
    /// For each symbol, the packed pair of it and the next symbol.
    pub(super) pairs: Vec<u64>,
    /// The places of the symbols that remain of a row that a heap merges.
    pub(super) borders: Borders,
    pub(super) heap: Vec<Reverse<u64>>,
    /// Merged symbols that are not ids yet, and the end of each.
    pub(super) merged: Vec<u32>,
    pub(super) merged_ends: Vec<u32>,
    /// The parts still to be written of a symbol that is split again.
    pub(super) stack: Vec<u32>,
    pub(super) splits: Splits,
}

impl BpeScratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.symbols.capacity()
            + self.bounds.capacity()
            + self.starts.capacity()
            + self.merged.capacity()
            + self.merged_ends.capacity()
            + self.stack.capacity())
            + 8 * (self.pairs.capacity() + self.heap.capacity())
            + 16 * self.splits.capacity()
            + self.borders.memory()
    }
}
