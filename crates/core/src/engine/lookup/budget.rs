//! What the caches of all workers of one tokenizer share: a limit on their bytes, and their counters.
use std::sync::atomic::Ordering::Relaxed;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU64, AtomicUsize};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU64, AtomicUsize};

/// The bytes that the caches of one tokenizer may hold together, and how often they were asked.
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

    /// Lookups and misses of calls that have ended.
    pub(in super::super) fn lookups(&self) -> (u64, u64) {
        (self.lookups.load(Relaxed), self.misses.load(Relaxed))
    }

    /// Adds the lookups and misses of a call.
    pub(super) fn add(&self, lookups: u64, misses: u64) {
        for (all, more) in [(&self.lookups, lookups), (&self.misses, misses)] {
            // An atomic that threads share costs as much to leave as it is as to change.
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

    /// Could these bytes be taken now?
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.taken.load(Relaxed).checked_add(bytes).is_some_and(|taken| taken <= self.limit)
    }

    /// Gives back bytes that were taken.
    pub(in super::super) fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}
