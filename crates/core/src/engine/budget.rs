//! What the workers of one tokenizer share.
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The bytes that the workers of one tokenizer may hold together, and what their look-ups found.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    taken: AtomicUsize,
    lookups: AtomicU64,
    misses: AtomicU64,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: AtomicUsize::new(0), lookups: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// What may be taken, and what is.
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.limit, self.taken.load(Relaxed))
    }

    /// Look-ups of workers that have reported, and how many of them found nothing.
    pub(super) fn lookups(&self) -> (u64, u64) {
        (self.lookups.load(Relaxed), self.misses.load(Relaxed))
    }

    /// More look-ups of a worker.
    pub(super) fn report(&self, lookups: u64, misses: u64) {
        // To add nothing takes as long as to add much.
        for (all, more) in [(&self.lookups, lookups), (&self.misses, misses)] {
            if more > 0 {
                all.fetch_add(more, Relaxed);
            }
        }
    }

    /// Takes so many bytes, if they are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        self.taken.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Are so many bytes left?
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.taken.load(Relaxed).checked_add(bytes).is_some_and(|taken| taken <= self.limit)
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}
