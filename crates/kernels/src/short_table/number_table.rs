//! The table of keys with one number each, which does not grow: three entries share a line of 64 bytes.
use super::key::{Key, MAX_PROBES};
use crate::table::{Table, Zeroable};

/// Entries of a bucket.
const ENTRIES: usize = 3;

/// Entries that are compared together, in one cache line. A free entry has the key 0.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; ENTRIES],
    numbers: [u32; ENTRIES],
    /// Not 0 if a key that belongs to this bucket is in one of the next buckets. Otherwise a key that is not in
    /// this bucket is not in the table.
    overflowed: u32,
}

// SAFETY: all of it is numbers; a bucket of zeros is empty.
unsafe impl Zeroable for Bucket {}

impl Bucket {
    /// The entry of a key, and whether it has one. Which of them it is cannot be predicted, so there is no branch
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
    /// The upper bits of a hash, shifted down by this, are its bucket.
    shift: u32,
}

impl NumberTable {
    /// An empty table of which this many keys fill two thirds at most.
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
        let (entry, is_found) = bucket.find(key);
        if is_found {
            return Some(bucket.numbers[entry]);
        }
        if bucket.overflowed == 0 { None } else { self.probe_next(key, home) }
    }

    #[cold]
    fn probe_next(&self, key: Key, home: usize) -> Option<u32> {
        for step in 1..MAX_PROBES {
            let bucket = &self.buckets[(home + step) & (self.buckets.len() - 1)];
            if let Some(entry) = bucket.entry_of(key) {
                return Some(bucket.numbers[entry]);
            }
            // Insertion would have used the free entry, as no entry is ever removed.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Was there no entry for a key of the bucket of this hash? It is in one of the next buckets then, or was
    /// [not inserted](Self::insert).
    #[inline]
    pub fn overflows(&self, hash: u64) -> bool {
        self.buckets[self.home(hash)].overflowed != 0
    }

    /// Inserts a key, or changes its number. False if all entries that it may have are taken; its bucket
    /// [overflows](Self::overflows) then.
    pub fn insert(&mut self, key: Key, hash: u64, number: u32) -> bool {
        let home = self.home(hash);
        let mask = self.buckets.len() - 1;
        for step in 0..MAX_PROBES {
            let bucket = &mut self.buckets[(home + step) & mask];
            if let Some(entry) = bucket.entry_of(key).or_else(|| bucket.entry_of(0)) {
                (bucket.keys[entry], bucket.numbers[entry]) = (key, number);
                return true;
            }
            self.buckets[home].overflowed = 1;
        }
        false
    }

    /// Prefetches the bucket of a hash.
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
