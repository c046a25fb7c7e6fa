//! Merging a long row of symbols by a heap: the lowest rank first, the leftmost of equal ones, in n log n.
//!
//! In: a row in `scratch.symbols`, and a table of pairs. Out: the same row, in which the remaining symbols are at
//! the places that `scratch.borders` still has ([`places`], [`compact`]). The order of merges must be that of the
//! naive rule, except that a [`Policy`] may skip some.
//!
//! A merge at a place changes only the pairs at this place and the one before, so nothing else is looked up again.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::{MergeTable, NO_MERGE, PairTable, try_alloc};

use super::scratch::BpeScratch;
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// Symbols that are looked up between two calls of the ticker.
const TICK_SYMBOLS: usize = 16_384;

/// Decides whether a merge is made when its turn comes.
pub(super) trait Policy {
    /// A merge in the heap, ordered by rank and place.
    type Entry: Copy + Ord;

    /// The entry of a packed pair at a place.
    fn entry(pair: u64, place: u32) -> Self::Entry;

    /// The place of an entry, and whether `pairs` still has the pair that the entry was made for.
    fn place(entry: Self::Entry, pairs: &[u64]) -> (u32, bool);

    /// Called when two neighbours can be merged.
    #[inline]
    fn propose(&mut self, _product: u32, _left: u32, _right: u32) {}

    /// Is this entry delayed until after the next one that is not? Also asked for entries that are out of date.
    #[inline]
    fn delays(&mut self, _entry: Self::Entry, _heap: &mut BinaryHeap<Reverse<Self::Entry>>) -> Result<bool> {
        Ok(false)
    }

    /// Is this merge skipped for good?
    #[inline]
    fn drops(&mut self) -> bool {
        false
    }
}

/// The policy that skips nothing.
struct Always;

impl Policy for Always {
    type Entry = u64;

    #[inline]
    fn entry(pair: u64, place: u32) -> u64 {
        pair >> 32 << 32 | u64::from(place)
    }

    /// Symbols only grow, so the same pair never comes back at a place. A later pair of the same rank there has the
    /// same entry.
    #[inline]
    fn place(entry: u64, pairs: &[u64]) -> (u32, bool) {
        let place = entry as u32;
        (place, pairs[place as usize] >> 32 == entry >> 32)
    }
}

/// Merges `scratch.symbols`.
pub(super) fn merge<T: PackedPairs>(
    table: &T,
    scratch: &mut BpeScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let entries = std::mem::take(&mut scratch.heap);
    scratch.heap = merge_with(table, scratch, entries, &mut Always, ticker)?;
    Ok(())
}

/// Merges `scratch.symbols` as a policy decides. `entries` is a buffer for the heap, and is returned.
pub(super) fn merge_with<T: PackedPairs, P: Policy>(
    table: &T,
    scratch: &mut BpeScratch,
    mut entries: Vec<Reverse<P::Entry>>,
    policy: &mut P,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Reverse<P::Entry>>> {
    let BpeScratch { symbols, pairs, borders, .. } = scratch;
    entries.clear();
    pairs.clear();
    borders.fill(symbols.len())?;
    try_alloc::reserve(pairs, symbols.len())?;
    // Filled in slices, so that a cancellation is noticed while the tables grow.
    let mut from = 0;
    while from < symbols.len() {
        let to = (from + TICK_SYMBOLS).min(symbols.len());
        try_alloc::reserve(&mut entries, to - from)?;
        for place in from..to {
            let pair = match symbols.get(place + 1) {
                Some(&right) => look_up(table, policy, symbols[place], right),
                None => NO_PAIR,
            };
            pairs.push(pair);
            if pair != NO_PAIR {
                entries.push(Reverse(P::entry(pair, to_u32(place))));
            }
        }
        ticker.spend(to - from)?;
        from = to;
    }
    let mut heap = BinaryHeap::from(entries);
    while let Some(Reverse(entry)) = heap.pop() {
        ticker.spend(8)?;
        if policy.delays(entry, &mut heap)? {
            continue;
        }
        let (place, is_current) = P::place(entry, pairs);
        let at = place as usize;
        let pair = pairs[at];
        if !is_current || pair == NO_PAIR || policy.drops() {
            continue;
        }
        // For the two pairs that the merge may make.
        try_alloc::reserve_queue(&mut heap, 2)?;
        symbols[at] = pair as u32;
        pairs[at] = NO_PAIR;
        let Some(removed) = borders.after(at) else { continue };
        pairs[removed] = NO_PAIR;
        borders.remove(removed);
        if let Some(before) = borders.before(at) {
            let pair = look_up(table, policy, symbols[before], symbols[at]);
            renew::<P>(pairs, &mut heap, pair, before);
        }
        if let Some(after) = borders.from(removed) {
            let pair = look_up(table, policy, symbols[at], symbols[after]);
            renew::<P>(pairs, &mut heap, pair, at);
        }
    }
    Ok(heap.into_vec())
}

#[inline]
fn look_up<T: PackedPairs, P: Policy>(table: &T, policy: &mut P, left: u32, right: u32) -> u64 {
    let pair = table.get_packed(left, right);
    if pair != NO_PAIR {
        policy.propose(pair as u32, left, right);
    }
    pair
}

/// Replaces the pair at a place.
#[inline]
fn renew<P: Policy>(pairs: &mut [u64], heap: &mut BinaryHeap<Reverse<P::Entry>>, pair: u64, place: usize) {
    pairs[place] = pair;
    if pair != NO_PAIR {
        heap.push(Reverse(P::entry(pair, to_u32(place))));
    }
}

/// The places of the remaining symbols.
pub(super) fn places(scratch: &BpeScratch) -> impl Iterator<Item = u32> + Clone {
    std::iter::successors(scratch.borders.from(0), |&at| scratch.borders.after(at)).map(to_u32)
}

/// Moves the remaining symbols to the start of `scratch.symbols`, and removes all others.
pub(super) fn compact(scratch: &mut BpeScratch) {
    let BpeScratch { symbols, borders, .. } = scratch;
    let (mut length, mut next) = (0, borders.from(0));
    while let Some(at) = next {
        symbols[length] = symbols[at];
        length += 1;
        next = borders.after(at);
    }
    symbols.truncate(length);
}

/// Stands for a pair that does not merge.
pub(super) const NO_PAIR: u64 = u64::MAX;

/// A table of pairs.
pub(super) trait PackedPairs {
    /// The rank and product of a pair, packed; [`NO_PAIR`] if it does not merge.
    fn get_packed(&self, left: u32, right: u32) -> u64;
}

impl PackedPairs for PairTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        Self::get_packed(self, left, right)
    }
}

/// Products are ranks as well.
impl PackedPairs for MergeTable {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        match self.get(left, right) {
            NO_MERGE => NO_PAIR,
            product => u64::from(product) << 32 | u64::from(product),
        }
    }
}
