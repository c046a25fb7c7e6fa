//! The buffers of merging, reused from pretoken to pretoken.
//!
//! Comes in and goes out: nothing; each module says which buffers it reads and leaves. What an earlier pretoken
//! left in a buffer must never be read: whoever uses one fills or clears it first.
use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::FixedState;

/// By symbol: the two symbols that it was last proposed to be merged from.
pub(super) type Splits = HashMap<u32, (u32, u32), FixedState>;

/// The buffers.
#[derive(Debug, Default)]
pub struct BpeScratch {
    /// The row of symbols that is merged.
    pub(super) symbols: Vec<u32>,
    /// Where the bytes of each symbol end in the pretoken, before anything merges; only if ends are asked for.
    pub(super) bounds: Vec<u32>,
    /// For each symbol of a scanned row, which of the first ones it starts with; only if ends are asked for.
    pub(super) starts: Vec<u32>,
    /// For each symbol, what it merges to with the next one, packed.
    pub(super) pairs: Vec<u64>,
    /// The linked list of the symbols that are left, both ways.
    pub(super) next: Vec<u32>,
    pub(super) previous: Vec<u32>,
    pub(super) heap: Vec<Reverse<u64>>,
    /// Merged symbols that are no ids yet, and where each ends.
    pub(super) merged: Vec<u32>,
    pub(super) merged_ends: Vec<u32>,
    /// What is left to write of a symbol that is split again.
    pub(super) stack: Vec<u32>,
    pub(super) splits: Splits,
}

impl BpeScratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.symbols.capacity()
            + self.bounds.capacity()
            + self.starts.capacity()
            + self.next.capacity()
            + self.previous.capacity()
            + self.merged.capacity()
            + self.merged_ends.capacity()
            + self.stack.capacity())
            + 8 * (self.pairs.capacity() + self.heap.capacity())
            + 16 * self.splits.capacity()
    }
}
