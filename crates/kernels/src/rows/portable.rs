//! Merges in an array.
use super::{NONE, PLACE, define, narrow, one_by_one, wide, widest};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};

/// What a key has in these slots.
#[inline]
fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
    let mut found = NO_MERGE;
    for &slot in slots {
        found = if slot >> KEY == key { slot as u32 & NO_MERGE } else { found };
    }
    found
}

#[derive(Debug, Clone, Copy)]
struct Merges<const LANES: usize>([u32; LANES]);

impl<const LANES: usize> Merges<LANES> {
    #[inline]
    fn default() -> Self {
        Self([NONE; LANES])
    }

    #[inline]
    fn of(grid: &Grid, bytes: &[u8; LANES], length: u32, symbols: &mut [u32]) -> Self {
        let mut merges = [NONE; LANES];
        for (place, &byte) in (1..LANES).zip(bytes) {
            symbols[place] = u32::from(byte);
        }
        for (place, pair) in (1..length as usize).zip(bytes.windows(2)) {
            let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
            merges[place - 1] = grid[pair] << PLACE | place as u32;
        }
        Self(merges)
    }

    #[inline]
    fn lowest(self) -> u32 {
        // Numbers stay positive, so that vectors without unsigned comparison do.
        self.0.iter().map(|&merge| merge as i32).fold(i32::MAX, i32::min).cast_unsigned()
    }

    #[inline]
    fn set(&mut self, place: u32, merge: u32) {
        if let Some(lane) = self.0.get_mut((place as usize).wrapping_sub(1)) {
            *lane = merge;
        }
    }

    #[inline]
    fn left(symbols: &[u32], places: impl Into<u64>) -> ([u32; LANES], usize) {
        one_by_one(symbols, places.into())
    }
}

impl Merges<{ narrow::LANES }> {
    #[inline]
    fn begin(grid: &Grid, row: &narrow::Row, length: u32, symbols: &mut narrow::Symbols) -> Self {
        Self::of(grid, &row.to_le_bytes(), length, symbols)
    }
}

impl Merges<{ wide::LANES }> {
    #[inline]
    fn begin(grid: &Grid, row: &wide::Row, length: u32, symbols: &mut wide::Symbols) -> Self {
        Self::of(grid, row, length, symbols)
    }
}

impl Merges<{ widest::LANES }> {
    #[inline]
    fn begin(grid: &Grid, row: &widest::Row, length: u32, symbols: &mut widest::Symbols) -> Self {
        Self::of(grid, &row.0, length, symbols)
    }
}

define!(
    #[inline]
    merge_narrow_portable,
    narrow,
    Merges<{ narrow::LANES }>,
    find
);

define!(
    #[inline]
    merge_wide_portable,
    wide,
    Merges<{ wide::LANES }>,
    find
);

define!(
    #[inline]
    merge_widest_portable,
    widest,
    Merges<{ widest::LANES }>,
    find
);
