//! The clean-up of machine-translation corpora. The characters are those of the tokenizers library,
//! which are those of SentencePiece's `nmt` rules.
use super::edit::each_char;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::error::Result;
use crate::watch::Ticker;

pub(super) fn apply(from: AlignedText<'_>, to: &mut Rewritten, ticker: &mut Ticker<'_>) -> Result<Outcome> {
    let is_of_interest = |byte: u8| !(0x20..0x7f).contains(&byte);
    each_char(from, to, ticker, is_of_interest, |edit, c, range| match u32::from(c) {
        0x01..=0x08 | 0x0b | 0x0e..=0x1f | 0x7f | 0x8f | 0x9f => edit.remove(range),
        0x09 | 0x0a | 0x0c | 0x0d | 0x1680 | 0x200b..=0x200f | 0x2028 | 0x2029 | 0x2581 | 0xfeff | 0xfffd => {
            edit.replace_by(range, ' ');
        }
        _ => {}
    })
}
