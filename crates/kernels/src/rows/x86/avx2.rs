//! Merges in vectors of 256 bits.
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi128_si32, _mm_cvtsi128_si64, _mm_min_epu32, _mm_or_si128, _mm_shuffle_epi32,
    _mm_srli_si128, _mm_unpackhi_epi64, _mm256_add_epi32, _mm256_andnot_si256, _mm256_blendv_epi8,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_cmpgt_epi32, _mm256_cvtepu8_epi32,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_mask_i32gather_epi32, _mm256_min_epu32,
    _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_slli_epi32,
    _mm256_srli_epi64, _mm256_storeu_si256,
};

use super::{Bytes, InMemory, PART, part};
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

/// The merges at sixteen places.
#[derive(Clone, Copy)]
struct Two(__m256i, __m256i);

impl Two {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        let none = _mm256_set1_epi32(NONE.cast_signed());
        Self(none, none)
    }

    /// The sixteen places behind so many, and that at 0.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn places(behind: usize) -> (__m256i, __m256i) {
        let from = |behind: usize| {
            let eight = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
            _mm256_add_epi32(eight, _mm256_set1_epi32(behind as i32))
        };
        (from(behind), from(behind + 8))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(grid: &Grid, bytes: Bytes, length: u32, symbols: &mut [u32], behind: usize) -> Self {
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
        let Bytes { lefts, rights } = bytes;
        let (first, second) = Self::places(behind);
        let (first_bytes, first) = half(lefts, rights, first);
        let (second_bytes, second) = half(_mm_srli_si128::<8>(lefts), _mm_srli_si128::<8>(rights), second);
        let (front, back) = part(symbols, behind).split_at_mut(8);
        // SAFETY: each has room for 8 numbers.
        unsafe {
            _mm256_storeu_si256(front.as_mut_ptr().cast(), first_bytes);
            _mm256_storeu_si256(back.as_mut_ptr().cast(), second_bytes);
        }
        Self(first, second)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(grid: &Grid, row: &narrow::Row, length: u32, symbols: &mut narrow::Symbols) -> Self {
        Self::of(grid, Bytes::of_narrow(*row), length, symbols, 0)
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
    fn set_behind(&mut self, place: u32, merge: u32, behind: usize) {
        let (first, second) = Self::places(behind);
        let (place, merge) = (_mm256_set1_epi32(place.cast_signed()), _mm256_set1_epi32(merge.cast_signed()));
        self.0 = _mm256_blendv_epi8(self.0, merge, _mm256_cmpeq_epi32(first, place));
        self.1 = _mm256_blendv_epi8(self.1, merge, _mm256_cmpeq_epi32(second, place));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(&mut self, place: u32, merge: u32) {
        self.set_behind(place, merge, 0);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn left(symbols: &narrow::Symbols, places: narrow::Bits) -> narrow::Merged {
        one_by_one(symbols, places.into())
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_narrow_avx2,
    narrow,
    Two
);

/// The merges of a wide row.
#[derive(Clone, Copy)]
struct Four(Two, Two);

impl Four {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        Self(Two::default(), Two::default())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(grid: &Grid, row: &wide::Row, length: u32, symbols: &mut wide::Symbols) -> Self {
        let [first, second] = Bytes::of_wide(row);
        Self(Two::of(grid, first, length, symbols, 0), Two::of(grid, second, length, symbols, PART))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(self) -> u32 {
        Two(_mm256_min_epu32(self.0.0, self.1.0), _mm256_min_epu32(self.0.1, self.1.1)).lowest()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn set(&mut self, place: u32, merge: u32) {
        self.0.set_behind(place, merge, 0);
        self.1.set_behind(place, merge, PART);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn left(symbols: &wide::Symbols, places: wide::Bits) -> wide::Merged {
        one_by_one(symbols, places)
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_wide_avx2,
    wide,
    Four
);

/// The merges of a widest row.
#[derive(Clone, Copy)]
struct Eight(InMemory);

impl Eight {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn default() -> Self {
        Self(InMemory([NONE; widest::LANES]))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin(grid: &Grid, row: &widest::Row, length: u32, symbols: &mut widest::Symbols) -> Self {
        let mut merges = Self::default();
        for (part, bytes) in Bytes::of_widest(row).into_iter().enumerate() {
            let Two(first, second) = Two::of(grid, bytes, length, symbols, PART * part);
            let (front, back) = merges.0.0[PART * part..][..PART].split_at_mut(8);
            // SAFETY: each has room for 8 numbers.
            unsafe {
                _mm256_storeu_si256(front.as_mut_ptr().cast(), first);
                _mm256_storeu_si256(back.as_mut_ptr().cast(), second);
            }
        }
        merges
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lowest(self) -> u32 {
        let at = |from: usize| {
            let eight: &[u32; 8] = self.0.0[from..].first_chunk().expect("a row has as many");
            // SAFETY: reads these 8 numbers.
            unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
        };
        let both = |from: usize| Two(at(from), at(from + 8));
        let of_two =
            |one: Two, other: Two| Two(_mm256_min_epu32(one.0, other.0), _mm256_min_epu32(one.1, other.1));
        of_two(of_two(both(0), both(PART)), of_two(both(2 * PART), both(3 * PART))).lowest()
    }

    #[inline]
    fn set(&mut self, place: u32, merge: u32) {
        self.0.set(place, merge);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find(slots, key)
    }

    #[inline]
    fn left(symbols: &widest::Symbols, places: widest::Bits) -> widest::Merged {
        one_by_one(symbols, places)
    }
}

define!(
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    merge_widest_avx2,
    widest,
    Eight
);
