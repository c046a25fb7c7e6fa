//! Removes combining marks, by the table of the reference, which is of Unicode 9.
use unicode_normalization_alignments::char::is_combining_mark;

use super::edit::each_char;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::watch::Ticker;

/// The first byte of U+0300, the first mark.
const FIRST: u8 = 0xcc;

pub(super) fn apply(from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
    each_char(
        from,
        to,
        ticker,
        |byte| byte >= FIRST,
        |edit, c, range| {
            if is_combining_mark(c) {
                edit.remove(range);
            }
        },
    )
}
