//! Merging a long row of symbols by a heap: the lowest rank first, the leftmost of equal ones, in n log n.
//!
//! Comes in: a row in `scratch.symbols`, and a table of pairs. Goes out: the same row, with the symbols that are
//! left in a linked list ([`places`], [`compact`]). Merges must never be made in another order than by the naive
//! rule, except where a [`Policy`] passes some over.
//!
//! A merge at a place changes only the pairs at this place and the one before, so nothing else is looked up again.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::{MergeTable, NO_MERGE, PairTable, try_alloc};

use super::scratch::BpeScratch;
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// The end of the linked list.
const END: u32 = u32::MAX;

/// Symbols that are looked up before the ticker is told.
const TICK_SYMBOLS: usize = 16_384;

/// Decides whether a merge is made when its turn comes.
pub(super) trait Policy {
    /// A merge in the heap, ordered by rank and place.
    type Entry: Copy + Ord;

    /// The entry of a packed pair at a place.
    fn entry(pair: u64, place: u32) -> Self::Entry;

    /// The place of an entry, and whether `pairs` still has the pair there that the entry was made for.
    fn place(entry: Self::Entry, pairs: &[u64]) -> (u32, bool);

    /// Two neighbours can be merged now.
    #[inline]
    fn propose(&mut self, _product: u32, _left: u32, _right: u32) {}

    /// Is this entry passed over until another one was not? Asked for entries that are out of date, too.
    #[inline]
    fn delays(&mut self, _entry: Self::Entry, _heap: &mut BinaryHeap<Reverse<Self::Entry>>) -> Result<bool> {
        Ok(false)
    }

    /// Is this merge passed over for good?
    #[inline]
    fn drops(&mut self) -> bool {
        false
    }
}

/// Every merge is made.
struct Always;

impl Policy for Always {
    type Entry = u64;

    #[inline]
    fn entry(pair: u64, place: u32) -> u64 {
        pair >> 32 << 32 | u64::from(place)
    }

    /// Symbols only grow, so a place never has the same pair twice. It may have another pair of the same rank
    /// later, and that has the same entry.
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
    let BpeScratch { symbols, pairs, next, previous, .. } = scratch;
    let length = to_u32(symbols.len());
    entries.clear();
    pairs.clear();
    next.clear();
    previous.clear();
    try_alloc::reserve(pairs, symbols.len())?;
    try_alloc::reserve(next, symbols.len())?;
    try_alloc::reserve(previous, symbols.len())?;
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
    next.extend((1..length).chain([END]));
    previous.extend([END].into_iter().chain(0..length.saturating_sub(1)));
    let mut heap = BinaryHeap::from(entries);
    while let Some(Reverse(entry)) = heap.pop() {
        ticker.spend(8)?;
        if policy.delays(entry, &mut heap)? {
            continue;
        }
        let (at, is_current) = P::place(entry, pairs);
        let pair = pairs[at as usize];
        if !is_current || pair == NO_PAIR || policy.drops() {
            continue;
        }
        // For the two pairs that the merge may make.
        try_alloc::reserve_queue(&mut heap, 2)?;
        let removed = next[at as usize];
        let after = next[removed as usize];
        symbols[at as usize] = pair as u32;
        pairs[at as usize] = NO_PAIR;
        pairs[removed as usize] = NO_PAIR;
        next[at as usize] = after;
        let before = previous[at as usize];
        if before != END {
            let pair = look_up(table, policy, symbols[before as usize], symbols[at as usize]);
            renew::<P>(pairs, &mut heap, pair, before);
        }
        if after != END {
            previous[after as usize] = at;
            let pair = look_up(table, policy, symbols[at as usize], symbols[after as usize]);
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
fn renew<P: Policy>(pairs: &mut [u64], heap: &mut BinaryHeap<Reverse<P::Entry>>, pair: u64, place: u32) {
    pairs[place as usize] = pair;
    if pair != NO_PAIR {
        heap.push(Reverse(P::entry(pair, place)));
    }
}

/// The places of the symbols that are left.
pub(super) fn places(scratch: &BpeScratch) -> impl Iterator<Item = u32> + Clone {
    let first = (!scratch.symbols.is_empty()).then_some(0);
    std::iter::successors(first, |&at| Some(scratch.next[at as usize]).filter(|&after| after != END))
}

/// Moves the symbols that are left to the start of `scratch.symbols`, and removes all others.
pub(super) fn compact(scratch: &mut BpeScratch) {
    let (mut length, mut at) = (0, 0);
    while (at as usize) < scratch.symbols.len() {
        scratch.symbols[length] = scratch.symbols[at as usize];
        length += 1;
        at = scratch.next[at as usize];
    }
    scratch.symbols.truncate(length);
}

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
