//! Merges in vectors of 256 bits.
use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si32, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_min_epu32, _mm_or_si128,
    _mm_shuffle_epi32, _mm_srli_si128, _mm_unpackhi_epi64, _mm256_add_epi32, _mm256_andnot_si256,
    _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_cmpgt_epi32,
    _mm256_cvtepu8_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_mask_i32gather_epi32,
    _mm256_min_epu32, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_slli_epi32, _mm256_srli_epi64, _mm256_storeu_si256,
};

use super::{IN_REGISTERS, PART, Parts, part, set_in_memory};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};
use crate::rows::{NONE, PLACE, define, narrow, one_by_one, wide, widest};

/// What a key has in these slots.
#[inline]
#[target_feature(enable = "avx2")]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    // SAFETY: reads the 64 bytes of the array, from any alignment.
    let (first, second) = unsafe {
        (_mm256_loadu_si256(slots.as_ptr().cast()), _mm256_loadu_si256(slots.as_ptr().add(4).cast()))
    };
    let wanted = _mm256_set1_epi64x(key.cast_signed());
    let half = |slots: __m256i| {
        _mm256_andnot_si256(slots, _mm256_cmpeq_epi64(_mm256_srli_epi64::<{ KEY as i32 }>(slots), wanted))
    };
    let found = _mm256_or_si256(half(first), half(second));
    let two = _mm_or_si128(_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found));
    let one = _mm_or_si128(two, _mm_unpackhi_epi64(two, two));
    !_mm_cvtsi128_si64(one).cast_unsigned() as u32 & NO_MERGE
}

/// The merges of a row, two times eight places each.
#[derive(Clone, Copy)]
struct Merges<const N: usize>([[__m256i; 2]; N]);

/// The eight places behind so many, and that at 0.
#[inline]
#[target_feature(enable = "avx2")]
fn places(behind: usize) -> __m256i {
    let eight = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
    _mm256_add_epi32(eight, _mm256_set1_epi32(behind as i32))
}

impl<const N: usize> Merges<N> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        Self([[_mm256_set1_epi32(NONE.cast_signed()); 2]; N])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(grid: &Grid, row: &impl Parts<N>, length: u32, symbols: &mut [u32]) -> Self {
        let mut merges = Self::default();
        let length = _mm256_set1_epi32(length.cast_signed());
        for (i, (merges, bytes)) in merges.0.iter_mut().zip(row.parts()).enumerate() {
            let behind = PART * i;
            // SAFETY: each reads the 16 bytes of an array, from any alignment.
            let [lefts, rights] =
                [bytes.lefts, bytes.rights].map(|bytes| unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
            let (front, back) = part(symbols, behind).split_at_mut(8);
            let halves = [
                (lefts, rights, behind, front),
                (_mm_srli_si128::<8>(lefts), _mm_srli_si128::<8>(rights), behind + 8, back),
            ];
            for (merges, (lefts, rights, behind, symbols)) in merges.iter_mut().zip(halves) {
                let (left, places) = (_mm256_cvtepu8_epi32(lefts), places(behind));
                let pairs = _mm256_or_si256(_mm256_slli_epi32::<8>(left), _mm256_cvtepu8_epi32(rights));
                let none = _mm256_set1_epi32(NO_MERGE.cast_signed());
                let is_pair = _mm256_cmpgt_epi32(length, places);
                // SAFETY: each index is two bytes, and the grid has a number for all of these.
                let of_pairs =
                    unsafe { _mm256_mask_i32gather_epi32::<4>(none, grid.as_ptr().cast(), pairs, is_pair) };
                // SAFETY: there is room for 8 numbers.
                unsafe { _mm256_storeu_si256(symbols.as_mut_ptr().cast(), left) };
                *merges = _mm256_or_si256(_mm256_slli_epi32::<{ PLACE as i32 }>(of_pairs), places);
            }
        }
        merges
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(self) -> u32 {
        let mut eight = _mm256_set1_epi32(-1);
        for merges in self.0.as_flattened() {
            eight = _mm256_min_epu32(eight, *merges);
        }
        let four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
        let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        let one = _mm_min_epu32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
        _mm_cvtsi128_si32(one).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(&mut self, place: u32, merge: u32) {
        if N > IN_REGISTERS {
            // SAFETY: two vectors are sixteen numbers.
            set_in_memory(unsafe { &mut *(&raw mut self.0).cast::<[[u32; PART]; N]>() }, place, merge);
            return;
        }
        let (place, merge) = (_mm256_set1_epi32(place.cast_signed()), _mm256_set1_epi32(merge.cast_signed()));
        for (i, merges) in self.0.as_flattened_mut().iter_mut().enumerate() {
            *merges = _mm256_blendv_epi8(*merges, merge, _mm256_cmpeq_epi32(places(8 * i), place));
        }
    }

    #[inline]
    fn left<const LANES: usize>(symbols: &[u32], places: impl Into<u64>) -> ([u32; LANES], usize) {
        one_by_one(symbols, places.into())
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_narrow_avx2,
    narrow,
    Merges<1>,
    find
);

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_wide_avx2,
    wide,
    Merges<2>,
    find
);

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_widest_avx2,
    widest,
    Merges<4>,
    find
);
