//! Merges in an array.
use super::{LONGEST, Merged, NONE, PLACE, define};
use crate::merge_table::{Asked, MergeTable, NO_MERGE};

#[derive(Clone, Copy)]
struct Merges([u32; LONGEST]);

impl Merges {
    #[inline]
    fn load(merges: &[u32; LONGEST]) -> Self {
        Self(*merges)
    }

    #[inline]
    fn lowest(self) -> u32 {
        // Numbers stay positive, so that vectors without unsigned comparison do.
        self.0.iter().map(|&merge| merge as i32).fold(NONE as i32, i32::min).cast_unsigned()
    }

    #[inline]
    fn set(&mut self, bit: u32, merge: u32) {
        if let Some(place) = self.0.get_mut((bit.trailing_zeros() as usize).wrapping_sub(1)) {
            *place = merge;
        }
    }
}

define!(
    #[inline]
    merge_rows_portable,
    Merges
);
