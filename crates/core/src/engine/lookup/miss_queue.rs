//! The miss queue: pretokens that missed the cache, until they are spelled together.
//!
//! In: a miss, and after which of the other ids its own belong. Out: all ids in order. A miss is first looked up in
//! the static table, once its slot had time to be prefetched; what is not found there waits to be merged with
//! others of about the same length, which take about as many steps, a few side by side. Ids that come after a miss
//! wait with it, perhaps over several batches. A pretoken that misses again while it waits mostly shares the ids of
//! the first.
use tokenmill_kernels::batch_merge::{Narrow, Wide, Widest, Width, wide_input, widest_input};
use tokenmill_kernels::short_table::{Key, SHORT};
use tokenmill_kernels::try_alloc;

use super::cache::PretokenCache;
use super::keys::{is_cached, is_segment};
use crate::engine::sink::{IdSink, SinkResult};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::bpe::{CanonicalMerges, MERGE_BATCH};
use crate::span::Span;

/// Misses that are looked up in the static table at a time.
const PROBES: usize = 8;

/// Misses of one width that are merged at a time.
const MERGES: usize = 64;

/// Misses in the order of the text.
#[derive(Debug, Default)]
pub(in super::super) struct MissQueue {
    pending: Vec<PendingPretoken>,
    /// How many of them have been looked up in the static table.
    probed: usize,
    dedup: DedupIndex,
    /// Those that wait to be merged, by the width of their rows.
    narrow: Vec<usize>,
    wide: Vec<usize>,
    widest: Vec<usize>,
    /// Scratch to sort these.
    sorted: Vec<usize>,
    ids: Vec<TokenId>,
}

/// For each value of the top bits of a hash the latest miss. It may be another pretoken, so it is compared.
#[derive(Debug)]
struct DedupIndex([u32; 1 << DEDUP_BITS]);

const DEDUP_BITS: u32 = 8;

impl Default for DedupIndex {
    fn default() -> Self {
        Self([0; _])
    }
}

impl DedupIndex {
    /// Replaces the last miss with these bits of the hash, which it returns.
    fn replace(&mut self, hash: u64, miss: usize) -> usize {
        std::mem::replace(&mut self.0[(hash >> (64 - DEDUP_BITS)) as usize], to_u32(miss)) as usize
    }
}

/// A miss.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingPretoken {
    pub(super) key: Key,
    pub(super) hash: u64,
    pub(super) span: Span,
    /// How many of the waiting ids come before those of this miss.
    position: usize,
    /// The miss that has its ids: itself, or the first one of the same bytes.
    first: usize,
    /// Its own ids.
    start: usize,
    count: usize,
}

impl PendingPretoken {
    /// Are its ids there?
    pub(super) fn is_resolved(&self) -> bool {
        self.count > 0
    }
}

impl MissQueue {
    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        let queues = [&self.narrow, &self.wide, &self.widest, &self.sorted].map(Vec::capacity);
        self.pending.capacity() * size_of::<PendingPretoken>()
            + queues.iter().sum::<usize>() * size_of::<usize>()
            + self.ids.capacity() * size_of::<TokenId>()
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.ids.clear();
        self.probed = 0;
        self.narrow.clear();
        self.wide.clear();
        self.widest.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// How many ids it holds.
    pub(super) fn id_count(&self) -> usize {
        self.ids.len()
    }

    /// Are the ids of all misses there?
    pub(super) fn is_resolved(&self) -> bool {
        self.probed == self.pending.len() && self.narrow.len() + self.wide.len() + self.widest.len() == 0
    }

    /// Should the misses be looked up in the static table?
    pub(super) fn should_probe(&self) -> bool {
        self.pending.len() >= self.probed + PROBES
    }

    /// Pushes a miss.
    pub(super) fn push(&mut self, key: Key, hash: u64, span: Span, position: usize) {
        let first = self.pending.len();
        self.pending.push(PendingPretoken { key, hash, span, position, first, start: 0, count: 0 });
    }

