//! A batch of lookups: pretokens that the split found, whose entries are being prefetched.
//!
//! In: where pretokens end in a text. Out: their ids, in order, into a buffer that is flushed to a sink; what
//! misses the cache is spelled at once by the [`Speller`], or goes to the [`MissQueue`], whose ids are
//! spliced in later.
use tokenmill_kernels::Prefetcher;
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::short_table::lookup::LookupKey;
use tokenmill_kernels::short_table::{self, INLINE, Key};

use super::cache::PretokenCache;
use super::keys::{WORD, is_cacheable, length_of_word};
use super::misses::MissQueue;
use super::speller::{Segments, Speller};
use crate::error::Result;
use crate::ids::TokenId;
use crate::span::Span;

/// Lookups in a batch.
pub(super) const BATCH: usize = 256;

/// A batch that took this much work to find is resolved at once, so that the watch is polled in time.
const MAX_WORK: usize = 1 << 15;

/// The most ids that wait for the sink. Misses of one batch may stay queued while the next ones are resolved, and the
/// inline ids of all lookups of a batch must fit.
const MAX_IDS: usize = 3 * BATCH * INLINE;

/// With this many entries in the miss queue, all are resolved after the batch.
const MAX_PENDING: usize = 2 * BATCH;

/// Text is prefetched this many bytes ahead: the hardware does not prefetch across pages. Without this, repeated
/// text takes 1 to 4 % longer.
pub(in super::super) const PREFETCH_BYTES: usize = 2 << 10;

/// Segments that are found at once.
const SEGMENTS: usize = 32;

/// Characters of four bytes begin with this byte or a larger one.
const LEAD_OF_FOUR: u8 = 0xF0;

/// The result of a lookup.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lookup {
    /// The ids were in the cache.
    Hit,
    /// A miss that was spelled at once, and its number of ids.
    Spelled(usize),
    /// A miss that waits in the miss queue, and its hash.
    Miss(u64),
}

/// Lookups in flight, and ids that wait for the sink.
///
/// A lookup is that of a pretoken, or of a segment of one that is not worth caching whole, or of a text that is not
/// split: segments repeat where those do not.
#[derive(Debug)]
pub(in super::super) struct LookupBatch {
    level: Level,
    lookups: [LookupKey; BATCH],
    pub(super) length: usize,
    /// Where the first lookup begins in the text, and where the last one ends.
    start: usize,
    pub(super) end: usize,
    /// The work that finding them took.
    pub(super) work: usize,
    /// Prefetched while lookups are pushed: the rest of the text, and what the caller encodes next.
    rest: Prefetcher,
    next: Prefetcher,
    predictor: SpellPredictor,
    /// Ids that wait for the sink; the first `waiting` are set. The ids of the misses belong between them.
    ids: [TokenId; MAX_IDS],
    pub(super) waiting: usize,
    pub(in super::super) misses: MissQueue,
}

impl Default for LookupBatch {
    fn default() -> Self {
        Self {
            level: Level::Portable,
            lookups: [LookupKey::default(); BATCH],
            length: 0,
            start: 0,
            end: 0,
            work: 0,
            rest: Prefetcher::default(),
            next: Prefetcher::default(),
            predictor: SpellPredictor::default(),
            ids: [0; MAX_IDS],
            waiting: 0,
            misses: MissQueue::default(),
        }
    }
}

impl LookupBatch {
    /// Sets what the caller encodes next. It is prefetched at its own pace during one call, while texts are pushed.
    pub(in super::super) fn set_prefetch(&mut self, next: Prefetcher) {
        (self.rest, self.next) = (Prefetcher::default(), next);
    }

    /// Begins a new text.
    pub(super) fn begin_text(&mut self, text: &[u8]) {
        self.level = cpu::level();
        let ahead =
            text.get(PREFETCH_BYTES..).map(|rest| Prefetcher::new(rest).paced(rest.len(), rest.len()));
        self.rest = ahead.unwrap_or_default();
        self.discard();
        self.restart(0);
    }

    /// Drops ids and misses that were not flushed.
    pub(super) fn discard(&mut self) {
        self.waiting = 0;
        self.misses.clear();
    }

    /// The ids that wait for the sink.
    pub(super) fn ids(&self) -> &[TokenId] {
        &self.ids[..self.waiting]
    }

