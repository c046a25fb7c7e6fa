//! Merges in an array.
use super::{BEHIND, Key, LANES, LONGEST, Merged, NONE, PLACE, PLACES, Symbols, define, one_by_one};
use crate::merge_table::{Asked, EMPTY, Grid, KEY, MergeTable, NO_MERGE, SLOTS};

#[derive(Debug, Clone, Copy, Default)]
struct Merges([u32; LANES]);

impl Merges {
    #[inline]
    fn begin(grid: &Grid, row: Key, length: u32, symbols: &mut Symbols) -> Self {
        let bytes = row.to_le_bytes();
        let mut merges = [NONE; LANES];
        for (place, &byte) in (1..).zip(&bytes[..LONGEST]) {
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
    fn find(slots: &[u64; SLOTS], key: u64) -> u32 {
        let mut found = NO_MERGE;
        for &slot in slots {
            found = if slot >> KEY == key { slot as u32 & NO_MERGE } else { found };
        }
        found
    }

    #[inline]
    fn left(symbols: &Symbols, places: u32) -> Merged {
        one_by_one(symbols, places)
    }
}

define!(
    #[inline]
    merge_rows_portable,
    Merges
);
