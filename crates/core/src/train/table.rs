//! Distinct pretokens and their counts.
//!
//! An open-addressing hash table with linear probing. A pretoken of up to 16 bytes (nearly all of
//! natural text) is stored in its slot as two words, so a hit costs one cache line and no slice
//! comparison; longer ones are stored in an arena. The order of insertion affects only the layout,
//! which never shows: types are sorted before use.
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};
use crate::watch::Ticker;

/// Maximum length of a pretoken in a slot.
const INLINE: usize = 16;

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Up to [`INLINE`] bytes: see [`pack`]. Longer ones: offset in the arena, and the hash.
    lo: u64,
    hi: u64,
    count: u64,
    /// 0 marks a free slot; pretokens are never empty.
    len: u32,
}

/// Counts of pretokens.
#[derive(Debug)]
pub(super) struct Table {
    /// The length is a power of two; at most five eighths are used.
    slots: Vec<Slot>,
    /// Position of the first occurrence, parallel to `slots`; empty unless requested.
    first: Vec<u64>,
    arena: Vec<u8>,
    len: usize,
}

impl Table {
    /// An empty table; with `track_first` it records the smallest position of each pretoken.
    pub(super) fn new(track_first: bool) -> Self {
        let slots = vec![Slot::default(); 1 << 10];
        let first = if track_first { vec![u64::MAX; slots.len()] } else { Vec::new() };
        Self { slots, first, arena: Vec::new(), len: 0 }
    }

    /// Number of distinct pretokens.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// An upper bound of their total length in bytes.
    pub(super) fn bytes_bound(&self) -> usize {
        self.arena.len() + INLINE * self.len
    }

    /// Counts `pretoken` (not empty) `n` more times, seen at position `at`.
    #[inline]
    pub(super) fn add(&mut self, pretoken: &[u8], n: u64, at: u64) -> Result<()> {
        if pretoken.len() > INLINE {
            return self.add_long(pretoken, n, at);
        }
        let (lo, hi) = pack(pretoken);
        let len = pretoken.len() as u32;
        let mask = self.slots.len() - 1;
        let mut i = mix(lo, hi, len) as usize & mask;
        loop {
            let slot = &mut self.slots[i];
            if slot.lo == lo && slot.hi == hi && slot.len == len {
                return self.raise(i, n, at);
            }
            if slot.len == 0 {
                *slot = Slot { lo, hi, count: 0, len };
                return self.insert(i, n, at);
            }
            i = (i + 1) & mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn add_long(&mut self, pretoken: &[u8], n: u64, at: u64) -> Result<()> {
        let len = u32::try_from(pretoken.len()).map_err(|_| too_long())?;
        let hash = hash_long(pretoken);
        let mask = self.slots.len() - 1;
        let mut i = hash as usize & mask;
        loop {
            let slot = &mut self.slots[i];
            if slot.len == 0 {
                let lo = self.arena.len() as u64;
                try_alloc::extend(&mut self.arena, pretoken)?;
                *slot = Slot { lo, hi: hash, count: 0, len };
                return self.insert(i, n, at);
            }
            if slot.hi == hash && slot.len == len {
                let from = slot.lo as usize;
                if &self.arena[from..from + pretoken.len()] == pretoken {
                    return self.raise(i, n, at);
                }
            }
            i = (i + 1) & mask;
        }
    }

    #[inline]
    fn raise(&mut self, i: usize, n: u64, at: u64) -> Result<()> {
        let Some(count) = self.slots[i].count.checked_add(n) else { return Err(self.full(i)) };
        self.slots[i].count = count;
        if let Some(first) = self.first.get_mut(i) {
            *first = at.min(*first);
        }
        Ok(())
    }

    #[cold]
    fn full(&self, i: usize) -> Error {
        let slot = &self.slots[i];
        let len = slot.len as usize;
        if len > INLINE {
            let from = slot.lo as usize;
            return passes(&self.arena[from..from + len]);
        }
        passes(&unpack(slot.lo, slot.hi, len)[..len])
    }

    fn insert(&mut self, i: usize, n: u64, at: u64) -> Result<()> {
        self.len += 1;
        self.raise(i, n, at)?;
        if self.len * 8 > self.slots.len() * 5 { self.grow() } else { Ok(()) }
    }

    fn grow(&mut self) -> Result<()> {
        let size = self.slots.len() * 2;
        let slots = try_alloc::filled(Slot::default(), size)?;
        let first = if self.first.is_empty() { Vec::new() } else { try_alloc::filled(u64::MAX, size)? };
        let old = std::mem::replace(&mut self.slots, slots);
        let old_first = std::mem::replace(&mut self.first, first);
        for (j, slot) in old.into_iter().enumerate().filter(|(_, slot)| slot.len > 0) {
            let long = slot.len as usize > INLINE;
            let hash = if long { slot.hi } else { mix(slot.lo, slot.hi, slot.len) };
            let mut i = hash as usize & (size - 1);
            while self.slots[i].len > 0 {
                i = (i + 1) & (size - 1);
            }
            self.slots[i] = slot;
            if let Some(&first) = old_first.get(j) {
                self.first[i] = first;
            }
        }
        Ok(())
    }

    /// Calls `visit` with the bytes, count and first position (0 unless tracked) of every
    /// pretoken, in no particular order.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u8], u64, u64) -> Result<()>) -> Result<()> {
        for (i, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.len > 0) {
            let first = self.first.get(i).copied().unwrap_or(0);
            let len = slot.len as usize;
            if len > INLINE {
                let from = slot.lo as usize;
                visit(&self.arena[from..from + len], slot.count, first)?;
            } else {
                visit(&unpack(slot.lo, slot.hi, len)[..len], slot.count, first)?;
            }
        }
        Ok(())
    }

    /// Adds all counts of `other`.
    pub(super) fn absorb(&mut self, other: &Self, ticker: &mut Ticker<'_>) -> Result<()> {
        other.for_each(|pretoken, count, first| {
            ticker.spend(pretoken.len() + 64)?;
            self.add(pretoken, count, first)
        })
    }
}

pub(super) fn too_long() -> Error {
    Error::training("a pretoken has more than 4 GiB; choose a split that cuts the text")
}

/// The error for a pretoken whose count does not fit.
pub(super) fn passes(pretoken: &[u8]) -> Error {
    /// Characters that are shown.
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&pretoken[..pretoken.len().min(4 * SHOWN)]);
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < pretoken.len() { "..." } else { "" };
    Error::training(format!("the pretoken {shown:?}{more} occurs more than 2^64 - 1 times; count less text"))
}

