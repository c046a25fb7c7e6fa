//! The pairs of neighbours in the words, with their counts and places.
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::error::Result;

/// Two symbols that stand, or stood, side by side.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) left: u32,
    pub(super) right: u32,
    /// How often, weighted; overlapping occurrences count.
    pub(super) count: u64,
    /// The places of the left symbol: every occurrence, and some that are no more.
    pub(super) places: Vec<u32>,
    /// Has the pair changed in this step?
    pub(super) is_touched: bool,
    /// May it never be merged?
    pub(super) is_refused: bool,
}

/// All pairs, numbered in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    /// By both symbols, which are stored with the number, so that a lookup touches nothing else.
    numbers: HashTable<(u32, u32, u32)>,
}

fn hash(left: u32, right: u32) -> u64 {
    FixedState::default().hash_one(u64::from(left) << 32 | u64::from(right))
}

impl Pairs {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, number: u32) -> &Pair {
        &self.all[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Pair {
        &mut self.all[number as usize]
    }

    pub(super) fn find(&self, left: u32, right: u32) -> Option<u32> {
        let found = self.numbers.find(hash(left, right), |&(l, r, _)| l == left && r == right)?;
        Some(found.2)
    }

    /// The number of a pair, which is added without occurrences if there is none.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn find_or_add(&mut self, left: u32, right: u32) -> Result<u32> {
        if let Some(number) = self.find(left, right) {
            return Ok(number);
        }
        let number = self.all.len() as u32;
        let again = |&(l, r, _): &(u32, u32, u32)| hash(l, r);
        let reserved = self.numbers.try_reserve(1, again);
        reserved.map_err(|_| OutOfMemory::items::<(u32, u32, u32)>(self.numbers.len() + 1))?;
        self.numbers.insert_unique(hash(left, right), (left, right, number), again);
        let pair = Pair { left, right, count: 0, places: Vec::new(), is_touched: false, is_refused: false };
        try_alloc::push(&mut self.all, pair)?;
        Ok(number)
    }
}
