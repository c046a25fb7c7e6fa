//! Merges in vectors of 512 bits.
use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si64, _mm_loadu_si128, _mm512_add_epi32, _mm512_castsi512_si128,
    _mm512_cmpeq_epi64_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_compress_epi64,
    _mm512_mask_i32gather_epi32, _mm512_mask_set1_epi32, _mm512_maskz_compress_epi32, _mm512_min_epu32,
    _mm512_or_si512, _mm512_reduce_min_epu32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32,
    _mm512_slli_epi32, _mm512_srli_epi64, _mm512_storeu_si512,
};

use super::{IN_REGISTERS, PART, Parts, part, set_in_memory};
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

/// The merges of a row, sixteen places each.
#[derive(Clone, Copy)]
struct Merges<const N: usize>([__m512i; N]);

impl<const N: usize> Merges<N> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn default() -> Self {
        Self([_mm512_set1_epi32(NONE.cast_signed()); N])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(grid: &Grid, row: &impl Parts<N>, length: u32, symbols: &mut [u32]) -> Self {
        let mut merges = Self::default();
        for (i, (merges, bytes)) in merges.0.iter_mut().zip(row.parts()).enumerate() {
            let behind = PART * i;
            let places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
            let places = _mm512_add_epi32(places, _mm512_set1_epi32(behind as i32));
            // SAFETY: each reads the 16 bytes of an array, from any alignment.
            let [left, right] = [bytes.lefts, bytes.rights]
                .map(|bytes| _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }));
            let pairs = _mm512_or_si512(_mm512_slli_epi32::<8>(left), right);
            let none = _mm512_set1_epi32(NO_MERGE.cast_signed());
            let is_pair = (((1u64 << length) - 1) >> 1 >> behind) as u16;
            // SAFETY: each index is two bytes, and the grid has a number for all of these.
            let of_pairs =
                unsafe { _mm512_mask_i32gather_epi32::<4>(none, is_pair, pairs, grid.as_ptr().cast()) };
            // SAFETY: there is room for 16 numbers.
            unsafe { _mm512_storeu_si512(part(symbols, behind).as_mut_ptr().cast(), left) };
            *merges = _mm512_or_si512(_mm512_slli_epi32::<PLACE>(of_pairs), places);
        }
        merges
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        let mut lowest = _mm512_set1_epi32(-1);
        for merges in self.0 {
            lowest = _mm512_min_epu32(lowest, merges);
        }
        _mm512_reduce_min_epu32(lowest)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, place: u32, merge: u32) {
        if N > IN_REGISTERS {
            // SAFETY: each vector is sixteen numbers.
            set_in_memory(unsafe { &mut *(&raw mut self.0).cast::<[[u32; PART]; N]>() }, place, merge);
            return;
        }
        let lanes = 1u64.wrapping_shl(place) >> 1;
        for (i, merges) in self.0.iter_mut().enumerate() {
            *merges = _mm512_mask_set1_epi32(*merges, (lanes >> (PART * i)) as u16, merge.cast_signed());
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left<const LANES: usize>(symbols: &[u32], places: impl Into<u64>) -> ([u32; LANES], usize) {
        let lanes = places.into() >> 1;
        let (mut merged, mut length) = ([0; LANES], 0);
        for behind in (0..N).map(|i| PART * i) {
            let symbols: &[u32; PART] = symbols[1 + behind..].first_chunk().expect("there are more places");
            let to: &mut [u32; PART] =
                merged[length % (LANES - PART + 1)..].first_chunk_mut().expect("there is room for so many");
            let lanes = (lanes >> behind) as u16;
            // SAFETY: both arrays have 16 numbers.
            unsafe {
                let symbols = _mm512_loadu_si512(symbols.as_ptr().cast());
                _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(lanes, symbols));
            }
            length += lanes.count_ones() as usize;
        }
        (merged, length)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_narrow_avx512,
    narrow,
    Merges<1>,
    find
);

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_wide_avx512,
    wide,
    Merges<2>,
    find
);

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_widest_avx512,
    widest,
    Merges<4>,
    find
);
