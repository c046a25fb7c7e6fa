//! Threads for one call: units of work in turns, results in their order.
//!
//! Each thread has its turns: when the same text comes again it does the same units, with the worker that has met their words.
//! One that falls behind loses units to the others, which are never far ahead of the first that nobody has begun.
//!
//! There is no pool, so a fork has nothing to inherit. The calling thread works too and keeps the
//! watch; while it waits for the others it asks every few milliseconds. When a unit fails, the
//! units before it still run, so that the error that comes back is the same for every number of
//! threads.
use std::cell::Cell;
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

/// A thread is started only when each gets at least this much text, in bytes.
pub const BYTES_PER_THREAD: usize = 256 << 10;

/// How often a thread that waits for others asks its watch.
const WAIT: Duration = Duration::from_millis(4);

/// Turns that a thread may be ahead of the first unit that nobody has begun.
const AHEAD: usize = 4;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of this thread among those of the call that it works for; 0 for the one that called.
#[inline]
pub fn number() -> usize {
    NUMBER.get()
}

/// How many threads `bytes` of text deserve when the caller allows `allowed`.
pub fn threads_for(bytes: usize, allowed: usize) -> usize {
    (bytes / BYTES_PER_THREAD).clamp(1, allowed.max(1))
}

/// Runs `work(unit, watch)` for every unit on up to `threads` threads; results come back in the
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
    // They take no memory.
    let mut states = vec![(); threads.min(units).max(1)];
    run_with(units, &mut states, watch, |unit, (), watch| work(unit, watch))
}

/// As [`run`], with a thread for each of `states`, which it alone uses. With more than one the caller must not hold the
/// interpreter lock: the others may need it.
///
/// # Errors
/// As [`run`].
#[allow(clippy::disallowed_methods)] // they are waited for without the interpreter lock, and end with the call
pub fn run_with<S: Send, T: Send>(
    units: usize,
    states: &mut [S],
    watch: &dyn Watch,
    work: impl Fn(usize, &mut S, &dyn Watch) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let job = Job::new(units, states.len(), work)?;
    let Some((own, others)) = states.split_first_mut() else {
        return Err(Error::internal("work without a thread to do it"));
    };
    let caller = Member { job: &job, watch: Some(watch), unit: AtomicUsize::new(0) };
    let mut outcomes = Vec::with_capacity(1 + others.len());
    let mut interrupted = None;
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let mut threads = 1;
        for (number, state) in (1..).zip(others) {
            let (tell, job) = (tell.clone(), &job);
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let member = Member { job, watch: None, unit: AtomicUsize::new(0) };
                // The caller takes every message before the scope ends.
                drop(tell.send(job.work(number, state, &member)));
            });
            // Where the system has no more threads, those there are do the work.
            if started.is_err() {
                break;
            }
            threads += 1;
        }
        drop(tell);
        outcomes.push(job.work(0, own, &caller));
        while outcomes.len() < threads {
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
                // A thread ended without a word: it panicked, and the scope passes that on.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let mut results: Vec<Option<T>> = try_alloc::vec(units)?;
    results.resize_with(units, || None);
    let mut failed: Option<(usize, Error)> = None;
    for outcome in outcomes {
        for (unit, result) in outcome.done {
            results[unit] = Some(result);
        }
        if let Some((unit, error)) = outcome.failed
            && failed.as_ref().is_none_or(|(earlier, _)| unit < *earlier)
        {
            failed = Some((unit, error));
        }
    }
    if let Some((_, error)) = failed {
        return Err(error);
    }
    let not_done = || Error::internal("a unit was not done");
    try_alloc::collect(results.into_iter().map(|result| result.ok_or_else(not_done)))
}

/// The units of one call.
struct Job<F> {
    threads: usize,
    /// Of each unit: has some thread begun it?
    is_taken: Vec<AtomicBool>,
    /// All before this one are taken.
    first: AtomicUsize,
    /// The number of the first unit that failed, counted from 1: those behind it need not be done
    /// any more. 0 when the caller wants to stop.
    stop_at: AtomicUsize,
    work: F,
}

/// What one thread did: results by unit, and the unit (counted from 1) that failed, with its
/// error; 0 where the caller wants to stop.
struct Outcome<T> {
    done: Vec<(usize, T)>,
    failed: Option<(usize, Error)>,
}

