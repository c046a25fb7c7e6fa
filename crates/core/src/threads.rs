//! The threads of one call: units of work in, results in the order of the units out.
//!
//! Each thread prefers the same units in every call: so that a worker finds the pretokens of a
//! repeated text in its cache. If a thread falls behind, the others take its units, and no thread
//! runs far ahead of the first free unit.
//!
//! There is no pool, so a fork has nothing to inherit. The calling thread works too, and polls the
//! watch every few milliseconds while it waits for the others. When a unit fails, the units before
//! it still run, so the error is the same for every number of threads.
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Kind, Result};
use crate::watch::{Watch, cancelled};

/// Minimum text per thread in bytes; fewer threads are started for less.
pub const BYTES_PER_THREAD: usize = 256 << 10;

/// Time between two polls while the calling thread waits.
const WAIT: Duration = Duration::from_millis(4);

/// Turns that a thread may be ahead of the first free unit.
const AHEAD: usize = 4;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of this thread within its call; 0 for the calling thread.
#[inline]
pub fn number() -> usize {
    NUMBER.get()
}

/// The number of threads for `bytes` of text; at most `allowed`, at least 1.
pub fn threads_for(bytes: usize, allowed: usize) -> usize {
    (bytes / BYTES_PER_THREAD).clamp(1, allowed.max(1))
}

/// Runs `work(unit, watch)` for every unit on up to `threads` threads. Returns the results in the
/// order of the units.
///
/// # Errors
/// The error of the first unit, in order, that failed; cancellation.
pub fn run<T: Send>(
    units: usize,
    threads: usize,
    watch: &dyn Watch,
    work: impl Fn(usize, &dyn Watch) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    // The states are zero-sized.
    let mut states = vec![(); threads.min(units).max(1)];
    run_with(units, &mut states, watch, |unit, (), watch| work(unit, watch))
}

/// As [`run`], with one thread for each of `states`, which it alone uses. With more than one state
/// the caller must not hold the interpreter lock: the other threads may need it.
///
/// # Errors
/// As [`run`].
pub fn run_with<S: Send, T: Send>(
    units: usize,
    states: &mut [S],
    watch: &dyn Watch,
    work: impl Fn(usize, &mut S, &dyn Watch) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    // Each thread uses its own slot alone: nobody ever waits for one.
    let slot = |state| Mutex::new((state, Vec::new()));
    let slots = try_alloc::collect::<_, Error>(states.iter_mut().map(|state| Ok(slot(state))))?;
    run_units(units, slots.len(), watch, &|thread, unit, watch| {
        let slot = slots.get(thread).and_then(|slot| slot.try_lock().ok());
        let mut slot = slot.ok_or_else(|| Error::internal("a thread without a slot of its own"))?;
        let (state, done) = &mut *slot;
        let result = work(unit, state, watch)?;
        Ok(try_alloc::push(done, (unit, result))?)
    })?;
    let mut results: Vec<Option<T>> = try_alloc::vec(units)?;
    results.resize_with(units, || None);
    for slot in slots {
        let (_, done) = slot.into_inner().map_err(|_| Error::internal("a thread panicked"))?;
        for (unit, result) in done {
            results[unit] = Some(result);
        }
    }
    let not_done = || Error::internal("a unit was not done");
    try_alloc::collect(results.into_iter().map(|result| result.ok_or_else(not_done)))
}

/// What a thread, given by its number, does with a unit.
type Work<'a> = dyn Fn(usize, usize, &dyn Watch) -> Result<()> + Sync + 'a;

