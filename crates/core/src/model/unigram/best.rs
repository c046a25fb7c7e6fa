//! The best path: one pass over the text, and one back along the edges that were kept.
//!
//! In: one pretoken. Out: its ids. Sums must be added in the same order, and rounded at the same places, as in the
//! reference.
//!
//! In single precision, a sum that grows with the text loses more and more digits of the scores. So SentencePiece
//! starts over at a place whose sum is further than [`RESTART_LIMIT`] from 0: this sum is subtracted from every
//! path that leads to the place or over it, and the place continues from 0. From about 10 kB of text on this gives
//! other ids than plain sums, so the same is done here.
use super::model::{TICK_BYTES, UNKNOWN, Unigram, rounded};
use super::scratch::UnigramScratch;
use super::spell::PathKind;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// Sums start over when they exceed this number or fall below its negative.
pub(super) const RESTART_LIMIT: f64 = 1e5;

impl Unigram {
    /// Appends the ids of a pretoken to `ids`, and where the part of each ends to `ends`.
    ///
    /// Among equal paths the one whose last token is longest wins, as in the references. Cost: a step for each
    /// byte and one for each token that the pretoken holds anywhere.
    ///
    /// # Errors
    /// An unknown-token error for a character of the best path that cannot be spelled, if there is no unknown
    /// token; cancellation.
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut UnigramScratch,
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        if self.single_precision {
            self.find_best::<true>(0.0, pretoken, scratch, ticker)?;
        } else {
            self.find_best::<false>(0.0, pretoken, scratch, ticker)?;
        }
        let last = &scratch.last;
        self.spell(pretoken, PathKind::Best, |end| last[end], vocabulary, Output { ids, ends }, ticker)
    }

    /// As [`Self::encode`] in single precision, for a part of a pretoken that no token reaches into, after a path with
    /// this sum. Returns the sum after the part, from where sums started over last.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub(super) fn encode_after(
        &self,
        sum: f64,
        part: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut UnigramScratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<f64> {
        self.find_best::<true>(sum, part, scratch, ticker)?;
        let (last, after) = (&scratch.last, scratch.sums.get(part.len()));
        let output = Output { ids, ends: None };
        self.spell(part, PathKind::Best, |end| last[end], vocabulary, output, ticker)?;
        Ok(after)
    }

    /// Finds the best path; `before` is the sum at the start.
    fn find_best<const SINGLE: bool>(
        &self,
        before: f64,
        text: &[u8],
        scratch: &mut UnigramScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        scratch.start(text, self.automaton.longest_key(), before)?;
        let UnigramScratch { last, sums, restarts, .. } = scratch;
        restarts.clear();
        let longest_edge = self.automaton.longest_key().max(4);
        let mut spent = 0;
        self.for_each_place(text, |end, edges| {
            let (mut best, mut by) = (f64::NEG_INFINITY, None);
            let mut counts_as_at = end;
            let newest = if SINGLE { restarts.newest() } else { 0 };
            edges.for_each(|edge, start, score| {
                let sum = rounded(SINGLE, score + sums.get(start));
                if SINGLE && counts_as_at < newest {
                    best = restarts.carry(best, counts_as_at, start);
                }
                counts_as_at = start;
                // Only if strictly better: of equal edges the longest, which came first, is kept.
                if by.is_none() || sum > best {
                    (best, by) = (sum, Some(edge));
                }
            });
            if SINGLE && counts_as_at < newest {
                best = restarts.carry(best, counts_as_at, end);
            }
            if SINGLE && best.abs() > RESTART_LIMIT {
                restarts.push(best, end, longest_edge);
                best = 0.0;
            }
            sums.set(end, best);
            last[end] = by.unwrap_or(UNKNOWN);
            if end - spent >= TICK_BYTES {
                ticker.spend(end - spent)?;
                spent = end;
            }
            Ok(())
        })?;
        ticker.spend(text.len() - spent)
    }
}
