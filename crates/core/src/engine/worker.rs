//! The mutable state of one call, and the list in which it rests between calls.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::aligned::Rewritten;
use crate::model::Scratch;
use crate::parallel;
use crate::pattern::WalkRoom;

use super::lookup::{CacheBudget, LookupBatch, MissQueue, PretokenCache};

/// What one call holds alone while it encodes.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    /// What normalization rewrites.
    pub(super) normalized: [Rewritten; 2],
    /// What pre-tokenization rewrites, a text for each step.
    pub(super) pretokenized: Vec<Rewritten>,
    /// What the split of a text writes to.
    pub(super) split_scratch: Option<Box<WalkRoom>>,
    pub(super) batch: LookupBatch,
    pub(super) cache: PretokenCache,
    /// When it was put to rest, where it is not the first one that is taken.
    rests_since: Option<Instant>,
}

impl Worker {
    fn new(budget: &Arc<CacheBudget>) -> Self {
        Self {
            scratch: Scratch::default(),
            normalized: Default::default(),
            pretokenized: Vec::new(),
            split_scratch: None,
            batch: LookupBatch::default(),
            cache: PretokenCache::new(budget),
            rests_since: None,
        }
    }

    /// Gives back scratch that is more than so many bytes.
    fn cut_down(&mut self, most: usize) {
        if self.memory() > most {
            self.scratch = Scratch::default();
            self.normalized = Default::default();
            self.pretokenized = Vec::new();
            self.batch.misses = MissQueue::default();
        }
    }

    /// Heap bytes of what a text may make large.
    pub(super) fn memory(&self) -> usize {
        let texts = self.normalized.iter().chain(&self.pretokenized);
        let texts: usize = texts.map(Rewritten::memory).sum();
        self.scratch.memory() + texts + self.batch.misses.memory()
    }
}

/// At most this much scratch rests with the worker at the first place, half of it with that at the second, a third with
/// the next, and so on down to an eighth: a worker that grew larger on some text is cut down.
const RESTING_BYTES: usize = 1 << 20;

/// As many workers may rest. One for which there is no place loses what it learnt, and threads that share a tokenizer
/// would make and lose workers with every call, and leave holes in memory: some machines run so many threads.
const PLACES: usize = 64;

/// One that has rested for so long may be dropped for the room that it holds. What many threads used together in turn has
/// not.
const LONG: Duration = Duration::from_millis(250);

/// Workers at rest. Taking and returning one never waits: a place that another thread is just
/// using (or was using when the process forked) is passed over, and an empty list makes a new
/// worker. Nothing that a worker holds changes a result.
#[derive(Debug)]
pub(super) struct Workers {
    places: [Mutex<Option<Box<Worker>>>; PLACES],
    budget: Arc<CacheBudget>,
    /// When there was last nobody to drop.
    searched: Mutex<Option<Instant>>,
}

impl Workers {
    /// What they learn takes so many bytes at most, together.
    pub(super) fn new(cache_bytes: usize) -> Self {
        Self {
            places: std::array::from_fn(|_| Mutex::default()),
            budget: Arc::new(CacheBudget::new(cache_bytes)),
            searched: Mutex::default(),
        }
    }

    /// What they have learnt.
    pub(super) fn budget(&self) -> &CacheBudget {
        &self.budget
    }

