//! Two vocabularies in one.
//!
//! In: two tokenizers with models of one kind. Out: the first with the tokens of the second that it lacks, after its
//! own, and the map from the second's ids. How text is normalized and split stays as in the first.
use std::collections::HashSet;

use super::extend::{append, next_id};
use super::promise::in_texts;
use super::{Condition, IdMap, Promise, Surgery};
use crate::description::{
    AddedToken, BpeDescription, Description, Merge, Merges, ModelDescription, PieceKind, WordPieceDescription,
};
use crate::engine::Engine;
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId};

/// The first tokenizer with the tokens of the second that it lacks. The map is that of the second's ids: those of the
/// first do not change. Merges of the second that make new tokens come after those of the first.
///
/// # Errors
/// A format error for models of different kinds or forms, and for Unigram; as for [`Engine::merges`] where the order of
/// ids is the order of merges; a special-token error for a special token of the one that is an ordinary token of the
/// other.
pub fn join(first: &Engine, second: &Engine) -> Result<Surgery> {
    let mut description = first.description().clone();
    check_kinds(&description, second.description())?;
    if let Some((_, id)) = second.description().model.tokens().first_shared_id() {
        return Err(Error::vocabulary(
            Some(id.into()),
            "is the id of several tokens of the second tokenizer",
        ));
    }
    let mut joining = Joining {
        first,
        map: vec![NO_ID; IdMap::identity(second)?.iter().len()],
        next: next_id(first)?,
        tokens: Vec::new(),
        added: Vec::new(),
    };
    joining.add_ordinary(second)?;
    joining.add_added(second)?;
    let Joining { map, tokens, added, .. } = joining;
    let merges = match description.model.as_bpe().map(|model| &model.merges) {
        Some(Merges::Listed(_)) => new_merges(second, &map, &tokens)?,
        _ => Vec::new(),
    };
    append(&mut description, &tokens, merges)?;
    let mut without: Vec<Vec<u8>> =
        tokens.iter().flat_map(|(_, bytes)| in_texts(&description.model, bytes)).collect();
    without.extend(added.iter().map(|token| token.content.clone().into_bytes()));
    without.retain(|bytes| !bytes.is_empty());
    description.added_tokens.extend(added);
    AddedToken::sort_by_id(&mut description.added_tokens);
    let promise = Promise::of(Condition::Without(without));
    Ok(Surgery { description, id_map: IdMap::new(map), promise })
}

struct Joining<'a> {
    first: &'a Engine,
    map: Vec<TokenId>,
    next: TokenId,
    tokens: Vec<(TokenId, Vec<u8>)>,
    added: Vec<AddedToken>,
}

impl Joining<'_> {
    fn take_id(&mut self) -> Result<TokenId> {
        if self.next == NO_ID {
            return Err(Error::vocabulary(None, "there are no ids after the largest for so many tokens"));
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// The ordinary tokens, in the order in which they are merged: by id, or the highest score first.
    fn add_ordinary(&mut self, second: &Engine) -> Result<()> {
        let tokens = second.description().model.tokens();
        let known = self.first.description().model.tokens().clone();
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        if let Some(BpeDescription { merges: Merges::ByScore { scores, .. }, .. }) =
            second.description().model.as_bpe()
        {
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        }
        for index in order {
            let (id, bytes) = (tokens.id(index), tokens.bytes(index));
            // One that is an added token too is joined with these.
            if second.vocabulary().added_by_id(id).is_some_and(|token| token.content.as_bytes() == bytes) {
                continue;
            }
            let added = std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| self.first.vocabulary().added_by_content(text));
            let is_never_text = is_no_text(second.description(), index);
            let found = known.find(bytes).map(|index| known.id(index)).or(added.map(|token| token.id));
            self.map[id as usize] = match found {
                Some(found) => found,
                // The unknown token of the second is that of the first; for the others there is no place.
                None if is_never_text => {
                    let is_unknown = second.description().model.unk() == Some(id);
                    self.first.description().model.unk().filter(|_| is_unknown).unwrap_or(NO_ID)
                }
                None => {
                    let new = self.take_id()?;
                    self.tokens.push((new, bytes.to_vec()));
                    new
                }
            };
        }
        Ok(())
    }

    fn add_added(&mut self, second: &Engine) -> Result<()> {
        let known = self.first.description().model.tokens().clone();
        for token in &second.description().added_tokens {
            let new = if let Some(found) = self.first.vocabulary().added_by_content(&token.content) {
                found.id
            } else if known.find(token.content.as_bytes()).is_some()
                || self.tokens.iter().any(|(_, bytes)| bytes == token.content.as_bytes())
            {
                let reason = "is an added token of the second tokenizer and an ordinary one of the first; rename it first";
                return Err(Error::special(&token.content, reason));
            } else {
                let id = self.take_id()?;
                // Searched for in normalized text it would be found where nobody wrote it.
                let normalized = token.normalized && self.first.description().normalizer.is_empty();
                self.added.push(AddedToken { id, normalized, ..token.clone() });
                id
            };
            self.map[token.id as usize] = new;
        }
        Ok(())
    }
}

