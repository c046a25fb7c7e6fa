//! Whether parts of which nothing is known should be spelled at once, as far as those before them tell.

/// What became of the last ones.
#[derive(Debug, Default)]
pub(super) struct Luck {
    /// What was spelled, less what could not be: that counts [`COST`] times.
    score: u8,
    /// Parts for which it was not tried since the last one.
    passed: u8,
}

const COST: u8 = 4;

/// Without luck one in so many is tried.
const RARE: u8 = 16;

/// From this on nearly all are spelled: text that the vocabulary hardly knows.
const STREAK: u8 = 120;

impl Luck {
    /// Should the next one be tried?
    #[inline]
    pub(super) fn tries(&mut self) -> bool {
        if self.score == 0 && self.passed < RARE {
            self.passed += 1;
            return false;
        }
        self.passed = 0;
        // Until it is told that it could.
        self.score = self.score.saturating_sub(COST);
        true
    }

    /// The one that was tried could be spelled.
    #[inline]
    pub(super) fn had(&mut self) {
        self.score = self.score.saturating_add(COST + 1).min(2 * STREAK);
    }

    /// Could nearly all of the last ones?
    #[inline]
    pub(super) fn is_streak(&self) -> bool {
        self.score >= STREAK
    }
}
