//! Predicts whether a miss can be spelled at once, from how the last ones went.

/// Counts attempts that succeeded against those that failed.
#[derive(Debug, Default)]
pub(super) struct SpellPredictor {
    /// Successes, less [`FAILURE_COST`] for each failure.
    score: u8,
    /// Misses that were not tried since the last attempt.
    skipped: u8,
}

const FAILURE_COST: u8 = 4;

/// At score 0 this many misses are skipped before one is tried.
const RETRY_INTERVAL: u8 = 16;

/// From this score on nearly every attempt succeeds, as it does where the vocabulary hardly covers the script of the text.
const STREAK: u8 = 120;

impl SpellPredictor {
    /// Begins an attempt, if the next miss should be tried. It counts as a failure until [`Self::record_success`].
    #[inline]
    pub(super) fn start_attempt(&mut self) -> bool {
        if self.score == 0 && self.skipped < RETRY_INTERVAL {
            self.skipped += 1;
            return false;
        }
        self.skipped = 0;
        self.score = self.score.saturating_sub(FAILURE_COST);
        true
    }

    /// The last attempt succeeded.
    #[inline]
    pub(super) fn record_success(&mut self) {
        self.score = self.score.saturating_add(FAILURE_COST + 1).min(2 * STREAK);
    }

    /// Did nearly all of the last attempts succeed?
    #[inline]
    pub(super) fn is_streak(&self) -> bool {
        self.score >= STREAK
    }
}
