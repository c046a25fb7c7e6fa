//! Tokenizers made from one another: a smaller vocabulary, more special tokens. The result is a
//! description; nothing here changes.
use std::collections::{HashMap, HashSet};

use crate::description::{AddedToken, Description, Merge, Merges};
use crate::error::{Error, Kind, Result};
use crate::ids::{NO_ID, TokenId};
use crate::model::Scratch;
use crate::watch::{Ticker, Unwatched};

use super::Engine;

impl Engine {
    /// The same tokenizer with only the first merges, so many that `vocab_size` ids remain. The
    /// ids of the tokens that stay are the same; a prefix of the merges is what training to the
    /// smaller size would have learned.
    ///
    /// # Errors
    /// A vocabulary error when `vocab_size` is larger than the vocabulary or too small for the
    /// alphabet and the added tokens; a format error as for [`Self::merges`].
    pub fn with_vocab_size(&self, vocab_size: usize) -> Result<Description> {
        let mut merges = self.merges()?;
        // A file may list several merges that make the same token.
        let results: HashSet<TokenId> = merges.iter().map(|merge| merge.result).collect();
        let size = self.vocabulary().len();
        let smallest = size - results.len();
        if vocab_size > size || vocab_size < smallest {
            let reason = format!(
                "vocab_size={vocab_size} is not between {smallest} (no merges) and {size} (all of them)"
            );
            return Err(Error::vocabulary(None, reason));
        }
        let mut made = HashSet::new();
        let mut length = 0;
        for merge in &merges {
            if !(made.contains(&merge.result) || made.len() < vocab_size - smallest) {
                break;
            }
            made.insert(merge.result);
            length += 1;
        }
        merges.truncate(length);
        let dropped = |id, _: &[u8]| results.contains(&id) && !made.contains(&id);
        let mut description = self.description.clone();
        description.model.drop_tokens(dropped);
        if let Some(model) = description.model.as_bpe_mut()
            && matches!(model.merges, Merges::Listed(_))
        {
            model.merges = Merges::Listed(merges);
        }
        Ok(description)
    }

    /// The same tokenizer with more special tokens: `(content, id)`, the id `None` for the next
    /// free one. A content that is an added token already becomes special and keeps its id; one
    /// that is an ordinary token in its written form becomes special under that id, unless
    /// merges build it.
    ///
    /// # Errors
    /// A special-token error for an empty or repeated content, or an id that is taken.
    pub fn with_special_tokens(&self, tokens: &[(String, Option<TokenId>)]) -> Result<Description> {
        let mut growing = Growing::new(self);
        let mut listed = HashSet::with_capacity(tokens.len());
        for (content, id) in tokens {
            if content.is_empty() {
                return Err(Error::special("", "a special token cannot be empty"));
            }
            if !listed.insert(content) {
                return Err(Error::special(content, "is listed twice"));
            }
            if let Err(reason) = growing.add(content, *id) {
                return Err(Kind::SpecialToken { token: content.clone(), position: None, reason }.into());
            }
        }
        Ok(growing.finish())
    }
}

/// A description that gets more special tokens. What is asked for each of them is looked up, so that
/// the cost is that of the vocabulary and of the tokens, not of their product.
struct Growing<'a> {
    engine: &'a Engine,
    description: Description,
    /// Indices of added tokens by content.
    by_content: HashMap<String, usize>,
    /// Ids of added tokens.
    added_ids: HashSet<TokenId>,
    /// The largest id, of ordinary and added tokens.
    last: Option<TokenId>,
    /// Contents that ordinary tokens had and are to lose.
    dropped: HashSet<&'a [u8]>,
    /// Ids that the listed merges name, made when first needed.
    merged: Option<HashSet<TokenId>>,
}

impl<'a> Growing<'a> {
    fn new(engine: &'a Engine) -> Self {
        let description = engine.description.clone();
        let added = &description.added_tokens;
        let by_content = added.iter().enumerate().map(|(i, token)| (token.content.clone(), i)).collect();
        let added_ids = added.iter().map(|token| token.id).collect();
        let last = description.model.tokens().ids().last().copied();
        let last = last.max(added.iter().map(|token| token.id).max());
        Self { engine, by_content, added_ids, last, description, dropped: HashSet::new(), merged: None }
    }

    fn add(&mut self, content: &'a str, id: Option<TokenId>) -> std::result::Result<(), String> {
        if let Some(&index) = self.by_content.get(content) {
            let token = &mut self.description.added_tokens[index];
            if id.is_some_and(|id| id != token.id) {
                return Err(format!("has the id {} already", token.id));
            }
            token.is_special = true;
            return Ok(());
        }
        let vocabulary = self.engine.vocabulary();
        let ordinary = vocabulary.find(content.as_bytes());
        let id = match (id, ordinary) {
            (Some(id), Some(found)) if id == found => id,
            // A file may list a control token among the ordinary ones: it is that entry which
            // is meant, if text cannot produce it.
            (None, Some(found)) if !self.is_built(content, found) => found,
            (Some(id), _) => {
                if vocabulary.contains(id) || self.added_ids.contains(&id) {
                    return Err(format!("the id {id} is taken"));
                }
                id
            }
            (None, _) => match self.last.map_or(0, |last| last + 1) {
                NO_ID => {
                    return Err("needs an id, and there is none behind the largest; give it one".to_owned());
                }
                next => next,
            },
        };
        if id == NO_ID {
            return Err(format!("the id {id} is too large; ids end at {}", NO_ID - 1));
        }
        if ordinary == Some(id) {
            if self.is_built(content, id) {
                return Err(format!("is an ordinary token, {id}, that text becomes; give it another id"));
            }
            self.dropped.insert(content.as_bytes());
        }
        self.by_content.insert(content.to_owned(), self.description.added_tokens.len());
        self.added_ids.insert(id);
        self.last = self.last.max(Some(id));
        self.description.added_tokens.push(AddedToken::special(id, content));
        Ok(())
    }

    /// Does an ordinary token take part in merging, or is it a symbol of the alphabet?
    fn is_built(&mut self, content: &str, id: TokenId) -> bool {
        let bytes = content.as_bytes();
        let engine = self.engine;
        if let Some(Merges::Listed(merges)) = engine.description.model.as_bpe().map(|model| &model.merges) {
            let ids = |merge: &Merge| [merge.left, merge.right, merge.result];
            let merged = self.merged.get_or_insert_with(|| merges.iter().flat_map(ids).collect());
            return bytes.len() < 2 || merged.contains(&id);
        }
        let mut scratch = Scratch::default();
        let mut ticker = Ticker::new(&Unwatched);
        let spelled = engine.parts.model.encode(bytes, engine.vocabulary(), &mut scratch, &mut ticker);
        spelled.is_ok() && scratch.ids == [id]
    }

    fn finish(mut self) -> Description {
        if !self.dropped.is_empty() {
            self.description.model.drop_tokens(|_, bytes| self.dropped.contains(bytes));
        }
        self.description.added_tokens.sort_by_key(|token| token.id);
        self.description
    }
}