/// Does all units on up to `threads` threads. It is compiled once, for every kind of work.
#[allow(clippy::disallowed_methods)] // they are waited for without the interpreter lock, and end with the call
fn run_units(units: usize, threads: usize, watch: &dyn Watch, work: &Work<'_>) -> Result<()> {
    if threads == 0 {
        return Err(Error::internal("work without a thread to do it"));
    }
    let job = Job::new(units, threads, work)?;
    let caller = Member { job: &job, watch: Some(watch), unit: AtomicUsize::new(0) };
    let mut outcomes = Vec::with_capacity(threads);
    let mut interrupted = None;
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let mut started = 1;
        for number in 1..threads {
            let (tell, job) = (tell.clone(), &job);
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
                let member = Member { job, watch: None, unit: AtomicUsize::new(0) };
                // The caller receives every message before the scope ends.
                drop(tell.send(job.work(number, &member)));
            });
            // If the system has no more threads, the running ones do the work.
            if thread.is_err() {
                break;
            }
            started += 1;
        }
        drop(tell);
        outcomes.push(job.work(0, &caller));
        while outcomes.len() < started {
            match told.recv_timeout(WAIT) {
                Ok(outcome) => outcomes.push(outcome),
                Err(RecvTimeoutError::Timeout) => {
                    if interrupted.is_none()
                        && let Err(error) = watch.poll()
                    {
                        job.stop_at.store(0, Relaxed);
                        interrupted = Some(error);
                    }
                }
                // A thread ended without a message: it panicked, and the scope propagates that.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let failed = outcomes.into_iter().flatten().min_by_key(|(unit, _)| *unit);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// The units of one call.
struct Job<'a> {
    threads: usize,
    /// For each unit: has a thread started it?
    is_taken: Vec<AtomicBool>,
    /// All units before this one are taken.
    first: AtomicUsize,
    /// The first unit that failed, counted from 1; later units need not run. 0 if the caller cancelled.
    stop_at: AtomicUsize,
    work: &'a Work<'a>,
}

/// The first unit of one thread that failed (counted from 1), with its error; 0 if the caller cancelled.
type Outcome = Option<(usize, Error)>;

impl<'a> Job<'a> {
    fn new(units: usize, threads: usize, work: &'a Work<'a>) -> Result<Self> {
        let mut is_taken = try_alloc::vec(units)?;
        is_taken.resize_with(units, || AtomicBool::new(false));
        let stop_at = AtomicUsize::new(usize::MAX);
        Ok(Self { threads, is_taken, first: AtomicUsize::new(0), stop_at, work })
    }

    /// Takes a unit for this thread: the one of its turn; or the first free unit, if its turns are
    /// over or too far ahead.
    fn take(&self, turn: &mut usize) -> Option<usize> {
        let take = |unit: &usize| !self.is_taken[*unit].swap(true, Relaxed);
        loop {
            // Units after a failed one are skipped.
            let end = self.is_taken.len().min(self.stop_at.load(Relaxed));
            let first = (self.first.load(Relaxed)..end).find(|&unit| !self.is_taken[unit].load(Relaxed))?;
            if first > self.first.load(Relaxed) {
                self.first.fetch_max(first, Relaxed);
            }
            let is_near = *turn < end && *turn <= first + AHEAD * self.threads;
            let unit = if is_near { *turn } else { first };
            *turn += if is_near { self.threads } else { 0 };
            if take(&unit) {
                return Some(unit);
            }
        }
    }

    /// Runs units until none is left, as thread `number`. After a failure this thread still runs
    /// the units before the failed one, since the other threads may never have started.
    fn work(&self, number: usize, member: &Member<'_>) -> Outcome {
        // A hook may call from a worker thread of another call.
        let _outer = Outer(NUMBER.replace(number));
        let mut outcome: Outcome = None;
        let mut turn = number;
        while let Some(unit) = self.take(&mut turn) {
            member.unit.store(unit + 1, Relaxed);
            if let Err(error) = (self.work)(number, unit, member) {
                // An interrupt counts as a failure before the first unit, so that it is the error of the call. A
                // cancelled call has stored 0 already.
                let is_interrupt = matches!(error.kind, Kind::Raised { is_interrupt: true, .. });
                let own = if is_interrupt { 0 } else { unit + 1 };
                let first = self.stop_at.fetch_min(own, Relaxed);
                let failed = if first == 0 { 0 } else { own };
                if outcome.as_ref().is_none_or(|&(earlier, _)| failed < earlier) {
                    outcome = Some((failed, error));
                }
            }
        }
        outcome
    }
}

/// Restores a thread's number when a nested call ends.
struct Outer(usize);

impl Drop for Outer {
    fn drop(&mut self) {
        NUMBER.set(self.0);
    }
}

/// The watch of one thread: polls the caller's watch on the calling thread, and stops after a
/// failure of another thread.
struct Member<'a> {
    job: &'a Job<'a>,
    watch: Option<&'a dyn Watch>,
    unit: AtomicUsize,
}

