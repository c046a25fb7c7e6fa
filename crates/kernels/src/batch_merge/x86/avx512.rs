//! Merges with the candidates in vectors of 512 bits.
use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si64, _mm_loadu_si128, _mm512_add_epi32, _mm512_castsi512_si128,
    _mm512_cmpeq_epi64_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_compress_epi64,
    _mm512_mask_i32gather_epi32, _mm512_mask_set1_epi32, _mm512_maskz_compress_epi32, _mm512_min_epu32,
    _mm512_or_si512, _mm512_reduce_min_epu32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32,
    _mm512_slli_epi32, _mm512_srli_epi64, _mm512_storeu_si512,
};

use super::lanes::{GROUP, Groups, IN_REGISTERS, group_symbols, set_in_memory};
use crate::batch_merge::merge_loop::{NO_CANDIDATE, POSITION_BITS, merge_functions};
use crate::merge_table::{BytePairs, NO_MERGE, SLOTS, SYMBOL_BITS};

/// The value of a key in these slots. [`NO_MERGE`] if none of the slots has the key.
#[inline]
#[target_feature(enable = "avx512f")]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    // SAFETY: the load reads the 64 bytes of the array and needs no alignment.
    let slots = unsafe { _mm512_loadu_si512(slots.as_ptr().cast()) };
    let wanted = _mm512_set1_epi64(key.cast_signed());
    let found = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<SYMBOL_BITS>(slots), wanted);
    let found = _mm512_mask_compress_epi64(_mm512_set1_epi64(-1), found, slots);
    _mm_cvtsi128_si64(_mm512_castsi512_si128(found)).cast_unsigned() as u32 & NO_MERGE
}

/// The candidates of an input. Each group is one vector of sixteen positions.
#[derive(Clone, Copy)]
struct Candidates<const N: usize>([__m512i; N]);

impl<const N: usize> Candidates<N> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn none() -> Self {
        Self([_mm512_set1_epi32(NO_CANDIDATE.cast_signed()); N])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn begin(byte_pairs: &BytePairs, input: &impl Groups<N>, length: u32, symbols: &mut [u32]) -> Self {
        let mut candidates = Self::none();
        for (i, (candidates, bytes)) in candidates.0.iter_mut().zip(input.groups()).enumerate() {
            let from = GROUP * i;
            let positions = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
            let positions = _mm512_add_epi32(positions, _mm512_set1_epi32(from as i32));
            // SAFETY: each load reads the 16 bytes of an array and needs no alignment.
            let [left, right] = [bytes.lefts, bytes.rights]
                .map(|bytes| _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }));
            let pairs = _mm512_or_si512(_mm512_slli_epi32::<8>(left), right);
            let none = _mm512_set1_epi32(NO_MERGE.cast_signed());
            let is_pair = (((1u64 << length) - 1) >> 1 >> from) as u16;
            // SAFETY: each index is made of two bytes, so it is below 2^16, the number of entries in the table.
            let products =
                unsafe { _mm512_mask_i32gather_epi32::<4>(none, is_pair, pairs, byte_pairs.as_ptr().cast()) };
            // SAFETY: the array has 16 numbers, which the store fills. It needs no alignment.
            unsafe { _mm512_storeu_si512(group_symbols(symbols, from).as_mut_ptr().cast(), left) };
            *candidates = _mm512_or_si512(_mm512_slli_epi32::<POSITION_BITS>(products), positions);
        }
        candidates
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        let mut lowest = _mm512_set1_epi32(-1);
        for candidates in self.0 {
            lowest = _mm512_min_epu32(lowest, candidates);
        }
        _mm512_reduce_min_epu32(lowest)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, position: u32, candidate: u32) {
        if N > IN_REGISTERS {
            // SAFETY: a vector has the size of sixteen `u32` and a larger alignment, and any bytes are valid in
            // both types. The reference borrows from `self` exclusively.
            set_in_memory(
                unsafe { &mut *(&raw mut self.0).cast::<[[u32; GROUP]; N]>() },
                position,
                candidate,
            );
            return;
        }
        let lanes = 1u64.wrapping_shl(position) >> 1;
        for (i, candidates) in self.0.iter_mut().enumerate() {
            *candidates =
                _mm512_mask_set1_epi32(*candidates, (lanes >> (GROUP * i)) as u16, candidate.cast_signed());
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn remaining<const LANES: usize>(symbols: &[u32], positions: impl Into<u64>) -> ([u32; LANES], usize) {
        let lanes = positions.into() >> 1;
        let (mut merged, mut length) = ([0; LANES], 0);
        for from in (0..N).map(|i| GROUP * i) {
            let symbols: &[u32; GROUP] = symbols[1 + from..].first_chunk().expect("there are more positions");
            let to: &mut [u32; GROUP] = merged[length % (LANES - GROUP + 1)..]
                .first_chunk_mut()
                .expect("there are as many lanes as positions");
            let lanes = (lanes >> from) as u16;
            // SAFETY: the load reads and the store fills an array of 16 numbers. Neither needs alignment.
            unsafe {
                let symbols = _mm512_loadu_si512(symbols.as_ptr().cast());
                _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(lanes, symbols));
            }
            length += lanes.count_ones() as usize;
        }
        (merged, length)
    }
}

merge_functions!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_narrow: narrow in Candidates<1>,
    merge_wide: wide in Candidates<2>,
    merge_widest: widest in Candidates<4>
);
