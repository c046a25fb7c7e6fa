//! A map from pairs of small numbers to small numbers, one word an entry: which symbols merge.
//!
//! Numbers below 256 stand for bytes. Pairs of these have a grid of their own, since every text
//! begins with them; the others stand in buckets of eight, which are compared without a branch: it
//! cannot be foretold which one it is.

use crate::pages::Table;

/// Bits of a number, and so of a value: above it a slot has its key.
pub(crate) const KEY: u32 = 21;

/// In place of a number: the pair is not there. Numbers are below this.
pub const NO_MERGE: u32 = (1 << KEY) - 1;

/// No entry has its highest bit set.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Slots of a bucket.
pub(crate) const SLOTS: usize = 8;

/// Entries that are looked at together, in one line of memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket([u64; SLOTS]);

/// A number for each two bytes.
pub(crate) type Grid = [u32; 1 << 16];

/// A look-up probes at most this many buckets: when an entry finds no place the table is built
/// again with another seed, so that no crafted set of keys can make look-ups slow.
const MAX_PROBE: usize = 8;

/// A map (u32, u32) -> u32 that grows; keys and values are below [`NO_MERGE`].
#[derive(Debug, Clone)]
pub struct MergeTable {
    /// By left and right byte.
    grid: Box<Grid>,
    /// Key and value in one word; at most half full. A bucket is filled from the front, and then the
    /// next one.
    buckets: Table<Bucket>,
    shift: u32,
    seed: u64,
    len: usize,
}

/// A pair that was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) key: u64,
    home: usize,
}

#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << KEY | u64::from(right)
}

impl MergeTable {
    /// An empty table with room for so many entries.
    pub fn with_capacity(entries: usize) -> Self {
        let slots = (entries * 2).max(64).next_power_of_two();
        let bits = (slots / SLOTS).trailing_zeros();
        Self {
            grid: vec![NO_MERGE; 1 << 16].into_boxed_slice().try_into().expect("a grid has as many"),
            buckets: Table::filled(Bucket([EMPTY; SLOTS]), 1 << bits),
            shift: 64 - bits,
            seed: 0x9e37_79b9_7f4a_7c15,
            len: 0,
        }
    }

    /// Puts an entry, unless its key is there; says whether it was put. Nothing is put beyond
    /// [`NO_MERGE`].
    pub fn insert(&mut self, left: u32, right: u32, value: u32) -> bool {
        if left.max(right).max(value) >= NO_MERGE {
            return false;
        }
        if left | right < 256 {
            let place = &mut self.grid[(left << 8 | right) as usize];
            let is_new = *place == NO_MERGE;
            if is_new {
                *place = value;
                self.len += 1;
            }
            return is_new;
        }
        let entry = key(left, right) << KEY | u64::from(value);
        if self.is_crowded() {
            self.rebuild(&[]);
        }
        match put(&mut self.buckets, entry, self.seed, self.shift) {
            Put::There => return false,
            Put::Here => {}
            Put::Nowhere => self.rebuild(&[entry]),
        }
        self.len += 1;
        true
    }

    /// Brings near what is looked at to put an entry.
    #[inline]
    pub fn expect(&self, left: u32, right: u32) {
        self.ask(left, right);
    }

    fn is_crowded(&self) -> bool {
        (self.len + 1) * 2 > self.buckets.len() * SLOTS
    }

    /// Finds another seed, and more room where it is needed.
    fn rebuild(&mut self, added: &[u64]) {
        let mut bits = 64 - self.shift + u32::from(self.is_crowded());
        let old = std::mem::replace(&mut self.buckets, Table::filled(Bucket([EMPTY; SLOTS]), 0));
        let entries =
            old.iter().flat_map(|bucket| bucket.0).filter(|&slot| slot != EMPTY).chain(added.iter().copied());
        loop {
            self.shift = 64 - bits;
            for _ in 0..8 {
                self.seed = self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23) | 1;
                self.buckets = Table::filled(Bucket([EMPTY; SLOTS]), 1 << bits);
                let mut put = |entry| put(&mut self.buckets, entry, self.seed, self.shift) == Put::Here;
                if entries.clone().all(&mut put) {
                    return;
                }
            }
            bits += 1;
        }
    }

    /// What two bytes merge to, or [`NO_MERGE`], at `left << 8 | right`.
    #[inline]
    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What a pair merges to, or [`NO_MERGE`].
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        if left | right < 256 {
            return self.grid[(left << 8 | right) as usize];
        }
        self.get_key(key(left, right))
    }

    /// What to ask [`Self::slots`] for a pair that is not two bytes. A number may be [`NO_MERGE`], which merges
    /// with nothing. Asks for the memory that will be looked at.
    #[inline]
    pub(crate) fn ask(&self, left: u32, right: u32) -> Asked {
        // No entry has the key 0, that of two bytes, and its bucket is always near.
        let key = if left.max(right) == NO_MERGE { 0 } else { key(left, right) };
        let home = home(key, self.seed, self.shift);
        crate::prefetch::prefetch(&self.buckets, home);
        Asked { key, home }
    }

    /// Where the pair that was asked for stands, if it is there. Where it is not and the last slot is taken, it may
    /// stand [behind](Self::get_behind) these.
    #[inline]
    pub(crate) fn slots(&self, asked: Asked) -> &[u64; SLOTS] {
        &self.buckets[asked.home & (self.buckets.len() - 1)].0
    }

    /// What a pair merges to that does not stand in its own bucket, which is full.
    #[cold]
    pub(crate) fn get_behind(&self, asked: Asked) -> u32 {
        self.get_from(asked.key, asked.home, 1)
    }

    #[inline]
    fn get_key(&self, key: u64) -> u32 {
        self.get_from(key, home(key, self.seed, self.shift), 0)
    }

    /// Looks where [`put`] puts, from so many buckets behind the first one on.
    #[inline]
    fn get_from(&self, key: u64, home: usize, first: usize) -> u32 {
        let mask = self.buckets.len() - 1;
        for at in home + first..home + MAX_PROBE {
            let bucket = &self.buckets[at & mask].0;
            let mut value = NO_MERGE;
            for &slot in bucket {
                value = if slot >> KEY == key { slot as u32 & NO_MERGE } else { value };
            }
            let (is_found, has_room) = (value != NO_MERGE, bucket[SLOTS - 1] == EMPTY);
            if is_found || has_room {
                return value;
            }
        }
        NO_MERGE
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No entries?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        size_of::<Grid>() + self.buckets.memory()
    }
}

