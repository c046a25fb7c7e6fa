//! A read-only hash table from pairs of `u32` to pairs of `u32`, in one flat array.
//!
//! In: all entries at once. Out: the values of the keys that are in the table. A key that occurs twice is an
//! error. The lookup of a key that is in the table probes a bounded number of slots. The lookup of any other key
//! ends at the next free slot.
use crate::hashing::GOLDEN_RATIO;
use crate::image::{Array, ImageError, ImageReader, ImageWriter, InImage};

/// Marks an empty slot. No entry may have this key.
const EMPTY: u64 = u64::MAX;

/// The most slots that are probed to find a key. The table is built with other seeds until this holds for all its
/// keys.
const MAX_PROBES: usize = 32;

/// A key and its value, which are pairs.
pub type Entry = ((u32, u32), (u32, u32));

/// A read-only map from `(u32, u32)` to `(u32, u32)` by open addressing. At most half of the slots are taken. A
/// slot is 16 bytes, the key followed by the value.
#[derive(Debug)]
pub struct PairTable {
    slots: Array<[u64; 2]>,
    shift: u32,
    seed: u64,
}

#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Multiplies to 128 bits and combines the halves, so that all bits of the key influence the high bits of the
/// result.
#[inline]
fn mix(key: u64, seed: u64) -> u64 {
    let wide = u128::from(key ^ seed) * u128::from(GOLDEN_RATIO);
    (wide >> 64) as u64 ^ wide as u64
}

impl PairTable {
    /// Builds the table of these entries.
    ///
    /// # Errors
    /// The first key that occurs twice. The pair (`u32::MAX`, `u32::MAX`) is not allowed as a key and is reported
    /// too.
    pub fn new(entries: &[Entry]) -> Result<Self, (u32, u32)> {
        let mut bits = (entries.len() * 2).max(16).next_power_of_two().trailing_zeros();
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        // Distinct keys fit with some seed and size. A repeated key never fits, and `build` reports it.
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
        let mut slots = vec![[EMPTY, 0]; 1 << bits];
        let (mask, shift) = (slots.len() - 1, 64 - bits);
        for &((left, right), (first, second)) in entries {
            let key = key(left, right);
            if key == EMPTY {
                return Built::Repeated((left, right));
            }
            let mut at = home(key, seed, shift);
            let mut probes = 0;
            while slots[at][0] != EMPTY {
                if slots[at][0] == key {
                    return Built::Repeated((left, right));
                }
                at = (at + 1) & mask;
                probes += 1;
                if probes == MAX_PROBES {
                    return Built::Crowded;
                }
            }
            slots[at] = [key, u64::from(first) << 32 | u64::from(second)];
        }
        Built::Done(Self { slots: slots.into(), shift, seed })
    }

    /// The value of a key, packed as `first << 32 | second`. `u64::MAX` if the key is not in the table.
    #[inline]
    pub fn get_packed(&self, left: u32, right: u32) -> u64 {
        let key = key(left, right);
        let mask = self.slots.len() - 1;
        let mut at = home(key, self.seed, self.shift);
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

    /// The value of a key.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        match self.get_packed(left, right) {
            u64::MAX => None,
            packed => Some(((packed >> 32) as u32, packed as u32)),
        }
    }

    /// The heap bytes of this table.
    pub fn memory(&self) -> usize {
        self.slots.memory()
    }
}

impl InImage for PairTable {
    fn write(&self, image: &mut ImageWriter) {
        image.array(&self.slots);
        image.number(self.seed);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        let slots: Array<[u64; 2]> = image.array()?;
        if slots.len() < 2 || !slots.len().is_power_of_two() {
            return Err(ImageError::Inconsistent("a table of pairs has another length"));
        }
        let shift = 64 - slots.len().trailing_zeros();
        Ok(Self { slots, shift, seed: image.number()? })
    }
}

/// The index of the slot where probing starts.
#[inline]
fn home(key: u64, seed: u64, shift: u32) -> usize {
    (mix(key, seed) >> shift) as usize
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
