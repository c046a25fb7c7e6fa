//! A map from short pretokens to their ids: one look-up, one cache line, nothing to follow.
//!
//! A key is the pretoken itself, up to 15 bytes and its length in 16 bytes, so that two different
//! pretokens never have the same key and comparing keys is comparing texts. An entry holds up to
//! three ids beside its key; two entries share a line of 64 bytes.

use crate::huge::Table;

/// So long may a pretoken be.
pub const SHORT: usize = 15;

/// So many ids may stand in an entry.
pub const INLINE: usize = 3;

/// A look-up sees at most so many buckets, so that no crafted keys can make look-ups slow.
const PROBES: usize = 4;

/// A pretoken of 1 to [`SHORT`] bytes, its length in the highest byte.
pub type Key = u128;

/// The bytes of a key of each length.
static MASKS: [u128; 16] = masks();

const fn masks() -> [u128; 16] {
    let (mut masks, mut length) = ([0; 16], 1);
    while length < 16 {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
}

/// The key of `text[start..start + length]`, which is 1 to [`SHORT`] bytes long.
#[inline]
pub fn key_at(text: &[u8], start: usize, length: usize) -> Key {
    let bytes = match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) => u128::from_le_bytes(*bytes) & MASKS[length & 15],
        None => last_bytes(text, start, length),
    };
    bytes | (length as u128) << 120
}

/// Fewer than 16 bytes are left.
#[cold]
fn last_bytes(text: &[u8], start: usize, length: usize) -> u128 {
    let mut bytes = [0; 16];
    if let Some(found) = text.get(start..start + length) {
        bytes[..length].copy_from_slice(found);
    }
    u128::from_le_bytes(bytes)
}

/// Every bit of the key reaches the high bits.
#[inline]
pub fn hash(key: Key) -> u64 {
    let low = key as u64 ^ 0x2d35_8dcc_aa6c_78a5;
    let high = (key >> 64) as u64 ^ 0x8bb8_4b93_962e_acc9;
    let wide = u128::from(low) * u128::from(high);
    (wide >> 64) as u64 ^ wide as u64
}

/// The ids of one pretoken, or what its owner keeps in place of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The first `count` are ids. Where there are more than fit, what the owner put there.
    pub words: [u32; INLINE],
    /// How many ids. Its highest bit is not the owner's.
    pub count: u32,
}

/// A key of 0 is an empty place.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    value: Value,
}

const EMPTY: Entry = Entry { key: 0, value: Value { words: [0; INLINE], count: 0 } };

/// In the count of a bucket's last entry: a key that would have stood in this bucket stands in one behind it.
/// Without it a key that is not here is nowhere.
const OVERFLOWS: u32 = 1 << 31;

impl Entry {
    #[inline]
    fn value(&self) -> Value {
        Value { count: self.value.count & !OVERFLOWS, ..self.value }
    }

    /// Takes another key and value.
    fn put(&mut self, key: Key, value: Value) {
        let mark = self.value.count & OVERFLOWS;
        *self = Self { key, value: Value { count: value.count | mark, ..value } };
    }
}

