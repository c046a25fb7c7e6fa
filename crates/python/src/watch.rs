//! Long work called from Python: signals are checked, progress is reported, and the interpreter
//! lock is released.
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::{Unwatched, Watch, cancelled};

use crate::buffer::{holds_interpreter, raise_later};
use crate::exceptions::raise;

/// Time between two checks for signals, and between two progress reports.
const SIGNALS_EVERY: Duration = Duration::from_millis(20);
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Work on less text than this keeps the interpreter lock: releasing it costs about as much as the work.
const RELEASE_ABOVE: usize = 4 << 10;

struct PyWatch<'a> {
    caller: ThreadId,
    progress: Option<&'a Py<PyAny>>,
    state: Mutex<State>,
}

struct State {
    signals_at: Instant,
    progress_at: Option<Instant>,
    phase: &'static str,
    /// An exception from Python; it replaces the error that stopped the work.
    raised: Option<PyErr>,
}

impl PyWatch<'_> {
    #[allow(clippy::disallowed_methods)] // only one thread locks it, and no Python code runs meanwhile
    fn with_state<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        // A panic while the lock is held leaves the state consistent.
        f(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Watch for PyWatch<'_> {
    fn poll(&self) -> Result<()> {
        if std::thread::current().id() != self.caller {
            return Ok(());
        }
        let now = Instant::now();
        let due = self.with_state(|state| {
            let due = state.raised.is_none() && now - state.signals_at >= SIGNALS_EVERY;
            if due {
                state.signals_at = now;
            }
            due
        });
        // The lock on the state is not held while Python runs: its handlers may do anything.
        #[allow(clippy::redundant_closure_for_method_calls)] // the method's lifetime is too narrow
        if due && let Err(raised) = Python::attach(|py| py.check_signals()) {
            self.with_state(|state| state.raised = Some(raised));
        }
        if self.with_state(|state| state.raised.is_some()) { Err(cancelled()) } else { Ok(()) }
    }

    fn progress(&self, phase: &'static str, done: u64, total: u64) {
        let Some(callable) = self.progress else { return };
        let now = Instant::now();
        let due = self.with_state(|state| {
            let recent = state.progress_at.is_some_and(|at| now - at < PROGRESS_EVERY);
            let due = state.raised.is_none() && (phase != state.phase || done == total || !recent);
            if due {
                state.progress_at = Some(now);
                state.phase = phase;
            }
            due
        });
        if due && let Err(raised) = Python::attach(|py| callable.call1(py, (phase, done, total))) {
            self.with_state(|state| state.raised = Some(raised));
        }
    }
}

/// Runs work on `size` bytes; above a few kilobytes it runs without the interpreter lock and under
/// a watch. Panics become errors at the boundary to Python.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce(&dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    if size < RELEASE_ABOVE {
        return catch(|| work(&Unwatched)).map_err(|error| raise(py, error));
    }
    run_long(py, None, work)
}

/// As [`run`], always under a watch; `progress` is called with the progress.
pub(crate) fn run_long<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut work, mut done) = (Some(work), None);
    run_any(py, progress, &mut |watch| {
        if let Some(work) = work.take() {
            done = Some(work(watch)?);
        }
        Ok(())
    })?;
    done.ok_or_else(|| raise(py, Error::internal("work without a result")))
}

/// [`run_long`] for all kinds of results: one copy of the code.
fn run_any(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: &mut (dyn FnMut(&dyn Watch) -> Result<()> + Send),
) -> PyResult<()> {
    let state = State { signals_at: Instant::now(), progress_at: None, phase: "", raised: None };
    let watch = PyWatch { caller: std::thread::current().id(), progress, state: Mutex::new(state) };
    let result = py.detach(|| catch(|| work(&watch)));
    let raised = watch.with_state(|state| state.raised.take());
    match (result, raised) {
        // An exception of the last callback counts even if the work succeeded.
        (_, Some(raised)) => Err(raised),
        (Ok(()), None) => Ok(()),
        (Err(error), None) => Err(raise(py, error)),
    }
}

/// Runs work that another library asks for, in whatever thread it does, with the interpreter lock or without: the work
/// runs without. Signals are looked for if the thread is `caller`; Python raises them when its code runs next.
pub(crate) fn run_foreign<T: Send>(caller: ThreadId, work: impl FnOnce(&dyn Watch) -> T + Send) -> T {
    let state = State { signals_at: Instant::now(), progress_at: None, phase: "", raised: None };
    let watch = PyWatch { caller, progress: None, state: Mutex::new(state) };
    let result =
        if holds_interpreter() { Python::attach(|py| py.detach(|| work(&watch))) } else { work(&watch) };
    if let Some(raised) = watch.with_state(|state| state.raised.take()) {
        Python::attach(|py| raise_later(py, raised));
    }
    result
}

fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(&*panic)))
}

/// The error for a panic.
#[cold]
fn of_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    Error::internal(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default())
}
