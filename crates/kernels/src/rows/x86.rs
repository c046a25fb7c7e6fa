//! Merges in vectors of 256 and of 512 bits.
use std::arch::x86_64::{
    __m256i, __m512i, _mm_cvtsi128_si32, _mm_min_epu32, _mm_shuffle_epi32, _mm256_blendv_epi8,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_min_epu32, _mm256_set1_epi32, _mm256_setr_epi32, _mm512_loadu_si512, _mm512_mask_set1_epi32,
    _mm512_reduce_min_epu32,
};

use super::{LONGEST, Merged, NONE, PLACE, define};
use crate::merge_table::{Asked, MergeTable, NO_MERGE};

#[derive(Clone, Copy)]
struct Two(__m256i, __m256i);

impl Two {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(merges: &[u32; LONGEST]) -> Self {
        let start = merges.as_ptr();
        // SAFETY: reads the first and the last 32 bytes of an array of 64, from any alignment.
        unsafe { Self(_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(8).cast())) }
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
    fn set(&mut self, bit: u32, merge: u32) {
        let first = _mm256_setr_epi32(1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8);
        let second = _mm256_setr_epi32(1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16);
        let (bit, merge) = (_mm256_set1_epi32(bit.cast_signed()), _mm256_set1_epi32(merge.cast_signed()));
        self.0 = _mm256_blendv_epi8(self.0, merge, _mm256_cmpeq_epi32(first, bit));
        self.1 = _mm256_blendv_epi8(self.1, merge, _mm256_cmpeq_epi32(second, bit));
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    merge_rows_avx2,
    Two
);

#[derive(Clone, Copy)]
struct One(__m512i);

impl One {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(merges: &[u32; LONGEST]) -> Self {
        // SAFETY: reads the 64 bytes of the array, from any alignment.
        unsafe { Self(_mm512_loadu_si512(merges.as_ptr().cast())) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lowest(self) -> u32 {
        _mm512_reduce_min_epu32(self.0)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn set(&mut self, bit: u32, merge: u32) {
        self.0 = _mm512_mask_set1_epi32(self.0, (bit >> 1) as u16, merge.cast_signed());
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
    merge_rows_avx512,
    One
);
