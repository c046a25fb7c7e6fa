//! Merges with the candidates in vectors of 256 bits.
use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si32, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_min_epu32, _mm_or_si128,
    _mm_shuffle_epi32, _mm_srli_si128, _mm_unpackhi_epi64, _mm256_add_epi32, _mm256_andnot_si256,
    _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_cmpgt_epi32,
    _mm256_cvtepu8_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_mask_i32gather_epi32,
    _mm256_min_epu32, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_slli_epi32, _mm256_srli_epi64, _mm256_storeu_si256,
};

use super::lanes::{GROUP, Groups, IN_REGISTERS, group_symbols, set_in_memory};
use crate::batch_merge::merge_loop::{NO_CANDIDATE, POSITION_BITS, merge_functions, pack_one_by_one};
use crate::merge_table::{BytePairs, NO_MERGE, SLOTS, SYMBOL_BITS};

/// The value of a key in these slots. [`NO_MERGE`] if none of the slots has the key.
#[inline]
#[target_feature(enable = "avx2")]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    // SAFETY: the two loads read the 64 bytes of the array and need no alignment.
    let (first, second) = unsafe {
        (_mm256_loadu_si256(slots.as_ptr().cast()), _mm256_loadu_si256(slots.as_ptr().add(4).cast()))
    };
    let wanted = _mm256_set1_epi64x(key.cast_signed());
    let half = |slots: __m256i| {
        _mm256_andnot_si256(
            slots,
            _mm256_cmpeq_epi64(_mm256_srli_epi64::<{ SYMBOL_BITS as i32 }>(slots), wanted),
        )
    };
    let found = _mm256_or_si256(half(first), half(second));
    let two = _mm_or_si128(_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found));
    let one = _mm_or_si128(two, _mm_unpackhi_epi64(two, two));
    !_mm_cvtsi128_si64(one).cast_unsigned() as u32 & NO_MERGE
}

/// The candidates of an input. Each group is two vectors of eight positions.
#[derive(Clone, Copy)]
struct Candidates<const N: usize>([[__m256i; 2]; N]);

/// The positions of the eight bytes that start with byte `from`.
#[inline]
#[target_feature(enable = "avx2")]
fn positions(from: usize) -> __m256i {
    let eight = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
    _mm256_add_epi32(eight, _mm256_set1_epi32(from as i32))
}

impl<const N: usize> Candidates<N> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn none() -> Self {
        Self([[_mm256_set1_epi32(NO_CANDIDATE.cast_signed()); 2]; N])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(byte_pairs: &BytePairs, input: &impl Groups<N>, length: u32, symbols: &mut [u32]) -> Self {
        let mut candidates = Self::none();
        let length = _mm256_set1_epi32(length.cast_signed());
        for (i, (candidates, bytes)) in candidates.0.iter_mut().zip(input.groups()).enumerate() {
            let from = GROUP * i;
            // SAFETY: each load reads the 16 bytes of an array and needs no alignment.
            let [lefts, rights] =
                [bytes.lefts, bytes.rights].map(|bytes| unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
            let (front, back) = group_symbols(symbols, from).split_at_mut(8);
            let halves = [
                (lefts, rights, from, front),
                (_mm_srli_si128::<8>(lefts), _mm_srli_si128::<8>(rights), from + 8, back),
            ];
            for (candidates, (lefts, rights, from, symbols)) in candidates.iter_mut().zip(halves) {
                let (left, positions) = (_mm256_cvtepu8_epi32(lefts), positions(from));
                let pairs = _mm256_or_si256(_mm256_slli_epi32::<8>(left), _mm256_cvtepu8_epi32(rights));
                let none = _mm256_set1_epi32(NO_MERGE.cast_signed());
                let is_pair = _mm256_cmpgt_epi32(length, positions);
                // SAFETY: each index is made of two bytes, so it is below 2^16, the number of entries in the
                // table.
                let products = unsafe {
                    _mm256_mask_i32gather_epi32::<4>(none, byte_pairs.as_ptr().cast(), pairs, is_pair)
                };
                // SAFETY: the slice has 8 numbers, which the store fills. It needs no alignment.
                unsafe { _mm256_storeu_si256(symbols.as_mut_ptr().cast(), left) };
                *candidates =
                    _mm256_or_si256(_mm256_slli_epi32::<{ POSITION_BITS as i32 }>(products), positions);
            }
        }
        candidates
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(self) -> u32 {
        let mut eight = _mm256_set1_epi32(-1);
        for candidates in self.0.as_flattened() {
            eight = _mm256_min_epu32(eight, *candidates);
        }
        let four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
        let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        let one = _mm_min_epu32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
        _mm_cvtsi128_si32(one).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(&mut self, position: u32, candidate: u32) {
        if N > IN_REGISTERS {
            // SAFETY: two vectors have the size of sixteen `u32` and a larger alignment, and any bytes are valid
            // in both types. The reference borrows from `self` exclusively.
            set_in_memory(
                unsafe { &mut *(&raw mut self.0).cast::<[[u32; GROUP]; N]>() },
                position,
                candidate,
            );
            return;
        }
        let position = _mm256_set1_epi32(position.cast_signed());
        let candidate = _mm256_set1_epi32(candidate.cast_signed());
        for (i, candidates) in self.0.as_flattened_mut().iter_mut().enumerate() {
            *candidates =
                _mm256_blendv_epi8(*candidates, candidate, _mm256_cmpeq_epi32(positions(8 * i), position));
        }
    }

    #[inline]
    fn remaining<const LANES: usize>(symbols: &[u32], positions: impl Into<u64>) -> ([u32; LANES], usize) {
        pack_one_by_one(symbols, positions.into())
    }
}

merge_functions!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_narrow: narrow in Candidates<1>,
    merge_wide: wide in Candidates<2>,
    merge_widest: widest in Candidates<4>
);
