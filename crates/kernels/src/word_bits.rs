//! Finds white space in 64 bytes of text, one bit per byte.
//!
//! In: a block, the bytes that are white space, and a lower bound for lead bytes. Out: three 64-bit masks. The vector
//! routine has a portable twin, and the level never changes a result.
use crate::cpu::Level;

/// The bytes of a block.
const BLOCK: usize = 64;

/// Masks of a block: bit `n` is byte `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordBits {
    /// The byte is white space.
    pub white: u64,
    /// The byte is ASCII from `!` to `~`.
    pub graphic: u64,
    /// The byte is at least the lower bound.
    pub high: u64,
}

impl WordBits {
    /// The masks of a block. `white` has the bytes of white space; some of them may be equal.
    #[inline]
    pub fn of(level: Level, block: &[u8; BLOCK], white: [u8; 4], bound: u8) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if level.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the level, which
                // include AVX2.
                unsafe { x86::of(block, white, bound) }
            }
            _ => Self::portable(block, white, bound),
        }
    }

    /// Eight bytes at a time, each in its own byte of a `u64`.
    fn portable(block: &[u8; BLOCK], white: [u8; 4], bound: u8) -> Self {
        let mut bits = Self { white: 0, graphic: 0, high: 0 };
        for (i, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let is_white = white.iter().fold(0, |found, &byte| found | at_most(word ^ all(byte), 0));
            let is_graphic = at_most(word, b'~') & !at_most(word, b' ');
            let is_high = if bound == 0 { HIGH_BITS } else { !at_most(word, bound - 1) & HIGH_BITS };
            bits.white |= gathered(is_white) << (8 * i);
            bits.graphic |= gathered(is_graphic) << (8 * i);
            bits.high |= gathered(is_high) << (8 * i);
        }
        bits
    }
}

const HIGH_BITS: u64 = all(0x80);

const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bit of each byte that is at most `most`; all other bits are 0.
#[inline]
fn at_most(word: u64, most: u8) -> u64 {
    // Of the low seven bits: adding carries into the high bit where they are more than `most`, and never beyond.
    let low = |most: u8| !((word & !HIGH_BITS) + all(0x7F - most)) & HIGH_BITS;
    match most {
        0..0x80 => low(most) & !word,
        0x80.. => !word & HIGH_BITS | low(most - 0x80),
    }
}

/// The high bits of eight bytes, as the low eight bits of a number.
#[inline]
fn gathered(high_bits: u64) -> u64 {
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_max_epu8,
        _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };

    use super::{BLOCK, WordBits};

    #[target_feature(enable = "avx2")]
    pub(super) fn of(block: &[u8; BLOCK], white: [u8; 4], bound: u8) -> WordBits {
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
        let (space, delete, high) = (all(0x20), all(0x7F), all(bound));
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
            bound in any::<u8>(),
            white in prop::sample::select(vec![*b" \t\n\r", *b"    "]),
        ) {
            let block = bytes.first_chunk().unwrap();
            let want = WordBits::portable(block, white, bound);
            for level in cpu::available() {
                prop_assert_eq!(WordBits::of(level, block, white, bound), want, "{}", level);
            }
            for (i, &byte) in block.iter().enumerate() {
                prop_assert_eq!(want.white >> i & 1 == 1, white.contains(&byte));
                prop_assert_eq!(want.graphic >> i & 1 == 1, (0x21..0x7F).contains(&byte));
                prop_assert_eq!(want.high >> i & 1 == 1, byte >= bound);
            }
        }
    }
}