    /// Pushes a hit whose ids had no place in the batch, so that they wait here.
    pub(super) fn push_resolved(&mut self, span: Span, position: usize, ids: &[TokenId]) -> Result<()> {
        self.push(0, 0, span, position);
        let miss = self.pending.len() - 1;
        try_alloc::extend(&mut self.ids, ids)?;
        self.set_ids(miss, self.ids.len() - ids.len());
        Ok(())
    }

    /// The next miss to be looked up in the static table, and its index.
    pub(super) fn next_to_probe(&mut self) -> Option<(usize, PendingPretoken)> {
        let index = self.probed;
        let pending = *self.pending.get(index)?;
        self.probed += 1;
        Some((index, pending))
    }

    /// Does an earlier miss have the same bytes? Then this one takes its ids. Without this, text costs 2 %
    /// (Chinese) to 11 % (code) more instructions.
    pub(super) fn dedup(&mut self, miss: usize, text: &[u8]) -> bool {
        let PendingPretoken { key, hash, span, .. } = self.pending[miss];
        let last = self.dedup.replace(hash, miss);
        // The key of a short one is its bytes.
        let is_same = |other: &&PendingPretoken| {
            other.key == key && (span.len() <= SHORT || other.span.of(text) == span.of(text))
        };
        let Some(&PendingPretoken { first, .. }) = self.pending[..miss].get(last).filter(is_same) else {
            return false;
        };
        self.pending[miss].first = first;
        true
    }

    /// Has `spell` append the ids of this miss, and caches them.
    pub(super) fn resolve_with(
        &mut self,
        miss: usize,
        text: &[u8],
        cache: &mut PretokenCache,
        spell: impl FnOnce(&mut Vec<TokenId>, &mut PretokenCache) -> Result<()>,
    ) -> Result<()> {
        let start = self.ids.len();
        spell(&mut self.ids, cache)?;
        self.set_ids(miss, start);
        self.insert_into_cache(miss, text, cache);
        Ok(())
    }

    /// The ids from `start` on are those of this miss.
    fn set_ids(&mut self, miss: usize, start: usize) {
        let count = self.ids.len() - start;
        self.pending[miss] = PendingPretoken { start, count, ..self.pending[miss] };
    }

    fn insert_into_cache(&self, miss: usize, text: &[u8], cache: &mut PretokenCache) {
        let PendingPretoken { key, hash, span, start, count, .. } = self.pending[miss];
        if is_cached(key) {
            cache.insert(key, hash, span.of(text), &self.ids[start..start + count]);
        }
    }

    /// Queues a miss to be merged with others of its width, and merges them when they are enough.
    pub(super) fn queue_merge(
        &mut self,
        miss: usize,
        merges: &CanonicalMerges,
        text: &[u8],
        cache: &mut PretokenCache,
    ) -> Result<()> {
        let length = self.pending[miss].span.len();
        if length <= Narrow::LONGEST {
            self.narrow.push(miss);
            if self.narrow.len() == MERGES {
                return self.merge_narrow(merges, text, cache);
            }
        } else if length <= Wide::LONGEST {
            self.wide.push(miss);
            if self.wide.len() == MERGES {
                return self.merge_wide(merges, text, cache);
            }
        } else {
            self.widest.push(miss);
            if self.widest.len() == MERGES {
                return self.merge_widest(merges, text, cache);
            }
        }
        Ok(())
    }

    /// Takes out the only miss of the greatest width, where it is a whole pretoken, which may have segments.
    pub(super) fn pop_lone_long(&mut self) -> Option<(usize, PendingPretoken)> {
        let [miss] = self.widest[..] else { return None };
        let pending = self.pending[miss];
        (!is_segment(pending.key)).then(|| {
            self.widest.clear();
            (miss, pending)
        })
    }

