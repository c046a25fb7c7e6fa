//! The proof for byte-pair encodings that differ in merges alone, and where it fails the pairs to look at.
//!
//! In: the canonical merges of two models over the same tokens. Out: the pairs of tokens that stay apart in A but
//! not in B. If there are none, both give the same ids for every text. `docs/merging.md` has the proof and says why
//! only these pairs are looked at. A pair that this overlooked would make the proof wrong.
use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::overlaps::{Overlaps, Start};
use super::trees::{Look, NONE, Trees};
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// The pairs that are examined at most. Two vocabularies of 128,000 tokens that differ in a few merges need some
/// thousands.
pub(super) const MOST_PAIRS: usize = 3_000_000;

/// What a comparison of two models came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every pair that stays apart in A stays apart in B: the ids of all texts are the same.
    Same,
    /// The caller has seen enough.
    Stopped,
    /// Some pairs stay apart in A and not in B.
    Differ,
    /// There are more pairs to look at than [`MOST_PAIRS`].
    TooMany,
}

/// Compares two models; `found` is given each token, or pair of tokens, that is a row of A and not of B, and returns
/// whether that is enough. Cost: that of the merges whose order or parts differ, and of those that share a part with
/// one; bounded by [`MOST_PAIRS`].
///
/// # Errors
/// Those of `found` and of the watch.
pub(super) fn compare(
    a: &Trees,
    b: &Trees,
    found: &mut dyn FnMut(u32, Option<u32>) -> Result<bool>,
    ticker: &mut Ticker<'_>,
) -> Result<Outcome> {
    let overlaps = Overlaps::new(a, b);
    let mut search = Search { a, b, overlaps: &overlaps, seen: HashSet::default(), left: MOST_PAIRS, found };
    search.run(ticker)
}

struct Search<'a> {
    a: &'a Trees,
    b: &'a Trees,
    overlaps: &'a Overlaps,
    seen: HashSet<Start, FixedState>,
    /// The pairs that may still be examined.
    left: usize,
    found: &'a mut dyn FnMut(u32, Option<u32>) -> Result<bool>,
}

impl Search<'_> {
    fn run(&mut self, ticker: &mut Ticker<'_>) -> Result<Outcome> {
        let mut differ = false;
        for token in 0..to_u32(self.a.place.len()) {
            if self.a.makes(token) && !self.b.makes(token) {
                differ = true;
                if (self.found)(token, None)? {
                    return Ok(Outcome::Stopped);
                }
            }
        }
        let (overlaps, b) = (self.overlaps, self.b);
        let mut outcome = Outcome::Same;
        overlaps.each(self.a, b, ticker, &mut |start, ticker| {
            outcome = self.from(start, &mut differ, ticker)?;
            Ok(outcome != Outcome::Same)
        })?;
        Ok(if outcome == Outcome::Same && differ { Outcome::Differ } else { outcome })
    }

    /// Looks at the pair of `x` and `y`. Where they do not stay apart in A, it goes on to longer tokens: left ones that
    /// end in `x`, right ones that begin with `y`.
    fn from(&mut self, start: Start, differ: &mut bool, ticker: &mut Ticker<'_>) -> Result<Outcome> {
        let (a, b, overlaps) = (self.a, self.b, self.overlaps);
        let mut stack = vec![start];
        while let Some(at) = stack.pop() {
            if !a.makes(at.x) || !a.makes(at.y) || !self.seen.insert(at) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else { return Ok(Outcome::TooMany) };
            self.left = left;
            ticker.spend(64)?;
            let (x_before, y_before, either) = match a.look_at(at.x, at.y) {
                Look::Together => continue,
                Look::Apart => {
                    *differ = true;
                    if (self.found)(at.x, Some(at.y))? {
                        return Ok(Outcome::Stopped);
                    }
                    continue;
                }
                Look::Unless { x, y, either } => (x, y, either),
            };
            // What must be taken first; of two conditions one is met here, the other one by the pairs that follow.
            let (extends_x, extends_y) = match (x_before != NONE, y_before != NONE) {
                (true, _) => (true, false),
                (false, true) => (false, true),
                (false, false) => (true, true),
            };
            if extends_x {
                let limit = if x_before == NONE { either } else { x_before };
                for &product in overlaps.ending_in(at.x) {
                    ticker.spend(1)?;
                    if a.place(product) <= limit && b.place(product) > at.before_x {
                        stack.push(Start { x: product, before_x: 0, ..at });
                    }
                }
            }
            if extends_y {
                let limit = if y_before == NONE { either } else { y_before };
                for &product in overlaps.beginning_with(at.y) {
                    ticker.spend(1)?;
                    if a.place(product) < limit && b.place(product) >= at.before_y {
                        stack.push(Start { y: product, before_y: 0, ..at });
                    }
                }
            }
        }
        Ok(Outcome::Same)
    }
}
