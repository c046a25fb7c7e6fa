//! Adds special tokens by a template.
use super::{Rows, Slot, of_type};
use crate::description::{Template, TemplatePiece};
use crate::error::{Defect, Error, Result};

pub(super) fn apply(template: &Template, rows: &Rows, adds_special: bool) -> Result<Rows> {
    let (pieces, field) = match rows.len() {
        1 => (&template.single, "single"),
        2 => (&template.pair, "pair"),
        count => {
            let reason =
                format!("the processors before it leave {count} encodings, and a template takes 1 or 2");
            return Err(Error::format(Defect::Unsupported, reason));
        }
    };
    let mut made = Vec::with_capacity(pieces.len());
    for (i, piece) in pieces.iter().enumerate() {
        let missing = |what: String| Err(Error::format(Defect::Missing, what).at_index(i).at(field));
        match piece {
            TemplatePiece::Sequence { second, type_id } => match rows.get(usize::from(*second)) {
                Some(row) => made.push(of_type(row, *type_id)),
                None => return missing("there is no second sequence here".to_owned()),
            },
            TemplatePiece::Special { name, type_id } => {
                let Some(token) = template.special_tokens.iter().find(|token| token.name == *name) else {
                    return missing(format!("the special token {name:?} is not among special_tokens"));
                };
                if adds_special {
                    let slot = |&id| Slot::Special { id, type_id: *type_id };
                    made.push(token.ids.iter().map(slot).collect());
                }
            }
        }
    }
    Ok(made)
}
