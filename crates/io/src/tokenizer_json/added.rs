//! Added tokens of the file: their ids, and their place beside the model's vocabulary.
use std::collections::HashMap;

use tokenmill_core::description::AddedToken;
use tokenmill_core::error::{Defect, Result};
use tokenmill_core::ids::TokenId;

use super::file::AddedTokenEntry;
use super::models::Vocabulary;
use crate::report::Report;

/// Added tokens with the ids that the reference gives them, in the order of the file: the file's
/// own are not used. A content in the vocabulary keeps that id; the others are numbered from the
/// size of the vocabulary on. Of a content that is listed twice the later flags count, but once
/// special it stays special. Of those that get one id only the last is looked for in texts.
pub(super) fn assign(
    entries: &[AddedTokenEntry],
    vocabulary: &Vocabulary,
    report: &mut Report,
) -> Result<Vec<AddedToken>> {
    let ids = &vocabulary.ids;
    let mut added: Vec<AddedToken> = Vec::with_capacity(entries.len());
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    let mut next = TokenId::try_from(vocabulary.size).unwrap_or(TokenId::MAX);
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
    let last: HashMap<TokenId, usize> = added.iter().zip(0..).map(|(token, i)| (token.id, i)).collect();
    if last.len() == added.len() {
        return Ok(added);
    }
    let in_file = places_of(entries);
    let mut counting = Vec::with_capacity(last.len());
    for (i, token) in added.iter().enumerate() {
        let counts = last[&token.id];
        if counts == i {
            counting.push(token.clone());
            continue;
        }
        let reason = format!(
            "{:?} has the id {} of {:?}, which is listed later and counts",
            token.content, token.id, added[counts].content
        );
        let field = format!("added_tokens[{}]", in_file[token.content.as_str()]);
        report.tolerate(Defect::Duplicate, field, reason)?;
    }
    Ok(counting)
}

/// Where each content stands in the list, for the last time.
fn places_of(entries: &[AddedTokenEntry]) -> HashMap<&str, usize> {
    entries.iter().map(|entry| entry.content.as_str()).zip(0..).collect()
}

/// Reports added tokens whose number was taken: ordinary tokens have it too.
///
/// # Errors
/// In strict loading.
pub(super) fn report_taken_ids(
    entries: &[AddedTokenEntry],
    added: &[AddedToken],
    vocabulary: &Vocabulary,
    report: &mut Report,
) -> Result<()> {
    // They are numbered from the size on, which nearly always lies behind all ids.
    if vocabulary.ids.values().all(|&id| (id as usize) < vocabulary.size) {
        return Ok(());
    }
    let in_file = places_of(entries);
    let numbered = added.iter().filter(|token| !vocabulary.ids.contains_key(&token.content));
    let numbered: HashMap<TokenId, &AddedToken> = numbered.map(|token| (token.id, token)).collect();
    let taken = vocabulary.ids.iter().filter(|(_, id)| numbered.contains_key(id));
    let mut taken: Vec<(TokenId, &str)> = taken.map(|(token, &id)| (id, token.as_str())).collect();
    taken.sort_unstable();
    for (id, token) in taken {
        let AddedToken { content, is_special, .. } = numbered[&id];
        let what = if *is_special { "; text never becomes it" } else { "" };
        let reason = format!(
            "{content:?} gets the id {id}, which {token:?} of the vocabulary has; it decodes to the former{what}"
        );
        let field = format!("added_tokens[{}]", in_file[content.as_str()]);
        report.tolerate(Defect::Inconsistent, field, reason)?;
    }
    Ok(())
}

/// Which of the added tokens, ascending by id, may be left out of the model's vocabulary, which has
/// `tokens` ordinary ones: the last ones, if the reference numbers them alike without that. The one
/// at `needed` must stand there, and so must those before it.
pub(super) fn numbered(
    added: &[AddedToken],
    is_ordinary: impl Fn(&AddedToken) -> bool,
    tokens: usize,
    needed: Option<usize>,
) -> Vec<bool> {
    // Those that are ordinary tokens as well are there in any case.
    let own: Vec<bool> = added.iter().map(|token| !is_ordinary(token)).collect();
    let mut size = tokens + own.iter().filter(|&&own| own).count();
    let mut numbered = vec![false; added.len()];
    for i in (needed.map_or(0, |needed| needed + 1)..added.len()).rev() {
        if own[i] && added[i].id as usize + 1 == size {
            numbered[i] = true;
            size -= 1;
        }
    }
    numbered
}
