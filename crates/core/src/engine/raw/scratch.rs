//! The buffers of a word that misses the cache.
use crate::aligned::Rewritten;
use crate::ids::TokenId;

use super::plain::PlainScratch;

/// The buffers of the stages for one word, and its ids.
#[derive(Debug, Default)]
pub(in crate::engine) struct WordScratch {
    pub(in crate::engine) normalized: [Rewritten; 2],
    pub(in crate::engine) pretokenized: Vec<Rewritten>,
    /// A word with the mark before it.
    pub(in crate::engine) marked: String,
    pub(in crate::engine) plain: PlainScratch,
    pub(in crate::engine) ids: Vec<TokenId>,
}

impl WordScratch {
    /// Heap bytes held.
    pub(in crate::engine) fn memory(&self) -> usize {
        let texts: usize = self.normalized.iter().chain(&self.pretokenized).map(Rewritten::memory).sum();
        texts + self.marked.capacity() + self.plain.memory() + self.ids.capacity() * size_of::<TokenId>()
    }
}
