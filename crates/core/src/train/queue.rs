//! The queue of pairs to be merged, best first.
//!
//! All tie-breaks use one comparison: higher count, then smaller key, then, if the keys are equal
//! (a key holds eight bytes of the left token), the full bytes. Keys are constant, except for
//! first-seen, where they only grow; counts only fall. So an entry is an upper bound for its pair,
//! and is refreshed when it reaches the top.
use std::cmp::Ordering;

use tokenmill_kernels::try_alloc;

use super::options::{TieBreak, TrainAlphabet};
use crate::description::TokenList;
use crate::error::Result;

/// A queued pair, as it was when it was pushed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) count: u64,
    pub(super) key: u64,
    pub(super) left: u32,
    pub(super) right: u32,
    /// Its index in the table of pairs.
    pub(super) pair: u32,
}

/// The order of equally frequent pairs.
#[derive(Debug)]
pub(super) struct Order {
    tie: TieBreak,
    /// The rank of each byte in the order of the `tokenizers` library.
    byte_ranks: Option<[u32; 256]>,
}

impl Order {
    pub(super) fn new(tie: TieBreak, alphabet: TrainAlphabet) -> Self {
        // For characters the order of that library is the order of our symbols.
        let remap = tie == TieBreak::HuggingFace && alphabet == TrainAlphabet::Bytes;
        Self { tie, byte_ranks: remap.then(byte_ranks) }
    }

    /// Do keys change when occurrences are replaced?
    pub(super) fn by_position(&self) -> bool {
        self.tie == TieBreak::FirstSeen
    }

    /// The key of a pair whose first occurrence is at `position`.
    pub(super) fn key(&self, left: u32, right: u32, position: u32, tokens: &TokenList) -> u64 {
        let rank = |symbol: u32| {
            let ranks = self.byte_ranks.as_ref();
            u64::from(ranks.and_then(|ranks| ranks.get(symbol as usize)).copied().unwrap_or(symbol))
        };
        match self.tie {
            TieBreak::Lexicographic => leading(tokens.bytes(left as usize)),
            TieBreak::LexicographicLargest => !leading(tokens.bytes(left as usize)),
            TieBreak::FirstSeen => u64::from(position),
            TieBreak::TokenId | TieBreak::HuggingFace => rank(left) << 32 | rank(right),
        }
    }

    /// Does `a` merge before `b`?
    fn before(&self, a: &Waiting, b: &Waiting, tokens: &TokenList) -> bool {
        let order = b.count.cmp(&a.count).then(a.key.cmp(&b.key));
        order.then_with(|| self.full(a, b, tokens)) == Ordering::Less
    }

    fn full(&self, a: &Waiting, b: &Waiting, tokens: &TokenList) -> Ordering {
        let compare = |x: u32, y: u32| {
            if x == y { Ordering::Equal } else { tokens.bytes(x as usize).cmp(tokens.bytes(y as usize)) }
        };
        match self.tie {
            TieBreak::Lexicographic => compare(a.left, b.left).then_with(|| compare(a.right, b.right)),
            TieBreak::LexicographicLargest => compare(b.left, a.left).then_with(|| compare(b.right, a.right)),
            TieBreak::FirstSeen | TieBreak::TokenId | TieBreak::HuggingFace => Ordering::Equal,
        }
    }
}

/// The first eight bytes as a big-endian number, padded with 0, which compares as the bytes do.
fn leading(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(word)
}

/// The rank of each byte by the code point that byte-level files write for it: printable Latin-1
/// bytes stand for themselves, all others follow from U+0100 on (`bytes_to_unicode` of GPT-2).
fn byte_ranks() -> [u32; 256] {
    let printable = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let in_order = (0..=u8::MAX).filter(printable).chain((0..=u8::MAX).filter(|byte| !printable(byte)));
    let mut ranks = [0; 256];
    for (rank, byte) in (0u32..).zip(in_order) {
        ranks[usize::from(byte)] = rank;
    }
    ranks
}

/// A binary heap ordered by an [`Order`].
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: Vec<Waiting>,
}

impl Queue {
    /// Adds an entry.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn push(&mut self, entry: Waiting, order: &Order, tokens: &TokenList) -> Result<()> {
        let mut at = self.heap.len();
        try_alloc::push(&mut self.heap, entry)?;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !order.before(&entry, &self.heap[parent], tokens) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
        Ok(())
    }

    /// Removes the best entry.
    pub(super) fn pop(&mut self, order: &Order, tokens: &TokenList) -> Option<Waiting> {
        let last = self.heap.pop()?;
        let Some(&best) = self.heap.first() else { return Some(last) };
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && order.before(&self.heap[child + 1], &self.heap[child], tokens) {
                child += 1;
            }
            if !order.before(&self.heap[child], &last, tokens) {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = last;
        Some(best)
    }
}
