//! What happens to pretokens that miss the cache and are not spelled at once: they wait in the miss queue until
//! they are resolved together.
//!
//! In: misses, and the number of waiting ids that precede each. Out: all ids in order; a miss gets the ids that the
//! model gives to the pretoken alone. A repeat of the latest miss with the same hash bits takes its ids. Others are
//! looked up in the static table, once their slot had time to be prefetched; misses that may not be cached skip
//! both. What is not found there waits to be merged side by side with others of about the same length, which take
//! about as many steps. Such a merge takes a pretoken of up to 62 bytes ([`Widest`]) as a whole, unless it is a
//! token by the rule for whole pretokens ([`Speller::canonical_for`]), which only one of more than 15 bytes need be
//! asked: the static table has all shorter tokens. Raw parts are never merged so, since their models have no
//! canonical merges. The rest is spelled one by one ([`Speller::spell`]). Ids that come after a miss wait with it,
//! perhaps over several batches.
use tokenmill_kernels::batch_merge::{Narrow, Wide, Widest, Width, wide_input, widest_input};
use tokenmill_kernels::short_table::{Key, SHORT};
use tokenmill_kernels::try_alloc;

use super::cache::PretokenCache;
use super::keys::{is_cacheable, is_segment};
use super::speller::Speller;
use crate::aligned::Origins;
use crate::engine::input::placed;
use crate::engine::raw::WordScratch;
use crate::engine::sink::{IdSink, SinkResult};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::Scratch;
use crate::model::bpe::{CanonicalMerges, MERGE_BATCH};
use crate::span::Span;
use crate::watch::Ticker;

/// Misses that are looked up in the static table together.
const PROBES: usize = 8;

/// Misses of one width that are collected and sorted, to be merged in groups of [`MERGE_BATCH`].
const MERGES: usize = 128;

/// The index of the queue for the widest rows.
const WIDEST: usize = 2;

/// What is needed to resolve misses: the tables and scratch of a worker, and the text of the misses.
pub(super) struct MissContext<'e, 'a, 'w> {
    pub(super) speller: Speller<'a>,
    pub(super) cache: &'e mut PretokenCache,
    pub(super) scratch: &'e mut Scratch,
    pub(super) word_scratch: &'e mut WordScratch,
    pub(super) ticker: &'e mut Ticker<'w>,
    pub(super) text: &'e str,
    pub(super) origins: Origins<'e>,
}

/// Misses in the order of the text, and hits whose ids did not fit into the batch.
#[derive(Debug, Default)]
pub(in super::super) struct MissQueue {
    pending: Vec<PendingPretoken>,
    /// The number of misses that were looked up in the static table, or needed no lookup.
    probed: usize,
    dedup: DedupIndex,
    /// Misses that wait to be merged, by the width of their rows: [`Narrow`], [`Wide`] and [`Widest`].
    queues: [Vec<usize>; WIDEST + 1],
    /// Scratch to sort these queues.
    sorted: Vec<usize>,
    ids: Vec<TokenId>,
}

/// The latest miss for each value of the top bits of a hash. It may be another pretoken, so the bytes are compared.
#[derive(Debug)]
struct DedupIndex([u32; 1 << DEDUP_BITS]);

const DEDUP_BITS: u32 = 8;

impl Default for DedupIndex {
    fn default() -> Self {
        Self([0; _])
    }
}

impl DedupIndex {
    /// Makes this miss the latest one with the same hash bits, and returns the one before, which may be of an
    /// earlier text.
    fn replace(&mut self, hash: u64, miss: usize) -> usize {
        std::mem::replace(&mut self.0[(hash >> (64 - DEDUP_BITS)) as usize], to_u32(miss)) as usize
    }
}

/// A miss, or a hit whose ids wait.
#[derive(Debug, Clone, Copy)]
struct PendingPretoken {
    key: Key,
    hash: u64,
    span: Span,
    /// How many of the waiting ids come before those of this miss.
    position: usize,
    /// The miss whose ids it has: itself, or an earlier miss with the same bytes.
    first: usize,
    /// Where its own ids start.
    start: usize,
    count: usize,
}

impl PendingPretoken {
    /// Has it ids of its own? A repeat never has: it shares those of `first`.
    fn is_resolved(&self) -> bool {
        self.count > 0
    }
}