impl Watch for Member<'_> {
    fn poll(&self) -> Result<()> {
        if let Some(watch) = self.watch
            && let Err(error) = watch.poll()
        {
            self.job.stop_at.store(0, Relaxed);
            return Err(error);
        }
        if self.job.stop_at.load(Relaxed) < self.unit.load(Relaxed) { Err(cancelled()) } else { Ok(()) }
    }

    fn progress(&self, phase: &'static str, done: u64, total: u64) {
        if let Some(watch) = self.watch {
            watch.progress(phase, done, total);
        }
    }
}

/// For tests of which units a thread takes.
#[allow(clippy::unnecessary_wraps)] // as work does
#[cfg(test)]
fn nothing(_: usize, _: usize, _: &dyn Watch) -> Result<()> {
    Ok(())
}

#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        for threads in [1, 2, 7] {
            let got = run(100, threads, &Unwatched, |unit, _| Ok(unit * unit)).unwrap();
            assert_eq!(got, (0..100).map(|unit| unit * unit).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_thread_has_its_turns() {
        let job = Job::new(100, 3, &nothing).unwrap();
        let mut turns = [0, 1, 2];
        for unit in 0..100 {
            assert_eq!(job.take(&mut turns[unit % 3]), Some(unit));
        }
        assert!(turns.iter_mut().all(|turn| job.take(turn).is_none()));
    }

    #[test]
    fn one_that_falls_behind_loses_units_and_none_is_left() {
        let job = Job::new(100, 2, &nothing).unwrap();
        let (mut fast, mut slow) = (0, 1);
        let mut taken = [false; 100];
        for step in 0..100 {
            let first = taken.iter().position(|is_taken| !is_taken).unwrap();
            let unit = job.take(if step % 10 == 9 { &mut slow } else { &mut fast }).unwrap();
            assert!(!taken[unit] && unit <= first + 2 * AHEAD, "{unit} before {first}");
            taken[unit] = true;
        }
        assert_eq!((job.take(&mut fast), job.take(&mut slow)), (None, None));
    }

    #[test]
    fn after_a_failure_nothing_is_begun_and_before_it_everything() {
        let job = Job::new(100, 2, &nothing).unwrap();
        let (mut one, mut other) = (0, 1);
        assert_eq!([job.take(&mut one), job.take(&mut one), job.take(&mut one)], [Some(0), Some(2), Some(4)]);
        job.stop_at.store(4, Relaxed);
        assert_eq!([job.take(&mut one), job.take(&mut one), job.take(&mut other)], [Some(1), Some(3), None]);
        job.stop_at.store(0, Relaxed);
        assert_eq!(job.take(&mut other), None);
    }

    #[test]
    fn threads_of_a_call_have_numbers() {
        let both = std::sync::Barrier::new(2);
        let numbers = |_, _: &dyn Watch| {
            both.wait();
            let within = run(3, 1, &Unwatched, |unit, _| Ok((unit, number()))).unwrap();
            assert_eq!(within, [(0, 0), (1, 0), (2, 0)]);
            Ok(number())
        };
        assert_eq!(run(2, 2, &Unwatched, numbers).unwrap(), [0, 1]);
        assert_eq!(number(), 0);
    }

    #[test]
    fn one_thread_alone_does_all_that_is_before_a_failure() {
        let done = Mutex::new(Vec::new());
        let work = |thread: usize, unit: usize, _: &dyn Watch| {
            if unit % 4 == 3 {
                return Err(Error::argument(format!("unit {unit}")));
            }
            done.try_lock().unwrap().push((thread, unit));
            Ok(())
        };
        let job = Job::new(20, 3, &work).unwrap();
        let member = Member { job: &job, watch: None, unit: AtomicUsize::new(0) };
        let (unit, error) = job.work(1, &member).unwrap();
        assert_eq!((unit, error.to_string().contains("unit 3")), (4, true));
        let done = done.into_inner().unwrap();
        assert_eq!(done.iter().filter(|&&(thread, unit)| thread == 1 && unit < 3).count(), 3);
    }

    #[test]
    fn an_error_stops_the_rest_and_comes_back() {
        let run = |threads| {
            run(
                1000,
                threads,
                &Unwatched,
                |unit, _| {
                    if unit == 3 { Err(Error::argument("three")) } else { Ok(()) }
                },
            )
        };
        for threads in [1, 4] {
            assert_eq!(run(threads).unwrap_err().to_string(), "three");
        }
    }

    #[test]
    fn the_first_error_wins_over_those_that_it_has_stopped() {
        for _ in 0..20 {
            let failing = |unit: usize, watch: &dyn Watch| -> Result<()> {
                if unit == 1 {
                    return Err(Error::argument("one"));
                }
                if unit == 0 {
                    return Ok(());
                }
                // Other threads run until they are cancelled.
                loop {
                    watch.poll()?;
                }
            };
            assert_eq!(run(8, 3, &Unwatched, failing).unwrap_err().to_string(), "one");
        }
    }

    #[test]
    fn an_interrupt_in_the_work_stops_units_before_it() {
        let interrupted = |unit: usize, watch: &dyn Watch| -> Result<()> {
            if unit == 1 {
                let error = Box::new(std::io::Error::other("by hand"));
                return Err(Kind::Raised { error, is_interrupt: true }.into());
            }
            loop {
                watch.poll()?;
            }
        };
        assert!(run(2, 2, &Unwatched, interrupted).is_err());
    }

    #[test]
    fn a_wish_to_stop_reaches_the_workers() {
        struct Stop;
        impl Watch for Stop {
            fn poll(&self) -> Result<()> {
                Err(cancelled())
            }
            fn progress(&self, _: &'static str, _: u64, _: u64) {}
        }
        let result = run(4, 2, &Stop, |_, watch| -> Result<()> {
            loop {
                watch.poll()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(matches!(result.unwrap_err().kind, crate::error::Kind::Cancelled));
    }
}

/// Every order in which the steps of some threads can happen, as `make sanitize only=loom` runs them.
#[allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
#[cfg(all(loom, test))]
mod every_order {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// The units that each of two threads takes until none is left.
    fn taken(job: Job<'static>) -> [Vec<usize>; 2] {
        let job = Arc::new(job);
        let threads = [0, 1].map(|number| {
            let (job, mut turn) = (Arc::clone(&job), number);
            thread::spawn(move || std::iter::from_fn(|| job.take(&mut turn)).collect::<Vec<_>>())
        });
        threads.map(|thread| thread.join().unwrap())
    }

    #[test]
    fn every_unit_is_taken_once() {
        let mut builder = loom::model::Builder::new();
        // Orders in which a thread is stopped more often than that take half a minute, and are fine.
        builder.preemption_bound = Some(4);
        builder.check(|| {
            let mut units = taken(Job::new(3, 2, &nothing).unwrap()).concat();
            units.sort_unstable();
            assert_eq!(units, [0, 1, 2]);
        });
    }

    #[test]
    fn every_unit_before_a_failure_is_taken() {
        loom::model(|| {
            let job = Job::new(3, 2, &nothing).unwrap();
            job.stop_at.store(2, Relaxed);
            let mut units = taken(job).concat();
            units.sort_unstable();
            assert_eq!(units, [0, 1]);
        });
    }
}
