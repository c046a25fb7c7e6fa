//! Merges in vectors, sixteen places at a time.
mod avx2;
mod avx512;

use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_set_epi64x, _mm_srli_si128};

pub(super) use avx2::{merge_narrow_avx2, merge_wide_avx2, merge_widest_avx2};
pub(super) use avx512::{merge_narrow_avx512, merge_wide_avx512, merge_widest_avx512};

use super::{narrow, wide, widest};

/// Places of one vector of 512 bits, or of two of 256: a part of those of a row.
const PART: usize = 16;

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
        [Self::within(row, 0), Self::at_end(row, PART)]
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn of_widest(row: &widest::Row) -> [Self; 4] {
        let row = &row.0;
        let [first, second, third] = [0, PART, 2 * PART].map(|from| Self::within(row, from));
        [first, second, third, Self::at_end(row, 3 * PART)]
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn at(row: &[u8], from: usize) -> __m128i {
        let bytes: &[u8; PART] = row[from..].first_chunk().expect("a row has as many");
        // SAFETY: reads these 16 bytes, from any alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn within(row: &[u8], from: usize) -> Self {
        Self { lefts: Self::at(row, from), rights: Self::at(row, from + 1) }
    }

    /// The last place has nothing behind it.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn at_end(row: &[u8], from: usize) -> Self {
        let lefts = Self::at(row, from);
        Self { lefts, rights: _mm_srli_si128::<1>(lefts) }
    }
}

/// The symbols of the sixteen places behind so many, and that at 0.
#[inline]
fn part(symbols: &mut [u32], behind: usize) -> &mut [u32; PART] {
    symbols[1 + behind..].first_chunk_mut().expect("there are more places than bytes")
}

/// The merges of a widest row: too many for registers, so they stay in memory. Where rows are merged side by side, one that
/// was put there has arrived when they are read again; a row alone waits for it.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct InMemory([u32; widest::LANES]);

impl InMemory {
    /// The lane of a place is the one before it. The last two are of no byte, and what is put there for places before
    /// and behind all bytes is never a merge.
    #[inline]
    fn set(&mut self, place: u32, merge: u32) {
        self.0[place.wrapping_sub(1) as usize % widest::LANES] = merge;
    }
}
