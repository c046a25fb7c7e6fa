//! The last token of every prefix of a pretoken.
//!
//! In: the bytes of a pretoken. Out: the row that merging leaves.
//!
//! A prefix ends with one of the tokens that end there. Before it stands the row of a shorter prefix, of which the
//! last token is known. Exactly one of the tokens stays apart from that one, because merging leaves exactly one row
//! for each prefix and any two neighbours that stay apart make such a row.
use tokenmill_kernels::{State, try_alloc};

use super::{AlgorithmScratch, read_back};
use crate::error::{Error, Result};
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

/// Bytes between two calls of the ticker.
const TICK_BYTES: usize = 4096;

pub(super) fn encode(
    matcher: &Matcher<'_>,
    text: &[u8],
    scratch: &mut AlgorithmScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let last = &mut scratch.tokens;
    last.clear();
    try_alloc::reserve(last, text.len())?;
    let mut state = State::START;
    for part in text.chunks(TICK_BYTES) {
        for &byte in part {
            state = matcher.step(state, byte);
            let end = last.len() + 1;
            let fits = |&token: &u32| {
                let before = end - matcher.length(token);
                before == 0 || matcher.stays_apart(last[before - 1], token)
            };
            let Some(token) = matcher.endings(state).find(fits) else {
                return Err(Error::internal("no token ends a prefix of a pretoken"));
            };
            last.push(token);
        }
        ticker.spend(4 * part.len())?;
    }
    read_back(matcher, last, &mut scratch.row)
}
