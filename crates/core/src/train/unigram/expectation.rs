//! How often each piece is expected to occur, over all ways to spell each segment.
//!
//! In: pieces with their probabilities, and a block of segments. Out: the expected count of each piece: for each
//! segment, the probability that its spelling has the piece at a position, times the count of the segment. They are
//! computed by forward and backward sums.
//!
//! The sums are of probabilities, not of their logarithms. In a long segment they would become smaller than a number
//! can be. So where they are small, those that are still needed are multiplied by a power of two, which is exact and
//! cancels out.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use super::pieces::Pieces;
use super::segments::Segments;
use crate::error::Result;
use crate::watch::Ticker;

/// Sums below 2^-[`SMALL`] are scaled. Within [`CHECK_EVERY`] positions they cannot fall from there to zero.
const SMALL: i32 = 256;

/// Every time this many positions were read it is checked whether the sums have become small.
const CHECK_EVERY: usize = 8;

/// The sums of one segment.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// For each position the probability of all that comes before it, times 2^`scales`.
    forward: Vec<f64>,
    scales: Vec<i32>,
    /// For each position the probability of all that comes from it on, times a power of two.
    backward: Vec<f64>,
}

/// Adds the expected counts of a block of segments to `expected`.
///
/// # Errors
/// Those of the watch.
pub(super) fn expect(
    segments: &Segments,
    block: Range<usize>,
    pieces: &Pieces,
    longest: usize,
    sums: &mut Sums,
    expected: &mut [f64],
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    for segment in block {
        let positions = segments.positions_of(segment);
        ticker.spend(8 * positions.len())?;
        sums.run_forward(pieces, positions.clone(), longest)?;
        sums.run_backward(pieces, positions, longest, segments.count(segment) as f64, expected)?;
    }
    Ok(())
}

impl Sums {
    fn run_forward(&mut self, pieces: &Pieces, positions: Range<usize>, longest: usize) -> Result<()> {
        let count = positions.len();
        self.forward.clear();
        try_alloc::resize(&mut self.forward, count + 1, 0.0)?;
        self.scales.clear();
        try_alloc::resize(&mut self.scales, count + 1, 0)?;
        let mut scale = 0;
        self.forward[0] = 1.0;
        for at in 0..=count {
            if at % CHECK_EVERY == 0 && at > 0 {
                let open = &mut self.forward[at..(at + longest).min(count + 1)];
                scale += scale_up(open);
            }
            self.scales[at] = scale;
            if at < count {
                let before = self.forward[at];
                for (_, piece) in pieces.at(positions.start + at) {
                    self.forward[at + piece.length as usize] += before * piece.probability;
                }
            }
        }
        Ok(())
    }

    fn run_backward(
        &mut self,
        pieces: &Pieces,
        positions: Range<usize>,
        longest: usize,
        weight: f64,
        expected: &mut [f64],
    ) -> Result<()> {
        let count = positions.len();
        self.backward.clear();
        try_alloc::resize(&mut self.backward, count + 1, 0.0)?;
        self.backward[count] = 1.0;
        let all = self.scales[count];
        let (mut scale, mut scaled_for) = (0, 0);
        let mut share = weight / self.forward[count];
        for at in (0..count).rev() {
            if at % CHECK_EVERY == 0 {
                scale += scale_up(&mut self.backward[at + 1..(at + 1 + longest).min(count + 1)]);
            }
            // What is left of the powers of two of both directions.
            let over = all - self.scales[at] - scale;
            if over != scaled_for {
                share = libm::scalbn(weight / self.forward[count], over);
                scaled_for = over;
            }
            let before = self.forward[at] * share;
            let mut sum = 0.0;
            for (number, piece) in pieces.at(positions.start + at) {
                let term = piece.probability * self.backward[at + piece.length as usize];
                expected[number as usize] += before * term;
                sum += term;
            }
            self.backward[at] = sum;
        }
        Ok(())
    }
}

/// Multiplies sums by a power of two if all are small. Returns its exponent.
fn scale_up(sums: &mut [f64]) -> i32 {
    let small = libm::scalbn(1.0, -SMALL);
    if sums.first().is_none_or(|&first| first >= small) {
        return 0;
    }
    let largest = sums.iter().fold(0.0, |a: f64, &b| a.max(b));
    if largest >= small || largest <= 0.0 {
        return 0;
    }
    let exponent = -libm::ilogb(largest);
    for sum in sums {
        *sum = libm::scalbn(*sum, exponent);
    }
    exponent
}
