//! The hash table: open addressing over buckets of one cache line, with two entries each. And its keys: a short
//! pretoken packed into 16 bytes, so that comparing two keys compares their texts.
use crate::hashing::GOLDEN_RATIO;
use crate::table::{Table, Zeroable};
use crate::try_alloc::OutOfMemory;

/// The most bytes of a pretoken that can be a key.
pub const SHORT: usize = 15;

/// The most buckets that a lookup probes. This limit keeps lookups fast even for crafted keys.
pub(super) const MAX_PROBES: usize = 8;

/// A pretoken of 1 to [`SHORT`] bytes in little-endian order, with its length in the highest byte.
pub type Key = u128;

/// For each length of a key, the mask of its bytes and the length in the highest byte.
static LENGTHS: [[u128; 2]; 16] = lengths();

const fn lengths() -> [[u128; 2]; 16] {
    let (mut lengths, mut length) = ([[0; 2]; 16], 1);
    while length < 16 {
        lengths[length] = [u128::MAX >> (128 - 8 * length), (length as u128) << 120];
        length += 1;
    }
    lengths
}

/// The key of `text[start..start + length]`. `length` must be 1 to [`SHORT`].
#[inline]
pub fn key_at(text: &[u8], start: usize, length: usize) -> Key {
    match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => key_of(u128::from_le_bytes(*bytes), length),
        None => last_key(text, start, length),
    }
}

/// The key of the first `length` of these bytes.
#[inline]
pub(super) fn key_of(bytes: u128, length: usize) -> Key {
    let [mask, length] = LENGTHS[length & 15];
    bytes & mask | length
}

/// As [`key_at`], for a `start` after which fewer than 16 bytes follow. It reads the last 16 bytes of the text and
/// shifts out the ones before `start`.
#[inline]
pub(super) fn last_key(text: &[u8], start: usize, length: usize) -> Key {
    let (bytes, first) = match text.last_chunk() {
        Some(last) => (u128::from_le_bytes(*last), text.len() - 16),
        None => (read_all(text), 0),
    };
    key_of(bytes >> (8 * ((start - first) & 15)), length)
}

/// Reads a whole text of fewer than 16 bytes, mostly with two loads that overlap.
fn read_all(text: &[u8]) -> u128 {
    let shift = |part: usize| 8 * (text.len() - part);
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << shift(8)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << shift(4)
    } else {
        text.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte))
    }
}

/// Hashes a key so that all its bits influence the high bits, which select the bucket.
#[inline]
pub fn hash(key: Key) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low ^ high.rotate_left(29)).wrapping_mul(GOLDEN_RATIO)
}

/// The most ids that are stored in an entry itself.
pub const INLINE: usize = 3;

/// The ids of one pretoken, or other data that the owner of the table stores in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The first `inline_len` words are ids. If the ids are spilled, the first word is their start in the owner's
    /// array. If `inline_len` and `spilled_len` are both 0, the owner decides what the words mean.
    pub words: [u32; INLINE],
    /// The number of ids in `words`, at most [`INLINE`].
    pub inline_len: u8,
    /// The number of ids in an array that the owner keeps. In that case `words` contains no ids.
    pub spilled_len: u16,
}

impl Value {
    /// The value of these ids.
    ///
    /// # Panics
    /// If there are more ids than [`INLINE`].
    #[inline]
    pub fn of(ids: &[u32]) -> Self {
        let mut words = [0; INLINE];
        words[..ids.len()].copy_from_slice(ids);
        Self { words, inline_len: ids.len() as u8, spilled_len: 0 }
    }

    /// The ids that are stored in the entry itself.
    #[inline]
    pub fn ids(&self) -> &[u32] {
        &self.words[..usize::from(self.inline_len).min(INLINE)]
    }
}

/// The three words of a value; the last word has `inline_len` in its low byte, the flag [`OVERFLOWED`], and
/// `spilled_len` in its upper half.
pub(super) type Words = [u32; INLINE + 1];

