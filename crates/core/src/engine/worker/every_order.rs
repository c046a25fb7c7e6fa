//! The pool and the budget in every order in which the steps of some threads can happen, as `make sanitize
//! only=loom` runs them: loom takes the place of the locks and the atomics.
#![allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for

use std::collections::BTreeSet;
use std::sync::Mutex as Plain;

use loom::sync::Arc as Shared;
use loom::thread;

use super::*;

/// The bytes of one empty cache.
fn bytes_of_one() -> usize {
    let budget = Arc::new(CacheBudget::new(usize::MAX));
    let cache = PretokenCache::new(&budget);
    assert!(cache.held() > 0);
    cache.held()
}

/// A pool, and the addresses of the workers that calls have now.
struct Watched {
    workers: Workers,
    /// A lock of the standard library, not of loom: it is not part of what is tested, and nothing happens while it
    /// is locked.
    taken: Plain<BTreeSet<usize>>,
}

impl Watched {
    fn new(cache_bytes: usize) -> Shared<Self> {
        Shared::new(Self { workers: Workers::new(cache_bytes), taken: Plain::default() })
    }

    /// Takes a worker, which no other call may have, and returns it.
    fn call(&self) {
        let worker = self.workers.take();
        let address = std::ptr::from_ref(&*worker).addr();
        assert!(self.taken.lock().unwrap().insert(address), "two calls have one worker");
        self.keeps_to_its_budget();
        assert!(self.taken.lock().unwrap().remove(&address));
        self.workers.give_back(worker);
    }

    /// Takes a worker and evicts others, as a call does if its cache was denied bytes.
    fn call_that_evicts(&self) {
        let mut worker = self.workers.take();
        self.workers.evict_for(&mut worker, Duration::ZERO);
        self.keeps_to_its_budget();
        self.workers.give_back(worker);
    }

    /// Two calls at once: one gets the worker of the first slot, whose cache was denied all bytes, the other that
    /// of the second slot, which has them and may be evicted.
    fn two_calls(&self) {
        let (first, second) = (self.workers.take(), self.workers.take());
        assert!(second.cache.was_denied());
        self.workers.give_back(second);
        self.workers.give_back(first);
    }

    fn keeps_to_its_budget(&self) {
        let (limit, taken) = self.workers.budget.bytes();
        assert!(taken <= limit, "{taken} of {limit} bytes");
    }

    /// The number of idle workers. Checks that their caches hold all bytes taken from the budget.
    fn idle(&self) -> usize {
        let slots: Vec<_> =
            self.workers.slots.iter().map(|slot| slot.try_lock().expect("no call is left")).collect();
        let idle: Vec<_> = slots.iter().filter_map(|slot| slot.as_ref()).collect();
        let held: usize = idle.iter().map(|worker| worker.cache.held()).sum();
        assert_eq!(self.workers.budget.bytes().1, held);
        idle.len()
    }
}

/// A thread with a stack that is large enough to make a worker; the threads of loom have a smaller one.
fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(1 << 16).spawn(work).unwrap()
}

/// Runs each call in a thread of its own.
fn at_once<const N: usize>(pool: &Shared<Watched>, calls: [fn(&Watched); N]) {
    let threads = calls.map(|call| {
        let pool = Shared::clone(pool);
        begin(move || call(&pool))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Checks every order in which threads are interrupted at most `times` times, for models that have too many orders.
fn stopped(times: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(times);
    builder.check(model);
}

#[test]
fn no_two_calls_have_one_worker() {
    loom::model(|| {
        let pool = Watched::new(usize::MAX);
        at_once(&pool, [Watched::call; 2]);
        assert!((1..=2).contains(&pool.idle()));
    });
}

#[test]
fn calls_that_follow_each_other_share_workers_too() {
    stopped(9, || {
        let pool = Watched::new(usize::MAX);
        at_once(&pool, [|pool| (0..2).for_each(|_| pool.call()); 2]);
        assert!((1..=2).contains(&pool.idle()));
    });
}

#[test]
fn a_worker_that_finds_no_slot_gives_its_bytes_back() {
    stopped(3, || {
        let pool = Watched::new(usize::MAX);
        at_once(&pool, [Watched::call; 3]);
        assert!((1..=SLOTS).contains(&pool.idle()));
    });
}

#[test]
fn workers_are_evicted_while_others_are_taken() {
    stopped(9, || {
        // Enough for the cache of one of the two.
        let pool = Watched::new(bytes_of_one());
        at_once(&pool, [Watched::two_calls]);
        at_once(&pool, [Watched::call_that_evicts, Watched::call]);
        assert!((1..=2).contains(&pool.idle()));
    });
}

#[test]
fn a_budget_is_never_exceeded_and_nothing_of_it_is_lost() {
    stopped(3, || {
        let budget = Shared::new(CacheBudget::new(3));
        let threads = [(); 3].map(|()| {
            let budget = Shared::clone(&budget);
            begin(move || {
                let is_taken = budget.take(2);
                assert!(budget.bytes().1 <= 3);
                if is_taken {
                    budget.give_back(2);
                }
                is_taken
            })
        });
        // One of them always gets bytes.
        assert!(threads.map(|thread| thread.join().unwrap()).contains(&true));
        assert_eq!(budget.bytes().1, 0);
    });
}
