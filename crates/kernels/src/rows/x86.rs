//! Merges in vectors of 256 and of 512 bits.
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi128_si32, _mm_cvtsi128_si64, _mm_min_epu32, _mm_or_si128,
    _mm_set_epi64x, _mm_shuffle_epi32, _mm_srli_si128, _mm_unpackhi_epi64, _mm256_andnot_si256,
    _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_cmpgt_epi32,
    _mm256_cvtepu8_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_mask_i32gather_epi32,
    _mm256_min_epu32, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_slli_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm512_cvtepu8_epi32, _mm512_loadu_si512,
    _mm512_mask_i32gather_epi32, _mm512_mask_set1_epi32, _mm512_maskz_compress_epi32, _mm512_or_si512,
    _mm512_reduce_min_epu32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_slli_epi32, _mm512_storeu_si512,
};

use super::{BEHIND, Key, LANES, LONGEST, Merged, NONE, PLACE, PLACES, Symbols, define, one_by_one};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};

#[inline]
#[target_feature(enable = "sse2")]
fn vector(row: Key) -> __m128i {
    _mm_set_epi64x((row >> 64) as i64, row as i64)
}

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

#[derive(Clone, Copy)]
struct Two(__m256i, __m256i);

impl Two {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        let none = _mm256_set1_epi32(NONE.cast_signed());
        Self(none, none)
    }

    /// The places of the first eight bytes and of the others.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn places() -> (__m256i, __m256i) {
        (_mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8), _mm256_setr_epi32(9, 10, 11, 12, 13, 14, 15, 16))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(grid: &Grid, row: Key, length: u32, symbols: &mut Symbols) -> Self {
        let (lefts, rights) = (vector(row), vector(row >> 8));
        let length = _mm256_set1_epi32(length.cast_signed());
        let half = |lefts: __m128i, rights: __m128i, places: __m256i| {
            let left = _mm256_cvtepu8_epi32(lefts);
            let pairs = _mm256_or_si256(_mm256_slli_epi32::<8>(left), _mm256_cvtepu8_epi32(rights));
            let none = _mm256_set1_epi32(NO_MERGE.cast_signed());
            let is_pair = _mm256_cmpgt_epi32(length, places);
            // SAFETY: each index is two bytes, and the grid has a number for all of these.
            let merges =
                unsafe { _mm256_mask_i32gather_epi32::<4>(none, grid.as_ptr().cast(), pairs, is_pair) };
            (left, _mm256_or_si256(_mm256_slli_epi32::<{ PLACE as i32 }>(merges), places))
        };
        let (first, second) = Self::places();
        let (first_bytes, first) = half(lefts, rights, first);
        let (second_bytes, second) = half(_mm_srli_si128::<8>(lefts), _mm_srli_si128::<8>(rights), second);
        let (front, back) = symbols[1..].split_at_mut(8);
        // SAFETY: there are 8 numbers in front, and 23 behind these.
        unsafe {
            _mm256_storeu_si256(front.as_mut_ptr().cast(), first_bytes);
            _mm256_storeu_si256(back.as_mut_ptr().cast(), second_bytes);
        }
        Self(first, second)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(self) -> u32 {
        let eight = _mm256_min_epu32(self.0, self.1);
        let four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
        let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        let one = _mm_min_epu32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
        _mm_cvtsi128_si32(one).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(&mut self, place: u32, merge: u32) {
        let (first, second) = Self::places();
        let (place, merge) = (_mm256_set1_epi32(place.cast_signed()), _mm256_set1_epi32(merge.cast_signed()));
        self.0 = _mm256_blendv_epi8(self.0, merge, _mm256_cmpeq_epi32(first, place));
        self.1 = _mm256_blendv_epi8(self.1, merge, _mm256_cmpeq_epi32(second, place));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn left(symbols: &Symbols, places: u32) -> Merged {
        one_by_one(symbols, places)
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_rows_avx2,
    Two
);

#[derive(Clone, Copy)]
struct One(__m512i);

impl One {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn default() -> Self {
        Self(_mm512_set1_epi32(NONE.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(grid: &Grid, row: Key, length: u32, symbols: &mut Symbols) -> Self {
        let places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        let (left, right) = (_mm512_cvtepu8_epi32(vector(row)), _mm512_cvtepu8_epi32(vector(row >> 8)));
        let pairs = _mm512_or_si512(_mm512_slli_epi32::<8>(left), right);
        let none = _mm512_set1_epi32(NO_MERGE.cast_signed());
        let is_pair = (((1u32 << length) - 1) >> 1) as u16;
        // SAFETY: each index is two bytes, and the grid has a number for all of these.
        let merges = unsafe { _mm512_mask_i32gather_epi32::<4>(none, is_pair, pairs, grid.as_ptr().cast()) };
        // SAFETY: there are 31 numbers from there on.
        unsafe { _mm512_storeu_si512(symbols[1..].as_mut_ptr().cast(), left) };
        Self(_mm512_or_si512(_mm512_slli_epi32::<PLACE>(merges), places))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        _mm512_reduce_min_epu32(self.0)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, place: u32, merge: u32) {
        let lane = (1u32.wrapping_shl(place) >> 1) as u16;
        self.0 = _mm512_mask_set1_epi32(self.0, lane, merge.cast_signed());
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left(symbols: &Symbols, places: u32) -> Merged {
        let left = (places >> 1) as u16 & ((1 << LONGEST) - 1);
        let mut merged = [0; LANES];
        // SAFETY: there are 31 numbers from there on, and the array has room for 16.
        unsafe {
            let symbols = _mm512_loadu_si512(symbols[1..].as_ptr().cast());
            _mm512_storeu_si512(merged.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(left, symbols));
        }
        (merged, left.count_ones() as usize)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_rows_avx512,
    One
);