/// The two entries of one cache line, which are compared together. A free entry has the key 0.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    pub(super) keys: [Key; 2],
    /// The last word of the second value has the flag [`OVERFLOWED`] of the bucket.
    pub(super) values: [Words; 2],
}

#[inline]
fn value_of([first, second, third, last]: Words) -> Value {
    Value { words: [first, second, third], inline_len: last as u8, spilled_len: (last >> 16) as u16 }
}

const EMPTY: Bucket = Bucket { keys: [0; 2], values: [[0; INLINE + 1]; 2] };

// SAFETY: a bucket with all bytes zero is [`EMPTY`], which is a valid value.
unsafe impl Zeroable for Bucket {}

/// A flag in the last word of a bucket's second value: a key whose home is this bucket was put into one of the
/// next buckets. If it is not set, a key that is not in its home bucket is not in the table.
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

    /// The entry that has this key or is free for it, and whether there is such an entry. The second entry is
    /// taken only if the first has another key. Which of the two it is cannot be predicted, so the code does not
    /// branch on it.
    #[inline]
    fn entry_for(&self, key: Key) -> (usize, bool) {
        let [first, second] = self.keys.map(|own| own == key || own == 0);
        (usize::from(!first), first | second)
    }

    /// Overwrites an entry and keeps the overflow flag of the bucket.
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
    /// A hash shifted right by this is the index of the key's home bucket.
    shift: u32,
    len: usize,
}

impl ShortTable {
    /// An empty table of `2^bits` buckets, at least two. A bucket has two entries and 64 bytes.
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

    /// At least two buckets, as a shift by 64 bits would overflow.
    fn clamped(bits: u32) -> u32 {
        bits.clamp(1, 40)
    }

    /// The heap bytes of a table of `2^bits` buckets.
    pub const fn memory_of(bits: u32) -> usize {
        size_of::<Bucket>() << bits
    }

    /// The heap bytes of this table.
    pub fn memory(&self) -> usize {
        self.buckets.memory()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Has the table no entries?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The binary logarithm of the number of buckets.
    pub fn bits(&self) -> u32 {
        64 - self.shift
    }

    #[inline]
    pub(super) fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The value of this key. `hash` must be its hash.
    #[inline]
    pub fn get(&self, key: Key, hash: u64) -> Option<Value> {
        let home = self.home(hash);
        let bucket = &self.buckets[home];
        // Which of the two entries matches cannot be predicted, so the code does not branch on it.
        let is_other = bucket.keys[1] == key;
        if (bucket.keys[0] == key) | is_other {
            return Some(bucket.value(usize::from(is_other)));
        }
        self.probe_next(key, hash).map(|&words| value_of(words))
    }

    /// Looks a key up in the buckets after its home bucket, which does not have it.
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
            // Insertion would have used this free entry, and no entry is ever freed singly.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Inserts a key or changes its value. Returns false if all entries in which the key may be are taken.
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

    /// Inserts a key in place of another one. For keys for which [`Self::insert`] found no entry.
    pub fn replace(&mut self, key: Key, hash: u64, value: Value) {
        let home = self.home(hash);
        self.buckets[home].put((hash >> 8 & 1) as usize, key, value);
    }

    /// A table of `2^bits` buckets with the same entries. Entries for which it has no space are dropped.
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

    /// Prefetches the home bucket of a key with this hash.
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

    #[test]
    fn keys_are_the_bytes_and_the_length() {
        let bytes: Vec<u8> = (201..=240).collect();
        for text in (1..=bytes.len()).map(|end| &bytes[..end]) {
            for start in 0..text.len() {
                for length in 1..=SHORT.min(text.len() - start) {
                    let mut want = [0; 16];
                    want[..length].copy_from_slice(&text[start..start + length]);
                    want[15] = length as u8;
                    assert_eq!(key_at(text, start, length), u128::from_le_bytes(want));
                }
            }
        }
        // Trailing zero bytes are part of a pretoken.
        assert_ne!(key_at(b"a\0", 0, 1), key_at(b"a\0", 0, 2));
    }
}