pub(super) fn too_many() -> Error {
    Error::training("a count passes 2^64 - 1; train on less text")
}

/// Packs 1 to 16 bytes into two words; with the length they determine the bytes. The parts overlap
/// unless the length is a power of two, which avoids a copy of variable length.
#[inline]
fn pack(bytes: &[u8]) -> (u64, u64) {
    if let (Some(head), Some(tail)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
    } else if let (Some(head), Some(tail)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (u64::from(u32::from_le_bytes(*head)) | u64::from(u32::from_le_bytes(*tail)) << 32, 0)
    } else {
        let n = bytes.len();
        let at = |i: usize| u64::from(bytes[i]);
        (at(0) | at(n / 2) << 8 | at(n - 1) << 16, 0)
    }
}

fn unpack(lo: u64, hi: u64, len: usize) -> [u8; INLINE] {
    let mut bytes = [0; INLINE];
    let parts = lo.to_le_bytes();
    match len {
        8.. => {
            bytes[..8].copy_from_slice(&parts);
            bytes[len - 8..len].copy_from_slice(&hi.to_le_bytes());
        }
        4..8 => {
            bytes[..4].copy_from_slice(&parts[..4]);
            bytes[len - 4..len].copy_from_slice(&parts[4..]);
        }
        _ => {
            bytes[0] = parts[0];
            bytes[len / 2] = parts[1];
            bytes[len - 1] = parts[2];
        }
    }
    bytes
}

/// A multiplication with folded halves: every input bit affects the low bits.
#[inline]
fn mix(lo: u64, hi: u64, len: u32) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xd1b5_4a32_d192_ed03;
    let a = lo ^ A;
    let b = hi.rotate_left(23) ^ B ^ u64::from(len) << 56;
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

fn hash_long(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn contents(table: &Table) -> BTreeMap<Vec<u8>, (u64, u64)> {
        let mut all = BTreeMap::new();
        table
            .for_each(|bytes, count, first| {
                assert!(all.insert(bytes.to_vec(), (count, first)).is_none(), "one entry per pretoken");
                Ok(())
            })
            .unwrap();
        assert_eq!(all.len(), table.len());
        all
    }

    proptest! {
        #[test]
        fn a_table_counts_like_a_map(
            pretokens in prop::collection::vec((prop::collection::vec(0u8..3, 1..40), 1u64..9), 0..3000),
        ) {
            let mut table = Table::new(true);
            let mut halves = [Table::new(true), Table::new(true)];
            let mut map: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
            for (at, (bytes, n)) in pretokens.iter().enumerate() {
                table.add(bytes, *n, at as u64).unwrap();
                halves[at % 2].add(bytes, *n, at as u64).unwrap();
                let entry = map.entry(bytes.clone()).or_insert((0, at as u64));
                entry.0 += n;
            }
            prop_assert_eq!(contents(&table), map.clone());
            let [mut one, other] = halves;
            one.absorb(&other, &mut Ticker::new(&Unwatched)).unwrap();
            prop_assert_eq!(contents(&one), map);
        }

        #[test]
        fn packing_loses_nothing(bytes in prop::collection::vec(any::<u8>(), 1..=16)) {
            let (lo, hi) = pack(&bytes);
            prop_assert_eq!(&unpack(lo, hi, bytes.len())[..bytes.len()], &bytes[..]);
        }
    }

    #[test]
    fn a_count_past_64_bits_is_an_error() {
        let mut table = Table::new(false);
        table.add(b"a", u64::MAX, 0).unwrap();
        assert!(table.add(b"a", 1, 0).unwrap_err().to_string().contains("the pretoken \"a\" occurs more"));
        table.add(&[b'z'; 50], u64::MAX, 0).unwrap();
        let named = format!("the pretoken \"{}\"... occurs more than 2^64 - 1 times", "z".repeat(40));
        let error = table.add(&[b'z'; 50], 1, 0).unwrap_err().to_string();
        assert!(error.contains(&named), "{error}");
    }
}
