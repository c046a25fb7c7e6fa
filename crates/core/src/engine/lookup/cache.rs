//! The pretoken cache of one worker: it keeps the ids of pretokens, so that the model need not encode them again.
//!
//! In: the key of a pretoken, and after a miss its ids. Out: the ids of a hit. The caches of all workers of a
//! tokenizer keep to the bytes of one [`CacheBudget`]. A cache never changes a result.
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU64, AtomicUsize};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU64, AtomicUsize};

use tokenmill_kernels::short_table::{INLINE, Key, SHORT, ShortTable, Value};
use tokenmill_kernels::{OutOfMemory, try_alloc};

use super::admission::{Admission, Doorkeeper};
use super::keys::UNCACHED;
use crate::ids::{TokenId, to_u32};

/// A cache starts with `2^FIRST_BITS` buckets.
const FIRST_BITS: u32 = 8;

/// Below `2^LEAP_BITS` buckets it may grow by more than one step.
const LEAP_BITS: u32 = 16;

/// From `2^DOORKEEPER_BITS` buckets on it has a doorkeeper.
const DOORKEEPER_BITS: u32 = 13;

/// The bytes that all caches of a tokenizer may hold, unless the caller says otherwise.
pub(in super::super) const DEFAULT_CACHE_BYTES: usize = 32 << 20;

/// Load limits in sixteenths of the slots (a bucket has two): a cache grows at [`ROOMY`]. Where it cannot, it is
/// filled up to [`FULL`], with longer probes, and then cleared.
const ROOMY: usize = 10;
const FULL: usize = 14;

/// The most bytes and ids that are stored outside the table, for each of its buckets.
const BYTES_PER_BUCKET: usize = 16;
const IDS_PER_BUCKET: usize = 4;

/// As `IDS_PER_BUCKET`, for a cache that has a span for each token, too, and for a long word two numbers for each. With
/// 4, words of many tokens fill it, as those of CLIP do, and it is cleared long before its table is full.
const NUMBERS_PER_BUCKET: usize = 8;

/// Where the bytes and the ids of a long pretoken are stored. Its [`Value`] has zero as both lengths, which tells
/// it from those of short ones; a hit is confirmed by the bytes.
#[derive(Debug, Clone, Copy)]
struct LongEntry {
    bytes: u32,
    ids: u32,
    length: u16,
    count: u16,
}

impl LongEntry {
    fn of(value: &Value) -> Self {
        let [bytes, ids, sizes] = value.words;
        Self { bytes, ids, length: (sizes >> 16) as u16, count: sizes as u16 }
    }

    fn value(self) -> Value {
        let sizes = u32::from(self.length) << 16 | u32::from(self.count);
        Value { words: [self.bytes, self.ids, sizes], inline_len: 0, spilled_len: 0 }
    }

    fn ranges(self) -> (Range<usize>, Range<usize>) {
        let (bytes, ids) = (self.bytes as usize, self.ids as usize);
        (bytes..bytes + usize::from(self.length), ids..ids + usize::from(self.count))
    }
}

/// The cache of one worker.
#[derive(Debug)]
pub(in super::super) struct PretokenCache {
    table: ShortTable,
    /// With this many entries the table grows; where it cannot, it is filled further, and then cleared.
    max_entries: usize,
    /// The bytes of pretokens that are longer than a key.
    bytes: Vec<u8>,
    /// The ids of these pretokens, and of those with more ids than an entry holds.
    ids: Vec<TokenId>,
    /// The most ids that are stored outside the table, for each of its buckets.
    ids_per_bucket: usize,
    budget: Arc<CacheBudget>,
    /// Bytes of the budget that this cache holds.
    held: usize,
    /// Bytes that the budget denied because other workers hold them; 0 if none were, or if this cache holds too
    /// much itself.
    denied: usize,
    lookups: u64,
    misses: u64,
    admission: Admission,
}

