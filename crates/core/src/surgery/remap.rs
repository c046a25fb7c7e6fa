//! Other ids for the same tokens.
//!
//! In: a description and a new id for every old one. Out: the description with these ids wherever ids are. Nothing but
//! ids may change: where a model goes by the order of its ids, that order is written down before.
use std::sync::Arc;

use super::{Condition, Promise, Surgery};
use crate::description::{
    AddedToken, Description, Merge, Merges, ModelDescription, PieceKind, PostProcessor, Role, TokenList,
};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId};

/// The largest map for a vocabulary with gaps: 64 MB.
const MOST_IDS: usize = 1 << 24;

/// The new id of every old one. An old id may be gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMap(Vec<TokenId>);

impl IdMap {
    /// The map that changes nothing, for the ids of this tokenizer.
    ///
    /// # Errors
    /// A limit error for ids that are so far apart that a table of them would be mostly empty.
    pub fn identity(engine: &Engine) -> Result<Self> {
        let vocabulary = engine.vocabulary();
        let size = vocabulary.max_id().map_or(0, |last| last as usize + 1);
        if size > MOST_IDS.max(16 * vocabulary.len()) {
            let reason =
                format!("{} tokens have ids up to {}: too far apart for a map", vocabulary.len(), size - 1);
            return Err(Error::limit(reason, MOST_IDS as u64));
        }
        let ids = (0..).take(size);
        Ok(Self(ids.map(|id| if vocabulary.contains(id) { id } else { NO_ID }).collect()))
    }

    /// A map from old ids, in order, to new ones; `NO_ID` for what is gone.
    pub(super) fn new(ids: Vec<TokenId>) -> Self {
        Self(ids)
    }

    /// The new id.
    pub fn of(&self, id: TokenId) -> Option<TokenId> {
        self.0.get(id as usize).copied().filter(|&new| new != NO_ID)
    }

    /// The new ids by old id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<TokenId>> + '_ {
        self.0.iter().map(|&new| (new != NO_ID).then_some(new))
    }

    /// Do these ids keep their order?
    fn keeps_order(&self, ids: &[TokenId]) -> bool {
        ids.iter().filter_map(|&id| self.of(id)).is_sorted()
    }

    fn must(&self, id: TokenId) -> Result<TokenId> {
        self.of(id).ok_or_else(|| Error::internal("an id that something refers to is gone"))
    }
}

/// The same tokenizer with other ids: pairs of an old id and its new one. Ids that are not named stay.
///
/// # Errors
/// A vocabulary error for an id that does not exist, or is named twice, for a new id that two tokens would have or that
/// is too large, and for a Unigram vocabulary in which a piece is listed twice, where the last one counts; a format error
/// as for [`Engine::merges`] where the order of ids is the order of merges.
pub fn remap(engine: &Engine, pairs: &[(TokenId, TokenId)]) -> Result<Surgery> {
    let mut map = IdMap::identity(engine)?;
    let mut named = vec![false; map.0.len()];
    for &(old, new) in pairs {
        let place = map.0.get_mut(old as usize).filter(|id| **id != NO_ID);
        let Some(place) = place else {
            return Err(Error::vocabulary(Some(old.into()), "does not exist in this vocabulary"));
        };
        if std::mem::replace(&mut named[old as usize], true) {
            return Err(Error::vocabulary(Some(old.into()), "is given two new ids"));
        }
        if new == NO_ID {
            return Err(Error::vocabulary(
                Some(new.into()),
                format!("is too large; ids end at {}", NO_ID - 1),
            ));
        }
        *place = new;
    }
    let mut all: Vec<TokenId> = map.iter().flatten().collect();
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        let reason = "would be the new id of two tokens; give one of them another";
        return Err(Error::vocabulary(Some(pair[0].into()), reason));
    }
    let description = renumbered(engine, &map)?;
    Ok(Surgery { description, id_map: map, promise: Promise::of(Condition::All) })
}

