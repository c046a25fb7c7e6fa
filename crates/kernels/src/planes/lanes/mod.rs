//! Arithmetic on the words of one block or of several blocks in a row.
//!
//! In: code that is written once, for [`Lanes`]. Out: what it returns. With a `u64` it takes one block at a time, and
//! [`with_lanes`] runs it for eight. Lanes do not affect each other, but for [`Lanes::previous`].
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::layout::BATCH;
use crate::cpu::Level;

#[cfg(target_arch = "x86_64")]
mod x86;

/// The number of blocks that [`with_lanes`] takes.
pub const LANES: usize = 8;

/// A word of each of these blocks.
pub trait Lanes:
    Copy
    + BitAnd<Output = Self>
    + BitAnd<u64, Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Is this the word of one block?
    const IS_SINGLE: bool = false;

    /// The same word for all blocks.
    fn splat(word: u64) -> Self;

    /// The sum of the words, without the carry.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// For each block the word of the block before it. `first` is that of the first one.
    #[must_use]
    fn previous(self, first: u64) -> Self;

    /// All ones for each block whose word is zero, otherwise 0.
    #[must_use]
    fn is_zero(self) -> Self;

    /// The highest bit of each word: bit `n` is that of word `n`.
    fn highest_bits(self) -> u32;

    /// The words; those that there are not are 0.
    fn to_array(self) -> [u64; LANES];

    /// These words; of one block, the first.
    fn load(words: &[u64; LANES]) -> Self;
}

/// The words of the blocks of a batch from `first` on, which is 0, or 1 for the blocks after them.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
pub fn load<L: Lanes>(words: &[u64; BATCH], first: usize) -> L {
    words[first..].first_chunk().map_or(L::splat(0), L::load)
}

/// Code that runs on lanes.
pub trait LaneCode {
    /// What it returns.
    type Output;

    /// Runs the code. All functions that it calls for lanes must be inlined always, or they take many times as long.
    fn run<L: Lanes>(self) -> Self::Output;
}

/// Runs code for eight blocks. `None` if the level has no vectors for it.
#[inline]
pub fn with_lanes<C: LaneCode>(level: Level, code: C) -> Option<C::Output> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX-512 level,
            // which include all that the function enables.
            Some(unsafe { x86::run_avx512(code) })
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX2 level, which
            // include all that the function enables.
            Some(unsafe { x86::run_avx2(code) })
        }
        _ => {
            drop(code);
            None
        }
    }
}

impl Lanes for u64 {
    const IS_SINGLE: bool = true;

    #[inline]
    fn splat(word: u64) -> Self {
        word
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn previous(self, first: u64) -> Self {
        first
    }

    #[inline]
    fn is_zero(self) -> Self {
        if self == 0 { Self::MAX } else { 0 }
    }

    #[inline]
    fn highest_bits(self) -> u32 {
        (self >> 63) as u32
    }

    #[inline]
    fn to_array(self) -> [u64; LANES] {
        let mut words = [0; LANES];
        words[0] = self;
        words
    }

    #[inline]
    fn load(words: &[u64; LANES]) -> Self {
        words[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    /// Each operation on the words of a batch.
    #[derive(Clone, Copy)]
    struct Every {
        words: [u64; BATCH],
        carried: u64,
        distance: u32,
    }

    impl LaneCode for Every {
        type Output = Vec<[u64; LANES]>;

        fn run<L: Lanes>(self) -> Self::Output {
            let (left, right) = (load::<L>(&self.words, 0), load::<L>(&self.words, 1));
            let zero = (left ^ right).is_zero();
            let shifted = [left << self.distance, right >> self.distance];
            let others = [left & right, left & self.carried, left | right, left ^ right, !left];
            let words = [left.plus(right), left.previous(self.carried), zero, L::splat(self.carried)];
            let highest = std::array::from_fn(|at| u64::from(left.highest_bits() >> at & 1));
            let arrays = shifted.into_iter().chain(others).chain(words).map(Lanes::to_array);
            arrays.chain([highest]).collect()
        }
    }

    proptest! {
        #[test]
        fn lanes_are_words_side_by_side(
            mut words: [u64; BATCH],
            same in 0..LANES,
            carried: u64,
            distance in 0..64_u32,
        ) {
            words[same + 1] = words[same];
            let single = |at: usize| {
                let carried = if at == 0 { carried } else { words[at - 1] };
                let mut pair = [0; BATCH];
                pair[..2].copy_from_slice(&words[at..at + 2]);
                Every { words: pair, carried, distance }.run::<u64>()
            };
            for level in cpu::available() {
                let Some(found) = with_lanes(level, Every { words, carried, distance }) else { continue };
                for at in 0..LANES {
                    for (operation, (lanes, word)) in found.iter().zip(single(at)).enumerate() {
                        // These two take the same word in all lanes, which is that of the block before for one.
                        let is_of_all = operation == 3 || operation == 10;
                        prop_assert!(lanes[at] == word[0] || is_of_all && at > 0, "{} {}", level, operation);
                    }
                    prop_assert_eq!((found[3][at], found[10][at]), (words[at] & carried, carried));
                }
            }
        }
    }
}
