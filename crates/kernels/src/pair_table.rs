//! A read-only hash table from a pair of `u32` to a pair of `u32`, in one flat array.
//!
//! In come all entries at once; a key that occurs twice is an error. A lookup probes a bounded number of slots, so
//! no crafted set of keys can make it slow.
use crate::hashing::GOLDEN_RATIO;

/// The key that no entry may have: it marks an empty slot.
const EMPTY: u64 = u64::MAX;

/// A lookup probes at most this many slots: other seeds are tried until that holds for every key.
const MAX_PROBES: usize = 32;

/// A pair and its value.
pub type Entry = ((u32, u32), (u32, u32));

/// Read-only map (u32, u32) -> (u32, u32): open addressing, at most half full, key and value
/// side by side in 16 bytes.
#[derive(Debug)]
pub struct PairTable {
    slots: Vec<[u64; 2]>,
    shift: u32,
    seed: u64,
}

#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Multiplies to 128 bits and folds the halves, so that every bit of the key reaches the high bits.
#[inline]
fn mix(key: u64, seed: u64) -> u64 {
    let wide = u128::from(key ^ seed) * u128::from(GOLDEN_RATIO);
    (wide >> 64) as u64 ^ wide as u64
}

impl PairTable {
    /// A table of these entries.
    ///
    /// # Errors
    /// The first pair of keys that occurs twice. The pair (`u32::MAX`, `u32::MAX`) is no key.
    pub fn new(entries: &[Entry]) -> Result<Self, (u32, u32)> {
        let mut bits = (entries.len() * 2).max(16).next_power_of_two().trailing_zeros();
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        // Distinct keys fit at some seed and size. Only a repeated key never would, and building finds it.
        loop {
            for _ in 0..8 {
                match Self::build(entries, bits, seed) {
                    Built::Done(table) => return Ok(table),
                    Built::Repeated(pair) => return Err(pair),
                    Built::Crowded => seed = mix(seed, GOLDEN_RATIO),
                }
            }
            bits += 1;
        }
    }

    fn build(entries: &[Entry], bits: u32, seed: u64) -> Built {
        let mut table = Self { slots: vec![[EMPTY, 0]; 1 << bits], shift: 64 - bits, seed };
        let mask = table.slots.len() - 1;
        for &((left, right), (first, second)) in entries {
            let key = key(left, right);
            if key == EMPTY {
                return Built::Repeated((left, right));
            }
            let mut at = table.home(key);
            let mut probes = 0;
            while table.slots[at][0] != EMPTY {
                if table.slots[at][0] == key {
                    return Built::Repeated((left, right));
                }
                at = (at + 1) & mask;
                probes += 1;
                if probes == MAX_PROBES {
                    return Built::Crowded;
                }
            }
            table.slots[at] = [key, u64::from(first) << 32 | u64::from(second)];
        }
        Built::Done(table)
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        (mix(key, self.seed) >> self.shift) as usize
    }

    /// The value of a pair, packed as `first << 32 | second`, or `u64::MAX` if it is not in the table.
    #[inline]
    pub fn get_packed(&self, left: u32, right: u32) -> u64 {
        let key = key(left, right);
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            let slot = self.slots[at & mask];
            if slot[0] == key {
                return slot[1];
            }
            if slot[0] == EMPTY {
                return u64::MAX;
            }
            at += 1;
        }
    }

    /// The value of a pair.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        match self.get_packed(left, right) {
            u64::MAX => None,
            packed => Some(((packed >> 32) as u32, packed as u32)),
        }
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * 16
    }
}

enum Built {
    Done(PairTable),
    Repeated((u32, u32)),
    Crowded,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(entries: HashMap<(u32, u32), (u32, u32)>, others: Vec<(u32, u32)>) {
            prop_assume!(!entries.contains_key(&(u32::MAX, u32::MAX)));
            prop_assume!(entries.values().all(|&v| v != (u32::MAX, u32::MAX)));
            let table = PairTable::new(&entries.iter().map(|(&k, &v)| (k, v)).collect::<Vec<_>>()).unwrap();
            for (left, right) in entries.keys().copied().chain(others) {
                prop_assert_eq!(table.get(left, right), entries.get(&(left, right)).copied());
            }
        }
    }

    #[test]
    fn a_repeated_key_is_named() {
        let entries = [((1, 2), (0, 3)), ((1, 3), (1, 4)), ((1, 2), (2, 5))];
        assert_eq!(PairTable::new(&entries).err(), Some((1, 2)));
    }

    #[test]
    fn many_regular_keys_stay_within_the_probe_limit() {
        let entries: Vec<Entry> = (0..200_000u32).map(|i| ((i / 447, i % 447), (i, i + 1))).collect();
        let table = PairTable::new(&entries).unwrap();
        assert!(entries.into_iter().all(|((l, r), v)| table.get(l, r) == Some(v)));
        assert_eq!(table.get(447, 447), None);
    }
}
