//! The added tokens of the file: their ids, and whether they have an entry in the model's vocabulary.

use tokenmill_core::description::AddedToken;
use tokenmill_core::error::{Defect, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::sorting;

use super::file::AddedTokenEntry;
use super::models::Vocabulary;
use crate::report::Report;
use crate::tables::{Map, map_for};

/// The added tokens with the ids that the reference assigns, in the order of the file; the ids in
/// the file are ignored. A content in the vocabulary keeps its id; others are numbered from the
/// size of the vocabulary on. For a content that is listed twice the later flags count, but it
/// stays special. Of several tokens with one id only the last is matched in text.
pub(super) fn assign(
    entries: &[AddedTokenEntry],
    vocabulary: &Vocabulary,
    report: &mut Report,
) -> Result<Vec<AddedToken>> {
    let mut added: Vec<AddedToken> = Vec::with_capacity(entries.len());
    let mut places: Map<&str, usize> = map_for(entries.len());
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
            let reason = format!("{:?} occurs twice; the later flags count", entry.content);
            report.tolerate(Defect::Duplicate, field(), reason)?;
            let earlier = &mut added[place];
            *earlier = flags(earlier.id, earlier.is_special || entry.special);
            continue;
        }
        let id = vocabulary.names.get(&entry.content).unwrap_or_else(|| {
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
    let last: Map<TokenId, usize> = added.iter().zip(0..).map(|(token, i)| (token.id, i)).collect();
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

/// The last index of each content in the list.
fn places_of(entries: &[AddedTokenEntry]) -> Map<&str, usize> {
    entries.iter().map(|entry| entry.content.as_str()).zip(0..).collect()
}

/// Reports added tokens whose number is also the id of an ordinary token.
///
/// # Errors
/// In strict loading.
pub(super) fn report_taken_ids(
    entries: &[AddedTokenEntry],
    added: &[AddedToken],
    vocabulary: &Vocabulary,
    report: &mut Report,
) -> Result<()> {
    // Numbers start at the size of the vocabulary, which is nearly always above all ids.
    if vocabulary.names.iter().all(|(_, id)| (id as usize) < vocabulary.size) {
        return Ok(());
    }
    let in_file = places_of(entries);
    let numbered = added.iter().filter(|token| !vocabulary.names.contains(&token.content));
    let numbered: Map<TokenId, &AddedToken> = numbered.map(|token| (token.id, token)).collect();
    let taken = vocabulary.names.iter().filter(|(_, id)| numbered.contains_key(id));
    let mut taken: Vec<(TokenId, &str)> = taken.map(|(token, id)| (id, token)).collect();
    sorting::sort(&mut taken);
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

/// The layout of added tokens in a file for which the reference assigns their ids.
pub(super) struct Numbering {
    /// Which of them, ascending by id, may be left out of the model's vocabulary.
    pub(super) is_numbered: Vec<bool>,
    /// Which of them need an entry before them that takes their number and has no other effect.
    pub(super) has_gap: Vec<bool>,
}

/// The numbering of added tokens, ascending by id, next to a model with `tokens` ordinary ones. The
/// token at `needed`, and those before it, must be in the model's vocabulary.
pub(super) fn numbering(
    added: &[AddedToken],
    is_ordinary: impl Fn(&AddedToken) -> bool,
    tokens: usize,
    needed: Option<usize>,
) -> Numbering {
    // Added tokens that are ordinary as well are in the vocabulary anyway.
    let own: Vec<bool> = added.iter().map(|token| !is_ordinary(token)).collect();
    let first = needed.map_or(0, |needed| needed + 1);
    numbered_in_a_row(added, &own, tokens, first).unwrap_or_else(|| Numbering {
        is_numbered: numbered_at_the_end(added, &own, tokens, first),
        has_gap: vec![false; added.len()],
    })
}

/// A numbering from the first token whose id is above those of the model's vocabulary, if all ids
/// from there on are consecutive.
///
/// If a number is already the id of an ordinary token that is added too, the reference assigns it
/// twice and drops the first of the two added tokens; the following numbers continue.
fn numbered_in_a_row(added: &[AddedToken], own: &[bool], tokens: usize, first: usize) -> Option<Numbering> {
    let last = own.iter().rposition(|&own| own)?;
    let mut numbering =
        Numbering { is_numbered: vec![false; added.len()], has_gap: vec![false; added.len()] };
    let mut next = tokens + own[..first].iter().filter(|&&own| own).count();
    let mut are_listed = true;
    for i in first..=last {
        let id = added[i].id as usize;
        if own[i] && are_listed && id < next {
            next += 1;
        } else if own[i] {
            if id != next {
                return None;
            }
            are_listed = false;
            numbering.is_numbered[i] = true;
            next += 1;
        } else if id == next {
            are_listed = false;
            numbering.has_gap[i] = true;
            next += 1;
        }
    }
    Some(numbering)
}

/// The last tokens, if the reference assigns the same ids without an entry in the vocabulary.
fn numbered_at_the_end(added: &[AddedToken], own: &[bool], tokens: usize, first: usize) -> Vec<bool> {
    let mut size = tokens + own.iter().filter(|&&own| own).count();
    let mut numbered = vec![false; added.len()];
    for i in (first..added.len()).rev() {
        if own[i] && added[i].id as usize + 1 == size {
            numbered[i] = true;
            size -= 1;
        }
    }
    numbered
}