    /// Runs `work` with a worker of its own.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Worker) -> T) -> T {
        let mut worker = self.take();
        if worker.cache.was_denied() {
            self.find_room(&mut worker, LONG);
        }
        let result = work(&mut worker);
        worker.cache.flush_counters();
        self.put_back(worker);
        result
    }

    /// The places in the order in which this thread looks at them: first that of its number, so that it has the same
    /// worker each time, and last those of the threads that are always there.
    fn places(&self) -> impl Iterator<Item = (usize, &Mutex<Option<Box<Worker>>>)> {
        let own = parallel::number() % PLACES;
        (own..PLACES).chain((0..own).rev()).map(|place| (place, &self.places[place]))
    }

    fn take(&self) -> Box<Worker> {
        let resting = self.places().find_map(|(_, place)| place.try_lock().ok()?.take());
        resting.unwrap_or_else(|| Box::new(Worker::new(&self.budget)))
    }

    fn put_back(&self, mut worker: Box<Worker>) {
        for (number, place) in self.places() {
            if let Ok(mut place) = place.try_lock()
                && place.is_none()
            {
                worker.cut_down(RESTING_BYTES / (number + 1).min(8));
                worker.rests_since = (number > 0).then(Instant::now);
                *place = Some(worker);
                return;
            }
        }
    }

    /// Has this worker ask again for what it was refused, while others are dropped that have rested for so long: those
    /// first that are taken last.
    #[cold]
    fn find_room(&self, worker: &mut Worker, rested: Duration) {
        if worker.cache.retry_budget() {
            return;
        }
        // Where there was nobody a moment ago there is nobody now.
        let since_search = self.searched.try_lock().ok().and_then(|searched| searched.map(|at| at.elapsed()));
        if since_search.is_none_or(|elapsed| elapsed >= rested) {
            for place in self.places.iter().rev() {
                let Ok(mut place) = place.try_lock() else { continue };
                let since = place.as_ref().and_then(|worker| worker.rests_since);
                if since.is_some_and(|since| since.elapsed() >= rested) {
                    let dropped = place.take();
                    drop(place);
                    drop(dropped);
                    if worker.cache.retry_budget() {
                        return;
                    }
                }
            }
            if let Ok(mut searched) = self.searched.try_lock() {
                *searched = Some(Instant::now());
            }
        }
        worker.cache.stop_retrying();
    }
}

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use tokenmill_kernels::short_table::hash;

    use super::super::lookup::key_of;
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn those_that_worked_at_once_rest_together() {
        let workers = Workers::new(1 << 20);
        let resting = || workers.places.iter().filter(|place| place.lock().unwrap().is_some()).count();
        let taken: Vec<_> = (0..=PLACES).map(|_| workers.take()).collect();
        assert_eq!(resting(), 0);
        for worker in taken {
            workers.put_back(worker);
        }
        assert_eq!(resting(), PLACES);
        workers.with(|_| assert_eq!(resting(), PLACES - 1));
        assert_eq!(resting(), PLACES);
    }

    /// Has this worker learn so many pretokens, beginning with that of a number.
    fn learn(worker: &mut Worker, first: u64, count: u64) {
        for number in first..first + count {
            let pretoken = number.to_le_bytes();
            let key = key_of(&pretoken);
            worker.cache.insert(key, hash(key), &pretoken, &[7]);
        }
    }

    #[test]
    fn each_thread_of_a_call_has_its_own() {
        let (workers, both) = (Workers::new(1 << 20), Barrier::new(2));
        let turn = |learns: bool| {
            parallel::run(2, 2, &Unwatched, |_, _| {
                let mut worker = workers.take();
                both.wait();
                if learns {
                    learn(&mut worker, parallel::number() as u64, 1);
                }
                let known = [0, 1].map(|number: u64| key_of(&number.to_le_bytes()));
                let known = known.map(|key| worker.cache.get(key, hash(key)).is_some());
                both.wait();
                workers.put_back(worker);
                Ok(known)
            })
        };
        for learns in [true, false, false] {
            assert_eq!(turn(learns).unwrap(), [[true, false], [false, true]]);
        }
    }

    #[test]
    fn what_rested_for_long_makes_room_for_what_works() {
        let workers = Workers::new(1 << 20);
        let held = || workers.budget.bytes().1;
        let mut taken: Vec<_> = (0..16).map(|_| workers.take()).collect();
        for turn in 0..100 {
            for worker in &mut taken {
                learn(worker, 100 * turn, 100);
            }
        }
        assert!(taken.iter().all(|worker| worker.cache.was_denied()), "{}", held());
        let full = held();
        for worker in taken {
            workers.put_back(worker);
        }
        // Nothing has rested for so long.
        let mut worker = workers.take();
        workers.find_room(&mut worker, Duration::MAX);
        assert!(held() == full && !worker.cache.was_denied());
        learn(&mut worker, 20_000, 10_000);
        assert!(held() == full && worker.cache.was_denied());
        // One after the other is dropped, until it has all that it may ask for.
        let mut turns = 0;
        while worker.cache.was_denied() {
            workers.find_room(&mut worker, Duration::ZERO);
            assert!(!worker.cache.was_denied(), "{turns}");
            turns += 1;
            learn(&mut worker, 30_000 * turns, 30_000);
        }
        assert!((2..10).contains(&turns), "{turns}");
        // What it holds alone: twice as much would be too much.
        for place in &workers.places {
            *place.lock().unwrap() = None;
        }
        assert!(held() * 2 > 1 << 20, "{}", held());
    }

    #[test]
    fn one_that_is_too_full_grows_when_there_is_room() {
        let workers = Workers::new(1 << 20);
        let (mut one, mut other) = (workers.take(), workers.take());
        learn(&mut other, 0, 100_000);
        assert!(!other.cache.was_denied());
        // More than there should be in its table, and less than there may be.
        let count = (0..10_000).find(|&number| {
            learn(&mut one, number, 1);
            one.cache.was_denied()
        });
        let count = count.expect("the other has taken the room");
        let held = one.cache.held();
        workers.put_back(one);
        workers.put_back(other);
        let mut one = workers.take();
        workers.find_room(&mut one, Duration::ZERO);
        learn(&mut one, count + 1, 1);
        assert!(one.cache.held() > held);
    }

    #[test]
    fn one_that_came_too_late_learns_when_there_is_room() {
        let workers = Workers::new(100_000);
        let mut taken: Vec<_> = (0..4).map(|_| workers.take()).collect();
        let mut late = workers.take();
        while !late.cache.was_denied() {
            taken.push(std::mem::replace(&mut late, workers.take()));
        }
        learn(&mut late, 0, 1);
        let key = key_of(&0_u64.to_le_bytes());
        assert_eq!(late.cache.get(key, hash(key)), None);
        workers.put_back(late);
        for worker in taken {
            workers.put_back(worker);
        }
        let mut late = workers.take();
        workers.find_room(&mut late, Duration::MAX);
        assert!(late.cache.was_denied());
        workers.find_room(&mut late, Duration::ZERO);
        learn(&mut late, 0, 1);
        assert!(late.cache.get(key, hash(key)).is_some());
    }

    #[test]
    fn a_budget_of_nothing_is_never_asked_again() {
        let workers = Workers::new(0);
        assert!(!workers.take().cache.was_denied());
    }
}
