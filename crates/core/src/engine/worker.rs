//! Workers: the mutable state of a call that encodes, and the pool in which workers wait between calls.
//!
//! In: a call that wants to work. Out: a worker. Thread `n` of a call tries slot `n` first, so it usually gets the
//! worker that thread `n` of the last call had. Taking and returning a worker never waits, so a fork at any moment
//! blocks nobody: a slot that stays locked in the child is skipped. The state of a worker never changes a result.
use std::sync::Arc;
#[cfg(not(all(loom, test)))]
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[cfg(all(loom, test))]
use loom::sync::Mutex;

use crate::aligned::Rewritten;
use crate::model::Scratch;
use crate::model::unigram::SumScratch;
use crate::pattern::ScanScratch;
use crate::threads;

use super::lookup::{CacheBudget, LookupBatch, MissQueue, PretokenCache};
use super::raw::WordScratch;

/// The mutable state that one call has for itself while it encodes.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    /// Buffers of rewritten text for normalization.
    pub(super) normalized: [Rewritten; 2],
    /// Buffers of rewritten text for pre-tokenization, one for each step.
    pub(super) pretokenized: Vec<Rewritten>,
    /// The buffers of the stages for one word.
    pub(super) word_scratch: WordScratch,
    /// Scratch of the scanner that splits a text.
    pub(super) split_scratch: Option<Box<ScanScratch>>,
    pub(super) batch: LookupBatch,
    pub(super) cache: PretokenCache,
    /// The buffers of words that depend on what is before them; made when a text has some.
    pub(super) sum_scratch: Option<Box<SumScratch>>,
    /// Raw words with the places of their tokens; made when offsets are first asked for.
    pub(super) word_spans: Option<Box<PretokenCache>>,
    /// When it was returned to the pool; none for the first slot, whose worker is never evicted.
    idle_since: Option<Instant>,
}

impl Worker {
    fn new(budget: &Arc<CacheBudget>) -> Self {
        Self {
            scratch: Scratch::default(),
            normalized: Default::default(),
            pretokenized: Vec::new(),
            word_scratch: WordScratch::default(),
            split_scratch: None,
            batch: LookupBatch::default(),
            cache: PretokenCache::new(budget),
            sum_scratch: None,
            word_spans: None,
            idle_since: None,
        }
    }

    /// Frees scratch that holds more than `max_bytes`.
    fn shrink(&mut self, max_bytes: usize) {
        if self.memory() > max_bytes {
            self.scratch = Scratch::default();
            self.normalized = Default::default();
            self.pretokenized = Vec::new();
            self.word_scratch = WordScratch::default();
            self.batch.misses = MissQueue::default();
            self.sum_scratch = None;
        }
    }

    /// Heap bytes of the scratch that grows with a text.
    pub(super) fn memory(&self) -> usize {
        let texts = self.normalized.iter().chain(&self.pretokenized);
        let texts: usize = texts.map(Rewritten::memory).sum();
        let sums = self.sum_scratch.as_ref().map_or(0, |scratch| scratch.memory());
        self.scratch.memory() + texts + sums + self.word_scratch.memory() + self.batch.misses.memory()
    }
}

/// The scratch that a worker in the first slot keeps between calls, in bytes; slot `n` keeps a fraction of 1 / (`n`
/// + 1), and at least an eighth.
const MAX_IDLE_SCRATCH: usize = 1 << 20;

/// The number of slots. A worker that finds no slot is dropped with its cache. Threads that share a tokenizer would
/// then make and drop workers with every call, and fragment the heap; some machines run this many threads. With two
/// slots loom can go through every order of steps.
const SLOTS: usize = if cfg!(all(loom, test)) { 2 } else { 64 };

/// A worker that has been idle for this long may be evicted, so that another one gets its share of the cache
/// budget. Threads that take turns on a tokenizer come back sooner. With a fixed share of half the budget instead,
/// repeated text takes 1.1 (English) to 2.6 (many languages) times as long, with a share of a sixty-fourth 3.2
/// times.
const EVICT_AFTER: Duration = Duration::from_millis(250);

