//! Which pretokens a cache admits. While it has fewer than 8,192 buckets, all that are offered: `cache` makes the
//! doorkeeper when it grows to that size (`DOORKEEPER_BITS`) and asks here from then on. If the miss rate is above a
//! fifth, only those are admitted that miss again after the doorkeeper remembered them (a repeat that shares its ids in
//! the miss queue does not count), and those of up to three bytes on first sight. After a streak of pretokens that were
//! spelled at once, `batch` offers these on second sight at any miss rate and length, and some never; `keys` says which
//! pretokens are never cached.
//!
//! A text of random letters never repeats, and caching a pretoken costs as much as spelling it.
use tokenmill_kernels::{OutOfMemory, try_alloc};

/// Lookups over which the miss rate is a moving mean.
const WINDOW: usize = 1 << 12;
/// The miss rate where every lookup is a miss.
const ALL: usize = 1 << 16;
/// Above this miss rate a pretoken is admitted on second sight.
const HIGH: usize = ALL / 5;

/// Pretokens of up to this many bytes are admitted at any miss rate, since there are not many of them; but not if they
/// were spelled at once.
const ALWAYS_ADMITTED_BYTES: usize = 3;

/// The miss rate of one worker, and what it has seen once.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// Calls of the model for each recent lookup, less the calls that hits saved, as a fraction of [`ALL`].
    miss_rate: usize,
    /// Made when the cache reaches a certain size; without it everything is admitted.
    doorkeeper: Option<Doorkeeper>,
}

impl Admission {
    /// Adds lookups, of which `misses` went to the model; `saved`, an estimate of the calls that the cache saved,
    /// is subtracted from the misses.
    #[inline]
    pub(super) fn record(&mut self, lookups: usize, misses: usize, saved: usize) {
        self.miss_rate -= self.miss_rate * lookups.min(WINDOW) / WINDOW;
        let weight = |lookups: usize| lookups.min(WINDOW) * (ALL / WINDOW);
        self.miss_rate = (self.miss_rate + weight(misses)).saturating_sub(weight(saved));
    }

    /// Is the miss rate above a fifth?
    pub(super) fn is_miss_rate_high(&self) -> bool {
        self.miss_rate > HIGH
    }

    /// Makes the doorkeeper, unless there is one.
    pub(super) fn add_doorkeeper(&mut self) -> Result<(), OutOfMemory> {
        if self.doorkeeper.is_none() {
            self.doorkeeper = Some(Doorkeeper::new()?);
        }
        Ok(())
    }

    /// Is a pretoken admitted? At a high miss rate on second sight only, for which the hash is remembered; always
    /// up to [`ALWAYS_ADMITTED_BYTES`].
    pub(super) fn admits(&mut self, bytes: usize, hash: u64) -> bool {
        !self.is_miss_rate_high() || bytes <= ALWAYS_ADMITTED_BYTES || self.admits_on_second_sight(hash)
    }

    /// Was it seen before, or is there no doorkeeper yet? The hash is remembered.
    pub(super) fn admits_on_second_sight(&mut self, hash: u64) -> bool {
        self.doorkeeper.as_mut().is_none_or(|doorkeeper| doorkeeper.insert(hash))
    }

    /// Heap bytes held.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.doorkeeper.as_ref().map_or(0, |_| Doorkeeper::MEMORY)
    }
}

/// Bits of a doorkeeper, as a power of two.
const BITS: u32 = 19;

/// A Bloom filter of hashes with two bits for each. On average it takes a tenth of the new hashes for seen, just
/// before it is cleared a quarter. It is cleared when half of the bits are set.
#[derive(Debug)]
pub(super) struct Doorkeeper {
    words: Vec<u64>,
    /// Bits that are set.
    count: usize,
}

impl Doorkeeper {
    /// Heap bytes held.
    pub(super) const MEMORY: usize = 1 << (BITS - 3);

    fn new() -> Result<Self, OutOfMemory> {
        Ok(Self { words: try_alloc::filled(0, 1 << (BITS - 6))?, count: 0 })
    }

    /// Inserts a hash; returns whether it was there before.
    fn insert(&mut self, hash: u64) -> bool {
        if self.count >= 1 << (BITS - 1) {
            self.words.fill(0);
            self.count = 0;
        }
        // Both bits must be set, so a filter that is half full is wrong in one of four cases.
        let (first, second) = (hash >> (64 - BITS), hash >> (64 - 2 * BITS));
        let mut was_there = true;
        for number in [first, second] {
            let (word, bit) =
                (&mut self.words[number as usize >> 6 & ((1 << (BITS - 6)) - 1)], 1 << (number & 63));
            self.count += usize::from(*word & bit == 0);
            was_there &= *word & bit != 0;
            *word |= bit;
        }
        was_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash like those of keys.
    fn hash(number: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    #[test]
    fn what_was_inserted_is_there_until_all_is_cleared() {
        let mut doorkeeper = Doorkeeper::new().unwrap();
        let new = (0..100_000).filter(|&number| !doorkeeper.insert(hash(number))).count();
        assert!(new > 96_000, "{new}");
        assert!((0..100_000).all(|number| doorkeeper.insert(hash(number))));
    }

    #[test]
    fn most_new_hashes_are_new_however_many_they_are() {
        let mut doorkeeper = Doorkeeper::new().unwrap();
        let new = (0..2_000_000).filter(|&number| !doorkeeper.insert(hash(number))).count();
        assert!(new > 1_800_000, "{new}");
    }
}
