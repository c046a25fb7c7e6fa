//! The table of keys and their ids: open addressing over buckets of one cache line, two entries each.
use super::key::{Key, MAX_PROBES, hash};
use crate::table::{Table, Zeroable};
use crate::try_alloc::OutOfMemory;

/// The most ids that an entry holds itself.
pub const INLINE: usize = 3;

/// The ids of one pretoken, or what the owner of the table stores instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The first `inline_len` are ids. With spilled ids, the first word is where these begin in the owner's array.
    /// With neither, the words mean what the owner wants.
    pub words: [u32; INLINE],
    /// How many ids are in `words`: [`INLINE`] at most.
    pub inline_len: u8,
    /// How many ids are in an array that the owner keeps. None are in `words` then.
    pub spilled_len: u16,
}

impl Value {
    /// The value of these ids.
    ///
    /// # Panics
    /// If they are more than [`INLINE`].
    #[inline]
    pub fn of(ids: &[u32]) -> Self {
        let mut words = [0; INLINE];
        words[..ids.len()].copy_from_slice(ids);
        Self { words, inline_len: ids.len() as u8, spilled_len: 0 }
    }

    /// The ids that are in the entry itself.
    #[inline]
    pub fn ids(&self) -> &[u32] {
        &self.words[..usize::from(self.inline_len).min(INLINE)]
    }
}

/// The three words of a value; the last word has `inline_len` in its low byte, the flag [`OVERFLOWED`], and
/// `spilled_len` in its upper half.
pub(super) type Words = [u32; INLINE + 1];

/// Two entries that are compared together, in one cache line. A free entry has the key 0.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    pub(super) keys: [Key; 2],
    /// The second has the flag [`OVERFLOWED`] of the bucket.
    pub(super) values: [Words; 2],
}

#[inline]
fn value_of([first, second, third, last]: Words) -> Value {
    Value { words: [first, second, third], inline_len: last as u8, spilled_len: (last >> 16) as u16 }
}

const EMPTY: Bucket = Bucket { keys: [0; 2], values: [[0; INLINE + 1]; 2] };

// SAFETY: it is [`EMPTY`].
unsafe impl Zeroable for Bucket {}

/// In the last word of the last value of a bucket: a key that belongs to this bucket is in one of the next
/// buckets. Without it, a key that is not in this bucket is not in the table.
const OVERFLOWED: u32 = 1 << 8;

impl Bucket {
    #[inline]
    fn is_overflowed(&self) -> bool {
        self.values[1][INLINE] & OVERFLOWED != 0
    }

    #[inline]
    fn value(&self, entry: usize) -> Value {
        value_of(self.values[entry])
    }

    fn entry_of(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|&own| own == key)
    }

    /// The entry that a key has or may take, and whether there is one; the second is used only when the first is
    /// taken. Which of them it is cannot be predicted, so there is no branch for it.
    #[inline]
    fn entry_for(&self, key: Key) -> (usize, bool) {
        let [first, second] = self.keys.map(|own| own == key || own == 0);
        (usize::from(!first), first | second)
    }

    /// Overwrites an entry. The flag of the bucket stays.
    fn put(&mut self, entry: usize, key: Key, value: Value) {
        let [first, second, third] = value.words;
        let inline_len = u32::from(value.inline_len.min(INLINE as u8));
        let last = inline_len | self.values[entry][INLINE] & OVERFLOWED | u32::from(value.spilled_len) << 16;
        self.keys[entry] = key;
        self.values[entry] = [first, second, third, last];
    }
}

/// A map from keys to values that grows only when its owner says so.
#[derive(Debug)]
pub struct ShortTable {
    pub(super) buckets: Table<Bucket>,
    /// The upper bits of a hash, shifted down by this, are its bucket.
    shift: u32,
    len: usize,
}

impl ShortTable {
    /// An empty table of `2^bits` buckets, two at least, each of two entries and 64 bytes.
    pub fn new(bits: u32) -> Self {
        let bits = Self::clamped(bits);
        Self { buckets: Table::zeros(1 << bits), shift: 64 - bits, len: 0 }
    }

    /// As [`Self::new`].
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn try_new(bits: u32) -> Result<Self, OutOfMemory> {
        let bits = Self::clamped(bits);
        Ok(Self { buckets: Table::try_zeros(1 << bits)?, shift: 64 - bits, len: 0 })
    }

    /// At least two buckets: a shift of all 64 bits would overflow.
    fn clamped(bits: u32) -> u32 {
        bits.clamp(1, 40)
    }

