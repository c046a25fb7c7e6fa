//! The buffers of a pass over a pretoken, reused from one pretoken to the next.
//!
//! In: sums and edges, place by place. Out: the same, when later places need them. What an earlier pretoken left in
//! a buffer must never be read.
use std::collections::VecDeque;

use tokenmill_kernels::try_alloc;

use super::model::{UNKNOWN, rounded};
use crate::error::Result;

/// The buffers.
#[derive(Debug, Default)]
pub struct UnigramScratch {
    /// For every place, the edge by which the chosen path arrives; not set inside characters.
    pub(super) last: Vec<u32>,
    /// The sum of the path to each place, for as many places as the longest edge needs.
    pub(super) sums: RecentSums,
    pub(super) restarts: Restarts,
    /// For every place, how far the chosen path is ahead of others that arrive there by another edge.
    pub(super) margins: Vec<f32>,
}

impl UnigramScratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.last.capacity() + self.margins.capacity())
            + 8 * self.sums.0.capacity()
            + 16 * self.restarts.0.capacity()
    }

    /// Prepares for a text; `before` is the sum at its start.
    pub(super) fn start(&mut self, text: &[u8], longest_edge: usize, before: f64) -> Result<()> {
        // Every place is set before it is read, so older entries need not be cleared.
        if self.last.len() <= text.len() {
            try_alloc::resize(&mut self.last, text.len() + 1, UNKNOWN)?;
        }
        self.sums.start(longest_edge.min(text.len()), before);
        Ok(())
    }
}

/// The sums of the last few places, in a ring buffer.
#[derive(Debug, Default)]
pub(super) struct RecentSums(Vec<f64>);

impl RecentSums {
    fn start(&mut self, longest_edge: usize, before: f64) {
        // An unknown character reaches back four bytes.
        let size = (longest_edge.max(4) + 1).next_power_of_two();
        if self.0.len() < size {
            self.0.resize(size, 0.0);
        }
        self.0[0] = before;
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> f64 {
        self.0[place & (self.0.len() - 1)]
    }

    #[inline]
    pub(super) fn set(&mut self, place: usize, sum: f64) {
        let mask = self.0.len() - 1;
        self.0[place & mask] = sum;
    }
}

/// The last few places at which sums started over from 0, with the sum that was subtracted there.
///
/// A sum counts from the last restart before its place. The sum of an edge that leads over a later restart is too
/// large, so what was subtracted at that restart is subtracted from it too.
#[derive(Debug, Default)]
pub(super) struct Restarts(VecDeque<(usize, f64)>);

impl Restarts {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    pub(super) fn newest(&self) -> usize {
        self.0.back().map_or(0, |(place, _)| *place)
    }

    /// Restarts the sums at `place`, where `sum` was reached; no edge is longer than `longest_edge`.
    #[cold]
    pub(super) fn push(&mut self, sum: f64, place: usize, longest_edge: usize) {
        while self.0.front().is_some_and(|(front, _)| front + longest_edge < place) {
            self.0.pop_front();
        }
        self.0.push_back((place, sum));
    }

    /// Converts a sum that counts as at `from` to one that counts as at `to`. Each step is rounded.
    #[cold]
    pub(super) fn carry(&self, sum: f64, from: usize, to: usize) -> f64 {
        let first = self.0.partition_point(|(place, _)| *place <= from);
        let passed = self.0.range(first..).take_while(|(place, _)| *place <= to);
        passed.fold(sum, |sum, (_, subtracted)| rounded(true, sum - subtracted))
    }
}
