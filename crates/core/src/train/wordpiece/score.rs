//! The score of a pair: the pair with the highest one is merged next.
use std::cmp::Ordering;

/// The score by which WordPiece chooses the next pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// The count of the pair.
    Frequency,
    /// The count of the pair, divided by the counts of its left and of its right part.
    Likelihood,
}

/// The counts that the score of a pair depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) pair: u64,
    pub(super) left: u64,
    pub(super) right: u64,
}

impl Score {
    /// Which of two pairs has the higher score; exact for all counts.
    pub(super) fn compare(self, a: Counts, b: Counts) -> Ordering {
        match self {
            Self::Frequency => a.pair.cmp(&b.pair),
            Self::Likelihood => product(a.pair, b.left, b.right).cmp(&product(b.pair, a.left, a.right)),
        }
    }
}

/// The product of three numbers, as its upper 128 bits and its lower 64.
fn product(a: u64, b: u64, c: u64) -> (u128, u64) {
    let (a, both) = (u128::from(a), u128::from(b) * u128::from(c));
    let low = (both & u128::from(u64::MAX)) * a;
    ((both >> 64) * a + (low >> 64), low as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_where_they_need_192_bits() {
        let max = u64::MAX;
        // (2^64 - 1)^3 = 2^192 - 3 * 2^128 + 3 * 2^64 - 1.
        assert_eq!(product(max, max, max), (u128::MAX - (3 << 64) + 3, max));
        assert_eq!(product(3, 5, 7), (0, 105));
        assert_eq!(product(1 << 63, 4, 2), (4, 0));
    }

    #[test]
    fn a_rare_pair_that_sticks_together_has_the_higher_likelihood() {
        let (often, rare) =
            (Counts { pair: 10, left: 100, right: 50 }, Counts { pair: 2, left: 2, right: 2 });
        assert_eq!(Score::Frequency.compare(often, rare), Ordering::Greater);
        assert_eq!(Score::Likelihood.compare(often, rare), Ordering::Less);
        // 1/3 and 2/6, and large counts that differ by one.
        let (third, sixth) = (Counts { pair: 1, left: 3, right: 1 }, Counts { pair: 2, left: 3, right: 2 });
        assert_eq!(Score::Likelihood.compare(third, sixth), Ordering::Equal);
        let large = |pair| Counts { pair, left: u64::MAX, right: u64::MAX - 1 };
        assert_eq!(Score::Likelihood.compare(large(u64::MAX - 2), large(u64::MAX - 1)), Ordering::Less);
    }
}
