//! The clean-up of BERT, in the steps of the tokenizers library.
//!
//! The tables are of Unicode 8, and a typing error in the ranges of ideographs (U+2B920 for
//! U+2B820) is reproduced, because published models were trained with it.
use unicode_categories::UnicodeCategories;

use super::edit::each_char;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::span::Span;
use crate::watch::Ticker;

/// Removes controls and turns white space into spaces.
pub(super) fn clean(from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
    let is_of_interest = |byte: u8| !(0x20..0x7f).contains(&byte);
    each_char(from, to, ticker, is_of_interest, |edit, c, range| {
        if matches!(c, '\t' | '\n' | '\r') {
            edit.replace_by(range, ' ');
        } else if c == '\u{fffd}' || c.is_other() {
            edit.remove(range);
        } else if c.is_whitespace() {
            edit.replace_by(range, ' ');
        }
    })
}

/// Is a character neither removed nor changed by [`clean`]?
pub(super) fn is_kept(c: char) -> bool {
    c == ' ' || !(c == '\u{fffd}' || c.is_other() || c.is_whitespace())
}

/// Puts spaces around ideographs.
pub(super) fn space_ideographs(
    from: AlignedText<'_>,
    to: &mut Rewritten,
    ticker: &mut Ticker<'_>,
) -> Result<Outcome> {
    // The first ideograph is U+3400.
    each_char(
        from,
        to,
        ticker,
        |byte| byte >= 0xe3,
        |edit, c, range| {
            if is_ideograph(c) {
                // The two spaces stand for the first and the last byte of the character, so that
                // offsets do not decrease even if the character is spelled byte by byte.
                edit.insert(range.start, " ", Span::new(range.start, range.start + 1));
                edit.keep_until(range.end);
                edit.insert(range.end, " ", Span::new(range.end - 1, range.end));
            }
        },
    )
}

/// Removes non-spacing marks.
pub(super) fn strip_marks(
    from: AlignedText<'_>,
    to: &mut Rewritten,
    ticker: &mut Ticker<'_>,
) -> Result<Outcome> {
    each_char(
        from,
        to,
        ticker,
        |byte| byte >= 0xcc,
        |edit, c, range| {
            if c.is_mark_nonspacing() {
                edit.remove(range);
            }
        },
    )
}

pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f
        | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}
