//! Did something come before? Bits that remember it, as far as they can.

use tokenmill_kernels::{OutOfMemory, try_alloc};

/// Bits, each for some of the hashes.
const BITS: u32 = 19;

/// Hashes that came. Of a hundred that did not, some eight are said to have come as well, in the mean; in the end all are
/// forgotten.
#[derive(Debug)]
pub(super) struct Seen {
    words: Vec<u64>,
    /// Bits that are set.
    count: usize,
}

impl Seen {
    /// Heap bytes held.
    pub(super) const MEMORY: usize = 1 << (BITS - 3);

    pub(super) fn new() -> Result<Self, OutOfMemory> {
        Ok(Self { words: try_alloc::filled(0, 1 << (BITS - 6))?, count: 0 })
    }

    /// Puts a hash; did it come before?
    pub(super) fn put(&mut self, hash: u64) -> bool {
        if self.count >= 1 << (BITS - 1) {
            self.words.fill(0);
            self.count = 0;
        }
        // Both are needed, so that half of the bits being set makes a mistake of one in four.
        let (first, second) = (hash >> (64 - BITS), hash >> (64 - 2 * BITS));
        let mut came = true;
        for number in [first, second] {
            let (word, bit) =
                (&mut self.words[number as usize >> 6 & ((1 << (BITS - 6)) - 1)], 1 << (number & 63));
            self.count += usize::from(*word & bit == 0);
            came &= *word & bit != 0;
            *word |= bit;
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As of keys.
    fn hash(number: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    #[test]
    fn what_came_is_known_until_all_is_forgotten() {
        let mut seen = Seen::new().unwrap();
        let new = (0..100_000).filter(|&number| !seen.put(hash(number))).count();
        assert!(new > 96_000, "{new}");
        assert!((0..100_000).all(|number| seen.put(hash(number))));
    }

    #[test]
    fn most_of_what_never_came_is_new_however_many_they_are() {
        let mut seen = Seen::new().unwrap();
        let new = (0..2_000_000).filter(|&number| !seen.put(hash(number))).count();
        assert!(new > 1_800_000, "{new}");
    }
}
