//! All paths at once: the probability of a text over all ways to spell it, and a random path.
//!
//! In: one pretoken. Out: a logarithm, or the ids of a random path. The same seed must draw the same path on every
//! machine.
//!
//! Both are the forward algorithm, in logarithms. While the edges that end at a place are summed up, one of them is
//! drawn, each with the share that it has of the sum so far. Following the drawn edges back gives a path with the
//! right probability. So a sample needs no more memory than the best path.
use super::model::{TICK_BYTES, UNKNOWN, Unigram};
use super::scratch::UnigramScratch;
use super::spell::PathKind;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::output::Output;
use crate::model::random::Random;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

impl Unigram {
    /// The logarithm of the sum of the probabilities of all paths. Cost: as encoding, with two
    /// transcendental functions for each edge.
    ///
    /// # Errors
    /// Cancellation.
    pub fn log_marginal(
        &self,
        pretoken: &[u8],
        scratch: &mut UnigramScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<f64> {
        self.sum_up(pretoken, 1.0, None, scratch, ticker)
    }

    /// Appends the ids of a path that is drawn with a probability proportional to exp(`alpha` × its score). With 1
    /// this is the probability of the model, with 0 all paths are equally probable, and a larger number favours the
    /// best path more.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        (alpha, random): (f64, &mut Random),
        scratch: &mut UnigramScratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        self.sum_up(pretoken, alpha, Some(random), scratch, ticker)?;
        let last = &scratch.last;
        self.spell(pretoken, PathKind::Other, |end| last[end], vocabulary, Output { ids, ends: None }, ticker)
    }

    fn sum_up(
        &self,
        text: &[u8],
        alpha: f64,
        mut random: Option<&mut Random>,
        scratch: &mut UnigramScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<f64> {
        scratch.start(text, self.automaton.longest_key(), 0.0)?;
        let UnigramScratch { last, sums, .. } = scratch;
        let mut spent = 0;
        self.for_each_place(text, |end, edges| {
            let (mut total, mut drawn) = (f64::NEG_INFINITY, None);
            edges.for_each(|edge, start, _| {
                let weight = alpha * self.score_over_all_paths(edge) + sums.get(start);
                total = log_add(total, weight);
                let Some(random) = &mut random else { return };
                if drawn.is_none() || random.unit() < libm::exp(weight - total) {
                    drawn = Some(edge);
                }
            });
            sums.set(end, total);
            last[end] = drawn.unwrap_or(UNKNOWN);
            if end - spent >= TICK_BYTES {
                ticker.spend(8 * (end - spent))?;
                spent = end;
            }
            Ok(())
        })?;
        ticker.spend(8 * (text.len() - spent))?;
        Ok(sums.get(text.len()))
    }
}

/// ln(exp(a) + exp(b)). The functions come from `libm`, not from the system, so that a sample is the same on every
/// machine.
fn log_add(a: f64, b: f64) -> f64 {
    let (less, more) = if a < b { (a, b) } else { (b, a) };
    if less == f64::NEG_INFINITY { more } else { more + libm::log1p(libm::exp(less - more)) }
}

/// The index of one of these scores, drawn with a probability proportional to exp(`alpha` × score).
pub(crate) fn draw(scores: &[f64], alpha: f64, random: &mut Random) -> usize {
    let (mut total, mut drawn) = (f64::NEG_INFINITY, 0);
    for (i, score) in scores.iter().enumerate() {
        let weight = alpha * score;
        total = log_add(total, weight);
        if i > 0 && random.unit() < libm::exp(weight - total) {
            drawn = i;
        }
    }
    drawn
}