impl<F> Job<F> {
    fn new(units: usize, threads: usize, work: F) -> Result<Self> {
        let mut is_taken = try_alloc::vec(units)?;
        is_taken.resize_with(units, || AtomicBool::new(false));
        let stop_at = AtomicUsize::new(usize::MAX);
        Ok(Self { threads, is_taken, first: AtomicUsize::new(0), stop_at, work })
    }

    /// A unit for this thread: that of its turn, unless it is far ahead or done with these; then the first that is left.
    fn take(&self, turn: &mut usize) -> Option<usize> {
        let take = |unit: &usize| !self.is_taken[*unit].swap(true, Relaxed);
        loop {
            // Those behind a unit that failed are not done.
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

    /// Does units until none is left, as the thread of this number. Where one fails those before it are still done, by this
    /// thread as well: the others may never have started.
    fn work<S, T>(&self, number: usize, state: &mut S, member: &Member<'_, F>) -> Outcome<T>
    where
        F: Fn(usize, &mut S, &dyn Watch) -> Result<T> + Sync,
    {
        // A hook may have called from a thread of another call.
        let _outer = Outer(NUMBER.replace(number));
        let mut outcome = Outcome { done: Vec::new(), failed: None };
        let mut turn = number;
        while let Some(unit) = self.take(&mut turn) {
            member.unit.store(unit + 1, Relaxed);
            let done = (self.work)(unit, state, member)
                .and_then(|result| Ok(try_alloc::push(&mut outcome.done, (unit, result))?));
            match done {
                Ok(()) => {}
                Err(error) => {
                    // The caller's wish to stop has left a 0 there and comes before all else.
                    let is_interrupt = matches!(error.kind, Kind::Raised { is_interrupt: true, .. });
                    let own = if is_interrupt { 0 } else { unit + 1 };
                    let first = self.stop_at.fetch_min(own, Relaxed);
                    let failed = if first == 0 { 0 } else { own };
                    if outcome.failed.as_ref().is_none_or(|&(earlier, _)| failed < earlier) {
                        outcome.failed = Some((failed, error));
                    }
                }
            }
        }
        outcome
    }
}

/// The number that a thread had before a call, and has behind it.
struct Outer(usize);

impl Drop for Outer {
    fn drop(&mut self) {
        NUMBER.set(self.0);
    }
}

/// The watch of one thread: the caller's own, if it is the caller's thread, and faults of others.
struct Member<'a, F> {
    job: &'a Job<F>,
    watch: Option<&'a dyn Watch>,
    unit: AtomicUsize,
}

impl<F: Sync> Watch for Member<'_, F> {
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
        let job = Job::new(100, 3, ()).unwrap();
        let mut turns = [0, 1, 2];
        for unit in 0..100 {
            assert_eq!(job.take(&mut turns[unit % 3]), Some(unit));
        }
        assert!(turns.iter_mut().all(|turn| job.take(turn).is_none()));
    }

    #[test]
    fn one_that_falls_behind_loses_units_and_none_is_left() {
        let job = Job::new(100, 2, ()).unwrap();
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
    fn behind_a_failure_nothing_is_begun_and_before_it_everything() {
        let job = Job::new(100, 2, ()).unwrap();
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
        let job = Job::new(20, 3, |unit: usize, (): &mut (), _: &dyn Watch| match unit % 4 {
            3 => Err(Error::argument(format!("unit {unit}"))),
            _ => Ok(()),
        })
        .unwrap();
        let member = Member { job: &job, watch: None, unit: AtomicUsize::new(0) };
        let outcome = job.work(1, &mut (), &member);
        let (unit, error) = outcome.failed.unwrap();
        assert_eq!((unit, error.to_string().contains("unit 3")), (4, true));
        assert_eq!(outcome.done.iter().filter(|(unit, ())| *unit < 3).count(), 3);
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
                // The others go on until they are told.
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
    fn taken(job: Job<()>) -> [Vec<usize>; 2] {
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
            let mut units = taken(Job::new(3, 2, ()).unwrap()).concat();
            units.sort_unstable();
            assert_eq!(units, [0, 1, 2]);
        });
    }

    #[test]
    fn every_unit_before_a_failure_is_taken() {
        loom::model(|| {
            let job = Job::new(3, 2, ()).unwrap();
            job.stop_at.store(2, Relaxed);
            let mut units = taken(job).concat();
            units.sort_unstable();
            assert_eq!(units, [0, 1]);
        });
    }
}
