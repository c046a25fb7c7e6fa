//! A watch that loses patience: the limit on time, in units of work, so that a loaded machine finds
//! the same as an idle one.
use std::sync::atomic::{AtomicUsize, Ordering};

use tokenmill_core::error::{Kind, Result};
use tokenmill_core::watch::{Watch, cancelled};

/// Slices of work, each well under a millisecond, that one call may take: about a second.
const SLICES: usize = 2000;

/// Lets a call work for about a second.
#[derive(Debug, Default)]
pub struct Patience(AtomicUsize);

impl Watch for Patience {
    fn poll(&self) -> Result<()> {
        if self.0.fetch_add(1, Ordering::Relaxed) < SLICES { Ok(()) } else { Err(cancelled()) }
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

/// What a call gave; a panic if it ran out of patience, or met a bug of its own.
///
/// # Panics
/// As said.
pub fn checked<T>(what: &str, result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!matches!(error.kind, Kind::Cancelled), "{what} takes too long");
            assert!(!matches!(error.kind, Kind::Internal(_)), "{what}: {error}");
            // Its message is made of the input, too.
            let _ = error.to_string();
            None
        }
    }
}
