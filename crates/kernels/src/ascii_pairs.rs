//! A set of pairs of ASCII characters, in which the 64 pairs of a block are looked up together.
//!
//! In: a block of text, and the character before it. Out: a bit for each character of the block. The vector routine has
//! a portable twin, and the level (the instruction set, see [`Level`]) never changes a result.
use crate::cpu::Level;

/// The bytes of a block.
const BLOCK: usize = 64;

/// For eight right characters in a row, and for each left one, a bit for each of the eight.
type Rows = [[u8; 128]; 16];

/// A set of pairs of ASCII characters.
#[derive(Debug, PartialEq, Eq)]
pub struct AsciiPairs(Box<Rows>);

impl AsciiPairs {
    /// The set of all pairs for which `contains` is true.
    pub fn new(contains: impl Fn(u8, u8) -> bool) -> Self {
        let mut rows = Box::new([[0; 128]; 16]);
        for left in 0..128_u8 {
            for right in 0..128_u8 {
                rows[usize::from(right / 8)][usize::from(left)] |=
                    u8::from(contains(left, right)) << (right % 8);
            }
        }
        Self(rows)
    }

    /// The pairs that are not in the set: bit `n` is that of byte `n` of the block with the byte before it. Only bits
    /// up to the first byte that is not ASCII have a meaning. `before` must be ASCII.
    #[inline]
    pub fn missing(&self, level: Level, before: u8, block: &[u8; BLOCK]) -> u64 {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if level.is_available() && is_x86_feature_detected!("avx512vbmi") => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX-512 level
                // and VBMI, which include all that the function enables.
                !unsafe { x86::contained(&self.0, before, block) }
            }
            _ => !self.contained(before, block),
        }
    }

    fn contained(&self, before: u8, block: &[u8; BLOCK]) -> u64 {
        let (mut left, mut contained) = (before, 0);
        for (at, &right) in block.iter().enumerate() {
            let row = self.0[usize::from(right / 8 % 16)][usize::from(left % 128)];
            contained |= u64::from(row >> (right % 8) & 1) << at;
            left = right;
        }
        contained
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm_loadu_si128, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask,
        _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_maskz_permutex2var_epi8, _mm512_or_si512,
        _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8,
        _mm512_srli_epi16, _mm512_test_epi8_mask,
    };

    use super::{BLOCK, Rows};

    /// The index of the byte before each byte; the first byte has none, so it keeps its own.
    const BEFORE: [u8; BLOCK] = {
        let (mut before, mut at) = ([0; BLOCK], 1);
        while at < BLOCK {
            before[at] = at as u8 - 1;
            at += 1;
        }
        before
    };

    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(block: &[u8; BLOCK]) -> __m512i {
        // SAFETY: the load reads the 64 bytes of the array and needs no alignment.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }

    /// Looks all left characters up in each row, and keeps the results whose right character belongs to that row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) fn contained(rows: &Rows, before: u8, block: &[u8; BLOCK]) -> u64 {
        let rights = load(block);
        let before = _mm512_set1_epi8(before.cast_signed());
        let lefts = _mm512_mask_blend_epi8(1, _mm512_permutexvar_epi8(load(&BEFORE), rights), before);
        // Shifted as words of 16 bits; what comes from the other byte is masked.
        let row_of = _mm512_and_si512(_mm512_srli_epi16::<3>(rights), _mm512_set1_epi8(15));
        // SAFETY: the load reads the 16 bytes of the array and needs no alignment.
        let bits = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(BITS.as_ptr().cast()) });
        // A shuffle takes the lowest four bits of a byte, if its highest bit is not set.
        let bits = _mm512_shuffle_epi8(bits, rights);
        let mut found = _mm512_setzero_si512();
        for (number, row) in rows.iter().enumerate() {
            let (low, high) = row.as_chunks::<BLOCK>().0.split_at(1);
            let of_row = _mm512_cmpeq_epi8_mask(row_of, _mm512_set1_epi8(number as i8));
            let row = _mm512_maskz_permutex2var_epi8(of_row, load(&low[0]), lefts, load(&high[0]));
            found = _mm512_or_si512(found, row);
        }
        _mm512_test_epi8_mask(found, bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    proptest! {
        #[test]
        fn pairs_are_found_at_every_level(
            set: [u64; 32],
            before in 0..128_u8,
            mut block: [u8; BLOCK],
            foreign in prop::option::of(0..BLOCK),
        ) {
            let contains = |left: u8, right: u8| {
                set[usize::from(left ^ right) / 8] >> (left % 8 * 8 + right % 8) & 1 == 1
            };
            let pairs = AsciiPairs::new(contains);
            for byte in &mut block {
                *byte &= 127;
            }
            if let Some(foreign) = foreign {
                block[foreign] |= 128;
            }
            let ascii = block.iter().take_while(|byte| byte.is_ascii()).count();
            let lefts = std::iter::once(&before).chain(&block);
            let want: Vec<bool> =
                lefts.zip(&block).take(ascii).map(|(&left, &right)| !contains(left, right)).collect();
            for level in cpu::available() {
                let missing = pairs.missing(level, before, &block);
                let found: Vec<bool> = (0..ascii).map(|at| missing >> at & 1 == 1).collect();
                prop_assert_eq!(&found, &want, "{}", level);
            }
        }
    }
}
