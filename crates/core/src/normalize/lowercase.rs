//! Full lower-case mapping of every character, independent of its neighbours: a final sigma is not
//! special, and `İ` becomes two characters.
use super::edit::each_char;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::watch::Ticker;

pub(super) fn apply(from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
    let mut lower = String::new();
    each_char(
        from,
        to,
        ticker,
        |byte| byte >= 0x80 || byte.is_ascii_uppercase(),
        |edit, c, range| {
            if c.is_ascii() {
                return edit.replace_by(range, c.to_ascii_lowercase());
            }
            let mut mapping = c.to_lowercase();
            if mapping.len() == 1 && mapping.next() == Some(c) {
                return;
            }
            lower.clear();
            lower.extend(c.to_lowercase());
            edit.replace(range, &lower);
        },
    )
}
