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
    /// The best score of the text before each position.
    scores: Vec<f64>,
    /// The piece that ends there in the best spelling of that text.
    last: Vec<u32>,
}

impl Search {
    /// Finds the best spelling of the text at these positions; with `is_split`, without a piece that covers it all.
    /// Calls `each` with the pieces, the last first. Returns the score; minus infinity if there is no spelling.
    fn run(
        &mut self,
        pieces: &Pieces,
        positions: Range<usize>,
        is_split: bool,
        mut each: impl FnMut(u32),
    ) -> Result<f64> {
        let count = positions.len();
        self.scores.clear();
        try_alloc::resize(&mut self.scores, count + 1, f64::NEG_INFINITY)?;
        self.last.clear();
        try_alloc::resize(&mut self.last, count + 1, NONE)?;
        self.scores[0] = 0.0;
        for at in 0..count {
            let before = self.scores[at];
            for (number, piece) in pieces.at(positions.start + at) {
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
            let positions = segments.positions_of(segment);
            ticker.spend(8 * positions.len())?;
            let count = segments.count(segment);
            self.run(pieces, positions, false, |piece| counts[piece as usize] += count)?;
        }
        Ok(())
    }

    /// Writes the best spelling of a piece by shorter pieces into `found`. Returns whether the piece itself scores at
    /// least as much.
    ///
    /// # Errors
    /// If memory cannot be allocated.
    pub(super) fn alternative(&mut self, pieces: &Pieces, piece: u32, found: &mut Vec<u32>) -> Result<bool> {
        found.clear();
        let start = pieces.position(piece);
        let positions = start..start + pieces.get(piece).length as usize;
        let score = self.run(pieces, positions, true, |other| found.push(other))?;
        Ok(score <= pieces.score(piece))
    }
}