/// Entries that are looked at together.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket([Entry; 2]);

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
        // A shift of all 64 bits is none.
        let bits = bits.clamp(1, 40);
        Self { buckets: Table::filled(Bucket([EMPTY; 2]), 1 << bits), shift: 64 - bits, len: 0 }
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
        let bucket = &self.buckets[home].0;
        // Which of the two it is cannot be foretold, so there is no branch for it.
        let is_other = bucket[1].key == key;
        if (bucket[0].key == key) | is_other {
            return Some(bucket[usize::from(is_other)].value());
        }
        if bucket[1].value.count & OVERFLOWS == 0 { None } else { self.get_behind(key, home) }
    }

    #[cold]
    fn get_behind(&self, key: Key, home: usize) -> Option<Value> {
        let (bucket, entry) = self.place_behind(key, home)?;
        Some(self.buckets[bucket].0[entry].value())
    }

    /// Where a key stands that does not stand in its own bucket.
    fn place_behind(&self, key: Key, home: usize) -> Option<(usize, usize)> {
        if self.buckets[home].0[1].value.count & OVERFLOWS == 0 {
            return None;
        }
        (1..PROBES).find_map(|step| {
            let bucket = (home + step) & (self.buckets.len() - 1);
            let entry = self.buckets[bucket].0.iter().position(|entry| entry.key == key)?;
            Some((bucket, entry))
        })
    }

    /// Changes the value of a key that is there; says whether it is.
    pub fn set(&mut self, key: Key, hash: u64, value: Value) -> bool {
        let home = self.home(hash);
        let own = self.buckets[home].0.iter().position(|entry| entry.key == key);
        let place = own.map(|entry| (home, entry)).or_else(|| self.place_behind(key, home));
        if let Some((bucket, entry)) = place {
            self.buckets[bucket].0[entry].put(key, value);
        }
        place.is_some()
    }

    /// Is there a key without a place in the bucket of this hash, which [may](Self::insert) have none at all?
    #[inline]
    pub fn overflows(&self, hash: u64) -> bool {
        self.buckets[self.home(hash)].0[1].value.count & OVERFLOWS != 0
    }

    /// Puts a key that is not there. False where all its places are taken; then its bucket [overflows](Self::overflows).
    pub fn insert(&mut self, key: Key, hash: u64, value: Value) -> bool {
        let home = self.home(hash);
        let mask = self.buckets.len() - 1;
        for step in 0..PROBES {
            for entry in &mut self.buckets[(home + step) & mask].0 {
                if entry.key == 0 {
                    entry.put(key, value);
                    self.len += 1;
                    return true;
                }
            }
            self.buckets[home].0[1].value.count |= OVERFLOWS;
        }
        false
    }

    /// Puts a key that is not there in the place of another one.
    pub fn replace(&mut self, key: Key, hash: u64, value: Value) {
        let home = self.home(hash);
        self.buckets[home].0[(hash & 1) as usize].put(key, value);
    }

    /// A table of `2^bits` buckets with the same entries; one that has no place there is left out.
    #[must_use]
    pub fn grown(&self, bits: u32) -> Self {
        let mut grown = Self::new(bits);
        for entry in self.buckets.iter().flat_map(|bucket| &bucket.0).filter(|entry| entry.key != 0) {
            grown.insert(entry.key, hash(entry.key), entry.value());
        }
        grown
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.fill(Bucket([EMPTY; 2]));
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
        let text: Vec<u8> = (1..=40).collect();
        for start in 0..text.len() {
            for length in 1..=SHORT.min(text.len() - start) {
                let mut want = [0; 16];
                want[..length].copy_from_slice(&text[start..start + length]);
                want[15] = length as u8;
                assert_eq!(key_at(&text, start, length), u128::from_le_bytes(want));
            }
        }
        // Zeros at the end are not lost.
        assert_ne!(key_at(b"a\0", 0, 1), key_at(b"a\0", 0, 2));
    }

    fn value(word: u32) -> Value {
        Value { words: [word, 0, 0], count: 1 }
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
                prop_assert!(is_put || table.overflows(hash(key)));
                if is_put {
                    map.insert(key, new);
                } else {
                    table = table.grown(table.bits() + 1);
                    map.retain(|&key, _| table.get(key, hash(key)).is_some());
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (&key, &old) in &map {
                prop_assert_eq!(table.get(key, hash(key)), Some(old));
                prop_assert!(table.set(key, hash(key), value(7)));
                prop_assert_eq!(table.get(key, hash(key)), Some(value(7)));
            }
            prop_assert!(!table.set(key_at(b"absent", 0, 6), hash(key_at(b"absent", 0, 6)), value(7)));
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
