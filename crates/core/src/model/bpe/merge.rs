//! Merging a row of symbols by lowest rank, leftmost first: a scan for short rows, a heap for
//! long ones. Both give what the naive rule gives.
//!
//! A merge at `i` changes only the pairs at `i - 1` and `i`, so nothing else is looked up again.
//! Pairs are kept packed as `rank << 32 | result`: comparing them compares ranks.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::{MergeTable, NO_MERGE, PairTable};

use tokenmill_kernels::try_alloc;

use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::watch::Ticker;

use super::pieces::Splits;

/// Rows up to this many symbols are scanned for their lowest rank at every step.
///
/// The scan is quadratic with a tiny constant. Random letters under GPT-2's merges, ns a byte, scan
/// and heap: 16 symbols 28 and 40, 64 symbols 36 and 40, 96 symbols 42 and 41, 256 symbols 75 and 44.
const SCAN_LIMIT: usize = 80;

/// What [`Pairs::get_packed`] gives for a pair that does not merge.
pub(super) const NO_PAIR: u64 = u64::MAX;

/// Which pairs merge: as `rank << 32 | result`, or [`NO_PAIR`].
pub(super) trait Pairs {
    fn get_packed(&self, left: u32, right: u32) -> u64;
}

impl Pairs for PairTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        Self::get_packed(self, left, right)
    }
}

/// Its symbols are ranks as well.
impl Pairs for MergeTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        match self.get(left, right) {
            NO_MERGE => NO_PAIR,
            product => u64::from(product) << 32 | u64::from(product),
        }
    }
}

/// The mutable state of merging, reused from pretoken to pretoken.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) symbols: Vec<u32>,
    /// Where the bytes of each first symbol end in the pretoken, if anybody asks.
    pub(super) bounds: Vec<u32>,
    /// For each symbol of a short row, which of the first ones it starts with, if anybody asks.
    starts: Vec<u32>,
    pub(super) pairs: Vec<u64>,
    pub(super) next: Vec<u32>,
    pub(super) previous: Vec<u32>,
    heap: Vec<Reverse<u64>>,
    /// Merged symbols that are no ids yet, and where each ends.
    pub(super) merged: Vec<u32>,
    pub(super) merged_ends: Vec<u32>,
    /// What is left of a symbol that is split again.
    pub(super) parts: Vec<u32>,
    pub(super) splits: Splits,
}

impl Scratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * (self.symbols.capacity()
            + self.bounds.capacity()
            + self.starts.capacity()
            + self.next.capacity()
            + self.previous.capacity()
            + self.merged.capacity()
            + self.merged_ends.capacity()
            + self.parts.capacity())
            + 8 * (self.pairs.capacity() + self.heap.capacity())
            + 16 * self.splits.capacity()
    }
}

/// Merges `scratch.symbols` and puts what is left behind `ids`. With `ends`, says for each id where
/// its part of the pretoken ends, from `scratch.bounds`. `TIES` says that merges with different
/// results may have equal ranks.
pub(super) fn merge<const TIES: bool>(
    pairs: &PairTable,
    scratch: &mut Scratch,
    ids: &mut Vec<TokenId>,
    ends: Option<&mut Vec<u32>>,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let length = scratch.symbols.len();
    if length <= SCAN_LIMIT {
        scratch.starts.clear();
        if ends.is_some() {
            scratch.starts.extend(0..to_u32(length));
        }
        merge_by_scan::<TIES>(pairs, scratch);
        try_alloc::extend(ids, &scratch.symbols)?;
        if let Some(ends) = ends {
            try_alloc::reserve(ends, scratch.starts.len())?;
            ends_of(scratch.starts.iter().copied(), &scratch.bounds, ends);
        }
        return Ok(());
    }
    merge_by_heap(pairs, scratch, ticker)?;
    collect(scratch, ids, ends)
}

