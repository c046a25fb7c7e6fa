//! Arithmetic on the words of one block or of several blocks in a row.
//!
//! In: code that is written once, for [`Lanes`]. Out: what it returns. With a `u64` it takes one block at a time, and
//! [`with_lanes`] runs it for eight. No lane affects another, except by [`Lanes::previous`].
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::words::{LaneCode, Lanes};
use super::layout::BATCH;
pub use super::layout::LANES;
use crate::cpu::Level;

/// The words of the blocks of a batch from `first` on, which is 0, or 1 for the blocks after them.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
pub fn load<L: Lanes>(words: &[u64; BATCH], first: usize) -> L {
    words[first..].first_chunk().map_or(L::splat(0), L::load)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    /// Each operation on the words of a batch.
    #[derive(Clone, Copy)]
    struct Every {
        words: [u64; BATCH],
        /// The word before them, and a word that is the same for all.
        carried: u64,
        mask: u64,
        distance: u32,
    }

    impl LaneCode for Every {
        type Output = Vec<[u64; LANES]>;

        fn run<L: Lanes>(self) -> Self::Output {
            let (left, right) = (load::<L>(&self.words, 0), load::<L>(&self.words, 1));
            let shifts = [left << self.distance, right >> self.distance];
            let operators = [left & right, left & self.mask, left | right, left ^ right, !left];
            let others = [
                left.plus(right),
                left.previous(self.carried),
                (left ^ right).is_zero(),
                L::splat(self.mask),
            ];
            let highest = std::array::from_fn(|at| u64::from(left.highest_bits() >> at & 1));
            let lanes = shifts.into_iter().chain(operators).chain(others);
            lanes.map(Lanes::to_array).chain([highest]).collect()
        }
    }

    proptest! {
        #[test]
        fn lanes_are_words_side_by_side(
            mut words: [u64; BATCH],
            same in 0..LANES,
            carried: u64,
            mask: u64,
            distance in 0..64_u32,
        ) {
            words[same + 1] = words[same];
            let single = |at: usize| {
                let carried = at.checked_sub(1).map_or(carried, |before| words[before]);
                let mut pair = [0; BATCH];
                pair[..2].copy_from_slice(&words[at..at + 2]);
                Every { words: pair, carried, mask, distance }.run::<u64>()
            };
            for level in cpu::available() {
                let Some(found) = with_lanes(level, Every { words, carried, mask, distance }) else { continue };
                for at in 0..LANES {
                    let lanes: Vec<u64> = found.iter().map(|lanes| lanes[at]).collect();
                    let word: Vec<u64> = single(at).iter().map(|lanes| lanes[0]).collect();
                    prop_assert_eq!(lanes, word, "{} {}", level, at);
                }
            }
        }
    }
}
