//! A hash table from pairs of symbols to the symbol that they merge to, their product. An entry is one word.
//!
//! In: two symbols below [`NO_MERGE`]. Out: their product, or [`NO_MERGE`] if they do not merge. A lookup
//! probes a bounded number of buckets, so crafted keys cannot make it slow.
//!
//! Symbols below 256 are bytes. Pairs of bytes are in an array of their own, since the merges of every text begin
//! with them. All other pairs are in buckets of eight slots, which are compared without a branch because it cannot
//! be predicted which slot matches.

use crate::hashing::GOLDEN_RATIO;
use crate::image::{Array, ImageError, ImageReader, ImageWriter, InImage, Plain};
use crate::table::Table;

/// The number of bits of a symbol. The low bits of a slot are the value, and the key, which is two symbols, is
/// above them.
pub(crate) const SYMBOL_BITS: u32 = 21;

/// Stands in for a product if a pair does not merge. All symbols are below this.
pub const NO_MERGE: u32 = (1 << SYMBOL_BITS) - 1;

/// A slot without an entry. No entry has the highest bit set.
pub(crate) const EMPTY_SLOT: u64 = u64::MAX;

/// The number of slots in a bucket.
pub(crate) const SLOTS: usize = 8;

/// The slots of one cache line, which are compared together.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket([u64; SLOTS]);

// SAFETY: eight numbers of eight bytes are one cache line, without padding.
unsafe impl Plain for Bucket {}

/// The product of each pair of bytes, at index `left << 8 | right`.
pub(crate) type BytePairs = [u32; 1 << 16];

/// The most buckets that a lookup probes. If an entry finds no free slot in these, the table is rebuilt with
/// another seed.
const MAX_PROBES: usize = 8;

/// A growing map from `(u32, u32)` to `u32`. Keys and values are below [`NO_MERGE`].
#[derive(Debug)]
pub struct MergeTable {
    /// As [`BytePairs`].
    byte_pairs: Array<u32>,
    /// Key and value in one word. At most half of the slots are taken. A bucket is filled from its first slot on,
    /// and a full bucket overflows into the next one.
    buckets: Table<Bucket>,
    shift: u32,
    seed: u64,
    len: usize,
}

/// A lookup that has been started by prefetching its bucket.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairProbe {
    pub(crate) key: u64,
    home: usize,
}

#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << SYMBOL_BITS | u64::from(right)
}

impl MergeTable {
    /// An empty table with capacity for this many entries.
    pub fn with_capacity(entries: usize) -> Self {
        let slots = (entries * 2).max(64).next_power_of_two();
        let bits = (slots / SLOTS).trailing_zeros();
        Self {
            byte_pairs: vec![NO_MERGE; 1 << 16].into(),
            buckets: Table::filled(Bucket([EMPTY_SLOT; SLOTS]), 1 << bits),
            shift: 64 - bits,
            seed: GOLDEN_RATIO,
            len: 0,
        }
    }

    /// Inserts an entry. Returns false if its key is in the table already, or if a symbol or the value is not
    /// below [`NO_MERGE`].
    pub fn insert(&mut self, left: u32, right: u32, value: u32) -> bool {
        if left.max(right).max(value) >= NO_MERGE {
            return false;
        }
        if left | right < 256 {
            let at = (left << 8 | right) as usize;
            let is_new = self.byte_pairs[at] == NO_MERGE;
            if is_new {
                self.byte_pairs.to_mut()[at] = value;
                self.len += 1;
            }
            return is_new;
        }
        let entry = key(left, right) << SYMBOL_BITS | u64::from(value);
        if self.is_crowded() {
            self.rebuild(&[]);
        }
        match insert_into(&mut self.buckets, entry, self.seed, self.shift) {
            Inserted::Exists => return false,
            Inserted::New => {}
            Inserted::NoSlot => self.rebuild(&[entry]),
        }
        self.len += 1;
        true
    }

    /// Prefetches the bucket that [`Self::insert`] and [`Self::get`] read.
    #[inline]
    pub fn prefetch(&self, left: u32, right: u32) {
        self.start_probe(left, right);
    }

    fn is_crowded(&self) -> bool {
        (self.len + 1) * 2 > self.buckets.len() * SLOTS
    }