    /// May ids and misses wait until the next batch is resolved?
    pub(super) fn may_wait(&self) -> bool {
        self.waiting + BATCH * INLINE < MAX_IDS
            && self.misses.len() < MAX_PENDING
            && self.misses.id_count() < MAX_IDS
    }

    /// Must the batch be resolved before more is pushed?
    pub(super) fn is_full(&self) -> bool {
        self.length == BATCH || self.work >= MAX_WORK
    }

    /// Empties the batch; the next lookup begins at this byte.
    pub(super) fn restart(&mut self, at: usize) {
        (self.length, self.start, self.end, self.work) = (0, at, at, 0);
    }

    /// Pushes the pretokens with these ends, up to the first long one or until the batch is full; returns how many.
    /// Their keys get the bits of `mark`.
    #[inline]
    pub(super) fn push_short(
        &mut self,
        text: &[u8],
        ends: &[usize],
        mark: Key,
        cache: &PretokenCache,
    ) -> usize {
        let free = &mut self.lookups[self.length..];
        let count = cache.table().prefetch_keys(self.level, text, self.end, ends, mark, free);
        if let Some(last) = count.checked_sub(1) {
            self.advance_to(ends[last]);
        }
        self.length += count;
        count
    }

    /// Pushes words that begin at `starts`, up to the first long one or until the batch is full; returns how many.
    #[inline]
    pub(super) fn push_words(
        &mut self,
        text: &[u8],
        (starts, ends): (&[usize], &[usize]),
        cache: &PretokenCache,
    ) -> usize {
        let free = &mut self.lookups[self.length..];
        let count = cache.table().prefetch_spans(self.level, text, (starts, ends), WORD, free);
        if let Some(last) = count.checked_sub(1) {
            self.advance_to(ends[last]);
        }
        self.length += count;
        count
    }

    /// Pushes the next segments of a pretoken: at least one, at most [`SEGMENTS`]. Returns whether one of them is
    /// longer than a key; `None` at the end of the pretoken.
    pub(super) fn push_segments(
        &mut self,
        text: &[u8],
        segments: &mut Segments<'_>,
        cache: &PretokenCache,
    ) -> Option<bool> {
        let mut ends = [0; SEGMENTS];
        debug_assert!(self.length < BATCH, "a full batch is resolved first");
        let wanted = (BATCH - self.length).min(SEGMENTS);
        let mut ends = segments.next_ends(&mut ends[..wanted]);
        self.work += ends.last()? - self.end;
        let mut has_long = false;
        while !ends.is_empty() {
            let free = &mut self.lookups[self.length..];
            let count = cache.table().prefetch_keys(self.level, text, self.end, ends, segments.mark(), free);
            self.length += count;
            if let Some(last) = count.checked_sub(1) {
                self.advance_to(ends[last]);
            }
            ends = &ends[count..];
            if let Some((&end, rest)) = ends.split_first() {
                has_long = true;
                self.push(segments.long_key(&text[self.end..end]), end, cache);
                ends = rest;
            }
        }
        Some(has_long)
    }

    /// Pushes one lookup. The batch must not be full.
    pub(super) fn push(&mut self, key: Key, end: usize, cache: &PretokenCache) {
        let hash = short_table::hash(key);
        cache.prefetch(hash);
        self.lookups[self.length % BATCH] = LookupKey { key, hash, end };
        self.length += 1;
        self.advance_to(end);
    }

    /// Copies the ids of hits, from lookup `from` on, up to the first that it cannot settle: a miss, a long
    /// pretoken, which its bytes must confirm, or ids that do not fit. Returns how many hits there were, and
    /// whether the lookup after them is certainly a miss.
    #[inline]
    pub(super) fn emit_hits(&mut self, from: usize, length: usize, cache: &PretokenCache) -> (usize, bool) {
        let (lookups, buffer) = (&self.lookups[from..length], &mut self.ids[self.waiting..]);
        let given = cache.table().emit_hits(self.level, lookups, cache.spilled_ids(), buffer);
        self.waiting += given.ids;
        (given.keys, given.is_miss)
    }

