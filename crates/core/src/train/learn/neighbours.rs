//! The effect of one step on the pairs around its merge: pairs with the old parts lose weight;
//! pairs with the result are created, and tracked from the end of the step.
//!
//! Every such pair contains the left part, the right part or the result, so its other symbol, the
//! neighbour, identifies it: a table by neighbour replaces one lookup per occurrence.
use tokenmill_kernels::try_alloc;

use super::Learner;
use super::neighbour::{IGNORED, Neighbour, Newborn, STRANGER, UNKNOWN};
use crate::error::Result;
use crate::watch::Ticker;

impl Learner {
    #[inline]
    pub(super) fn lower(&mut self, number: u32, merged: u32, weight: u64) {
        if number != IGNORED && number != merged {
            self.pairs.get_mut(number).count -= weight;
        }
    }

    #[inline]
    pub(super) fn bear(&mut self, number: u32, weight: u64, position: u32) -> Result<()> {
        if number != IGNORED {
            self.newborn[number as usize].count += weight;
            try_alloc::push(&mut self.births[number as usize], position)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn unborn(&mut self, number: u32, weight: u64) {
        if number != IGNORED {
            self.newborn[number as usize].count -= weight;
        }
    }

    #[inline]
    fn neighbour(&mut self, symbol: u32) -> &mut Neighbour {
        &mut self.neighbours[symbol as usize]
    }

    #[inline]
    pub(super) fn old_left(&mut self, neighbour: u32, left: u32) -> u32 {
        let known = self.neighbour(neighbour).old_left;
        if known != UNKNOWN {
            return known;
        }
        self.touched.push(neighbour);
        let number = self.pairs.find(neighbour, left).unwrap_or(IGNORED);
        self.neighbour(neighbour).old_left = number;
        number
    }

    #[inline]
    pub(super) fn old_right(&mut self, right: u32, neighbour: u32) -> u32 {
        let known = self.neighbour(neighbour).old_right;
        if known != UNKNOWN {
            return known;
        }
        self.touched.push(neighbour);
        let number = self.pairs.find(right, neighbour).unwrap_or(IGNORED);
        self.neighbour(neighbour).old_right = number;
        number
    }

    #[inline]
    pub(super) fn new_left(&mut self, neighbour: u32, result: u32) -> u32 {
        let known = self.neighbour(neighbour).new_left;
        if known != UNKNOWN {
            return known;
        }
        self.touched.push(neighbour);
        let number = self.conceive(neighbour, result);
        self.neighbour(neighbour).new_left = number;
        number
    }

    #[inline]
    pub(super) fn new_right(&mut self, result: u32, neighbour: u32) -> u32 {
        let known = self.neighbour(neighbour).new_right;
        if known != UNKNOWN {
            return known;
        }
        self.touched.push(neighbour);
        let number = self.conceive(result, neighbour);
        self.neighbour(neighbour).new_right = number;
        number
    }

    /// Creates a new pair; [`IGNORED`] if its token would be too long.
    fn conceive(&mut self, left: u32, right: u32) -> u32 {
        if !self.fits(left, right) {
            return IGNORED;
        }
        let number = self.newborn.len();
        self.newborn.push(Newborn { left, right, count: 0 });
        if self.births.len() == number {
            self.births.push(Vec::new());
        }
        number as u32
    }

    /// Ends a step: new pairs are tracked now that their counts are final. Within a step a count
    /// may rise and fall (`abab`), so no pair is queued earlier.
    pub(super) fn settle(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        /// Longer lists are handed over, not copied, so that their memory is not kept.
        const KEEP: usize = 1 << 10;
        for symbol in self.touched.drain(..) {
            self.neighbours[symbol as usize] = STRANGER;
        }
        let mut newborn = std::mem::take(&mut self.newborn);
        for (i, &pair) in newborn.iter().enumerate() {
            ticker.spend(32)?;
            if !self.follows(pair.count) {
                self.births[i].clear();
                self.births[i].shrink_to(KEEP);
                continue;
            }
            let positions = if self.births[i].len() > KEEP {
                std::mem::take(&mut self.births[i]).into_boxed_slice()
            } else {
                let copy = try_alloc::copy(&self.births[i])?;
                self.births[i].clear();
                copy.into_boxed_slice()
            };
            self.follow(pair, positions)?;
        }
        newborn.clear();
        self.newborn = newborn;
        Ok(())
    }
}