    /// Heap bytes of a table of `2^bits` buckets.
    pub const fn memory_of(bits: u32) -> usize {
        size_of::<Bucket>() << bits
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.buckets.memory()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No entries?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The logarithm of the number of buckets.
    pub fn bits(&self) -> u32 {
        64 - self.shift
    }

    #[inline]
    pub(super) fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The value of a key with this hash.
    #[inline]
    pub fn get(&self, key: Key, hash: u64) -> Option<Value> {
        let home = self.home(hash);
        let bucket = &self.buckets[home];
        // Which of the two it is cannot be predicted, so there is no branch for it.
        let is_other = bucket.keys[1] == key;
        if (bucket.keys[0] == key) | is_other {
            return Some(bucket.value(usize::from(is_other)));
        }
        self.probe_next(key, hash).map(|&words| value_of(words))
    }

    /// The value of a key that is not in the bucket of its hash but in one of the next buckets.
    #[inline(never)]
    pub(super) fn probe_next(&self, key: Key, hash: u64) -> Option<&Words> {
        let home = self.home(hash);
        if !self.buckets[home].is_overflowed() {
            return None;
        }
        for step in 1..MAX_PROBES {
            let bucket = &self.buckets[(home + step) & (self.buckets.len() - 1)];
            if let Some(entry) = bucket.entry_of(key) {
                return Some(&bucket.values[entry]);
            }
            // Insertion would have used the free entry, as no entry is ever removed.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Inserts a key, or changes its value. False if all entries that it may have are taken.
    pub fn insert(&mut self, key: Key, hash: u64, value: Value) -> bool {
        let home = self.home(hash);
        let mask = self.buckets.len() - 1;
        for step in 0..MAX_PROBES {
            let bucket = &mut self.buckets[(home + step) & mask];
            let (entry, is_usable) = bucket.entry_for(key);
            if is_usable {
                self.len += usize::from(bucket.keys[entry] == 0);
                bucket.put(entry, key, value);
                return true;
            }
            self.buckets[home].values[1][INLINE] |= OVERFLOWED;
        }
        false
    }

    /// Stores a key for which [`Self::insert`] found no entry in place of another one.
    pub fn replace(&mut self, key: Key, hash: u64, value: Value) {
        let home = self.home(hash);
        self.buckets[home].put((hash >> 8 & 1) as usize, key, value);
    }

    /// A table of `2^bits` buckets with the same entries; those that find no entry there are dropped.
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn grown(&self, bits: u32) -> Result<Self, OutOfMemory> {
        let mut grown = Self::try_new(bits)?;
        for bucket in self.buckets.iter() {
            for (entry, &key) in bucket.keys.iter().enumerate().filter(|&(_, &key)| key != 0) {
                grown.insert(key, hash(key), bucket.value(entry));
            }
        }
        Ok(grown)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.buckets.fill(EMPTY);
        self.len = 0;
    }

    /// Prefetches the bucket of a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        crate::prefetch::prefetch(&self.buckets, self.home(hash));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::short_table::key_at;

    fn value(word: u32) -> Value {
        Value::of(&[word])
    }

    proptest! {
        #[test]
        fn a_table_is_a_map(pretokens in prop::collection::vec(prop::collection::vec(0..4_u8, 1..5), 0..200), bits in 1..7_u32) {
            let mut table = ShortTable::new(bits);
            let mut map: HashMap<Key, Value> = HashMap::new();
            for (i, pretoken) in pretokens.iter().enumerate() {
                let key = key_at(pretoken, 0, pretoken.len());
                prop_assert_eq!(table.get(key, hash(key)), map.get(&key).copied());
                if map.contains_key(&key) {
                    continue;
                }
                let new = value(i as u32);
                let is_inserted = table.insert(key, hash(key), new);
                prop_assert!(is_inserted || table.buckets[table.home(hash(key))].is_overflowed());
                if is_inserted {
                    map.insert(key, new);
                } else {
                    table = table.grown(table.bits() + 1).unwrap();
                    map.retain(|&key, _| table.get(key, hash(key)).is_some());
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (&key, &old) in &map {
                prop_assert_eq!(table.get(key, hash(key)), Some(old));
                prop_assert!(table.insert(key, hash(key), value(7)));
                prop_assert_eq!(table.get(key, hash(key)), Some(value(7)));
            }
            prop_assert_eq!(table.len(), map.len());
            let absent = key_at(b"absent", 0, 6);
            prop_assert_eq!(table.get(absent, hash(absent)), None);
        }
    }

    #[test]
    fn a_full_table_takes_no_more_and_replaces() {
        let mut table = ShortTable::new(1);
        let keys: Vec<Key> = (0..100_u8).map(|byte| key_at(&[byte, byte], 0, 2)).collect();
        let taken = keys.iter().filter(|&&key| table.insert(key, hash(key), value(7))).count();
        assert_eq!((taken, table.len()), (4, 4));
        let key = keys[99];
        table.replace(key, hash(key), value(8));
        assert_eq!(table.get(key, hash(key)), Some(value(8)));
        assert_eq!(table.len(), 4);
        table.clear();
        assert!(table.is_empty());
        assert!(keys.iter().all(|&key| table.get(key, hash(key)).is_none()));
    }
}