    /// Merges all that are queued.
    pub(super) fn merge_queued(
        &mut self,
        merges: &CanonicalMerges,
        text: &[u8],
        cache: &mut PretokenCache,
    ) -> Result<()> {
        self.merge_narrow(merges, text, cache)?;
        self.merge_wide(merges, text, cache)?;
        self.merge_widest(merges, text, cache)
    }

    fn merge_narrow(
        &mut self,
        merges: &CanonicalMerges,
        text: &[u8],
        cache: &mut PretokenCache,
    ) -> Result<()> {
        let queue = std::mem::take(&mut self.narrow);
        self.narrow = self.merge_rows::<Narrow>(queue, |pending| pending.key, merges, text, cache)?;
        Ok(())
    }

    fn merge_wide(&mut self, merges: &CanonicalMerges, text: &[u8], cache: &mut PretokenCache) -> Result<()> {
        let queue = std::mem::take(&mut self.wide);
        let row = |pending: PendingPretoken| wide_input(pending.span.of(text));
        self.wide = self.merge_rows::<Wide>(queue, row, merges, text, cache)?;
        Ok(())
    }

    fn merge_widest(
        &mut self,
        merges: &CanonicalMerges,
        text: &[u8],
        cache: &mut PretokenCache,
    ) -> Result<()> {
        let queue = std::mem::take(&mut self.widest);
        let row = |pending: PendingPretoken| widest_input(pending.span.of(text));
        self.widest = self.merge_rows::<Widest>(queue, row, merges, text, cache)?;
        Ok(())
    }

    /// Sorts misses by length, the shortest first. Without this, text costs 3 % more instructions, random letters 8
    /// %.
    fn sort_by_length(&mut self, queue: &mut Vec<usize>) {
        // Where those of each length begin: after all that are shorter.
        let mut starts = [0; Widest::LONGEST + 2];
        for &miss in &*queue {
            starts[self.pending[miss].span.len() + 1] += 1;
        }
        for length in 1..starts.len() {
            starts[length] += starts[length - 1];
        }
        self.sorted.resize(queue.len(), 0);
        for &miss in &*queue {
            let start = &mut starts[self.pending[miss].span.len()];
            self.sorted[*start] = miss;
            *start += 1;
        }
        std::mem::swap(&mut self.sorted, queue);
    }

    /// Merges these side by side, and returns their vector, empty.
    fn merge_rows<W: Width>(
        &mut self,
        mut queue: Vec<usize>,
        row: impl Fn(PendingPretoken) -> W::Input,
        merges: &CanonicalMerges,
        text: &[u8],
        cache: &mut PretokenCache,
    ) -> Result<Vec<usize>> {
        if queue.len() > MERGE_BATCH {
            self.sort_by_length(&mut queue);
        }
        // A group that is not full takes nearly as long as a full one, so it gets the shortest.
        let (few, rest) = queue.split_at(queue.len() % MERGE_BATCH);
        for group in std::iter::once(few).chain(rest.chunks(MERGE_BATCH)) {
            let mut rows = [W::Input::default(); MERGE_BATCH];
            for (to, &miss) in rows.iter_mut().zip(group) {
                *to = row(self.pending[miss]);
            }
            let mut start = self.ids.len();
            let counts = merges.merge_batch::<W>(&rows[..group.len()], &mut self.ids)?;
            for (&miss, count) in group.iter().zip(counts) {
                self.pending[miss] = PendingPretoken { start, count, ..self.pending[miss] };
                start += count;
                self.insert_into_cache(miss, text, cache);
            }
        }
        queue.clear();
        Ok(queue)
    }

    /// Gives all ids to a sink: those that waited, and those of the misses between them.
    pub(super) fn splice_into<S: IdSink>(&self, waiting: &[TokenId], sink: &mut S) -> SinkResult {
        let mut from = 0;
        for pending in &self.pending {
            sink.push_ids(&waiting[from..pending.position])?;
            let PendingPretoken { start, count, .. } = self.pending[pending.first];
            sink.push_ids(&self.ids[start..start + count])?;
            from = pending.position;
        }
        sink.push_ids(&waiting[from..])
    }
}
