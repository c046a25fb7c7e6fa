//! `[CLS] A [SEP] B [SEP]`.
use super::{Rows, Slot};
use crate::ids::TokenId;

pub(super) fn apply(sep: TokenId, cls: TokenId, rows: Rows) -> Rows {
    let special = |id, type_id| Slot::Special { id, type_id };
    let around = |(i, mut row): (usize, Vec<Slot>)| {
        if i == 0 {
            row.insert(0, special(cls, 0));
        }
        row.push(special(sep, u32::from(i > 0)));
        row
    };
    rows.into_iter().enumerate().map(around).collect()
}
