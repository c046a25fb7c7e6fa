//! A tokenizer with more tokens.
//!
//! In: the bytes of new tokens. Out: the tokenizer with these and with what merging needs to make them, after all that
//! it has. What was there comes first, so a text that holds none of the new bytes must keep its ids.
use std::collections::HashSet;
use std::sync::Arc;

use super::merger::{Merger, with_tokens};
use super::promise::in_texts;
use super::{Condition, IdMap, Promise, Surgery};
use crate::byte_alphabet;
use crate::description::{Description, Merges, ModelDescription, PieceKind};
use crate::engine::Engine;
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId};
use crate::watch::{Ticker, Watch};

/// The same tokenizer with more ordinary tokens after all others. A byte-pair model gets the merges that they need too,
/// and the tokens between; tokens of `WordPiece` are given as they are written.
///
/// # Errors
/// A vocabulary error for an empty token, one that is listed twice, one that is there already, or one that is no text
/// where the model works on characters; a format error for Unigram, whose tokens compete by scores, and for models whose
/// tokens are written with marks.
pub fn extend(engine: &Engine, new: &[Vec<u8>], watch: &dyn Watch) -> Result<Surgery> {
    let mut ticker = Ticker::new(watch);
    let mut description = engine.description().clone();
    let written: Vec<Vec<u8>> = new.iter().map(|token| as_model_sees(&description, token)).collect();
    check(engine, &written)?;
    let next = next_id(engine)?;
    let without = match &description.model {
        ModelDescription::Bpe(model) => {
            let is_special = |id| engine.vocabulary().is_special(id);
            let mut merger = Merger::new(model, next, &is_special)?;
            for token in &written {
                merger.build(token, &mut ticker)?;
            }
            let Merger { tokens, merges, reached, .. } = merger;
            let new = tokens.iter().flat_map(|(_, bytes)| in_texts(&description.model, bytes));
            let without = new.chain(reached).collect();
            append(&mut description, &tokens, merges)?;
            without
        }
        ModelDescription::Unigram(_) => {
            let reason = "a token of a Unigram model competes by its score with others in every text that holds its bytes, and \
                          no score is right by itself: train the model again, or add it with with_special_tokens";
            return Err(Error::format(Defect::CannotHold, reason).at("model"));
        }
        ModelDescription::WordPiece(_) => {
            append(&mut description, &numbered(next, &written)?, Vec::new())?;
            written.iter().flat_map(|token| in_texts(&description.model, token)).collect()
        }
        ModelDescription::WordLevel(_) => {
            append(&mut description, &numbered(next, &written)?, Vec::new())?;
            written
        }
    };
    let promise = Promise::of(Condition::Without(without));
    Ok(Surgery { description, id_map: IdMap::identity(engine)?, promise })
}

/// The id after the largest.
pub(super) fn next_id(engine: &Engine) -> Result<TokenId> {
    let next = engine.vocabulary().max_id().map_or(0, |last| last.saturating_add(1));
    if next == NO_ID {
        return Err(Error::vocabulary(None, "there is no id after the largest for a new token"));
    }
    Ok(next)
}

/// Tokens with ids from `next` on.
pub(super) fn numbered(next: TokenId, tokens: &[Vec<u8>]) -> Result<Vec<(TokenId, Vec<u8>)>> {
    if tokens.len() > (NO_ID - next) as usize {
        return Err(Error::vocabulary(None, "there are no ids after the largest for so many tokens"));
    }
    Ok((next..).zip(tokens.iter().cloned()).collect())
}

/// The bytes of a token in the form that the model has: letters of the byte alphabet where it works on these.
fn as_model_sees(description: &Description, token: &[u8]) -> Vec<u8> {
    if description.writes_letters() && !description.is_byte_level() {
        return byte_alphabet::write(token).into_bytes();
    }
    token.to_vec()
}

fn check(engine: &Engine, tokens: &[Vec<u8>]) -> Result<()> {
    let (mut seen, list) = (HashSet::new(), engine.description().model.tokens());
    for token in tokens {
        let shown = token.escape_ascii();
        if token.is_empty() {
            return Err(Error::vocabulary(None, "a token cannot be empty"));
        }
        if !seen.insert(token) {
            return Err(Error::vocabulary(None, format!("b\"{shown}\" is listed twice")));
        }
        let known = list.find(token).map(|index| list.id(index));
        let added =
            std::str::from_utf8(token).ok().and_then(|text| engine.vocabulary().added_by_content(text));
        if let Some(id) = known.or(added.map(|token| token.id)) {
            let reason = format!("is the id of b\"{shown}\" already");
            return Err(Error::vocabulary(Some(id.into()), reason));
        }
    }
    Ok(())
}

/// Appends tokens and merges to the model. New pieces have scores below all others, each below the one before.
pub(super) fn append(
    description: &mut Description,
    tokens: &[(TokenId, Vec<u8>)],
    merges: Vec<crate::description::Merge>,
) -> Result<()> {
    let list = description.model.tokens_mut();
    *list = Arc::new(with_tokens(list, tokens));
    let Some(model) = description.model.as_bpe_mut() else { return Ok(()) };
    match &mut model.merges {
        Merges::Listed(listed) => listed.extend(merges),
        Merges::ById => {}
        Merges::ByScore { scores, kinds } => {
            let mut lowest = scores.iter().copied().fold(0.0, f32::min);
            for _ in tokens {
                lowest = (lowest - 1.0).min(lowest.next_down());
                if !lowest.is_finite() {
                    return Err(Error::vocabulary(
                        None,
                        "the scores leave none that is lower for a new token",
                    ));
                }
                scores.push(lowest);
                kinds.push(PieceKind::Normal);
            }
        }
    }
    Ok(())
}
