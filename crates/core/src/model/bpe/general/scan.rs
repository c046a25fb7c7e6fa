//! Merging a short row of symbols by a scan for the lowest rank at every step.
//!
//! Comes in: a row and a table of pairs. Goes out: the row that merging leaves, and each merge as it is made. The
//! order must be that of the naive rule: the lowest rank first, the leftmost of equal ones.
use crate::error::Result;
use crate::model::bpe::packed_pairs::{NO_PAIR, PackedPairs};

/// Merges `symbols`. Each merge is told to `on_merge` as the place of its left part and the packed pair; an error
/// ends the merging. `pairs` is a buffer. `TIES` says that merges with different products may have equal ranks.
///
/// A merge at a place changes only the pairs at this place and the one before, so nothing else is looked up again.
/// Cost: quadratic, with a tiny constant.
#[inline]
pub(super) fn merge_by_scan<const TIES: bool, T: PackedPairs>(
    table: &T,
    symbols: &mut Vec<u32>,
    pairs: &mut Vec<u64>,
    mut on_merge: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    pairs.clear();
    pairs.extend(symbols.windows(2).map(|pair| table.get_packed(pair[0], pair[1])));
    loop {
        // Strictly smaller, so that the leftmost of equal ranks stays. Where a rank has one product, comparing all
        // of the packed pair compares ranks.
        let precedes = |pair: u64, other: u64| if TIES { pair >> 32 < other >> 32 } else { pair < other };
        let mut lowest = NO_PAIR;
        let mut at = 0;
        for (i, &pair) in pairs.iter().enumerate() {
            if precedes(pair, lowest) {
                lowest = pair;
                at = i;
            }
        }
        if lowest == NO_PAIR {
            return Ok(());
        }
        on_merge(at, lowest)?;
        symbols[at] = lowest as u32;
        symbols.remove(at + 1);
        pairs.remove(at);
        if at > 0 {
            pairs[at - 1] = table.get_packed(symbols[at - 1], symbols[at]);
        }
        if at < pairs.len() {
            pairs[at] = table.get_packed(symbols[at], symbols[at + 1]);
        }
    }
}