impl MissQueue {
    /// Heap bytes held.
    pub(in super::super) fn memory(&self) -> usize {
        let queues = self.queues.iter().chain([&self.sorted]).map(Vec::capacity);
        self.pending.capacity() * size_of::<PendingPretoken>()
            + queues.sum::<usize>() * size_of::<usize>()
            + self.ids.capacity() * size_of::<TokenId>()
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.ids.clear();
        self.probed = 0;
        self.queues.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Number of ids held.
    pub(super) fn id_count(&self) -> usize {
        self.ids.len()
    }

    /// Do all misses have their ids?
    pub(super) fn is_resolved(&self) -> bool {
        self.probed == self.pending.len() && self.queues.iter().all(Vec::is_empty)
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

    /// Pushes a hit whose ids did not fit into the batch.
    pub(super) fn push_resolved(&mut self, span: Span, position: usize, ids: &[TokenId]) -> Result<()> {
        self.push(0, 0, span, position);
        let miss = self.pending.len() - 1;
        try_alloc::extend(&mut self.ids, ids)?;
        self.set_ids(miss, self.ids.len() - ids.len());
        Ok(())
    }

    /// If the latest miss with the same hash bits has the same bytes, this one shares its ids. Without this, text
    /// costs 2 % (Chinese) to 11 % (code) more instructions.
    fn dedup(&mut self, miss: usize, text: &[u8]) -> bool {
        let PendingPretoken { key, hash, span, .. } = self.pending[miss];
        let last = self.dedup.replace(hash, miss);
        // The key of a short pretoken is its bytes.
        let is_same = |other: &&PendingPretoken| {
            other.key == key && (span.len() <= SHORT || other.span.of(text) == span.of(text))
        };
        let Some(&PendingPretoken { first, .. }) = self.pending[..miss].get(last).filter(is_same) else {
            return false;
        };
        self.pending[miss].first = first;
        true
    }

    /// Gives the ids from `start` on to this miss.
    fn set_ids(&mut self, miss: usize, start: usize) {
        let count = self.ids.len() - start;
        self.pending[miss] = PendingPretoken { start, count, ..self.pending[miss] };
    }

    fn insert_into_cache(&self, miss: usize, text: &[u8], cache: &mut PretokenCache) {
        let PendingPretoken { key, hash, span, start, count, .. } = self.pending[miss];
        if is_cacheable(key) {
            cache.insert(key, hash, span.of(text), &self.ids[start..start + count]);
        }
    }

    /// Resolves the misses that were not looked up in the static table yet: one that is not there is spelled, or
    /// queued to be merged with others. Returns for how many the model is asked.
    #[cold]
    pub(super) fn resolve(&mut self, context: &mut MissContext<'_, '_, '_>) -> Result<usize> {
        let (text, mut asked) = (context.text.as_bytes(), 0);
        while let Some(&miss) = self.pending.get(self.probed) {
            let index = self.probed;
            self.probed += 1;
            if miss.is_resolved() {
                continue;
            }
            if is_cacheable(miss.key) {
                if self.dedup(index, text) {
                    continue;
                }
                // The static table has no longer tokens.
                if miss.span.len() <= SHORT
                    && let Some(value) = context.speller.static_table.get(miss.key, miss.hash)
                {
                    try_alloc::push(&mut self.ids, value.words[0])?;
                    self.set_ids(index, self.ids.len() - 1);
                    self.insert_into_cache(index, text, context.cache);
                    continue;
                }
            }
            asked += 1;
            let merges = match miss.span.len() {
                length if length > Widest::LONGEST => None,
                length if length > SHORT && !is_segment(miss.key) => {
                    context.speller.canonical_for(miss.span.of(text))
                }
                _ => context.speller.canonical(),
            };
            match merges {
                Some(merges) => self.queue_merge(index, merges, context)?,
                None => self.spell_alone(index, context)?,
            }
        }
        Ok(asked)
    }

    /// As [`Self::resolve`], and merges all queued misses.
    pub(super) fn resolve_all(&mut self, context: &mut MissContext<'_, '_, '_>) -> Result<usize> {
        let asked = self.resolve(context)?;
        // A single long pretoken gains nothing from merging side by side. It is spelled by its segments, most of
        // which are cached.
        if let [miss] = self.queues[WIDEST][..]
            && !is_segment(self.pending[miss].key)
        {
            self.queues[WIDEST].clear();
            self.spell_alone(miss, context)?;
        }
        if let Some(merges) = context.speller.canonical() {
            (0..=WIDEST).try_for_each(|width| self.merge(width, merges, context))?;
        }
        Ok(asked)
    }

    /// Asks the model for the ids of one miss.
    fn spell_alone(&mut self, index: usize, context: &mut MissContext<'_, '_, '_>) -> Result<()> {
        let MissContext { speller, cache, scratch, word_scratch, ticker, text, origins } = context;
        let (PendingPretoken { key, span, .. }, start) = (self.pending[index], self.ids.len());
        if let Some(bpe) = speller.model.as_bpe().filter(|_| is_segment(key)) {
            bpe.encode_segment(span.of(text.as_bytes()), &mut scratch.bpe, &mut self.ids, ticker)?;
        } else {
            let spelled = speller.spell((text, span), cache, (scratch, word_scratch), ticker);
            spelled.map_err(|error| placed(error, origins.slice(span)))?;
            try_alloc::extend(&mut self.ids, &scratch.ids)?;
        }
        self.set_ids(index, start);
        self.insert_into_cache(index, text.as_bytes(), cache);
        Ok(())
    }

    /// Queues a miss to be merged with others of its width, and merges them when there are enough. Repeated bytes are
    /// merged at once.
    fn queue_merge(
        &mut self,
        miss: usize,
        merges: &CanonicalMerges,
        context: &mut MissContext<'_, '_, '_>,
    ) -> Result<()> {
        let (length, start) = (self.pending[miss].span.len(), self.ids.len());
        if length > SHORT {
            let bytes = self.pending[miss].span.of(context.text.as_bytes());
            if merges.encode_repeats(bytes, &mut context.scratch.bpe, &mut self.ids)? {
                self.set_ids(miss, start);
                self.insert_into_cache(miss, context.text.as_bytes(), context.cache);
                return Ok(());
            }
        }
        let width = usize::from(length > Narrow::LONGEST) + usize::from(length > Wide::LONGEST);
        self.queues[width].push(miss);
        if self.queues[width].len() == MERGES { self.merge(width, merges, context) } else { Ok(()) }
    }

    /// Merges the queued misses of a width.
    fn merge(
        &mut self,
        width: usize,
        merges: &CanonicalMerges,
        context: &mut MissContext<'_, '_, '_>,
    ) -> Result<()> {
        let (queue, text) = (std::mem::take(&mut self.queues[width]), context.text.as_bytes());
        let wide = |pending: PendingPretoken| wide_input(pending.span.of(text));
        let widest = |pending: PendingPretoken| widest_input(pending.span.of(text));
        self.queues[width] = match width {
            0 => self.merge_rows::<Narrow>(queue, |pending| pending.key, merges, context)?,
            1 => self.merge_rows::<Wide>(queue, wide, merges, context)?,
            _ => self.merge_rows::<Widest>(queue, widest, merges, context)?,
        };
        Ok(())
    }

    /// Sorts misses by length, the shortest first. Without this, text costs 3 % more instructions and random
    /// letters 8 %.
    fn sort_by_length(&mut self, queue: &mut Vec<usize>) {
        // Where the misses of each length begin: after all shorter ones.
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

    /// Merges these misses side by side, and returns their vector, cleared.
    fn merge_rows<W: Width>(
        &mut self,
        mut queue: Vec<usize>,
        row: impl Fn(PendingPretoken) -> W::Input,
        merges: &CanonicalMerges,
        context: &mut MissContext<'_, '_, '_>,
    ) -> Result<Vec<usize>> {
        if queue.len() > MERGE_BATCH {
            self.sort_by_length(&mut queue);
        }
        // A group that is not full takes nearly as long as a full one, so the shortest misses are put into it.
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
                self.insert_into_cache(miss, context.text.as_bytes(), context.cache);
            }
        }
        queue.clear();
        Ok(queue)
    }

    /// Gives all ids to a sink: the waiting ones, with those of the misses between them.
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