/// The pool. A slot that another thread is using (or was using when the process forked) is skipped, and an empty
/// pool makes a new worker.
#[derive(Debug)]
pub(super) struct Workers {
    slots: [Mutex<Option<Box<Worker>>>; SLOTS],
    budget: Arc<CacheBudget>,
    /// When a search last ended without enough bytes.
    last_search: Mutex<Option<Instant>>,
}

impl Workers {
    /// A pool whose caches take at most `cache_bytes` together.
    pub(super) fn new(cache_bytes: usize) -> Self {
        Self {
            slots: std::array::from_fn(|_| Mutex::default()),
            budget: Arc::new(CacheBudget::new(cache_bytes)),
            last_search: Mutex::default(),
        }
    }

    /// The budget that the caches share.
    pub(super) fn budget(&self) -> &Arc<CacheBudget> {
        &self.budget
    }

    /// Runs `work` with a worker that no other call has.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.take();
        if worker.cache.was_denied() {
            self.evict_for(&mut worker, EVICT_AFTER);
        }
        let result = work(&mut worker);
        worker.cache.flush_counters();
        if let Some(cache) = &mut worker.word_spans {
            cache.flush_counters();
        }
        self.give_back(worker);
        result
    }

    /// All slots in the order in which this thread tries them: its own first, so that it has the same worker each
    /// time, and the slots of the lowest threads last, because those are used most.
    fn slots(&self) -> impl Iterator<Item = (usize, &Mutex<Option<Box<Worker>>>)> {
        let own = threads::number() % SLOTS;
        (own..SLOTS).chain((0..own).rev()).map(|slot| (slot, &self.slots[slot]))
    }

    fn take(&self) -> Box<Worker> {
        let idle = self.slots().find_map(|(_, slot)| slot.try_lock().ok()?.take());
        idle.unwrap_or_else(|| Box::new(Worker::new(&self.budget)))
    }

    fn give_back(&self, mut worker: Box<Worker>) {
        for (number, slot) in self.slots() {
            if let Ok(mut slot) = slot.try_lock()
                && slot.is_none()
            {
                worker.shrink(MAX_IDLE_SCRATCH / (number + 1).min(8));
                worker.idle_since = (number > 0).then(Instant::now);
                *slot = Some(worker);
                return;
            }
        }
    }

    /// Asks the budget again for the bytes that it denied this worker. Until it grants them, workers that have been
    /// idle for `idle` are evicted, beginning with the last slot, which is used least.
    #[cold]
    fn evict_for(&self, worker: &mut Worker, idle: Duration) {
        if worker.cache.retry_budget() {
            return;
        }
        // A search that found no idle worker a moment ago would find none now.
        let since_search = self.last_search.try_lock().ok().and_then(|last| last.map(|at| at.elapsed()));
        if since_search.is_none_or(|elapsed| elapsed >= idle) {
            for slot in self.slots.iter().rev() {
                let Ok(mut slot) = slot.try_lock() else { continue };
                let since = slot.as_ref().and_then(|worker| worker.idle_since);
                if since.is_some_and(|since| since.elapsed() >= idle) {
                    let evicted = slot.take();
                    drop(slot);
                    drop(evicted);
                    if worker.cache.retry_budget() {
                        return;
                    }
                }
            }
            if let Ok(mut last) = self.last_search.try_lock() {
                *last = Some(Instant::now());
            }
        }
        worker.cache.stop_retrying();
    }
}

