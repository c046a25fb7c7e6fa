//! `<s> A </s> </s> B </s>`, all of type 0.
use super::{Rows, Slot, of_type};
use crate::ids::TokenId;

pub(super) fn apply(sep: TokenId, cls: TokenId, rows: Rows, adds_special: bool) -> Rows {
    let special = |id| Slot::Special { id, type_id: 0 };
    let around = |(i, row): (usize, Vec<Slot>)| {
        let mut row = of_type(&row, 0);
        if adds_special {
            row.insert(0, special(if i == 0 { cls } else { sep }));
            row.push(special(sep));
        }
        row
    };
    rows.into_iter().enumerate().map(around).collect()
}
