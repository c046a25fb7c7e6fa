//! Pairs of neighbours: a dense index for each, its count and its positions.
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::error::Result;

/// A tracked pair.
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

/// All tracked pairs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    /// Index by (left, right); the key is stored with the index, so that a lookup touches nothing else.
    numbers: HashTable<(u32, u32, u32)>,
}

fn hash(left: u32, right: u32) -> u64 {
    FixedState::default().hash_one(u64::from(left) << 32 | u64::from(right))
}

impl Pairs {
    /// The index of a pair.
    pub(super) fn find(&self, left: u32, right: u32) -> Option<u32> {
        let found = self.numbers.find(hash(left, right), |&(l, r, _)| l == left && r == right)?;
        Some(found.2)
    }

    /// Adds a new pair; returns its index.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn add(&mut self, pair: Pair) -> Result<u32> {
        let number = self.all.len() as u32;
        let entry = (pair.left, pair.right, number);
        let without = OutOfMemory::items::<(u32, u32, u32)>;
        let reserved = self.numbers.try_reserve(1, |&(l, r, _)| hash(l, r));
        reserved.map_err(|_| without(self.numbers.len() + 1))?;
        self.numbers.insert_unique(hash(pair.left, pair.right), entry, |&(l, r, _)| hash(l, r));
        try_alloc::push(&mut self.all, pair)?;
        Ok(number)
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Pair {
        &self.all[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Pair {
        &mut self.all[number as usize]
    }

    /// All pairs, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.all.iter()
    }
}