/// The description with new ids, without the tokens that are gone.
///
/// # Errors
/// As [`remap`].
pub(super) fn renumbered(engine: &Engine, map: &IdMap) -> Result<Description> {
    let mut description = engine.description().clone();
    let tokens = Arc::clone(description.model.tokens());
    let keeps_order = map.keeps_order(tokens.ids());
    if !keeps_order {
        write_order_down(engine, &mut description)?;
    }
    description.model.drop_tokens(|id, _| map.of(id).is_none());
    if keeps_order {
        let list = description.model.tokens_mut();
        let ids = list.ids().iter().map(|&id| map.must(id)).collect::<Result<_>>()?;
        *list = Arc::new(TokenList::clone(list).with_ids(ids));
    } else {
        sort_tokens(&mut description.model, map)?;
    }
    if let Some(model) = description.model.as_bpe_mut()
        && let Merges::Listed(merges) = &mut model.merges
    {
        let kept = merges.iter().filter_map(|merge| {
            let [left, right, result] = [merge.left, merge.right, merge.result].map(|id| map.of(id));
            Some(Merge { left: left?, right: right?, result: result? })
        });
        *merges = kept.collect();
    }
    renumber_others(&mut description, map)?;
    Ok(description)
}

/// Makes a model that goes by the order of its ids one that does not.
fn write_order_down(engine: &Engine, description: &mut Description) -> Result<()> {
    match &mut description.model {
        ModelDescription::Bpe(model) if model.merges == Merges::ById => {
            model.merges = Merges::Listed(engine.merges()?);
        }
        ModelDescription::Unigram(model) => {
            if let Some(index) = model.tokens.first_repeated() {
                let reason = "is a piece that is listed before; the last one counts, so that these ids cannot change their \
                              order";
                return Err(Error::vocabulary(Some(model.tokens.id(index).into()), reason));
            }
        }
        _ => {}
    }
    Ok(())
}

/// The tokens in the order of their new ids, with their scores and kinds.
fn sort_tokens(model: &mut ModelDescription, map: &IdMap) -> Result<()> {
    let tokens = Arc::clone(model.tokens());
    let mut order: Vec<(TokenId, usize)> = Vec::with_capacity(tokens.len());
    for (index, &id) in tokens.ids().iter().enumerate() {
        order.push((map.must(id)?, index));
    }
    // Tokens that share an id stay in the order of their bytes, in which they are.
    order.sort_unstable();
    let mut sorted = TokenList::with_capacity(tokens.len(), tokens.size());
    for &(id, index) in &order {
        sorted.push(id, tokens.bytes(index));
    }
    *model.tokens_mut() = Arc::new(sorted);
    let kinds_of = |kinds: &[PieceKind]| -> Vec<PieceKind> {
        if kinds.is_empty() { Vec::new() } else { order.iter().map(|&(_, index)| kinds[index]).collect() }
    };
    match model {
        ModelDescription::Unigram(model) => {
            model.scores = order.iter().map(|&(_, index)| model.scores[index]).collect();
            model.kinds = kinds_of(&model.kinds);
        }
        ModelDescription::Bpe(model) => {
            if let Merges::ByScore { scores, kinds } = &mut model.merges {
                *scores = order.iter().map(|&(_, index)| scores[index]).collect();
                *kinds = kinds_of(kinds);
            }
        }
        ModelDescription::WordPiece(_) | ModelDescription::WordLevel(_) => {}
    }
    Ok(())
}

/// The ids outside the list of tokens.
fn renumber_others(description: &mut Description, map: &IdMap) -> Result<()> {
    for token in &mut description.added_tokens {
        token.id = map.must(token.id)?;
    }
    AddedToken::sort_by_id(&mut description.added_tokens);
    if let Some(unk) = description.model.unk_mut() {
        *unk = map.must(*unk)?;
    }
    for role in Role::ALL {
        if let Some(id) = description.roles.of(role) {
            description.roles.set(role, map.must(id)?);
        }
    }
    if let Some(padding) = &mut description.padding {
        // A file may pad with an id that no token has.
        padding.id = map.of(padding.id).unwrap_or(padding.id);
    }
    for step in &mut description.post_processor {
        match step {
            PostProcessor::Template(template) => {
                for token in &mut template.special_tokens {
                    for id in &mut token.ids {
                        *id = map.of(*id).unwrap_or(*id);
                    }
                }
            }
            PostProcessor::Bert { sep, cls } | PostProcessor::Roberta { sep, cls, .. } => {
                for (_, id) in [sep, cls] {
                    *id = map.of(*id).unwrap_or(*id);
                }
            }
            PostProcessor::ByteLevel { .. } => {}
        }
    }
    Ok(())
}