/// A copy with this capacity. To grow in place would copy all of the old capacity, most of which may be unused.
fn copied<T: Copy>(items: &[T], capacity: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut copied = try_alloc::vec(capacity)?;
    copied.extend_from_slice(items);
    Ok(copied)
}

impl PretokenCache {
    /// An empty cache. If the budget has no bytes left, it stays empty until [`Self::retry_budget`] succeeds; if the
    /// memory cannot be allocated, or the limit is below the size of the first table, it stays empty.
    pub(in super::super) fn new(budget: &Arc<CacheBudget>) -> Self {
        Self::with_ids_per_bucket(budget, IDS_PER_BUCKET)
    }

    /// As [`Self::new`], for entries that have an id and a span for each token.
    pub(in super::super) fn for_spans(budget: &Arc<CacheBudget>) -> Self {
        Self::with_ids_per_bucket(budget, NUMBERS_PER_BUCKET)
    }

    fn with_ids_per_bucket(budget: &Arc<CacheBudget>, ids_per_bucket: usize) -> Self {
        let mut cache = Self {
            table: ShortTable::new(0),
            bytes: Vec::new(),
            ids: Vec::new(),
            ids_per_bucket,
            budget: Arc::clone(budget),
            held: 0,
            denied: 0,
            max_entries: 0,
            lookups: 0,
            misses: 0,
            admission: Admission::default(),
        };
        cache.allocate();
        cache
    }

    /// The bytes of a cache with `2^bits` buckets.
    fn memory_of(&self, bits: u32) -> usize {
        let doorkeeper = if bits >= DOORKEEPER_BITS { Doorkeeper::MEMORY } else { 0 };
        let outside = BYTES_PER_BUCKET + self.ids_per_bucket * size_of::<TokenId>();
        ShortTable::memory_of(bits) + (outside << bits) + doorkeeper
    }

    /// Makes the smallest table, if the budget allows it.
    fn allocate(&mut self) {
        if self.take(self.memory_of(FIRST_BITS)) && self.grow(FIRST_BITS).is_err() {
            self.give_back(self.memory_of(FIRST_BITS));
        }
    }

    /// Grows to `2^bits` buckets, for which the budget was taken. Nothing changes if the memory cannot be allocated.
    fn grow(&mut self, bits: u32) -> Result<(), OutOfMemory> {
        let bytes = copied(&self.bytes, BYTES_PER_BUCKET << bits)?;
        let ids = copied(&self.ids, self.ids_per_bucket << bits)?;
        let table = self.table.grown(bits)?;
        // Made last, because it stays: after a failure before this, the bytes taken for it are given back.
        if bits >= DOORKEEPER_BITS {
            self.admission.add_doorkeeper()?;
        }
        self.table = table;
        (self.bytes, self.ids) = (bytes, ids);
        self.max_entries = ROOMY << bits >> 3;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.budget.give_back(bytes);
        self.held -= bytes;
    }

    fn take(&mut self, bytes: usize) -> bool {
        let taken = self.budget.take(bytes);
        self.held += if taken { bytes } else { 0 };
        let others_hold_them = !taken && self.held.saturating_add(bytes) <= self.budget.bytes().0;
        self.denied = if others_hold_them { bytes } else { 0 };
        taken
    }

    /// Bytes of the budget that this cache holds.
    #[cfg(test)]
    pub(in super::super) fn held(&self) -> usize {
        self.held
    }

    /// Do other workers hold bytes that this cache asked for?
    #[inline]
    pub(in super::super) fn was_denied(&self) -> bool {
        self.denied > 0
    }

    /// Asks again for denied bytes: makes the first table, or lets the next insertion grow the table. Returns
    /// whether nothing is denied any more.
    pub(in super::super) fn retry_budget(&mut self) -> bool {
        if self.was_denied() && self.held == 0 {
            self.allocate();
        } else if self.was_denied() && self.budget.has(self.denied) {
            self.stop_retrying();
        }
        !self.was_denied()
    }

