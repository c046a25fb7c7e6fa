//! What two neighbours merge to, as one number.
//!
//! Comes in: two symbols. Goes out: `rank << 32 | product`, so that comparing two of these compares ranks. A pair
//! that does not merge must never be below one that does.
use tokenmill_kernels::{MergeTable, NO_MERGE, PairTable};

/// In place of a pair that does not merge.
pub(super) const NO_PAIR: u64 = u64::MAX;

/// A table of pairs.
pub(super) trait PackedPairs {
    /// What a pair merges to, or [`NO_PAIR`].
    fn get_packed(&self, left: u32, right: u32) -> u64;
}

impl PackedPairs for PairTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        Self::get_packed(self, left, right)
    }
}

/// Its products are ranks as well.
impl PackedPairs for MergeTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        match self.get(left, right) {
            NO_MERGE => NO_PAIR,
            product => u64::from(product) << 32 | u64::from(product),
        }
    }
}
