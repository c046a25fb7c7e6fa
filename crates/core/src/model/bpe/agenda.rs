//! Merging by an agenda, step by step as the references do it, for what depends on the steps:
//! merges that are passed over by chance, and pieces that are split again as they were proposed.
//!
//! Slower than `merge`, and with nothing passed over it leaves the same symbols.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::PairTable;

use tokenmill_kernels::try_alloc;

use crate::error::Result;
use crate::ids::to_u32;
use crate::model::random::Random;
use crate::watch::Ticker;

use super::Scratch;
use super::merge::{END, NO_PAIR};

/// Which merges are passed over.
#[derive(Debug)]
pub(super) enum Chance<'a> {
    /// None.
    Never,
    /// Each with this probability whenever its turn comes; those passed over come back after the
    /// next one that is not. The rule of the tokenizers library.
    Delayed(f64, &'a mut Random),
    /// Each with this probability, and then for good. The rule of SentencePiece.
    Dropped(f64, &'a mut Random),
}

/// A merge on the agenda: rank and place, then what it gives, so that a stale one is known.
type Entry = Reverse<(u64, u32)>;

/// Merges `scratch.symbols`. What is left is chained by `scratch.next` from 0 on. Every merge that
/// becomes possible is told to `propose` as (result, left, right), in the order of SentencePiece.
pub(super) fn merge(
    table: &PairTable,
    scratch: &mut Scratch,
    mut chance: Chance<'_>,
    mut propose: impl FnMut(u32, u32, u32),
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let Scratch { symbols, pairs, next, previous, .. } = scratch;
    let length = to_u32(symbols.len());
    next.clear();
    try_alloc::reserve(next, symbols.len())?;
    next.extend((1..length).chain([END]));
    previous.clear();
    try_alloc::reserve(previous, symbols.len())?;
    previous.extend([END].into_iter().chain(0..length.saturating_sub(1)));
    // The merge at each place, as `PairTable` packs it.
    pairs.clear();
    try_alloc::resize(pairs, symbols.len(), NO_PAIR)?;
    let mut agenda: BinaryHeap<Entry> = BinaryHeap::new();
    let mut look_up = |left: u32, right: u32, symbols: &[u32], pairs: &mut [u64]| {
        let pair = table.get_packed(symbols[left as usize], symbols[right as usize]);
        pairs[left as usize] = pair;
        if pair == NO_PAIR {
            return None;
        }
        propose(pair as u32, symbols[left as usize], symbols[right as usize]);
        Some(Reverse((pair >> 32 << 32 | u64::from(left), pair as u32)))
    };
    for left in 1..length {
        ticker.spend(1)?;
        try_alloc::reserve_queue(&mut agenda, 1)?;
        agenda.extend(look_up(left - 1, left, symbols, pairs));
    }
    let mut delayed = Vec::new();
    while let Some(top) = agenda.pop() {
        ticker.spend(8)?;
        if let Chance::Delayed(probability, random) = &mut chance {
            // Drawn for stale ones, too, as there.
            if random.chance(*probability) {
                try_alloc::push(&mut delayed, top)?;
                continue;
            }
            try_alloc::reserve_queue(&mut agenda, delayed.len())?;
            agenda.extend(delayed.drain(..));
        }
        let Reverse((key, result)) = top;
        let at = key as u32;
        let pair = pairs[at as usize];
        if pair == NO_PAIR || pair as u32 != result {
            continue;
        }
        if let Chance::Dropped(probability, random) = &mut chance
            && random.chance(*probability)
        {
            continue;
        }
        // For the two pairs that the merge may make.
        try_alloc::reserve_queue(&mut agenda, 2)?;
        let gone = next[at as usize];
        let after = next[gone as usize];
        symbols[at as usize] = result;
        pairs[at as usize] = NO_PAIR;
        pairs[gone as usize] = NO_PAIR;
        next[at as usize] = after;
        let before = previous[at as usize];
        if before != END {
            agenda.extend(look_up(before, at, symbols, pairs));
        }
        if after != END {
            previous[after as usize] = at;
            agenda.extend(look_up(at, after, symbols, pairs));
        }
    }
    Ok(())
}