    /// Forgets the bytes that were denied, if there is a table at all; a later insertion tries to grow it again.
    pub(in super::super) fn stop_retrying(&mut self) {
        if self.held > 0 {
            self.denied = 0;
            self.max_entries = ROOMY << self.table.bits() >> 3;
        }
    }

    #[inline]
    pub(in super::super) fn get(&self, key: Key, hash: u64) -> Option<Value> {
        self.table.get(key, hash)
    }

    #[inline]
    pub(in super::super) fn prefetch(&self, hash: u64) {
        self.table.prefetch(hash);
    }

    /// The table, to look up a batch of keys.
    #[inline]
    pub(in super::super) fn table(&self) -> &ShortTable {
        &self.table
    }

    /// The ids that are stored outside the table.
    #[inline]
    pub(in super::super) fn spilled_ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// The ids of a value; `None` where it belongs to another pretoken with the same key, or to an empty slot.
    #[inline]
    pub(in super::super) fn ids_of<'a>(&'a self, value: &'a Value, pretoken: &[u8]) -> Option<&'a [TokenId]> {
        if value.inline_len == 0 { self.spilled_ids_of(value, pretoken) } else { Some(value.ids()) }
    }

    /// The ids of a value that holds none itself.
    pub(super) fn spilled_ids_of(&self, value: &Value, pretoken: &[u8]) -> Option<&[TokenId]> {
        let count = usize::from(value.spilled_len);
        if count > 0 {
            let start = value.words[0] as usize;
            return self.ids.get(start..start + count);
        }
        let (start, ids) = LongEntry::of(value).ranges();
        let is_same = !pretoken.is_empty() && self.bytes.get(start) == Some(pretoken);
        if is_same { self.ids.get(ids) } else { None }
    }

    /// Inserts the ids of a pretoken that was a miss, if it is admitted.
    pub(in super::super) fn insert(&mut self, key: Key, hash: u64, pretoken: &[u8], ids: &[TokenId]) {
        let Ok(count) = u16::try_from(ids.len()) else { return };
        if self.held == 0 || key == UNCACHED || count == 0 {
            return;
        }
        if self.table.bits() >= DOORKEEPER_BITS && !self.admission.admits(pretoken.len(), hash) {
            return;
        }
        let is_long = pretoken.len() > SHORT;
        let is_spilled = is_long || ids.len() > INLINE;
        // The same pretoken may be twice in a batch; a short one would spill its ids twice. A long one is stored again,
        // since the entry under its key may be another pretoken's.
        if is_spilled && !is_long && self.get(key, hash).is_some() {
            return;
        }
        let bytes = if is_long { pretoken } else { &[] };
        let is_full = |cache: &Self| {
            let buckets = 1 << cache.table.bits();
            cache.table.len() >= cache.max_entries
                || cache.bytes.len() + bytes.len() > buckets * BYTES_PER_BUCKET
                || (is_spilled && cache.ids.len() + ids.len() > buckets * cache.ids_per_bucket)
        };
        if is_full(self) {
            self.grow_or_clear();
            if is_full(self) {
                return;
            }
        }
        let value = if is_spilled {
            let first_id = to_u32(self.ids.len());
            self.ids.extend_from_slice(ids);
            let first_byte = to_u32(self.bytes.len());
            self.bytes.extend_from_slice(bytes);
            if is_long {
                LongEntry { bytes: first_byte, ids: first_id, length: pretoken.len() as u16, count }.value()
            } else {
                Value { words: [first_id, 0, 0], inline_len: 0, spilled_len: count }
            }
        } else {
            Value::of(ids)
        };
        // If all slots for this key are taken, one of their entries is replaced.
        if !self.table.insert(key, hash, value) {
            self.table.replace(key, hash, value);
        }
    }

