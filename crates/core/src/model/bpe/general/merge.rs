//! Merging a row of symbols by lowest rank, leftmost first: a scan for short rows, a heap for long ones.
//!
//! In: a row in `scratch.symbols`, and a table of pairs. Out: the symbols that merging leaves, as ids. The result
//! must never depend on whether the row is scanned or merged by a heap.
use tokenmill_kernels::try_alloc;

use crate::error::Result;
use crate::ids::to_u32;
use crate::model::bpe::heap;
use crate::model::bpe::heap::{NO_PAIR, PackedPairs};
use crate::model::bpe::scratch::BpeScratch;
use crate::model::output::Output;
use crate::watch::Ticker;

/// Rows of up to this many symbols are scanned, where the caller has no other wish.
///
/// Random letters under GPT-2's merges, in ns per byte by scan and by heap: 28 and 40 for 16 symbols, 36 and 40 for
/// 64, 42 and 41 for 96, 75 and 44 for 256.
pub(super) const SCAN_LIMIT: usize = 80;

/// Merges `scratch.symbols` and appends the remaining symbols to the ids. The ends come from `scratch.bounds`. Rows
/// of up to `scanned` symbols are scanned. `TIES` says that merges with different products may have equal ranks.
pub(super) fn merge<const TIES: bool, T: PackedPairs>(
    table: &T,
    scratch: &mut BpeScratch,
    output: Output<'_>,
    scanned: usize,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let length = scratch.symbols.len();
    if length > scanned {
        heap::merge(table, scratch, ticker)?;
        return write_linked(scratch, output);
    }
    let BpeScratch { symbols, pairs, starts, bounds, .. } = scratch;
    let Some(ends) = output.ends else {
        merge_by_scan::<TIES, T>(table, symbols, pairs, |_, _| Ok(()))?;
        return Ok(try_alloc::extend(output.ids, symbols)?);
    };
    starts.clear();
    starts.extend(0..to_u32(length));
    merge_by_scan::<TIES, T>(table, symbols, pairs, |at, _| {
        starts.remove(at + 1);
        Ok(())
    })?;
    try_alloc::extend(output.ids, symbols)?;
    try_alloc::reserve(ends, starts.len())?;
    write_ends(starts.iter().copied(), bounds, ends);
    Ok(())
}

/// Appends the symbols that a heap left to the ids.
pub(super) fn write_linked(scratch: &BpeScratch, output: Output<'_>) -> Result<()> {
    let places = heap::places(scratch);
    let before = output.ids.len();
    for at in places.clone() {
        try_alloc::push(output.ids, scratch.symbols[at as usize])?;
    }
    if let Some(ends) = output.ends {
        try_alloc::reserve(ends, output.ids.len() - before)?;
        write_ends(places, &scratch.bounds, ends);
    }
    Ok(())
}

/// Appends the end of each symbol's part; `starts` has the first original symbol of each. The capacity is reserved.
fn write_ends(starts: impl Iterator<Item = u32>, bounds: &[u32], ends: &mut Vec<u32>) {
    ends.extend(starts.skip(1).map(|start| bounds[start as usize - 1]));
    ends.extend(bounds.last());
}

/// Merges `symbols`. Calls `on_merge` for each merge with the place of its left part and the packed pair; an error
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
        // Strictly smaller, so that the leftmost of equal ranks is kept. If each rank has one product, comparing
        // the whole packed pairs compares the ranks.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokenmill_kernels::PairTable;

    use super::*;
    use crate::ids::TokenId;
    use crate::model::bpe::tests::merge_naively;
    use crate::watch::Unwatched;

    fn scanned<const TIES: bool>(table: &PairTable, mut symbols: Vec<TokenId>) -> Vec<TokenId> {
        merge_by_scan::<TIES, _>(table, &mut symbols, &mut Vec::new(), |_, _| Ok(())).unwrap();
        symbols
    }

    /// Merges over the ids 0..4 and their products, made from random picks.
    fn tables() -> impl Strategy<Value = PairTable> {
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..24).prop_map(
            |picks| {
                let mut merges: Vec<((u32, u32), (u32, u32))> = Vec::new();
                for (left, right) in picks {
                    let known = 4 + merges.len();
                    let pair = (to_u32(left.index(known)), to_u32(right.index(known)));
                    if merges.iter().all(|(seen, _)| *seen != pair) {
                        merges.push((pair, (to_u32(merges.len()), to_u32(known))));
                    }
                }
                PairTable::new(&merges).unwrap()
            },
        )
    }

    proptest! {
        #[test]
        fn scan_and_heap_equal_the_naive_merge(table in tables(), symbols in prop::collection::vec(0u32..4, 1..200)) {
            let want = merge_naively(&table, symbols.clone());
            let mut ticker = Ticker::new(&Unwatched);
            prop_assert_eq!(&scanned::<false>(&table, symbols.clone()), &want);
            prop_assert_eq!(&scanned::<true>(&table, symbols.clone()), &want);
            let mut scratch = BpeScratch { symbols: symbols.clone(), ..BpeScratch::default() };
            let mut ids = Vec::new();
            heap::merge(&table, &mut scratch, &mut ticker).unwrap();
            write_linked(&scratch, Output { ids: &mut ids, ends: None }).unwrap();
            prop_assert_eq!(&ids, &want);
            heap::compact(&mut scratch);
            prop_assert_eq!(&scratch.symbols, &want);
            // Symbols as wide as the symbols that they are merged from: ends are sums of widths.
            let bounds: Vec<u32> = (1..=to_u32(symbols.len())).collect();
            let mut scratch = BpeScratch { symbols, bounds, ..BpeScratch::default() };
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            let output = Output { ids: &mut ids, ends: Some(&mut ends) };
            merge::<false, _>(&table, &mut scratch, output, SCAN_LIMIT, &mut ticker).unwrap();
            prop_assert_eq!(&ids, &want);
            prop_assert_eq!(ends.len(), ids.len());
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(ends.last(), scratch.bounds.last());
        }
    }
}
