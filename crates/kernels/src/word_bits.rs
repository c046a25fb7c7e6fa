//! Where words and white space are in 64 bytes of text, a bit for each byte.
//!
//! In: a block and the bytes that are white space. Out: three words of bits. The vector routine has a portable twin,
//! and the level never changes a result.
use crate::cpu::Level;

/// The bytes of a block.
const BLOCK: usize = 64;

/// The first byte of U+3000 to U+3FFF, and so of the first ideographs; all later characters begin with a larger one.
pub const IDEOGRAPHS: u8 = 0xE3;

/// What the bytes of a block are. Bit `n` is byte `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordBits {
    /// White space.
    pub white: u64,
    /// ASCII from `!` to `~`.
    pub graphic: u64,
    /// [`IDEOGRAPHS`] or a larger byte.
    pub high: u64,
}

impl WordBits {
    /// The bits of a block. `white` has the bytes of white space, of which some may be equal.
    #[inline]
    pub fn of(level: Level, block: &[u8; BLOCK], white: [u8; 4]) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level, which
                // include AVX2.
                unsafe { x86::of(block, white) }
            }
            _ => Self::portable(block, white),
        }
    }

    fn portable(block: &[u8; BLOCK], white: [u8; 4]) -> Self {
        let mut bits = Self { white: 0, graphic: 0, high: 0 };
        for (i, byte) in block.iter().enumerate() {
            bits.white |= u64::from(white.contains(byte)) << i;
            bits.graphic |= u64::from(byte.is_ascii_graphic()) << i;
            bits.high |= u64::from(*byte >= IDEOGRAPHS) << i;
        }
        bits
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_max_epu8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };

    use super::{BLOCK, IDEOGRAPHS, WordBits};

    #[target_feature(enable = "avx2")]
    pub(super) fn of(block: &[u8; BLOCK], white: [u8; 4]) -> WordBits {
        let start = block.as_ptr();
        // SAFETY: the loads read the first and the last 32 bytes of an array of 64, and need no alignment.
        let halves = unsafe { [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast())] };
        let all = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let bits = |[low, high]: [__m256i; 2]| {
            let [low, high] = [low, high].map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
            low | high << 32
        };
        let [a, b, c, d] = white.map(all);
        let white = halves.map(|half| {
            let first = _mm256_or_si256(_mm256_cmpeq_epi8(half, a), _mm256_cmpeq_epi8(half, b));
            let second = _mm256_or_si256(_mm256_cmpeq_epi8(half, c), _mm256_cmpeq_epi8(half, d));
            _mm256_or_si256(first, second)
        });
        // As signed numbers, bytes that are not ASCII are negative.
        let (space, delete, high) = (all(0x20), all(0x7F), all(IDEOGRAPHS));
        let graphic = halves
            .map(|half| _mm256_and_si256(_mm256_cmpgt_epi8(half, space), _mm256_cmpgt_epi8(delete, half)));
        let high = halves.map(|half| _mm256_cmpeq_epi8(_mm256_max_epu8(half, high), half));
        WordBits { white: bits(white), graphic: bits(graphic), high: bits(high) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    proptest! {
        #[test]
        fn all_levels_find_the_same(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n')], BLOCK),
            white in prop::sample::select(vec![*b" \t\n\r", *b"    "]),
        ) {
            let block = bytes.first_chunk().unwrap();
            let want = WordBits::portable(block, white);
            for level in cpu::available() {
                prop_assert_eq!(WordBits::of(level, block, white), want, "{}", level);
            }
            for (i, &byte) in block.iter().enumerate() {
                prop_assert_eq!(want.graphic >> i & 1 == 1, (0x21..0x7F).contains(&byte));
            }
        }
    }
}
