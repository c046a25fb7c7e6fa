//! The best path: one pass over the text, one more back along the edges that were kept.
//!
//! In single precision a sum that grows with the text leaves less and less of the scores. So
//! SentencePiece starts over where a sum has grown [`TOO_FAR`] from 0: that sum is taken off
//! every path that leads up to it or over it, and the place goes on from 0. That gives other ids than
//! plain sums do, some 10 kB into a text, so it is done the same way here.
use std::collections::VecDeque;

use tokenmill_kernels::try_alloc;

use super::spell::{Of, Out};
use super::{UNKNOWN, Unigram, rounded};
use crate::error::Result;
use crate::ids::TokenId;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// What a pass over a pretoken needs, reused from one to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For every place, the edge by which the chosen path arrives; unset inside of characters.
    pub(super) last: Vec<u32>,
    /// What is summed up to a place. Only so many places are kept as an edge reaches back.
    pub(super) sums: Window,
    taken_off: TakenOff,
}

impl Scratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * self.last.capacity() + 8 * self.sums.0.capacity() + 16 * self.taken_off.0.capacity()
    }

    pub(super) fn start(&mut self, text: &[u8], longest_edge: usize) -> Result<()> {
        // What an earlier text left there is never read: every place is set before it is.
        if self.last.len() <= text.len() {
            try_alloc::resize(&mut self.last, text.len() + 1, UNKNOWN)?;
        }
        self.sums.start(longest_edge.min(text.len()));
        Ok(())
    }
}

/// The last few of a row of numbers, in a ring.
#[derive(Debug, Default)]
pub(super) struct Window(Vec<f64>);

impl Window {
    fn start(&mut self, longest_edge: usize) {
        // An unknown character reaches back four bytes.
        let size = (longest_edge.max(4) + 1).next_power_of_two();
        if self.0.len() < size {
            self.0.resize(size, 0.0);
        }
        self.0[0] = 0.0;
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> f64 {
        self.0[place & (self.0.len() - 1)]
    }

    #[inline]
    pub(super) fn set(&mut self, place: usize, sum: f64) {
        let mask = self.0.len() - 1;
        self.0[place & mask] = sum;
    }
}

/// A sum beyond this, to either side, is taken off.
const TOO_FAR: f64 = 1e5;

/// What was taken off at the last few places, with the place.
///
/// A sum counts from what was taken off up to its place. An edge that leads over a later such place
/// arrives with too much, and that is taken off it there.
#[derive(Debug, Default)]
struct TakenOff(VecDeque<(usize, f64)>);

impl TakenOff {
    #[inline]
    fn newest(&self) -> usize {
        self.0.back().map_or(0, |(place, _)| *place)
    }

    /// Takes `sum` off at a place; nothing reaches further back than `longest_edge`.
    #[cold]
    fn take(&mut self, sum: f64, place: usize, longest_edge: usize) {
        while self.0.front().is_some_and(|(front, _)| front + longest_edge < place) {
            self.0.pop_front();
        }
        self.0.push_back((place, sum));
    }

    /// A sum that counts as at `from`, as it counts at `to`. The steps are rounded one by one.
    #[cold]
    fn carry(&self, sum: f64, from: usize, to: usize) -> f64 {
        let first = self.0.partition_point(|(place, _)| *place <= from);
        let passed = self.0.range(first..).take_while(|(place, _)| *place <= to);
        passed.fold(sum, |sum, (_, taken)| rounded(true, sum - taken))
    }
}

/// The ticker is asked once for so many bytes.
pub(super) const STRIDE: usize = 1 << 12;

impl Unigram {
    /// Puts the ids of a pretoken behind `ids`, and where the part of each ends behind `ends`.
    ///
    /// Among equal paths the one whose last token is longest wins, as in the references. Cost: a
    /// step for each byte and one for each token that the pretoken holds anywhere.
    ///
    /// # Errors
    /// An unknown-token error for a character of the best path that cannot be spelled, where there
    /// is no unknown token; cancellation.
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if self.single_precision {
            self.find_best::<true>(pretoken, scratch, ticker)?;
        } else {
            self.find_best::<false>(pretoken, scratch, ticker)?;
        }
        let last = &scratch.last;
        self.spell(pretoken, Of::Best, |end| last[end], vocabulary, Out { ids, ends }, ticker)
    }

    fn find_best<const SINGLE: bool>(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        scratch.start(text, self.automaton.longest_key())?;
        let Scratch { last, sums, taken_off } = scratch;
        taken_off.0.clear();
        let longest_edge = self.automaton.longest_key().max(4);
        let mut spent = 0;
        self.for_each_place(text, |end, ending| {
            let (mut best, mut by) = (f64::NEG_INFINITY, None);
            let mut counts_as_at = end;
            let newest = if SINGLE { taken_off.newest() } else { 0 };
            ending.for_each(|edge, start| {
                let score = if edge == UNKNOWN { self.unk_score } else { self.edges[edge as usize].score };
                let sum = rounded(SINGLE, score + sums.get(start));
                if SINGLE && counts_as_at < newest {
                    best = taken_off.carry(best, counts_as_at, start);
                }
                counts_as_at = start;
                // Strictly better: the longest of equal ones was first.
                if by.is_none() || sum > best {
                    (best, by) = (sum, Some(edge));
                }
            });
            if SINGLE && counts_as_at < newest {
                best = taken_off.carry(best, counts_as_at, end);
            }
            if SINGLE && best.abs() > TOO_FAR {
                taken_off.take(best, end, longest_edge);
                best = 0.0;
            }
            sums.set(end, best);
            last[end] = by.unwrap_or(UNKNOWN);
            if end - spent >= STRIDE {
                ticker.spend(end - spent)?;
                spent = end;
            }
            Ok(())
        })?;
        ticker.spend(text.len() - spent)
    }
}
