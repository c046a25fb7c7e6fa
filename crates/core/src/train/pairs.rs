//! Pairs of neighbours, numbered in the order in which they were added. What is known of a pair depends on the learner.
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::error::Result;

/// A pair that byte-pair encoding tracks.
#[derive(Debug)]
pub(super) struct Pair {
    /// The weighted number of adjacent occurrences, overlapping ones included. Only falls after the
    /// step that created the pair.
    pub(super) count: u64,
    pub(super) left: u32,
    pub(super) right: u32,
    /// Positions of the left symbol, ascending: every occurrence, and stale positions.
    pub(super) positions: Box<[u32]>,
}

/// Pairs with what is known of each.
#[derive(Debug)]
pub(super) struct Pairs<P> {
    all: Vec<P>,
    /// The number of each pair. Both symbols are stored with it, so that a lookup touches nothing else.
    numbers: HashTable<(u32, u32, u32)>,
}

impl<P> Default for Pairs<P> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: HashTable::new() }
    }
}

fn hash(left: u32, right: u32) -> u64 {
    FixedState::default().hash_one(u64::from(left) << 32 | u64::from(right))
}

impl<P> Pairs<P> {
    /// The number of a pair.
    pub(super) fn find(&self, left: u32, right: u32) -> Option<u32> {
        let found = self.numbers.find(hash(left, right), |&(l, r, _)| l == left && r == right)?;
        Some(found.2)
    }

    /// Adds a pair that is not there yet; returns its number.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn add(&mut self, (left, right): (u32, u32), pair: P) -> Result<u32> {
        let number = self.all.len() as u32;
        let again = |&(l, r, _): &(u32, u32, u32)| hash(l, r);
        let reserved = self.numbers.try_reserve(1, again);
        reserved.map_err(|_| OutOfMemory::items::<(u32, u32, u32)>(self.numbers.len() + 1))?;
        self.numbers.insert_unique(hash(left, right), (left, right, number), again);
        try_alloc::push(&mut self.all, pair)?;
        Ok(number)
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &P {
        &self.all[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut P {
        &mut self.all[number as usize]
    }

    /// All pairs, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.all.iter()
    }
}
