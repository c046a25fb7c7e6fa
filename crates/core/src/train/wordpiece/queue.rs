//! The queue of pairs, best first: a binary heap that knows the slot of each pair, so that an entry can move when the
//! counts of its pair change. Scores rise and fall.
use std::cmp::Ordering;

use tokenmill_kernels::try_alloc;

use super::score::{Counts, Score};
use crate::error::Result;

/// In place of a slot: the pair is not queued.
const NOT_QUEUED: u32 = u32::MAX;

/// A queued pair.
#[derive(Debug, Clone, Copy)]
struct Entry {
    counts: Counts,
    left: u32,
    right: u32,
    pair: u32,
}

/// A binary heap with at most one entry for each pair.
#[derive(Debug)]
pub(super) struct Queue {
    score: Score,
    heap: Vec<Entry>,
    /// The slot of each pair in `heap`.
    slots: Vec<u32>,
}

impl Queue {
    pub(super) fn new(score: Score) -> Self {
        Self { score, heap: Vec::new(), slots: Vec::new() }
    }

    /// The best pair. Of equal ones that with the smallest symbols.
    pub(super) fn first(&self) -> Option<u32> {
        self.heap.first().map(|entry| entry.pair)
    }

    /// Queues a pair of two symbols, or updates its entry.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn put(&mut self, pair: u32, (left, right): (u32, u32), counts: Counts) -> Result<()> {
        if self.slots.len() <= pair as usize {
            let more = pair as usize + 1 - self.slots.len();
            try_alloc::reserve(&mut self.slots, more)?;
            self.slots.resize(pair as usize + 1, NOT_QUEUED);
        }
        let entry = Entry { counts, left, right, pair };
        match self.slots[pair as usize] {
            NOT_QUEUED => {
                let at = self.heap.len();
                try_alloc::push(&mut self.heap, entry)?;
                self.rise(at, entry);
            }
            slot => {
                let at = slot as usize;
                if self.heap[at].counts != counts {
                    self.settle(at, entry);
                }
            }
        }
        Ok(())
    }

    /// Removes a pair, if it is queued.
    pub(super) fn remove(&mut self, pair: u32) {
        let Some(slot) = self.slots.get_mut(pair as usize) else { return };
        let at = std::mem::replace(slot, NOT_QUEUED);
        if at == NOT_QUEUED {
            return;
        }
        let Some(last) = self.heap.pop() else { return };
        if last.pair != pair {
            self.settle(at as usize, last);
        }
    }

    /// Puts an entry into a slot, and moves it up or down from there.
    fn settle(&mut self, at: usize, entry: Entry) {
        if at > 0 && self.before(&entry, &self.heap[(at - 1) / 2]) {
            self.rise(at, entry);
        } else {
            self.sink(at, entry);
        }
    }

    fn rise(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.before(&entry, &self.heap[parent]) {
                break;
            }
            self.set(at, self.heap[parent]);
            at = parent;
        }
        self.set(at, entry);
    }

    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.before(&self.heap[child + 1], &self.heap[child]) {
                child += 1;
            }
            if !self.before(&self.heap[child], &entry) {
                break;
            }
            self.set(at, self.heap[child]);
            at = child;
        }
        self.set(at, entry);
    }

    fn set(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.slots[entry.pair as usize] = at as u32;
    }

    fn before(&self, a: &Entry, b: &Entry) -> bool {
        let order = self.score.compare(b.counts, a.counts);
        order.then_with(|| (a.left, a.right).cmp(&(b.left, b.right))) == Ordering::Less
    }
}
