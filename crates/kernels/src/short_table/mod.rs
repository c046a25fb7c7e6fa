//! A map from short pretokens to their ids: one look-up, one cache line, nothing to follow.
//!
//! A key is the pretoken itself, up to 15 bytes and its length in 16 bytes, so that two different
//! pretokens never have the same key and comparing keys is comparing texts. An entry holds up to
//! three ids beside its key; two entries share a line of 64 bytes. The parts of a text are looked up [many at a
//! time](parts).
mod numbers;
pub mod parts;

use crate::pages::{Table, Zero};
use crate::try_alloc::OutOfMemory;

pub use numbers::NumberTable;

/// So long may a pretoken be.
pub const SHORT: usize = 15;

/// So many ids may stand in an entry.
pub const INLINE: usize = 3;

/// A look-up sees at most so many buckets, so that no crafted keys can make look-ups slow.
const PROBES: usize = 8;

/// A pretoken of 1 to [`SHORT`] bytes, its length in the highest byte.
pub type Key = u128;

/// For each length of a key the bits of its bytes, and its length where it stands in the key.
static LENGTHS: [[u128; 2]; 16] = lengths();

const fn lengths() -> [[u128; 2]; 16] {
    let (mut lengths, mut length) = ([[0; 2]; 16], 1);
    while length < 16 {
        lengths[length] = [u128::MAX >> (128 - 8 * length), (length as u128) << 120];
        length += 1;
    }
    lengths
}

/// The key of `text[start..start + length]`, which is 1 to [`SHORT`] bytes long.
#[inline]
pub fn key_at(text: &[u8], start: usize, length: usize) -> Key {
    match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => key_of(u128::from_le_bytes(*bytes), length),
        None => last_key(text, start, length),
    }
}

/// The key of the first `length` of these bytes.
#[inline]
fn key_of(bytes: u128, length: usize) -> Key {
    let [mask, length] = LENGTHS[length & 15];
    bytes & mask | length
}

/// The same, where fewer than 16 bytes are left: they are the upper ones of the last 16.
#[inline]
fn last_key(text: &[u8], start: usize, length: usize) -> Key {
    let (bytes, first) = match text.last_chunk() {
        Some(last) => (u128::from_le_bytes(*last), text.len() - 16),
        None => (all(text), 0),
    };
    key_of(bytes >> (8 * ((start - first) & 15)), length)
}

/// A text of fewer than 16 bytes, read in two parts that overlap.
fn all(text: &[u8]) -> u128 {
    let behind = |part: usize| 8 * (text.len() - part);
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << behind(8)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << behind(4)
    } else {
        text.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte))
    }
}

/// Every bit of the key reaches the high bits, by which a bucket is chosen.
#[inline]
pub fn hash(key: Key) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The ids of one pretoken, or what its owner keeps in place of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The first `here` are ids, and where ids stand apart the first word is the place of their first. Where there
    /// are neither, what the owner put there.
    pub words: [u32; INLINE],
    /// How many ids stand here: [`INLINE`] at most.
    pub here: u8,
    /// How many stand apart, in a row of ids that the owner keeps. There are none here then.
    pub apart: u16,
}

impl Value {
    /// So many ids.
    ///
    /// # Panics
    /// Where they are more than [`INLINE`].
    #[inline]
    pub fn of(ids: &[u32]) -> Self {
        let mut words = [0; INLINE];
        words[..ids.len()].copy_from_slice(ids);
        Self { words, here: ids.len() as u8, apart: 0 }
    }

    /// The ids that stand here.
    #[inline]
    pub fn ids(&self) -> &[u32] {
        &self.words[..usize::from(self.here).min(INLINE)]
    }
}

/// The three words of a value, and in the last one how many of them are ids, the mark [`OVERFLOWS`], and what is apart.
type Words = [u32; INLINE + 1];

/// Entries that are looked at together: two keys, of which 0 is that of an empty place, and the values of both.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; 2],
    /// What a word of [`OVERFLOWS`] says stands in the second.
    values: [Words; 2],
}

#[inline]
fn value_of([first, second, third, last]: Words) -> Value {
    Value { words: [first, second, third], here: last as u8, apart: (last >> 16) as u16 }
}

const EMPTY: Bucket = Bucket { keys: [0; 2], values: [[0; INLINE + 1]; 2] };

// SAFETY: that is [`EMPTY`].
unsafe impl Zero for Bucket {}

/// In the last word of the last value of a bucket: a key that would have stood in this bucket stands in one
/// behind it. Without it a key that is not here is nowhere.
const OVERFLOWS: u32 = 1 << 8;