/// Puts the symbols that are chained by `scratch.next` behind `ids`.
pub(super) fn collect(scratch: &Scratch, ids: &mut Vec<TokenId>, ends: Option<&mut Vec<u32>>) -> Result<()> {
    let first = (!scratch.symbols.is_empty()).then_some(0);
    let places =
        std::iter::successors(first, |&at| Some(scratch.next[at as usize]).filter(|&after| after != END));
    let before = ids.len();
    for at in places.clone() {
        try_alloc::push(ids, scratch.symbols[at as usize])?;
    }
    if let Some(ends) = ends {
        try_alloc::reserve(ends, ids.len() - before)?;
        ends_of(places, &scratch.bounds, ends);
    }
    Ok(())
}

/// As [`collect`], in front of `scratch.symbols` and nothing else there.
pub(super) fn collect_into_first(scratch: &mut Scratch) {
    let (mut length, mut at) = (0, 0);
    while (at as usize) < scratch.symbols.len() {
        scratch.symbols[length] = scratch.symbols[at as usize];
        length += 1;
        at = scratch.next[at as usize];
    }
    scratch.symbols.truncate(length);
}

/// Where the part of each symbol ends, from the first symbols that they start with. There is room for them.
fn ends_of(starts: impl Iterator<Item = u32>, bounds: &[u32], ends: &mut Vec<u32>) {
    ends.extend(starts.skip(1).map(|start| bounds[start as usize - 1]));
    ends.extend(bounds.last());
}

/// Pairs of a rank below a limit.
struct Below<'a> {
    pairs: &'a PairTable,
    limit: u32,
}

impl Pairs for Below<'_> {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        let pair = self.pairs.get_packed(left, right);
        if pair >> 32 < u64::from(self.limit) { pair } else { NO_PAIR }
    }
}

/// Merges `scratch.symbols` by those pairs only whose rank is below `limit`.
pub(super) fn merge_below(
    pairs: &PairTable,
    limit: u32,
    scratch: &mut Scratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    if scratch.symbols.len() <= SCAN_LIMIT {
        merge_naively(pairs, &mut scratch.symbols, limit);
        return Ok(());
    }
    merge_by_heap(&Below { pairs, limit }, scratch, ticker)?;
    collect_into_first(scratch);
    Ok(())
}

/// As [`merge_below`], by the rule as it is written, at quadratic cost; returns what is left.
pub(super) fn merge_naively<'a>(
    pairs: &PairTable,
    symbols: &'a mut Vec<TokenId>,
    limit: u32,
) -> &'a [TokenId] {
    loop {
        let lowest = (1..symbols.len()).map(|i| (pairs.get_packed(symbols[i - 1], symbols[i]), i)).min();
        match lowest {
            Some((pair, i)) if pair >> 32 < u64::from(limit) => {
                symbols[i - 1] = pair as u32;
                symbols.remove(i);
            }
            _ => return symbols,
        }
    }
}

fn merge_by_scan<const TIES: bool>(table: &PairTable, scratch: &mut Scratch) {
    let Scratch { symbols, pairs, starts, .. } = scratch;
    pairs.clear();
    pairs.extend(symbols.windows(2).map(|pair| table.get_packed(pair[0], pair[1])));
    loop {
        // Strictly smaller, so that the leftmost of equal ranks stays. Where a rank has one result,
        // all of the packed pair says the same as its rank.
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
            return;
        }
        symbols[at] = lowest as u32;
        symbols.remove(at + 1);
        pairs.remove(at);
        if !starts.is_empty() {
            starts.remove(at + 1);
        }
        if at > 0 {
            pairs[at - 1] = table.get_packed(symbols[at - 1], symbols[at]);
        }
        if at < pairs.len() {
            pairs[at] = table.get_packed(symbols[at], symbols[at + 1]);
        }
    }
}

/// The end of the list of symbols.
pub(super) const END: u32 = u32::MAX;

