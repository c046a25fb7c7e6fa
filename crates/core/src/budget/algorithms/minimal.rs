//! As few tokens as possible: an approximation, and a bound from below on what merging leaves.
//!
//! In: the bytes of a pretoken. Out: a row of tokens that spells them. No other row of tokens is shorter.
//!
//! Dynamic programming: a shortest row of a prefix is a shortest row of a shorter prefix and one of the tokens that
//! end there. Of several, the one with the longest last token is kept.
use tokenmill_kernels::{State, try_alloc};

use super::{AlgorithmScratch, read_back};
use crate::error::{Error, Result};
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

pub(super) fn encode(
    matcher: &Matcher<'_>,
    text: &[u8],
    scratch: &mut AlgorithmScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let AlgorithmScratch { row, tokens: last, counts, .. } = scratch;
    last.clear();
    counts.clear();
    try_alloc::reserve(last, text.len())?;
    try_alloc::reserve(counts, text.len() + 1)?;
    // The fewest tokens of each prefix, beginning with the empty one.
    counts.push(0);
    let mut state = State::START;
    for &byte in text {
        ticker.spend(4)?;
        state = matcher.step(state, byte);
        let end = last.len() + 1;
        let count_before = |token: &u32| counts[end - matcher.length(*token)];
        let Some(token) = matcher.endings(state).min_by_key(count_before) else {
            return Err(Error::internal("no token ends a prefix of a pretoken"));
        };
        counts.push(count_before(&token) + 1);
        last.push(token);
    }
    read_back(matcher, last, row)
}