    /// Rebuilds the table with another seed. It grows if it is crowded or if no seed works.
    fn rebuild(&mut self, added: &[u64]) {
        let mut bits = 64 - self.shift + u32::from(self.is_crowded());
        let old = std::mem::replace(&mut self.buckets, Table::filled(Bucket([EMPTY_SLOT; SLOTS]), 0));
        let entries = old
            .iter()
            .flat_map(|bucket| bucket.0)
            .filter(|&slot| slot != EMPTY_SLOT)
            .chain(added.iter().copied());
        loop {
            self.shift = 64 - bits;
            for _ in 0..8 {
                self.seed = self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23) | 1;
                self.buckets = Table::filled(Bucket([EMPTY_SLOT; SLOTS]), 1 << bits);
                let mut insert =
                    |entry| insert_into(&mut self.buckets, entry, self.seed, self.shift) == Inserted::New;
                if entries.clone().all(&mut insert) {
                    return;
                }
            }
            bits += 1;
        }
    }

    /// The products of all pairs of bytes. [`NO_MERGE`] for pairs that do not merge.
    #[inline]
    pub(crate) fn byte_pairs(&self) -> &BytePairs {
        self.byte_pairs.first_chunk().expect("there are as many pairs of bytes")
    }

    /// The product of a pair, or [`NO_MERGE`].
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        if left | right < 256 {
            return self.byte_pairs[(left << 8 | right) as usize];
        }
        self.get_key(key(left, right))
    }

    /// Starts the lookup of a pair that is not two bytes by prefetching its bucket. Either symbol may be
    /// [`NO_MERGE`], which merges with no other.
    #[inline]
    pub(crate) fn start_probe(&self, left: u32, right: u32) -> PairProbe {
        // No entry has the key 0, as it would be a pair of bytes. Its bucket stays cached.
        let key = if left.max(right) == NO_MERGE { 0 } else { key(left, right) };
        let home = home(key, self.seed, self.shift);
        crate::prefetch::prefetch(&self.buckets, home);
        PairProbe { key, home }
    }

    /// The slots of the pair's home bucket. If none of them has the pair and the last one is taken, the pair may
    /// be in one of the [next](Self::probe_next) buckets.
    #[inline]
    pub(crate) fn slots(&self, probe: PairProbe) -> &[u64; SLOTS] {
        &self.buckets[probe.home & (self.buckets.len() - 1)].0
    }

    /// The product of a pair that is not in its home bucket, if that bucket is full. [`NO_MERGE`] if there is
    /// none.
    #[cold]
    pub(crate) fn probe_next(&self, probe: PairProbe) -> u32 {
        self.get_from(probe.key, probe.home, 1)
    }

    #[inline]
    fn get_key(&self, key: u64) -> u32 {
        self.get_from(key, home(key, self.seed, self.shift), 0)
    }

    /// Probes the buckets that [`insert_into`] may have used for this key, from number `first` on.
    #[inline]
    fn get_from(&self, key: u64, home: usize, first: usize) -> u32 {
        let mask = self.buckets.len() - 1;
        for at in home + first..home + MAX_PROBES {
            let bucket = &self.buckets[at & mask].0;
            let mut value = NO_MERGE;
            for &slot in bucket {
                value = if slot >> SYMBOL_BITS == key { slot as u32 & NO_MERGE } else { value };
            }
            let (is_found, is_last) = (value != NO_MERGE, bucket[SLOTS - 1] == EMPTY_SLOT);
            if is_found || is_last {
                return value;
            }
        }
        NO_MERGE
    }

    /// All entries, as the two symbols of a pair and their product, in no order.
    pub fn entries(&self) -> impl Iterator<Item = ((u32, u32), u32)> {
        let of_bytes =
            (0..).zip(self.byte_pairs.iter()).map(|(pair, &product)| ((pair >> 8, pair & 255), product));
        let slots = self.buckets.iter().flat_map(|bucket| bucket.0).filter(|&slot| slot != EMPTY_SLOT);
        let symbol = |bits: u64| bits as u32 & NO_MERGE;
        let of_slots = slots.map(move |slot| {
            ((symbol(slot >> (2 * SYMBOL_BITS)), symbol(slot >> SYMBOL_BITS)), symbol(slot))
        });
        of_bytes.filter(|&(_, product)| product != NO_MERGE).chain(of_slots)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Has the table no entries?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The heap bytes of this table.
    pub fn memory(&self) -> usize {
        self.byte_pairs.memory() + self.buckets.memory()
    }
}

impl InImage for MergeTable {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.byte_pairs);
        image.array(&self.buckets);
        image.number(self.seed);
        image.number(self.len as u64);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let byte_pairs = image.array_of(1 << 16)?;
        let buckets = image.array()?;
        // A hash is shifted by fewer than 64 bits.
        if buckets.len() < 2 || !buckets.len().is_power_of_two() {
            return Err(ImageError::Inconsistent("a table of merges has another length"));
        }
        let shift = 64 - buckets.len().trailing_zeros();
        let (seed, len) = (image.number()?, image.number()? as usize);
        Ok(Self { byte_pairs, buckets: buckets.into(), shift, seed, len })
    }
}

/// The index of the bucket where probing starts. The high bits of the product depend on all bits of the key.
#[inline]
fn home(key: u64, seed: u64, shift: u32) -> usize {
    (key.wrapping_mul(seed) >> shift) as usize
}

/// The outcome of [`insert_into`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inserted {
    New,
    /// An entry with this key is in the table already.
    Exists,
    /// All slots that a lookup would probe are taken.
    NoSlot,
}