impl Bucket {
    #[inline]
    fn overflows(&self) -> bool {
        self.values[1][INLINE] & OVERFLOWS != 0
    }

    #[inline]
    fn value(&self, entry: usize) -> Value {
        value_of(self.values[entry])
    }

    fn entry_of(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|&own| own == key)
    }

    /// The entry that a key has or may take, and whether there is one: the second is taken only where the first is.
    /// Which of them it is cannot be foretold, so there is no branch for it.
    #[inline]
    fn room_for(&self, key: Key) -> (usize, bool) {
        let [first, second] = self.keys.map(|own| own == key || own == 0);
        (usize::from(!first), first | second)
    }

    /// An entry takes another key and value, of which no more than [`INLINE`] ids are here.
    fn put(&mut self, entry: usize, key: Key, value: Value) {
        let [first, second, third] = value.words;
        let here = u32::from(value.here.min(INLINE as u8));
        let last = here | self.values[entry][INLINE] & OVERFLOWS | u32::from(value.apart) << 16;
        self.keys[entry] = key;
        self.values[entry] = [first, second, third, last];
    }
}

/// A map from keys to values that grows only when it is told to.
#[derive(Debug, Clone)]
pub struct ShortTable {
    buckets: Table<Bucket>,
    /// The bucket of a hash is what is left of it when it is shifted by this.
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
    /// Where there is no memory for it.
    pub fn try_new(bits: u32) -> Result<Self, OutOfMemory> {
        let bits = Self::clamped(bits);
        Ok(Self { buckets: Table::try_zeros(1 << bits)?, shift: 64 - bits, len: 0 })
    }

    /// A shift of all 64 bits is none.
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
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The value of a key with this hash.
    #[inline]
    pub fn get(&self, key: Key, hash: u64) -> Option<Value> {
        let home = self.home(hash);
        let bucket = &self.buckets[home];
        // Which of the two it is cannot be foretold, so there is no branch for it.
        let is_other = bucket.keys[1] == key;
        if (bucket.keys[0] == key) | is_other {
            return Some(bucket.value(usize::from(is_other)));
        }
        self.words_behind(key, hash).map(|&words| value_of(words))
    }

    /// What stands in a bucket behind that of the hash, where the key is not in that.
    #[inline(never)]
    fn words_behind(&self, key: Key, hash: u64) -> Option<&Words> {
        let home = self.home(hash);
        if !self.buckets[home].overflows() {
            return None;
        }
        for step in 1..PROBES {
            let bucket = &self.buckets[(home + step) & (self.buckets.len() - 1)];
            if let Some(entry) = bucket.entry_of(key) {
                return Some(&bucket.values[entry]);
            }
            // It would stand here, as no place is ever given up.
            if bucket.entry_of(0).is_some() {
                return None;
            }
        }
        None
    }

    /// Puts a key, or changes its value. False where all its places are taken.
    pub fn insert(&mut self, key: Key, hash: u64, value: Value) -> bool {
        let home = self.home(hash);
        let mask = self.buckets.len() - 1;
        for step in 0..PROBES {
            let bucket = &mut self.buckets[(home + step) & mask];
            let (entry, has_room) = bucket.room_for(key);
            if has_room {
                self.len += usize::from(bucket.keys[entry] == 0);
                bucket.put(entry, key, value);
                return true;
            }
            self.buckets[home].values[1][INLINE] |= OVERFLOWS;
        }
        false
    }

    /// Puts a key for which [`Self::insert`] found no room in the place of another one.
    pub fn replace(&mut self, key: Key, hash: u64, value: Value) {
        let home = self.home(hash);
        self.buckets[home].put((hash >> 8 & 1) as usize, key, value);
    }

    /// A table of `2^bits` buckets with the same entries; one that has no place there is left out.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn grown(&self, bits: u32) -> Result<Self, OutOfMemory> {
        let mut grown = Self::try_new(bits)?;
        for bucket in self.buckets.iter() {
            for (entry, &key) in bucket.keys.iter().enumerate().filter(|&(_, &key)| key != 0) {
                grown.insert(key, hash(key), bucket.value(entry));
            }
        }
        Ok(grown)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.fill(EMPTY);
        self.len = 0;
    }

    /// Asks for the bucket of a hash to be brought near.
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
        // Zeros at the end are not lost.
        assert_ne!(key_at(b"a\0", 0, 1), key_at(b"a\0", 0, 2));
    }

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
                let is_put = table.insert(key, hash(key), new);
                prop_assert!(is_put || table.buckets[table.home(hash(key))].overflows());
                if is_put {
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
