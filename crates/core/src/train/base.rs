//! Training that goes on from a tokenizer: its merges first, then learned ones after them.
//!
//! In: an engine. Out: what training needs of it, and at the end its description with the new tokens. The merges are made
//! in the text as training would make them, so that what is learned next is what training would have learned next.
use std::collections::HashMap;
use std::sync::Arc;

use crate::description::{Alphabet, BpeDescription, Description, Merge, Merges, TokenList};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};

/// A tokenizer that training goes on from.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    description: Description,
    /// The symbols of the parts of each merge: bytes first, then the merges in their order.
    merges: Vec<(u32, u32)>,
    /// The id of each symbol.
    ids: Vec<TokenId>,
    /// The number of ids that it has, and the largest of them.
    size: usize,
    last: TokenId,
}

impl Base {
    /// The base that a tokenizer is.
    ///
    /// # Errors
    /// A training error if the tokenizer has hooks, if its model is not byte-pair encoding over all bytes, if several
    /// merges make one token, or if a merge comes before one that makes a part of it. The errors of
    /// [`Engine::merges`].
    pub fn new(engine: &Engine) -> Result<Self> {
        let wrong = |reason: String| Err(Error::training(reason).at("base"));
        let mut description = engine.description().clone();
        if description.hooks().next().is_some() {
            let reason = "the tokenizer has a function as its normalizer or splitter, which training does not call; go on \
                          from the tokenizer without it, and give it to the result (with_normalizer, with_splitter)";
            return wrong(reason.to_owned());
        }
        let Some(BpeDescription { alphabet: Alphabet::Bytes, tokens, .. }) = description.model.as_bpe()
        else {
            let reason = "training goes on from byte-pair encoding over bytes alone; train without base";
            return wrong(reason.to_owned());
        };
        let merges = engine.merges()?;
        let mut ids = Vec::with_capacity(256 + merges.len());
        for byte in 0..=u8::MAX {
            match tokens.find(&[byte]) {
                Some(index) => ids.push(tokens.id(index)),
                None => {
                    return wrong(format!(
                        "the tokenizer has no token for the byte {byte}; training starts from all 256, so add the others \
                         with extend first"
                    ));
                }
            }
        }
        let mut symbols: HashMap<TokenId, u32> = (0..).zip(&ids).map(|(symbol, &id)| (id, symbol)).collect();
        let mut parts = Vec::with_capacity(merges.len());
        for (number, merge) in merges.iter().enumerate() {
            let symbol = |id: TokenId| symbols.get(&id).copied();
            let (Some(left), Some(right)) = (symbol(merge.left), symbol(merge.right)) else {
                let missing = if symbol(merge.left).is_none() { merge.left } else { merge.right };
                return wrong(format!(
                    "merge {number} joins the token {missing}, which no merge before it makes; training makes the parts of a \
                     token first, so train without base and add the tokens of the result with extend"
                ));
            };
            if symbols.insert(merge.result, to_u32(ids.len())).is_some() {
                return wrong(format!(
                    "merge {number} makes the token {}, as one before it does; training makes a token once, so train without \
                     base and add the tokens of the result with extend",
                    merge.result
                ));
            }
            ids.push(merge.result);
            parts.push((left, right));
        }
        let (size, last) = (engine.vocabulary().len(), engine.vocabulary().max_id().unwrap_or_default());
        if let Some(model) = description.model.as_bpe_mut() {
            model.merges = Merges::Listed(merges);
        }
        Ok(Self { description, merges: parts, ids, size, last })
    }

    /// The tokenizer itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The number of its ids.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The symbols of the parts of each merge: bytes first, then the merges in their order.
    pub(super) fn merges(&self) -> &[(u32, u32)] {
        &self.merges
    }

    /// The tokenizer with what was learned after all that it has: pairs of symbols, and all tokens by symbol.
    pub(super) fn with_learned(&self, tokens: &TokenList, learned: &[(u32, u32)]) -> Result<Description> {
        if learned.len() > (NO_ID - 1 - self.last) as usize {
            return Err(Error::training("more than 2^32 - 1 tokens"));
        }
        let mut description = self.description.clone();
        let Some(model) = description.model.as_bpe_mut() else {
            return Err(Error::internal("a base without merges"));
        };
        let mut list = TokenList::clone(&model.tokens);
        let mut ids = self.ids.clone();
        let mut merges = Vec::with_capacity(learned.len());
        for &(left, right) in learned {
            let result = self.last + 1 + to_u32(merges.len());
            list.push(result, tokens.bytes(ids.len()));
            merges.push(Merge { left: ids[left as usize], right: ids[right as usize], result });
            ids.push(result);
        }
        model.tokens = Arc::new(list);
        if let Merges::Listed(listed) = &mut model.merges {
            listed.extend(merges);
        }
        Ok(description)
    }
}