/// Is it a piece that no text becomes, as the unknown one is?
fn is_no_text(description: &Description, index: usize) -> bool {
    let Some(BpeDescription { merges: Merges::ByScore { kinds, .. }, .. }) = description.model.as_bpe()
    else {
        return false;
    };
    matches!(kinds[index], PieceKind::Unknown | PieceKind::Control | PieceKind::Byte)
}

/// The merges of the second tokenizer that make new tokens, with the new ids, in their order.
fn new_merges(second: &Engine, map: &[TokenId], tokens: &[(TokenId, Vec<u8>)]) -> Result<Vec<Merge>> {
    let is_new: HashSet<TokenId> = tokens.iter().map(|&(id, _)| id).collect();
    let new = |id: TokenId| map.get(id as usize).copied().filter(|&id| id != NO_ID);
    let merges = second.merges()?;
    let moved = merges.iter().filter_map(|merge| {
        let result = new(merge.result).filter(|id| is_new.contains(id))?;
        Some(Merge { left: new(merge.left)?, right: new(merge.right)?, result })
    });
    Ok(moved.collect())
}

fn check_kinds(first: &Description, second: &Description) -> Result<()> {
    let refuse = |reason: &str| Err(Error::format(Defect::CannotHold, reason).at("model"));
    if first.writes_letters() != second.writes_letters() && first.is_byte_level() != second.is_byte_level() {
        return refuse(
            "one tokenizer works on bytes and the other does not, so that their tokens do not mean the same",
        );
    }
    match (&first.model, &second.model) {
        (ModelDescription::Bpe(a), ModelDescription::Bpe(b)) => {
            if a.alphabet != b.alphabet || a.continuing_prefix != b.continuing_prefix {
                return refuse(
                    "the two models do not start from the same kind of symbols: bytes, or characters with marks",
                );
            }
            let by_score = |model: &BpeDescription| matches!(model.merges, Merges::ByScore { .. });
            if by_score(a) != by_score(b) {
                return refuse("one model merges by score and the other by rank");
            }
            Ok(())
        }
        (
            ModelDescription::WordPiece(WordPieceDescription { continuing_prefix: a, .. }),
            ModelDescription::WordPiece(WordPieceDescription { continuing_prefix: b, .. }),
        ) if a == b => Ok(()),
        (ModelDescription::WordLevel(_), ModelDescription::WordLevel(_)) => Ok(()),
        (ModelDescription::Unigram(_), ModelDescription::Unigram(_)) => refuse(
            "the scores of two Unigram models do not compare, so that nothing can be said of the ids of a text",
        ),
        _ => refuse("the two tokenizers have models of different kinds"),
    }
}
