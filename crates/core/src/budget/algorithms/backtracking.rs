//! The longest token first, and a shorter one where it cannot stand.
//!
//! In: the bytes of a pretoken. Out: the row that merging leaves.
//!
//! The row so far is always one that merging leaves. The longest token that begins after it is tried, then the next
//! shorter one; if none stays apart from the last token of the row, the row was wrong, and a shorter token is tried
//! in place of its last one. There is only one row that ends at a place, so a place from which no token led on never
//! has to be tried again: a bit for each place remembers it, and the time is linear.
use tokenmill_kernels::try_alloc;

use super::AlgorithmScratch;
use crate::error::{Error, Result};
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

pub(super) fn encode(
    matcher: &Matcher<'_>,
    text: &[u8],
    scratch: &mut AlgorithmScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let AlgorithmScratch { row, bits: dead, .. } = scratch;
    dead.clear();
    try_alloc::reserve(dead, text.len() / 64 + 1)?;
    dead.resize(text.len() / 64 + 1, 0);
    let mut at = 0;
    let mut next = matcher.longest_at_start(text);
    while at < text.len() {
        ticker.spend(8)?;
        let before = row.last().copied();
        let may_follow = |token: u32| {
            let end = at + matcher.length(token);
            let is_dead = dead[end / 64] >> (end % 64) & 1 == 1;
            !is_dead && before.is_none_or(|before| matcher.stays_apart(before, token))
        };
        while let Some(token) = next
            && !may_follow(token)
        {
            next = matcher.shorter_at_start(token);
        }
        if let Some(token) = next {
            try_alloc::push(row, token)?;
            at += matcher.length(token);
            next = matcher.longest_at_start(&text[at..]);
        } else {
            dead[at / 64] |= 1 << (at % 64);
            let Some(token) = row.pop() else {
                return Err(Error::internal("no row of tokens spells a pretoken"));
            };
            at -= matcher.length(token);
            next = matcher.shorter_at_start(token);
        }
    }
    Ok(())
}
