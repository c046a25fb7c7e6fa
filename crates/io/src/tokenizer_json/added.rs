//! Added tokens of the file: their ids, and their place beside the model's vocabulary.
use std::collections::HashMap;

use tokenmill_core::description::AddedToken;
use tokenmill_core::error::{Defect, Result};
use tokenmill_core::ids::TokenId;

use super::file::AddedTokenEntry;
use crate::report::Report;

/// Added tokens with the ids that the reference gives them, in the order of the file: the file's
/// own are not used. A content in the vocabulary keeps that id; the others are numbered from the
/// size of the vocabulary on. Of a content that is listed twice the later flags count, but once
/// special it stays special.
pub(super) fn assign(
    entries: &[AddedTokenEntry],
    ids: &HashMap<String, TokenId>,
    report: &mut Report,
) -> Result<Vec<AddedToken>> {
    let mut added: Vec<AddedToken> = Vec::with_capacity(entries.len());
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    let mut next = TokenId::try_from(ids.len()).unwrap_or(TokenId::MAX);
    for (i, entry) in entries.iter().enumerate() {
        let field = || format!("added_tokens[{i}]");
        if entry.content.is_empty() {
            report.tolerate(Defect::Empty, field(), "the token is empty, and left out")?;
            continue;
        }
        let flags = |id, is_special| AddedToken {
            id,
            content: entry.content.clone(),
            is_special,
            single_word: entry.single_word,
            lstrip: entry.lstrip,
            rstrip: entry.rstrip,
            normalized: entry.normalized,
        };
        if let Some(&place) = places.get(entry.content.as_str()) {
            let reason = format!("{:?} is there before; the later flags count", entry.content);
            report.tolerate(Defect::Duplicate, field(), reason)?;
            let earlier = &mut added[place];
            *earlier = flags(earlier.id, earlier.is_special || entry.special);
            continue;
        }
        let id = ids.get(&entry.content).copied().unwrap_or_else(|| {
            next = next.saturating_add(1);
            next - 1
        });
        if let Some(filed) = entry.id.filter(|&filed| filed != id) {
            let reason = format!("{:?} gets the id {id}, not {filed}", entry.content);
            report.tolerate(Defect::Ignored, format!("{}.id", field()), reason)?;
        }
        places.insert(&entry.content, added.len());
        added.push(flags(id, entry.special));
    }
    Ok(added)
}

/// How many of the added tokens, ascending by id, must stand in the model's vocabulary of `tokens`
/// ordinary ones beside: the last ones are those that the reference numbers alike without that.
pub(super) fn in_vocabulary(
    added: &[AddedToken],
    is_ordinary: impl Fn(TokenId) -> bool,
    tokens: usize,
) -> usize {
    // Those that are ordinary tokens as well are there in any case, and counted in `tokens`.
    let own: Vec<bool> = added.iter().map(|token| !is_ordinary(token.id)).collect();
    let mut size = tokens + own.iter().filter(|&&own| own).count();
    let mut first = added.len();
    for i in (0..added.len()).rev() {
        if !own[i] || added[i].id as usize + 1 != size {
            break;
        }
        size -= 1;
        first = i;
    }
    first
}
