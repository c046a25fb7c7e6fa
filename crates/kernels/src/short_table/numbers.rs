//! A map from keys to one number each: three entries share a line of 64 bytes.
use crate::pages::{Table, Zero};

use super::{Key, PROBES};

/// Entries of a bucket.
const ENTRIES: usize = 3;

/// Entries that are looked at together: their keys, of which 0 is that of an empty place, and their numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; ENTRIES],
    numbers: [u32; ENTRIES],
    /// Not 0 where a key that would have stood here stands in a bucket behind. Without it a key that is not here is
    /// nowhere.
    overflows: u32,
}

// SAFETY: all of it is numbers; a bucket of zeros is empty.
unsafe impl Zero for Bucket {}

impl Bucket {
    /// Where a key stands, and whether it stands here at all. Which of them it is cannot be foretold, so there is no branch
    /// for it.
    #[inline]
    fn find(&self, key: Key) -> (usize, bool) {
        let [first, second, third] = self.keys.map(|own| own == key);
        (usize::from(second) + 2 * usize::from(third), first | second | third)
    }

    fn entry_of(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|&own| own == key)
    }
}

/// A map from keys to numbers that does not grow.
#[derive(Debug)]
pub struct NumberTable {
    buckets: Table<Bucket>,
    /// The bucket of a hash is what is left of it when it is shifted by this.
    shift: u32,
}

impl NumberTable {
    /// An empty table, of whose places so many keys take two in three at most.
    pub fn for_keys(keys: usize) -> Self {
        let buckets = keys.div_ceil(2).max(2).next_power_of_two();
        Self { buckets: Table::zeros(buckets), shift: 64 - buckets.trailing_zeros() }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The number of a key with this hash.
    #[inline]
    pub fn get(&self, key: Key, hash: u64) -> Option<u32> {
        let home = self.home(hash);
        let bucket = &self.buckets[home];
        let (entry, is_here) = bucket.find(key);
        if is_here {
            return Some(bucket.numbers[entry]);
        }
        if bucket.overflows == 0 { None } else { self.get_behind(key, home) }
    }

    #[cold]
    fn get_behind(&self, key: Key, home: usize) -> Option<u32> {
        for step in 1..PROBES {
            let bucket = &self.buckets[(home + step) & (self.buckets.len() - 1)];
            if let Some(entry) = bucket.entry_of(key) {
                return Some(bucket.numbers[entry]);
            }
            // It would stand here, as no place is ever given up.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Is there a key without a place in the bucket of this hash, which [may](Self::insert) have none at all?
    #[inline]
    pub fn overflows(&self, hash: u64) -> bool {
        self.buckets[self.home(hash)].overflows != 0
    }

    /// Puts a key, or changes its number. False where all its places are taken; then its bucket
    /// [overflows](Self::overflows).
    pub fn insert(&mut self, key: Key, hash: u64, number: u32) -> bool {
        let home = self.home(hash);
        let mask = self.buckets.len() - 1;
        for step in 0..PROBES {
            let bucket = &mut self.buckets[(home + step) & mask];
            if let Some(entry) = bucket.entry_of(key).or_else(|| bucket.entry_of(0)) {
                (bucket.keys[entry], bucket.numbers[entry]) = (key, number);
                return true;
            }
            self.buckets[home].overflows = 1;
        }
        false
    }

    /// Asks for the bucket of a hash to be brought near.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        crate::prefetch::prefetch(&self.buckets, self.home(hash));
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.buckets.memory()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::short_table::{hash, key_at};

    proptest! {
        #[test]
        fn a_table_is_a_map(
            texts in prop::collection::vec(prop::collection::vec(0..4_u8, 1..5), 0..200),
            keys in 0..100_usize,
        ) {
            let mut table = NumberTable::for_keys(keys);
            let (mut map, mut without) = (HashMap::new(), Vec::new());
            for (number, text) in (0..).zip(&texts) {
                let key = key_at(text, 0, text.len());
                prop_assert_eq!(table.get(key, hash(key)), map.get(&key).copied());
                if table.insert(key, hash(key), number) {
                    map.insert(key, number);
                } else {
                    prop_assert!(table.overflows(hash(key)) && !map.contains_key(&key));
                    without.push(key);
                }
            }
            for (&key, &number) in &map {
                prop_assert_eq!(table.get(key, hash(key)), Some(number));
            }
            for key in without.into_iter().chain([key_at(b"absent", 0, 6)]) {
                prop_assert_eq!(table.get(key, hash(key)), None);
            }
        }
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let mut table = NumberTable::for_keys(0);
        let keys: Vec<Key> = (0..100_u8).map(|byte| key_at(&[byte, byte], 0, 2)).collect();
        let taken = keys.iter().filter(|&&key| table.insert(key, hash(key), 7)).count();
        assert_eq!(taken, 2 * ENTRIES);
        assert_eq!(keys.iter().filter(|&&key| table.get(key, hash(key)) == Some(7)).count(), taken);
    }
}