#[cfg(all(loom, test))]
mod every_order;

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use tokenmill_kernels::short_table::hash;

    use super::super::lookup::key_of;
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn workers_of_calls_at_once_are_pooled_together() {
        let workers = Workers::new(1 << 20);
        let idle = || workers.slots.iter().filter(|slot| slot.lock().unwrap().is_some()).count();
        let taken: Vec<_> = (0..=SLOTS).map(|_| workers.take()).collect();
        assert_eq!(idle(), 0);
        for worker in taken {
            workers.give_back(worker);
        }
        assert_eq!(idle(), SLOTS);
        workers.with(|_| assert_eq!(idle(), SLOTS - 1));
        assert_eq!(idle(), SLOTS);
    }

    /// Inserts `count` pretokens, beginning with that of a number.
    fn fill(worker: &mut Worker, first: u64, count: u64) {
        for number in first..first + count {
            let pretoken = number.to_le_bytes();
            let key = key_of(&pretoken);
            worker.cache.insert(key, hash(key), &pretoken, &[7]);
        }
    }

    #[test]
    fn each_thread_of_a_call_has_its_own() {
        let (workers, both) = (Workers::new(1 << 20), Barrier::new(2));
        let turn = |inserts: bool| {
            threads::run(2, 2, &Unwatched, |_, _| {
                let mut worker = workers.take();
                both.wait();
                if inserts {
                    fill(&mut worker, threads::number() as u64, 1);
                }
                let known = [0, 1].map(|number: u64| key_of(&number.to_le_bytes()));
                let known = known.map(|key| worker.cache.get(key, hash(key)).is_some());
                both.wait();
                workers.give_back(worker);
                Ok(known)
            })
        };
        for inserts in [true, false, false] {
            assert_eq!(turn(inserts).unwrap(), [[true, false], [false, true]]);
        }
    }

    #[test]
    fn workers_that_are_idle_for_long_are_evicted() {
        let workers = Workers::new(1 << 20);
        let held = || workers.budget.bytes().1;
        let mut taken: Vec<_> = (0..16).map(|_| workers.take()).collect();
        for turn in 0..100 {
            for worker in &mut taken {
                fill(worker, 100 * turn, 100);
            }
        }
        assert!(taken.iter().all(|worker| worker.cache.was_denied()), "{}", held());
        let full = held();
        for worker in taken {
            workers.give_back(worker);
        }
        // No worker has been idle for that long.
        let mut worker = workers.take();
        workers.evict_for(&mut worker, Duration::MAX);
        assert!(held() == full && !worker.cache.was_denied());
        fill(&mut worker, 20_000, 10_000);
        assert!(held() == full && worker.cache.was_denied());
        // Evicts one worker after the other, until this one has all that it may hold.
        let mut turns = 0;
        while worker.cache.was_denied() {
            workers.evict_for(&mut worker, Duration::ZERO);
            assert!(!worker.cache.was_denied(), "{turns}");
            turns += 1;
            fill(&mut worker, 30_000 * turns, 30_000);
        }
        assert!((2..10).contains(&turns), "{turns}");
        // The rest is held by this worker alone: more than half of the budget, so it cannot double.
        for slot in &workers.slots {
            *slot.lock().unwrap() = None;
        }
        assert!(held() * 2 > 1 << 20, "{}", held());
    }

    #[test]
    fn a_full_cache_grows_when_the_budget_allows_it() {
        let workers = Workers::new(1 << 20);
        let (mut one, mut other) = (workers.take(), workers.take());
        fill(&mut other, 0, 100_000);
        assert!(!other.cache.was_denied());
        // The table is above its load limit, and not full yet.
        let count = (0..10_000).find(|&number| {
            fill(&mut one, number, 1);
            one.cache.was_denied()
        });
        let count = count.expect("the other has taken the bytes");
        let held = one.cache.held();
        workers.give_back(one);
        workers.give_back(other);
        let mut one = workers.take();
        workers.evict_for(&mut one, Duration::ZERO);
        fill(&mut one, count + 1, 1);
        assert!(one.cache.held() > held);
    }

    #[test]
    fn a_worker_without_a_table_gets_one_when_the_budget_allows_it() {
        let workers = Workers::new(100_000);
        let mut taken: Vec<_> = (0..4).map(|_| workers.take()).collect();
        let mut late = workers.take();
        while !late.cache.was_denied() {
            taken.push(std::mem::replace(&mut late, workers.take()));
        }
        fill(&mut late, 0, 1);
        let key = key_of(&0_u64.to_le_bytes());
        assert_eq!(late.cache.get(key, hash(key)), None);
        workers.give_back(late);
        for worker in taken {
            workers.give_back(worker);
        }
        let mut late = workers.take();
        workers.evict_for(&mut late, Duration::MAX);
        assert!(late.cache.was_denied());
        workers.evict_for(&mut late, Duration::ZERO);
        fill(&mut late, 0, 1);
        assert!(late.cache.get(key, hash(key)).is_some());
    }

    #[test]
    fn a_budget_of_nothing_is_never_asked_again() {
        let workers = Workers::new(0);
        assert!(!workers.take().cache.was_denied());
    }
}
