//! Merging with dropout: some merges are skipped at random. Also records how pieces can be split again.
//!
//! In: a row in `scratch.symbols`, and the rule by which merges are skipped. Out: the same as from the heap, and
//! every pair that could have been merged on the way. Random numbers must be drawn exactly when the reference draws
//! them, or a seed would give other ids.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::{PairTable, try_alloc};

use crate::error::Result;
use crate::model::bpe::heap::{self, Policy};
use crate::model::bpe::scratch::BpeScratch;
use crate::model::random::Random;
use crate::watch::Ticker;

/// Which merges are skipped.
#[derive(Debug)]
pub(super) enum MergeDropout<'a> {
    /// No merge.
    Off,
    /// Each merge with this probability whenever its turn comes; it is tried again after the next merge that is not
    /// skipped. The rule of the tokenizers library.
    Delay(f64, &'a mut Random),
    /// Each merge with this probability, for good. The rule of SentencePiece.
    Drop(f64, &'a mut Random),
}

struct DropoutPolicy<'a, F> {
    dropout: MergeDropout<'a>,
    propose: F,
    delayed: Vec<Reverse<Entry>>,
}

/// Rank and place, and the product: merges of equal rank may have different products, and each is drawn separately.
type Entry = (u64, u32);

impl<F: FnMut(u32, u32, u32)> Policy for DropoutPolicy<'_, F> {
    type Entry = Entry;

    fn entry(pair: u64, place: u32) -> Entry {
        (pair >> 32 << 32 | u64::from(place), pair as u32)
    }

    fn place((key, product): Entry, pairs: &[u64]) -> (u32, bool) {
        let place = key as u32;
        (place, pairs[place as usize] as u32 == product)
    }

    fn propose(&mut self, product: u32, left: u32, right: u32) {
        (self.propose)(product, left, right);
    }

    fn delays(&mut self, entry: Entry, heap: &mut BinaryHeap<Reverse<Entry>>) -> Result<bool> {
        let MergeDropout::Delay(probability, random) = &mut self.dropout else { return Ok(false) };
        if random.chance(*probability) {
            try_alloc::push(&mut self.delayed, Reverse(entry))?;
            return Ok(true);
        }
        try_alloc::reserve_queue(heap, self.delayed.len())?;
        heap.extend(self.delayed.drain(..));
        Ok(false)
    }

    fn drops(&mut self) -> bool {
        match &mut self.dropout {
            MergeDropout::Drop(probability, random) => random.chance(*probability),
            _ => false,
        }
    }
}

/// Merges `scratch.symbols`, as [`heap::merge`] does. Calls `propose` with (product, left, right) for every merge
/// that becomes possible, in the order of SentencePiece.
pub(super) fn merge_with_dropout(
    table: &PairTable,
    scratch: &mut BpeScratch,
    dropout: MergeDropout<'_>,
    propose: impl FnMut(u32, u32, u32),
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let mut policy = DropoutPolicy { dropout, propose, delayed: Vec::new() };
    heap::merge_with(table, scratch, Vec::new(), &mut policy, ticker)?;
    Ok(())
}
