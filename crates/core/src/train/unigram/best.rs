//! The best spelling of a text: the one with the highest sum of scores.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use super::pieces::{NONE, Pieces};
use super::segments::Segments;
use crate::error::Result;
use crate::watch::Ticker;

/// Scratch for the search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// For each cell the best score of all that comes before it.
    scores: Vec<f64>,
    /// The piece that ends there on the best way.
    last: Vec<u32>,
}

impl Search {
    /// Finds the best spelling of these cells, without a piece that covers all of them if `is_split`. Calls `each` with
    /// its pieces, the last first. Returns its score; minus infinity if there is none.
    fn run(
        &mut self,
        pieces: &Pieces,
        cells: Range<usize>,
        is_split: bool,
        mut each: impl FnMut(u32),
    ) -> Result<f64> {
        let count = cells.len();
        self.scores.clear();
        try_alloc::resize(&mut self.scores, count + 1, f64::NEG_INFINITY)?;
        self.last.clear();
        try_alloc::resize(&mut self.last, count + 1, NONE)?;
        self.scores[0] = 0.0;
        for at in 0..count {
            let before = self.scores[at];
            for (number, piece) in pieces.at(cells.start + at) {
                let end = at + piece.length as usize;
                if end > count || (is_split && piece.length as usize == count) {
                    continue;
                }
                let score = before + pieces.score(number);
                if score > self.scores[end] {
                    (self.scores[end], self.last[end]) = (score, number);
                }
            }
        }
        let mut at = count;
        while at > 0 && self.last[at] != NONE {
            each(self.last[at]);
            at -= pieces.get(self.last[at]).length as usize;
        }
        Ok(self.scores[count])
    }

    /// Adds to `counts` how often each piece occurs in the best spellings of a block of segments.
    ///
    /// # Errors
    /// Those of the watch.
    pub(super) fn count(
        &mut self,
        segments: &Segments,
        block: Range<usize>,
        pieces: &Pieces,
        counts: &mut [u64],
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        for segment in block {
            let cells = segments.cells_of(segment);
            ticker.spend(8 * cells.len())?;
            let count = segments.count(segment);
            self.run(pieces, cells, false, |piece| counts[piece as usize] += count)?;
        }
        Ok(())
    }

    /// The best spelling of a piece by others, unless the piece itself scores less; `None` in that case.
    ///
    /// # Errors
    /// If memory cannot be allocated.
    pub(super) fn alternative(&mut self, pieces: &Pieces, piece: u32, found: &mut Vec<u32>) -> Result<bool> {
        found.clear();
        let start = pieces.cell(piece);
        let cells = start..start + pieces.get(piece).length as usize;
        let score = self.run(pieces, cells, true, |other| found.push(other))?;
        Ok(score <= pieces.score(piece))
    }
}
