//! The best path: one pass over the text, one more back along the edges that were kept.
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
}

impl Scratch {
    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        4 * self.last.capacity() + 8 * self.sums.0.capacity()
    }

    pub(super) fn start(&mut self, text: &[u8], longest_edge: usize) {
        // What an earlier text left there is never read: every place is set before it is.
        self.last.resize(text.len() + 1, UNKNOWN);
        self.sums.start(longest_edge.min(text.len()));
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
        scratch.start(text, self.automaton.longest_key());
        let Scratch { last, sums } = scratch;
        let mut spent = 0;
        self.for_each_place(text, |end, ending| {
            let (mut best, mut by) = (f64::NEG_INFINITY, None);
            ending.for_each(|edge, start| {
                let score = if edge == UNKNOWN { self.unk_score } else { self.edges[edge as usize].score };
                let sum = rounded(SINGLE, score + sums.get(start));
                // Strictly better: the longest of equal ones was first.
                if by.is_none() || sum > best {
                    (best, by) = (sum, Some(edge));
                }
            });
            sums.set(end, best);
            last[end] = by.unwrap_or(UNKNOWN);
            if end - spent >= STRIDE {
                ticker.spend(end - spent)?;
                spent = end;
            }
            Ok(())
        })
    }
}