    /// As [`Self::insert`], for a pretoken that costs little to spell again: on second sight if there is a
    /// doorkeeper, else at once.
    pub(super) fn insert_on_second_sight(&mut self, key: Key, hash: u64, pretoken: &[u8], ids: &[TokenId]) {
        if self.admission.admits_on_second_sight(hash) {
            self.insert(key, hash, pretoken, ids);
        }
    }

    /// By how many bits the table may grow, the most first. Growing moves all entries, and the pages of tables that
    /// were soon outgrown took 2 to 10 % of a first pass over ten megabytes. So small tables become sixteen times
    /// as large, if half of the budget stays free for other workers and the miss rate is low, and else four times;
    /// larger ones four times, and the largest twice. Where the budget denies a step, the next smaller one is tried.
    fn growth_steps(&self) -> &'static [u32] {
        let (bits, (limit, taken)) = (self.table.bits(), self.budget.bytes());
        let leap = || self.memory_of(bits + 4) - self.memory_of(bits);
        match LEAP_BITS.saturating_sub(bits) {
            0 => &[1],
            4.. if !self.admission.is_miss_rate_high() && taken.saturating_add(leap()) <= limit / 2 => {
                &[4, 2, 1]
            }
            _ => &[2, 1],
        }
    }

    /// Grows the table. If the budget or the memory does not allow that, the table is filled further and then
    /// cleared; if the bytes or ids outside it are full, it is cleared at once. Frequent pretokens are soon cached
    /// again.
    #[cold]
    fn grow_or_clear(&mut self) {
        let bits = self.table.bits();
        let mut sizes = self.growth_steps().iter().map(|step| bits + step);
        let grown = sizes.find(|&grown| self.take(self.memory_of(grown) - self.memory_of(bits)));
        if let Some(grown) = grown {
            if self.grow(grown).is_ok() {
                return;
            }
            self.give_back(self.memory_of(grown) - self.memory_of(bits));
        }
        if self.table.len() >= self.max_entries && self.max_entries < FULL << bits >> 3 {
            self.max_entries = FULL << bits >> 3;
        } else {
            self.table.clear();
            self.bytes.clear();
            self.ids.clear();
        }
    }

    /// Counts lookups, of which `misses` went to the model, for the counters of the tokenizer and for [`Admission`],
    /// where `saved` is subtracted from the misses.
    #[inline]
    pub(in super::super) fn record(&mut self, lookups: usize, misses: usize, saved: usize) {
        self.lookups += lookups as u64;
        self.misses += misses as u64;
        self.admission.record(lookups, misses, saved);
    }

    /// Adds what was counted to the counters of the tokenizer.
    pub(in super::super) fn flush_counters(&mut self) {
        self.budget.add(std::mem::take(&mut self.lookups), std::mem::take(&mut self.misses));
    }
}

impl Drop for PretokenCache {
    fn drop(&mut self) {
        self.flush_counters();
        self.budget.give_back(self.held);
    }
}

/// The bytes that the caches of one tokenizer may hold together, and the counters of lookups and misses.
#[derive(Debug)]
pub(in super::super) struct CacheBudget {
    limit: usize,
    taken: AtomicUsize,
    lookups: AtomicU64,
    misses: AtomicU64,
}