    /// Resolves a lookup that [`Self::emit_hits`] did not settle.
    ///
    /// A miss is spelled at once ([`Speller::spell_byte_runs`]) if its ids surely fit and the predictor expects
    /// that to succeed.
    pub(super) fn resolve(
        &mut self,
        (at, is_miss): (usize, bool),
        length: usize,
        text: &[u8],
        speller: Speller<'_>,
        cache: &mut PretokenCache,
    ) -> Result<Lookup> {
        let (LookupKey { key, hash, .. }, span) = (self.lookups[at], self.span(at));
        let pretoken = span.of(text);
        // The lookups after this one need the capacity that is reserved for them.
        let fits = |end: usize| end + (length - at) * INLINE < MAX_IDS;
        let value = if is_miss || !is_cacheable(key) { None } else { cache.get(key, hash) };
        let Some(ids) = value.as_ref().and_then(|value| cache.ids_of(value, pretoken)) else {
            let end = self.waiting + pretoken.len();
            if fits(end)
                && self.predictor.start_attempt()
                && let Some(count) = speller.spell_byte_runs(pretoken, key, &mut self.ids[self.waiting..end])
            {
                self.predictor.record_success();
                self.cache_spelled(key, hash, pretoken, count, cache);
                self.waiting += count;
                return Ok(Lookup::Spelled(count));
            }
            self.misses.push(key, hash, span, self.waiting);
            return Ok(Lookup::Miss(hash));
        };
        let end = self.waiting + ids.len();
        if fits(end) {
            self.ids[self.waiting..end].copy_from_slice(ids);
            self.waiting = end;
        } else {
            self.misses.push_resolved(span, self.waiting, ids)?;
        }
        Ok(Lookup::Hit)
    }

    /// Caches a pretoken that was spelled at once. After a streak of successes ([`STREAK`]) it is cached on second
    /// sight (at once without a doorkeeper), and never if it begins with a character of four bytes and became an id for
    /// each byte: there are a million such characters, and hardly any script in use has them. If all were cached, a
    /// first pass over rare scripts would take 1.2 to 2 times as long.
    fn cache_spelled(&self, key: Key, hash: u64, pretoken: &[u8], count: usize, cache: &mut PretokenCache) {
        let ids = &self.ids[self.waiting..][..count];
        if !is_cacheable(key) {
            return;
        }
        if !self.predictor.is_streak() {
            cache.insert(key, hash, pretoken, ids);
            return;
        }
        let begins_with_four = pretoken.iter().take(2).any(|&byte| byte >= LEAD_OF_FOUR);
        if !(count == pretoken.len() && begins_with_four) {
            cache.insert_on_second_sight(key, hash, pretoken, ids);
        }
    }

    /// Sets the end of the last lookup, and prefetches as many bytes as it covers.
    #[inline]
    fn advance_to(&mut self, end: usize) {
        self.rest.prefetch(end - self.end);
        self.next.prefetch(end - self.end);
        self.end = end;
    }

    #[inline]
    fn span(&self, at: usize) -> Span {
        let LookupKey { key, end, .. } = self.lookups[at];
        let start = match length_of_word(key) {
            Some(length) => end - length,
            None if at == 0 => self.start,
            None => self.lookups[at - 1].end,
        };
        Span::new(start, end)
    }
}

/// Predicts whether a miss can be spelled at once, from how often earlier attempts succeeded.
#[derive(Debug, Default)]
pub(super) struct SpellPredictor {
    /// Successes, less [`FAILURE_COST`] for each failure; never below 0, nor above twice a streak.
    score: u8,
    /// Misses that were skipped since the last attempt.
    skipped: u8,
}

const FAILURE_COST: u8 = 4;

/// At score 0 this many misses are skipped before one is tried.
const RETRY_INTERVAL: u8 = 16;

/// From this score on nearly every attempt succeeds, as for text in a script that the vocabulary hardly covers.
const STREAK: u8 = 120;

impl SpellPredictor {
    /// Begins an attempt, if the next miss should be tried. It counts as a failure until [`Self::record_success`].
    #[inline]
    pub(super) fn start_attempt(&mut self) -> bool {
        if self.score == 0 && self.skipped < RETRY_INTERVAL {
            self.skipped += 1;
            return false;
        }
        self.skipped = 0;
        self.score = self.score.saturating_sub(FAILURE_COST);
        true
    }

    /// The last attempt succeeded.
    #[inline]
    pub(super) fn record_success(&mut self) {
        self.score = self.score.saturating_add(FAILURE_COST + 1).min(2 * STREAK);
    }

    /// Did nearly all of the last attempts succeed?
    #[inline]
    pub(super) fn is_streak(&self) -> bool {
        self.score >= STREAK
    }
}
