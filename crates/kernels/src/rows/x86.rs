//! Merges in vectors of 256 and of 512 bits, sixteen places at a time.
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi128_si32, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_min_epu32,
    _mm_or_si128, _mm_set_epi64x, _mm_shuffle_epi32, _mm_srli_si128, _mm_unpackhi_epi64, _mm256_add_epi32,
    _mm256_andnot_si256, _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi32, _mm256_cvtepu8_epi32, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_mask_i32gather_epi32, _mm256_min_epu32, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setr_epi32, _mm256_slli_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm512_add_epi32,
    _mm512_castsi512_si128, _mm512_cmpeq_epi64_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512,
    _mm512_mask_compress_epi64, _mm512_mask_i32gather_epi32, _mm512_mask_set1_epi32,
    _mm512_maskz_compress_epi32, _mm512_min_epu32, _mm512_or_si512, _mm512_reduce_min_epu32,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_slli_epi32, _mm512_srli_epi64,
    _mm512_storeu_si512,
};

use super::{NONE, PLACE, define, narrow, one_by_one, wide};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};

/// Places of one vector of 512 bits, or of two of 256.
const HALF: usize = 16;

/// The bytes at sixteen places, and those behind each of them.
#[derive(Clone, Copy)]
struct Bytes {
    lefts: __m128i,
    rights: __m128i,
}

impl Bytes {
    #[inline]
    #[target_feature(enable = "sse2")]
    fn of_narrow(row: narrow::Row) -> Self {
        let vector = |row: narrow::Row| _mm_set_epi64x((row >> 64) as i64, row as i64);
        Self { lefts: vector(row), rights: vector(row >> 8) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn of_wide(row: &wide::Row) -> [Self; 2] {
        // SAFETY: each reads 16 of the 32 bytes, from any alignment.
        let at = |from: usize| unsafe { _mm_loadu_si128(row[from..from + HALF].as_ptr().cast()) };
        // The last place has nothing behind it.
        [
            Self { lefts: at(0), rights: at(1) },
            Self { lefts: at(HALF), rights: _mm_srli_si128::<1>(at(HALF)) },
        ]
    }
}

/// The symbols of the sixteen places behind so many, and that at 0.
#[inline]
fn half(symbols: &mut [u32], behind: usize) -> &mut [u32; HALF] {
    symbols[1 + behind..].first_chunk_mut().expect("there are more places than bytes")
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
        let (front, back) = self::half(symbols, behind).split_at_mut(8);
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
        Self(Two::of(grid, first, length, symbols, 0), Two::of(grid, second, length, symbols, HALF))
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
        self.1.set_behind(place, merge, HALF);
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

/// The same.
#[inline]
#[target_feature(enable = "avx512f")]
fn find_avx512(slots: &[u64; SLOTS], key: u64) -> u32 {
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
        let is_pair = (((1u32 << length) - 1) >> 1 >> behind) as u16;
        // SAFETY: each index is two bytes, and the grid has a number for all of these.
        let merges = unsafe { _mm512_mask_i32gather_epi32::<4>(none, is_pair, pairs, grid.as_ptr().cast()) };
        // SAFETY: there is room for 16 numbers.
        unsafe { _mm512_storeu_si512(half(symbols, behind).as_mut_ptr().cast(), left) };
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
        find_avx512(slots, key)
    }

    /// Of the sixteen places behind so many those with a bit in `lanes`: their symbols, and some that are none behind
    /// these; how many they are.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn compress(symbols: &[u32], behind: usize, lanes: u16, merged: &mut [u32; HALF]) -> usize {
        let symbols: &[u32; HALF] = symbols[1 + behind..].first_chunk().expect("there are more places");
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
        let lanes = (places >> 1) as u16 & ((1 << narrow::LONGEST) - 1);
        let length = Self::compress(symbols, 0, lanes, &mut merged);
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
        Self(One::of(grid, first, length, symbols, 0), One::of(grid, second, length, symbols, HALF))
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
        self.1.set_lane((lanes >> HALF) as u16, merge);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        find_avx512(slots, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn left(symbols: &wide::Symbols, places: wide::Bits) -> wide::Merged {
        let mut merged = [0; wide::LANES];
        let lanes = (places >> 1) & ((1 << wide::LONGEST) - 1);
        let (mut half, lower) = ([0; HALF], lanes as u16);
        let first = One::compress(symbols, 0, lower, &mut half);
        merged[..HALF].copy_from_slice(&half);
        let second = One::compress(symbols, HALF, (lanes >> HALF) as u16, &mut half);
        merged[first % (HALF + 1)..][..HALF].copy_from_slice(&half);
        (merged, first + second)
    }
}

define!(
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    merge_wide_avx512,
    wide,
    Pair
);