fn insert_into(buckets: &mut [Bucket], entry: u64, seed: u64, shift: u32) -> Inserted {
    let home = home(entry >> SYMBOL_BITS, seed, shift);
    let mask = buckets.len() - 1;
    for at in home..home + MAX_PROBES {
        for slot in &mut buckets[at & mask].0 {
            if *slot == EMPTY_SLOT {
                *slot = entry;
                return Inserted::New;
            }
            if *slot >> SYMBOL_BITS == entry >> SYMBOL_BITS {
                return Inserted::Exists;
            }
        }
    }
    Inserted::NoSlot
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_is_a_map(
            entries in prop::collection::vec(((0u32..600, 0u32..600), 0..NO_MERGE), 0..400),
            others in prop::collection::vec((0..NO_MERGE, 0..NO_MERGE), 0..50),
        ) {
            let mut map = HashMap::new();
            let mut table = MergeTable::with_capacity(3);
            for (pair, value) in entries {
                let is_new = !map.contains_key(&pair);
                prop_assert_eq!(table.insert(pair.0, pair.1, value), is_new);
                map.entry(pair).or_insert(value);
            }
            prop_assert_eq!(table.len(), map.len());
            prop_assert_eq!(table.entries().count(), map.len());
            prop_assert_eq!(&table.entries().collect::<HashMap<_, _>>(), &map);
            for pair in map.keys().copied().chain(others) {
                let want = map.get(&pair).copied().unwrap_or(NO_MERGE);
                prop_assert_eq!(table.get(pair.0, pair.1), want);
                for (left, right) in [pair, (pair.0, NO_MERGE), (NO_MERGE, pair.1)] {
                    let probe = table.start_probe(left, right);
                    let slots = table.slots(probe);
                    let own = slots.iter().find(|&&slot| slot >> SYMBOL_BITS == probe.key);
                    let got = match own {
                        Some(&slot) => slot as u32 & NO_MERGE,
                        None if slots[SLOTS - 1] == EMPTY_SLOT => NO_MERGE,
                        None => table.probe_next(probe),
                    };
                    prop_assert!(left | right < 256 || got == table.get(left, right));
                }
                if pair.0 | pair.1 < 256 {
                    prop_assert_eq!(table.byte_pairs()[(pair.0 << 8 | pair.1) as usize], want);
                }
            }
        }
    }

    #[test]
    fn symbols_beyond_the_limit_are_not_inserted() {
        let mut table = MergeTable::with_capacity(0);
        for (left, right, value) in [(NO_MERGE, 0, 0), (0, NO_MERGE, 0), (300, 300, NO_MERGE)] {
            assert!(!table.insert(left, right, value));
        }
        assert!(table.is_empty());
        assert!(table.insert(NO_MERGE - 1, NO_MERGE - 1, NO_MERGE - 1));
        assert_eq!(table.get(NO_MERGE - 1, NO_MERGE - 1), NO_MERGE - 1);
    }

    #[test]
    fn a_lookup_among_full_buckets_ends_at_the_probe_limit() {
        let mut table = MergeTable::with_capacity(1 << 10);
        let (buckets, seed, shift) = (table.buckets.len(), table.seed, table.shift);
        let mut taken = vec![0; buckets / 2];
        // The keys fill the first half of the buckets, and each key is in its home bucket.
        let pairs: Vec<(u32, u32)> = (256..2000)
            .flat_map(|left| (256..300).map(move |right| (left, right)))
            .filter(|&(left, right)| {
                let bucket =
                    taken.get_mut(home(key(left, right), seed, shift)).filter(|count| **count < SLOTS);
                bucket.map(|count| *count += 1).is_some()
            })
            .collect();
        assert_eq!(pairs.len(), buckets / 2 * SLOTS);
        for &(left, right) in &pairs {
            assert!(table.insert(left, right, left));
        }
        assert_eq!((table.buckets.len(), table.seed), (buckets, seed));
        assert!(pairs.iter().all(|&(left, right)| table.get(left, right) == left));
        assert_eq!(table.get_from(0, 0, 0), NO_MERGE);
        // A key is not found beyond the last bucket in which it could be.
        let far = table.buckets[MAX_PROBES].0[0] >> SYMBOL_BITS;
        assert_eq!(table.get_from(far, 0, 0), NO_MERGE);
        assert_ne!(table.get_from(far, 1, 0), NO_MERGE);
    }

    #[test]
    fn many_regular_keys_stay_within_the_probe_limit() {
        let mut table = MergeTable::with_capacity(100);
        for i in 0..200_000u32 {
            assert!(table.insert(i / 447 + 256, i % 447, i));
        }
        assert!((0..200_000).all(|i| table.get(i / 447 + 256, i % 447) == i));
        assert_eq!(table.get(256 + 447, 447), NO_MERGE);
    }
}