pub(super) fn merge_by_heap<P: Pairs>(
    table: &P,
    scratch: &mut Scratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let Scratch { symbols, pairs, next, previous, heap, .. } = scratch;
    let length = to_u32(symbols.len());
    pairs.clear();
    next.clear();
    previous.clear();
    heap.clear();
    try_alloc::reserve(pairs, symbols.len())?;
    try_alloc::reserve(next, symbols.len())?;
    try_alloc::reserve(previous, symbols.len())?;
    // Filled in slices, so that the watch is asked while the tables grow.
    let mut from = 0;
    while from < symbols.len() {
        let to = (from + 16_384).min(symbols.len());
        try_alloc::reserve(heap, to - from)?;
        for i in from..to {
            let pair = match symbols.get(i + 1) {
                Some(&right) => table.get_packed(symbols[i], right),
                None => NO_PAIR,
            };
            pairs.push(pair);
            if pair != NO_PAIR {
                heap.push(entry(pair, to_u32(i)));
            }
        }
        ticker.spend(to - from)?;
        from = to;
    }
    next.extend((1..length).chain([END]));
    previous.extend([END].into_iter().chain(0..length - 1));
    let mut queue = BinaryHeap::from(std::mem::take(heap));
    while let Some(Reverse(top)) = queue.pop() {
        ticker.spend(8)?;
        // For the two pairs that a merge may make.
        try_alloc::reserve_queue(&mut queue, 2)?;
        let at = top as u32;
        let pair = pairs[at as usize];
        // Stale when the pair at this place is no longer the one that was queued. Symbols only
        // grow, so a place never gets the same pair, and hence the same rank, twice.
        if pair >> 32 != top >> 32 || pair == NO_PAIR {
            continue;
        }
        let gone = next[at as usize];
        let after = next[gone as usize];
        symbols[at as usize] = pair as u32;
        pairs[gone as usize] = NO_PAIR;
        next[at as usize] = after;
        pairs[at as usize] = NO_PAIR;
        if after != END {
            previous[after as usize] = at;
            renew(table, symbols, pairs, &mut queue, at, after);
        }
        let before = previous[at as usize];
        if before != END {
            renew(table, symbols, pairs, &mut queue, before, at);
        }
    }
    *heap = queue.into_vec();
    Ok(())
}

#[inline]
fn entry(pair: u64, at: u32) -> Reverse<u64> {
    Reverse(pair >> 32 << 32 | u64::from(at))
}

#[inline]
fn renew<P: Pairs>(
    table: &P,
    symbols: &[TokenId],
    pairs: &mut [u64],
    queue: &mut BinaryHeap<Reverse<u64>>,
    left: u32,
    right: u32,
) {
    let pair = table.get_packed(symbols[left as usize], symbols[right as usize]);
    pairs[left as usize] = pair;
    if pair != NO_PAIR {
        queue.push(entry(pair, left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    fn naive(table: &PairTable, mut symbols: Vec<TokenId>) -> Vec<TokenId> {
        merge_naively(table, &mut symbols, u32::MAX).to_vec()
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
            let want = naive(&table, symbols.clone());
            let mut ticker = Ticker::new(&Unwatched);
            let mut scratch = Scratch { symbols: symbols.clone(), ..Scratch::default() };
            merge_by_scan::<false>(&table, &mut scratch);
            prop_assert_eq!(&scratch.symbols, &want);
            let mut scratch = Scratch { symbols: symbols.clone(), ..Scratch::default() };
            merge_by_scan::<true>(&table, &mut scratch);
            prop_assert_eq!(&scratch.symbols, &want);
            let mut scratch = Scratch { symbols: symbols.clone(), ..Scratch::default() };
            let mut ids = Vec::new();
            merge_by_heap(&table, &mut scratch, &mut ticker).unwrap();
            collect(&scratch, &mut ids, None).unwrap();
            prop_assert_eq!(&ids, &want);
            for limit in [0, to_u32(symbols.len() % 24)] {
                let mut scratch = Scratch { symbols: symbols.clone(), ..Scratch::default() };
                merge_below(&table, limit, &mut scratch, &mut ticker).unwrap();
                let mut want = symbols.clone();
                prop_assert_eq!(&scratch.symbols[..], merge_naively(&table, &mut want, limit));
            }
            // Symbols as wide as what they merged from: ends are sums of widths.
            let bounds: Vec<u32> = (1..=to_u32(symbols.len())).collect();
            let mut scratch = Scratch { symbols, bounds, ..Scratch::default() };
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            merge::<false>(&table, &mut scratch, &mut ids, Some(&mut ends), &mut ticker).unwrap();
            prop_assert_eq!(&ids, &want);
            prop_assert_eq!(ends.len(), ids.len());
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(ends.last(), scratch.bounds.last());
        }
    }
}
