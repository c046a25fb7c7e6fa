//! The longest token at each place: an approximation.
//!
//! In: the bytes of a pretoken. Out: a row of tokens that spells them, usually another one than merging leaves.
use tokenmill_kernels::try_alloc;

use super::AlgorithmScratch;
use crate::error::Result;
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

pub(super) fn encode(
    matcher: &Matcher<'_>,
    text: &[u8],
    scratch: &mut AlgorithmScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let mut rest = text;
    while let Some(token) = matcher.longest_at_start(rest) {
        try_alloc::push(&mut scratch.row, token)?;
        rest = &rest[matcher.length(token)..];
        ticker.spend(8)?;
    }
    Ok(())
}