impl CacheBudget {
    pub(in super::super) fn new(limit: usize) -> Self {
        Self { limit, taken: AtomicUsize::new(0), lookups: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The limit, and how much of it is taken.
    pub(in super::super) fn bytes(&self) -> (usize, usize) {
        (self.limit, self.taken.load(Relaxed))
    }

    /// Lookups, and those of them that went to the model, in calls that have ended.
    pub(in super::super) fn lookups(&self) -> (u64, u64) {
        (self.lookups.load(Relaxed), self.misses.load(Relaxed))
    }

    /// Adds the lookups and misses of a call.
    pub(super) fn add(&self, lookups: u64, misses: u64) {
        for (all, more) in [(&self.lookups, lookups), (&self.misses, misses)] {
            // Adding 0 to an atomic that threads share costs as much as adding another number.
            if more > 0 {
                all.fetch_add(more, Relaxed);
            }
        }
    }

    /// Takes bytes, all of them or none.
    pub(in super::super) fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        self.taken.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Are this many bytes free now?
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.taken.load(Relaxed).checked_add(bytes).is_some_and(|taken| taken <= self.limit)
    }

    /// Gives back bytes that were taken.
    pub(in super::super) fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::key_of;
    use super::*;
    use tokenmill_kernels::short_table;

    /// Looks up a pretoken of several ids, and inserts it after a miss; was it a hit?
    fn look_up(cache: &mut PretokenCache, number: u32) -> bool {
        let pretoken = number.to_le_bytes();
        let key = key_of(&pretoken);
        let hash = short_table::hash(key);
        let is_hit = cache.get(key, hash).is_some();
        if !is_hit {
            cache.insert(key, hash, &pretoken, &[7, 8]);
        }
        cache.record(1, usize::from(!is_hit), usize::from(is_hit));
        is_hit
    }

    fn memory_of(bits: u32) -> usize {
        PretokenCache::new(&Arc::new(CacheBudget::new(0))).memory_of(bits)
    }

    #[test]
    fn what_is_held_is_what_the_budget_says() {
        for limit in [memory_of(FIRST_BITS), memory_of(FIRST_BITS + 2) - 1, 1 << 20] {
            let budget = Arc::new(CacheBudget::new(limit));
            let mut cache = PretokenCache::new(&budget);
            for number in 0..20_000_u32 {
                let pretoken = format!("a pretoken of {number:9}");
                let key = key_of(pretoken.as_bytes());
                cache.insert(key, short_table::hash(key), pretoken.as_bytes(), &[number; 5]);
                let spilled = cache.bytes.capacity() + size_of::<TokenId>() * cache.ids.capacity();
                assert_eq!(cache.table.memory() + spilled + cache.admission.memory(), cache.held, "{number}");
                assert_eq!(budget.bytes(), (limit, cache.held));
            }
        }
    }

    #[test]
    fn what_stays_new_takes_little_memory_and_what_repeats_is_cached() {
        let budget = Arc::new(CacheBudget::new(DEFAULT_CACHE_BYTES));
        let mut cache = PretokenCache::new(&budget);
        assert!((0..200_000).all(|number| !look_up(&mut cache, number)));
        // A table for all of them would need eight times as many buckets.
        assert_eq!(cache.table.bits(), 14);
        let mut hits = 0;
        for _ in 0..3 {
            hits = (200_000..205_000).filter(|&number| look_up(&mut cache, number)).count();
        }
        assert!(hits > 4_800, "{hits}");
    }

    #[test]
    fn tables_leap_while_half_of_the_budget_is_left() {
        let leap = memory_of(LEAP_BITS);
        for (limit, bits) in [(2 * leap, LEAP_BITS), (2 * leap - 1, LEAP_BITS - 2)] {
            let mut cache = PretokenCache::new(&Arc::new(CacheBudget::new(limit)));
            // Nine in ten are hits.
            for number in 0..6_000 {
                for earlier in 1..=10 {
                    look_up(&mut cache, number / earlier);
                }
            }
            assert_eq!(cache.table.bits(), bits, "{limit}");
        }
    }

    #[test]
    fn what_mostly_repeats_is_cached_at_once() {
        let budget = Arc::new(CacheBudget::new(DEFAULT_CACHE_BYTES));
        let mut cache = PretokenCache::new(&budget);
        // Three in four are hits.
        for number in 0..100_000 {
            for earlier in [1, 2, 3, 4] {
                look_up(&mut cache, number / earlier);
            }
        }
        // All but those that were replaced in full buckets.
        let hits = (0..100_000).filter(|&number| look_up(&mut cache, number)).count();
        assert!(hits > 85_000, "{hits}");
    }
}
