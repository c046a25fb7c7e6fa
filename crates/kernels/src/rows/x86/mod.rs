//! Merges in vectors, sixteen places at a time.
mod avx2;
mod avx512;

pub(super) use avx2::{merge_narrow_avx2, merge_wide_avx2, merge_widest_avx2};
pub(super) use avx512::{merge_narrow_avx512, merge_wide_avx512, merge_widest_avx512};

use super::{narrow, wide, widest};

/// Places of one vector of 512 bits, or of two of 256: a part of those of a row.
const PART: usize = 16;

/// The bytes at sixteen places, and those behind each of them.
struct Bytes {
    lefts: [u8; PART],
    rights: [u8; PART],
}

/// A row of `N` times sixteen bytes.
trait Parts<const N: usize> {
    fn parts(&self) -> [Bytes; N];
}

impl Parts<1> for narrow::Row {
    #[inline]
    fn parts(&self) -> [Bytes; 1] {
        [Bytes { lefts: self.to_le_bytes(), rights: (self >> 8).to_le_bytes() }]
    }
}

impl Parts<2> for wide::Row {
    #[inline]
    fn parts(&self) -> [Bytes; 2] {
        parts(self)
    }
}

impl Parts<4> for widest::Row {
    #[inline]
    fn parts(&self) -> [Bytes; 4] {
        parts(&self.0)
    }
}

/// The last place has nothing behind it.
#[inline]
fn parts<const N: usize>(row: &[u8]) -> [Bytes; N] {
    let at = |from: usize| row[from..].first_chunk().copied();
    let last = |from: usize| std::array::from_fn(|place| row.get(from + place).copied().unwrap_or_default());
    std::array::from_fn(|part| {
        let from = PART * part;
        Bytes { lefts: at(from).unwrap_or_default(), rights: at(from + 1).unwrap_or_else(|| last(from + 1)) }
    })
}

/// The symbols of the sixteen places behind so many, and that at 0.
#[inline]
fn part(symbols: &mut [u32], behind: usize) -> &mut [u32; PART] {
    symbols[1 + behind..].first_chunk_mut().expect("there are more places than bytes")
}

/// Rows of more parts have their merges in memory: for those of [`widest::Row`] there are not enough registers, and
/// the compiler would move all of them for each that changes. Where rows are merged side by side, one that was put
/// there has arrived when they are read again; a row alone waits for it.
const IN_REGISTERS: usize = 2;

/// Puts a merge at a place, of which the lane is the one before. The last two lanes are of no byte, and what is put
/// there for places before and behind all bytes is never a merge.
#[inline]
fn set_in_memory<const N: usize>(merges: &mut [[u32; PART]; N], place: u32, merge: u32) {
    merges.as_flattened_mut()[place.wrapping_sub(1) as usize % (PART * N)] = merge;
}
