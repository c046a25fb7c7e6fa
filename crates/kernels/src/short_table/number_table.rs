//! A hash table of fixed size from keys to one number each. A bucket of three entries is one cache line of 64
//! bytes.
use super::table::{Key, MAX_PROBES};
use crate::image::{ImageError, ImageReader, ImageWriter, InImage, Plain};
use crate::table::{Table, Zeroable};

/// The number of entries in a bucket.
const ENTRIES: usize = 3;

/// The entries of one cache line, which are compared together. A free entry has the key 0.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; ENTRIES],
    numbers: [u32; ENTRIES],
    /// Not 0 if a key whose home is this bucket found no entry here. If it is 0, a key that is not in its home
    /// bucket is not in the table.
    overflowed: u32,
}

// SAFETY: all fields are numbers, for which zero bytes are valid. A bucket of zeros is empty.
unsafe impl Zeroable for Bucket {}

// SAFETY: the fields are numbers and fill the bucket: three of 16 bytes and four of 4 bytes are one cache line.
unsafe impl Plain for Bucket {}

impl Bucket {
    /// The entry with this key, and whether there is one. Which entry it is cannot be predicted, so the code does
    /// not branch on it.
    #[inline]
    fn find(&self, key: Key) -> (usize, bool) {
        let [first, second, third] = self.keys.map(|own| own == key);
        (usize::from(second) + 2 * usize::from(third), first | second | third)
    }

    fn entry_of(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|&own| own == key)
    }
}

/// A map from keys to numbers. Its size is fixed.
#[derive(Debug)]
pub struct NumberTable {
    buckets: Table<Bucket>,
    /// A hash shifted right by this is the index of the key's home bucket.
    shift: u32,
}

impl NumberTable {
    /// An empty table of which `keys` keys fill at most two thirds.
    pub fn for_keys(keys: usize) -> Self {
        let buckets = keys.div_ceil(2).max(2).next_power_of_two();
        Self { buckets: Table::zeros(buckets), shift: 64 - buckets.trailing_zeros() }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The number of this key. `hash` must be its hash.
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
            // Insertion would have used this free entry, as entries are never removed.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Did some key with this home bucket find no entry there? That key is in one of the next buckets, or was [not
    /// inserted](Self::insert).
    #[inline]
    pub fn overflows(&self, hash: u64) -> bool {
        self.buckets[self.home(hash)].overflowed != 0
    }

    /// Inserts a key or changes its number. Returns false if all entries in which the key may be are taken. Its
    /// home bucket [overflows](Self::overflows) then.
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

    /// Prefetches the home bucket of a key with this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        crate::prefetch::prefetch(&self.buckets, self.home(hash));
    }

    /// The heap bytes of this table.
    pub fn memory(&self) -> usize {
        self.buckets.memory()
    }
}

impl InImage for NumberTable {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.buckets);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let buckets = image.array()?;
        if buckets.len() < 2 || !buckets.len().is_power_of_two() {
            return Err(ImageError::Inconsistent("a table of numbers has another length"));
        }
        let shift = 64 - buckets.len().trailing_zeros();
        Ok(Self { buckets: buckets.into(), shift })
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
