//! Merges in vectors of 512 bits.
use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si64, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi64_mask,
    _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_compress_epi64, _mm512_mask_i32gather_epi32,
    _mm512_mask_set1_epi32, _mm512_maskz_compress_epi32, _mm512_min_epu32, _mm512_or_si512,
    _mm512_reduce_min_epu32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_slli_epi32,
    _mm512_srli_epi64, _mm512_storeu_si512,
};

use super::{Bytes, InMemory, PART, part};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};
use crate::rows::{NONE, PLACE, define, narrow, wide, widest};

/// What a key has in these slots.
#[inline]
#[target_feature(enable = "avx512f")]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    // SAFETY: reads the 64 bytes of the array, from any alignment.
    let slots = unsafe { _mm512_loadu_si512(slots.as_ptr().cast()) };
    let wanted = _mm512_set1_epi64(key.cast_signed());
    let found = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<KEY>(slots), wanted);
    let found = _mm512_mask_compress_epi64(_mm512_set1_epi64(-1), found, slots);
    _mm_cvtsi128_si64(_mm512_castsi512_si128(found)).cast_unsigned() as u32 & NO_MERGE
}

/// The merges at sixteen places.
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
    fn of(grid: &Grid, bytes: Bytes, length: u32, symbols: &mut [u32], behind: usize) -> Self {
        let places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        let places = _mm512_add_epi32(places, _mm512_set1_epi32(behind as i32));
        let (left, right) = (_mm512_cvtepu8_epi32(bytes.lefts), _mm512_cvtepu8_epi32(bytes.rights));
        let pairs = _mm512_or_si512(_mm512_slli_epi32::<8>(left), right);
        let none = _mm512_set1_epi32(NO_MERGE.cast_signed());
        let is_pair = (((1u64 << length) - 1) >> 1 >> behind) as u16;
        // SAFETY: each index is two bytes, and the grid has a number for all of these.
        let merges = unsafe { _mm512_mask_i32gather_epi32::<4>(none, is_pair, pairs, grid.as_ptr().cast()) };
        // SAFETY: there is room for 16 numbers.
        unsafe { _mm512_storeu_si512(part(symbols, behind).as_mut_ptr().cast(), left) };
        Self(_mm512_or_si512(_mm512_slli_epi32::<PLACE>(merges), places))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(grid: &Grid, row: &narrow::Row, length: u32, symbols: &mut narrow::Symbols) -> Self {
        Self::of(grid, Bytes::of_narrow(*row), length, symbols, 0)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        _mm512_reduce_min_epu32(self.0)
    }

    /// At the lane that has its bit.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set_lane(&mut self, lane: u16, merge: u32) {
        self.0 = _mm512_mask_set1_epi32(self.0, lane, merge.cast_signed());
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, place: u32, merge: u32) {
        self.set_lane((1u32.wrapping_shl(place) >> 1) as u16, merge);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    /// Of the sixteen places behind so many those with a bit in `lanes`: their symbols, and some that are none behind
    /// these; how many they are.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn compress(symbols: &[u32], behind: usize, lanes: u16, merged: &mut [u32; PART]) -> usize {
        let symbols: &[u32; PART] = symbols[1 + behind..].first_chunk().expect("there are more places");
        // SAFETY: both arrays have 16 numbers.
        unsafe {
            let symbols = _mm512_loadu_si512(symbols.as_ptr().cast());
            _mm512_storeu_si512(merged.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(lanes, symbols));
        }
        lanes.count_ones() as usize
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left(symbols: &narrow::Symbols, places: narrow::Bits) -> narrow::Merged {
        let mut merged = [0; narrow::LANES];
        let length = Self::compress(symbols, 0, (places >> 1) as u16, &mut merged);
        (merged, length)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_narrow_avx512,
    narrow,
    One
);

/// The merges of a wide row.
#[derive(Clone, Copy)]
struct Pair(One, One);

impl Pair {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn default() -> Self {
        Self(One::default(), One::default())
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(grid: &Grid, row: &wide::Row, length: u32, symbols: &mut wide::Symbols) -> Self {
        let [first, second] = Bytes::of_wide(row);
        Self(One::of(grid, first, length, symbols, 0), One::of(grid, second, length, symbols, PART))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        One(_mm512_min_epu32(self.0.0, self.1.0)).lowest()
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, place: u32, merge: u32) {
        let lanes = 1u64.wrapping_shl(place) >> 1;
        self.0.set_lane(lanes as u16, merge);
        self.1.set_lane((lanes >> PART) as u16, merge);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left(symbols: &wide::Symbols, places: wide::Bits) -> wide::Merged {
        let mut merged = [0; wide::LANES];
        let (lanes, mut half) = (places >> 1, [0; PART]);
        let first = One::compress(symbols, 0, lanes as u16, &mut half);
        merged[..PART].copy_from_slice(&half);
        let second = One::compress(symbols, PART, (lanes >> PART) as u16, &mut half);
        merged[first % (PART + 1)..][..PART].copy_from_slice(&half);
        (merged, first + second)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_wide_avx512,
    wide,
    Pair
);

/// The merges of a widest row.
#[derive(Clone, Copy)]
struct Quad(InMemory);

impl Quad {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn default() -> Self {
        Self(InMemory([NONE; widest::LANES]))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(grid: &Grid, row: &widest::Row, length: u32, symbols: &mut widest::Symbols) -> Self {
        let mut merges = Self::default();
        for (part, bytes) in Bytes::of_widest(row).into_iter().enumerate() {
            let One(of_part) = One::of(grid, bytes, length, symbols, PART * part);
            let part = &mut merges.0.0[PART * part..][..PART];
            // SAFETY: there is room for 16 numbers.
            unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), of_part) };
        }
        merges
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        let at = |from: usize| {
            let part: &[u32; PART] = self.0.0[from..].first_chunk().expect("a row has as many");
            // SAFETY: reads these 16 numbers.
            unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
        };
        let (first, second) =
            (_mm512_min_epu32(at(0), at(PART)), _mm512_min_epu32(at(2 * PART), at(3 * PART)));
        One(_mm512_min_epu32(first, second)).lowest()
    }

    #[inline]
    fn set(&mut self, place: u32, merge: u32) {
        self.0.set(place, merge);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left(symbols: &widest::Symbols, places: widest::Bits) -> widest::Merged {
        let (mut merged, mut length) = ([0; widest::LANES], 0);
        let (lanes, mut part) = (places >> 1, [0; PART]);
        for behind in [0, PART, 2 * PART, 3 * PART] {
            let count = One::compress(symbols, behind, (lanes >> behind) as u16, &mut part);
            merged[length % (3 * PART + 1)..][..PART].copy_from_slice(&part);
            length += count;
        }
        (merged, length)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_widest_avx512,
    widest,
    Quad
);
