//! How often each piece is expected to occur, over all ways to spell each segment.
//!
//! In: pieces with their probabilities, and a block of segments. Out: for each piece the sum, over all segments that
//! hold it, of the share of their spellings that use it, by forward and backward sums.
//!
//! Sums are products of probabilities, not their logarithms. In a long segment these would fall below what a number
//! can hold. So where they have become small, the sums that are still open are multiplied by a power of two, which is
//! exact and cancels out in a share.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use super::pieces::Pieces;
use super::segments::Segments;
use crate::error::Result;
use crate::watch::Ticker;

/// Sums below 2^-[`SMALL`] are scaled. Between two looks a sum falls by less than the rest of the range of a number.
const SMALL: i32 = 256;

/// Cells between two looks at how small the sums have become.
const LOOK_EVERY: usize = 8;

/// The sums of one segment.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// For each cell the probability of all that comes before it, times 2^`scales`.
    forward: Vec<f64>,
    scales: Vec<i32>,
    /// For each cell the probability of all that comes from it on, times a power of two.
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
        let cells = segments.cells_of(segment);
        ticker.spend(8 * cells.len())?;
        sums.run_forward(pieces, cells.clone(), longest)?;
        sums.run_backward(pieces, cells, longest, segments.count(segment) as f64, expected)?;
    }
    Ok(())
}

impl Sums {
    fn run_forward(&mut self, pieces: &Pieces, cells: Range<usize>, longest: usize) -> Result<()> {
        let count = cells.len();
        self.forward.clear();
        try_alloc::resize(&mut self.forward, count + 1, 0.0)?;
        self.scales.clear();
        try_alloc::resize(&mut self.scales, count + 1, 0)?;
        let mut scale = 0;
        self.forward[0] = 1.0;
        for at in 0..=count {
            if at % LOOK_EVERY == 0 && at > 0 {
                let open = &mut self.forward[at..(at + longest).min(count + 1)];
                scale += scale_up(open);
            }
            self.scales[at] = scale;
            if at < count {
                let before = self.forward[at];
                for (_, piece) in pieces.at(cells.start + at) {
                    self.forward[at + piece.length as usize] += before * piece.probability;
                }
            }
        }
        Ok(())
    }

    fn run_backward(
        &mut self,
        pieces: &Pieces,
        cells: Range<usize>,
        longest: usize,
        weight: f64,
        expected: &mut [f64],
    ) -> Result<()> {
        let count = cells.len();
        self.backward.clear();
        try_alloc::resize(&mut self.backward, count + 1, 0.0)?;
        self.backward[count] = 1.0;
        let all = self.scales[count];
        let (mut scale, mut scaled_for) = (0, 0);
        let mut share = weight / self.forward[count];
        for at in (0..count).rev() {
            if at % LOOK_EVERY == 0 {
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
            for (number, piece) in pieces.at(cells.start + at) {
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
