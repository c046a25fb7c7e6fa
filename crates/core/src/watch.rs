//! The watch of long work. Out: progress. In: a request to cancel.
use crate::error::{Error, Kind, Result};

/// Follows long work. Called from every thread that takes part in it.
pub trait Watch: Sync {
    /// Polled at least every 10 ms of work.
    ///
    /// # Errors
    /// [`Kind::Cancelled`] to stop the work.
    fn poll(&self) -> Result<()>;

    /// Reports that `done` of `total` units of `phase` are finished; `total` is 0 if unknown.
    fn progress(&self, phase: &'static str, done: u64, total: u64);
}

/// A watch that never cancels and ignores progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn poll(&self) -> Result<()> {
        Ok(())
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

/// The error of cancelled work.
pub fn cancelled() -> Error {
    Kind::Cancelled.into()
}

/// Counts work, and polls the watch after each slice of it.
///
/// One unit is about one byte read; a slice of 2^15 takes well under a millisecond.
pub struct Ticker<'a> {
    watch: &'a dyn Watch,
    left: usize,
    /// Units spent before the current slice.
    before: usize,
}

const SLICE: usize = 1 << 15;

impl<'a> Ticker<'a> {
    /// A ticker for this watch.
    pub fn new(watch: &'a dyn Watch) -> Self {
        Self { watch, left: SLICE, before: 0 }
    }

    /// Counts `work` units; polls the watch at the end of a slice.
    #[inline]
    pub fn spend(&mut self, work: usize) -> Result<()> {
        if work < self.left {
            self.left -= work;
            return Ok(());
        }
        self.before = self.spent().saturating_add(work);
        self.left = SLICE;
        self.watch.poll()
    }

    /// Total units of work.
    pub fn spent(&self) -> usize {
        self.before + (SLICE - self.left)
    }

    /// The underlying watch.
    pub fn watch(&self) -> &'a dyn Watch {
        self.watch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_adds_up_across_slices() {
        let mut ticker = Ticker::new(&Unwatched);
        let mut sum = 0;
        for work in [0, 1, SLICE - 2, 1, 1, SLICE, SLICE - 1, 3 * SLICE + 5, 7] {
            ticker.spend(work).unwrap();
            sum += work;
            assert_eq!(ticker.spent(), sum);
        }
    }
}
