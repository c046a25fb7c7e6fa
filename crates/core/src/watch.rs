//! The watch that long work takes: progress goes out, a wish to stop comes in.
use crate::error::{Error, Kind, Result};

/// Who follows a piece of long work. Called from any thread that takes part in it.
pub trait Watch: Sync {
    /// Asked at least every 10 ms of work.
    ///
    /// # Errors
    /// [`Kind::Cancelled`] when the work should stop.
    fn poll(&self) -> Result<()>;

    /// `done` of `total` units of `phase` are finished; `total` is 0 where it is not known.
    fn progress(&self, phase: &'static str, done: u64, total: u64);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn poll(&self) -> Result<()> {
        Ok(())
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

/// The error of work that was asked to stop.
pub fn cancelled() -> Error {
    Kind::Cancelled.into()
}

/// Spends work and polls the watch whenever a slice of it is used up.
///
/// One unit is about one byte looked at; a slice of 2^15 is well under a millisecond.
pub struct Ticker<'a> {
    watch: &'a dyn Watch,
    left: usize,
    /// What was spent before this slice.
    before: usize,
}

const SLICE: usize = 1 << 15;

impl<'a> Ticker<'a> {
    /// A ticker for this watch.
    pub fn new(watch: &'a dyn Watch) -> Self {
        Self { watch, left: SLICE, before: 0 }
    }

    /// `work` units were done.
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

    /// All work that was done.
    pub fn spent(&self) -> usize {
        self.before + (SLICE - self.left)
    }

    /// The watch behind it.
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