/// The high bits of a product depend on all bits of the key.
#[inline]
fn home(key: u64, seed: u64, shift: u32) -> usize {
    (key.wrapping_mul(seed) >> shift) as usize
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    Here,
    /// Its key is there already.
    There,
    /// There is no room where it would be looked for.
    Nowhere,
}

fn put(buckets: &mut [Bucket], entry: u64, seed: u64, shift: u32) -> Put {
    let home = home(entry >> KEY, seed, shift);
    let mask = buckets.len() - 1;
    for at in home..home + MAX_PROBE {
        for slot in &mut buckets[at & mask].0 {
            if *slot == EMPTY {
                *slot = entry;
                return Put::Here;
            }
            if *slot >> KEY == entry >> KEY {
                return Put::There;
            }
        }
    }
    Put::Nowhere
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
            for pair in map.keys().copied().chain(others) {
                let want = map.get(&pair).copied().unwrap_or(NO_MERGE);
                prop_assert_eq!(table.get(pair.0, pair.1), want);
                for (left, right) in [pair, (pair.0, NO_MERGE), (NO_MERGE, pair.1)] {
                    let asked = table.ask(left, right);
                    let slots = table.slots(asked);
                    let own = slots.iter().find(|&&slot| slot >> KEY == asked.key);
                    let got = match own {
                        Some(&slot) => slot as u32 & NO_MERGE,
                        None if slots[SLOTS - 1] == EMPTY => NO_MERGE,
                        None => table.get_behind(asked),
                    };
                    prop_assert!(left | right < 256 || got == table.get(left, right));
                }
                if pair.0 | pair.1 < 256 {
                    prop_assert_eq!(table.grid()[(pair.0 << 8 | pair.1) as usize], want);
                }
            }
        }
    }

    #[test]
    fn numbers_beyond_the_limit_are_not_put() {
        let mut table = MergeTable::with_capacity(0);
        for (left, right, value) in [(NO_MERGE, 0, 0), (0, NO_MERGE, 0), (300, 300, NO_MERGE)] {
            assert!(!table.insert(left, right, value));
        }
        assert!(table.is_empty());
        assert!(table.insert(NO_MERGE - 1, NO_MERGE - 1, NO_MERGE - 1));
        assert_eq!(table.get(NO_MERGE - 1, NO_MERGE - 1), NO_MERGE - 1);
    }

    #[test]
    fn full_buckets_in_a_row_are_not_all_looked_at() {
        let mut table = MergeTable::with_capacity(1 << 10);
        let (buckets, seed, shift) = (table.buckets.len(), table.seed, table.shift);
        let mut taken = vec![0; buckets / 2];
        // As many keys as go into the first half of the buckets, none of them beside its own.
        let pairs: Vec<(u32, u32)> = (256..2000)
            .flat_map(|left| (256..300).map(move |right| (left, right)))
            .filter(|&(left, right)| {
                let place =
                    taken.get_mut(home(key(left, right), seed, shift)).filter(|count| **count < SLOTS);
                place.map(|count| *count += 1).is_some()
            })
            .collect();
        assert_eq!(pairs.len(), buckets / 2 * SLOTS);
        for &(left, right) in &pairs {
            assert!(table.insert(left, right, left));
        }
        assert_eq!((table.buckets.len(), table.seed), (buckets, seed));
        assert!(pairs.iter().all(|&(left, right)| table.get(left, right) == left));
        assert_eq!(table.get_from(0, 0, 0), NO_MERGE);
        // Beyond the last place where it could be put nothing is found.
        let far = table.buckets[MAX_PROBE].0[0] >> KEY;
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
