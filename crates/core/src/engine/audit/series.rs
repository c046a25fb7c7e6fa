//! How the cost of a stage grows with one kind of text.
use std::cmp::Ordering;

use crate::error::{Error, Kind};

use super::measure::Cost;

/// The quantity that a slope is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The work that the code of a stage counts: the same in every run, on every machine.
    Work,
    /// Time.
    Time,
}

/// Time must be this much steeper than counted work to be believed: tables that outgrow a processor cache make 0.5.
const MARGIN: f64 = 0.6;

/// The costs of one stage for one kind of text, at growing lengths.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) costs: Vec<Cost>,
    /// The error that ended it.
    pub(super) error: Option<Error>,
    /// Was it measured a second time, with more runs?
    pub(super) is_confirmed: bool,
}

impl Series {
    /// The growth of the cost over the last two doublings: d log cost / d log length.
    ///
    /// The slope of counted work; that of time if time grows so much faster that some work cannot have been
    /// counted.
    pub(super) fn slope(&self) -> Option<(f64, Measure)> {
        let (first, last) = (self.recent().first()?, self.costs.last()?);
        if first.bytes == last.bytes {
            return None;
        }
        let longer = (real(last.bytes) / real(first.bytes)).log2();
        let slope = |first: f64, last: f64| (last.max(1.0) / first.max(1.0)).log2() / longer;
        let work = slope(real(first.work), real(last.work));
        let time = slope(first.time.as_secs_f64() * 1e9, last.time.as_secs_f64() * 1e9);
        Some(if time > work + MARGIN { (time, Measure::Time) } else { (work, Measure::Work) })
    }

    /// The costs over the last two doublings.
    fn recent(&self) -> &[Cost] {
        &self.costs[self.costs.len().saturating_sub(3)..]
    }

    /// The lengths of the texts that its slope comes from.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.recent().iter().map(|cost| cost.bytes).collect()
    }

    /// Is its slope a slope of time from a single measurement?
    pub(super) fn is_doubtful(&self) -> bool {
        !self.is_confirmed && self.slope().is_some_and(|(_, measure)| measure == Measure::Time)
    }

    /// Time for each byte of the longest text.
    pub(super) fn nanoseconds(&self) -> Option<f64> {
        let last = self.costs.last()?;
        Some(last.time.as_secs_f64() * 1e9 / real(last.bytes))
    }

    /// Did the stage fail for one of the texts?
    pub(super) fn has_failed(&self) -> bool {
        self.error.as_ref().is_some_and(is_failure)
    }

    /// Is there a result at all?
    pub(super) fn has_result(&self) -> bool {
        !self.costs.is_empty() || self.error.is_some()
    }

    /// Orders by badness, the worse one greater: a text for which the stage failed, then the steeper slope, rounded
    /// to a quarter because some stages count their work in slices, then the longer time.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let quarters = |series: &Self| series.slope().map(|(slope, _)| (slope * 4.0).round());
        let times = |series: &Self| series.nanoseconds();
        let order = |a: Option<f64>, b: Option<f64>| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        (self.has_failed().cmp(&other.has_failed()))
            .then_with(|| order(quarters(self), quarters(other)))
            .then_with(|| order(times(self), times(other)))
    }

    /// Merges the costs of another run of the same texts, of which the shorter times count.
    pub(super) fn refine(&mut self, again: Self) {
        self.is_confirmed = again.slope().is_some();
        for cost in again.costs {
            match self.costs.iter_mut().find(|before| before.bytes == cost.bytes) {
                Some(before) => before.time = before.time.min(cost.time),
                None => self.costs.push(cost),
            }
        }
        self.error = self.error.take().or(again.error);
    }
}

/// Does this error count as a failure of the stage? An unknown token does not: that error costs nothing.
pub(super) fn is_failure(error: &Error) -> bool {
    !matches!(error.kind, Kind::UnknownToken { .. })
}

#[allow(clippy::cast_precision_loss)] // lengths and counts far below 2^53
fn real(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn series(costs: impl Fn(f64) -> (f64, f64)) -> Series {
        let cost = |bytes: usize| {
            let (work, nanoseconds) = costs(real(bytes));
            #[allow(clippy::cast_sign_loss)] // none is negative
            Cost { bytes, work: work as usize, time: Duration::from_secs_f64(nanoseconds / 1e9) }
        };
        Series { costs: [1000, 2000, 4000, 8000].map(cost).to_vec(), ..Series::default() }
    }

    #[test]
    fn a_slope_is_that_of_counted_work_while_time_agrees() {
        let linear = series(|n| (4.0 * n, 10.0 * n.powf(1.3)));
        assert_eq!(linear.slope(), Some((1.0, Measure::Work)));
        let counted = series(|n| (n * n, 10.0 * n));
        assert_eq!(counted.slope(), Some((2.0, Measure::Work)));
    }

    #[test]
    fn time_counts_where_it_grows_faster_than_what_is_counted() {
        for hidden in [series(|n| (n, n * n)), series(|n| (0.0, n * n))] {
            let (slope, measure) = hidden.slope().unwrap();
            assert_eq!(((slope * 100.0).round(), measure), (200.0, Measure::Time));
        }
    }

    #[test]
    fn the_worst_broke_or_is_steepest_or_slowest() {
        let linear = series(|n| (n, n));
        let slower = series(|n| (n, 3.0 * n));
        let square = series(|n| (n * n, n * n / 1e3));
        let limit = Kind::Pattern {
            pattern: String::new(),
            position: None,
            searched_from: None,
            reason: String::new(),
        };
        let bounded = Series { error: Some(limit.into()), ..Series::default() };
        let mut all = [&bounded, &linear, &square, &slower];
        all.sort_by(|a, b| a.compare(b));
        let slopes = all.map(|series| series.slope().map(|(slope, _)| slope.round()));
        assert_eq!(slopes, [Some(1.0), Some(1.0), Some(2.0), None]);
        assert_eq!(all[1].nanoseconds(), Some(3.0));
    }

    #[test]
    fn what_was_slow_by_chance_is_not_when_it_is_measured_again() {
        let mut noisy = series(|n| (n, if n > 5000.0 { 9.0 * n } else { n }));
        assert_eq!(noisy.slope().unwrap().1, Measure::Time);
        noisy.refine(series(|n| (n, n)));
        assert_eq!(noisy.slope(), Some((1.0, Measure::Work)));
        assert!(noisy.is_confirmed);
        // A second run without a result changes nothing.
        let mut noisy = series(|n| (n, n * n));
        noisy.refine(Series::default());
        assert!(noisy.is_doubtful());
    }
}
