//! Adds a caller's special tokens to a description: which ids they get, and which ordinary tokens
//! become special.
//!
//! In: a valid description and the caller's tokens. Out: the description with them, or an error
//! that names a token. Nothing is compiled here: if no merge list says whether text becomes an
//! ordinary token, a callback of the caller does.
use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId};

use super::{AddedToken, Alphabet, Description, EndOfWordForm, Merge, Merges};

/// Returns the id if the model encodes a pretoken as a single token.
pub(super) type SpellsAsOne<'a> = dyn FnMut(&[u8]) -> Result<Option<TokenId>> + 'a;

impl Description {
    /// Returns the description with more special tokens: `(content, id)`, with `None` for the next
    /// free id. An added token with this content becomes special and keeps its id. An ordinary
    /// token with this content becomes special under its id, unless merges build it. Cost: linear
    /// in the vocabulary and the tokens.
    ///
    /// # Errors
    /// A special-token error for an empty or repeated content, or for an id that is taken; those of
    /// `spells_as_one`.
    pub(super) fn with_special_tokens(
        self,
        tokens: &[(String, Option<TokenId>)],
        spells_as_one: &mut SpellsAsOne<'_>,
    ) -> Result<Self> {
        let ends_words = match self.model.as_bpe().map(|model| &model.alphabet) {
            Some(Alphabet::Chars { end_of_word: Some(mark) }) if mark.form == EndOfWordForm::Separate => {
                Some(mark.symbol.clone())
            }
            _ => None,
        };
        let mut growing = Growing::new(self, spells_as_one);
        let mut listed = HashSet::with_capacity(tokens.len());
        for (content, id) in tokens {
            if content.is_empty() {
                return Err(Error::special("", "a special token cannot be empty"));
            }
            if ends_words.as_ref() == Some(content) {
                let reason = "is the end-of-word symbol, which the model gives for every word";
                return Err(Error::special(content, reason));
            }
            if !listed.insert(content) {
                return Err(Error::special(content, "is listed twice"));
            }
            growing.add(content, *id)?;
        }
        Ok(growing.finish())
    }
}

/// The description under construction, with lookup tables.
struct Growing<'a, 's> {
    description: Description,
    spells_as_one: &'a mut SpellsAsOne<'s>,
    /// Index of each added token by its content.
    by_content: HashMap<String, usize>,
    /// Ids of added tokens.
    added_ids: HashSet<TokenId>,
    /// The largest id of all ordinary and added tokens.
    last: Option<TokenId>,
    /// Contents of ordinary tokens that are to be removed.
    dropped: HashSet<Vec<u8>>,
    /// Ids that the listed merges name; computed on first use.
    merged: Option<HashSet<TokenId>>,
}

impl<'a, 's> Growing<'a, 's> {
    fn new(description: Description, spells_as_one: &'a mut SpellsAsOne<'s>) -> Self {
        let added = &description.added_tokens;
        let by_content = added.iter().enumerate().map(|(i, token)| (token.content.clone(), i)).collect();
        let added_ids = added.iter().map(|token| token.id).collect();
        let last = description.model.tokens().ids().last().copied();
        let last = last.max(added.iter().map(|token| token.id).max());
        let (dropped, merged) = (HashSet::new(), None);
        Self { description, spells_as_one, by_content, added_ids, last, dropped, merged }
    }

    fn add(&mut self, content: &str, id: Option<TokenId>) -> Result<()> {
        let refuse = |reason: String| Err(Error::special(content, reason));
        if let Some(&index) = self.by_content.get(content) {
            let token = &mut self.description.added_tokens[index];
            if id.is_some_and(|id| id != token.id) {
                return refuse(format!("has the id {} already", token.id));
            }
            token.is_special = true;
            return Ok(());
        }
        let tokens = self.description.model.tokens();
        let ordinary = tokens.find(content.as_bytes()).map(|index| tokens.id(index));
        let id = match (id, ordinary) {
            (Some(id), Some(found)) if id == found => id,
            // A file may list a control token among the ordinary tokens. If text cannot produce it,
            // that entry is meant.
            (None, Some(found)) if !self.is_built(content, found)? => found,
            (Some(id), _) => {
                let is_ordinary = !self.description.model.tokens().indices_of(id).is_empty();
                if is_ordinary || self.added_ids.contains(&id) {
                    return refuse(format!("the id {id} is taken"));
                }
                id
            }
            (None, _) => match self.last.map_or(0, |last| last + 1) {
                NO_ID => {
                    return refuse(
                        "needs an id, and there is none after the largest; give it one".to_owned(),
                    );
                }
                next => next,
            },
        };
        if id == NO_ID {
            return refuse(format!("the id {id} is too large; ids end at {}", NO_ID - 1));
        }
        if ordinary == Some(id) {
            if self.is_built(content, id)? {
                return refuse(format!("is an ordinary token, {id}, that text becomes; give it another id"));
            }
            self.dropped.insert(content.as_bytes().to_vec());
        }
        self.by_content.insert(content.to_owned(), self.description.added_tokens.len());
        self.added_ids.insert(id);
        self.last = self.last.max(Some(id));
        self.description.added_tokens.push(AddedToken::special(id, content));
        Ok(())
    }

    /// Can text produce this ordinary token, by merging or as a symbol of the alphabet?
    fn is_built(&mut self, content: &str, id: TokenId) -> Result<bool> {
        let bytes = content.as_bytes();
        if let Some(Merges::Listed(merges)) = self.description.model.as_bpe().map(|model| &model.merges) {
            let merged = self.merged.get_or_insert_with(|| merges.iter().flat_map(Merge::ids).collect());
            return Ok(bytes.len() < 2 || merged.contains(&id));
        }
        Ok((self.spells_as_one)(bytes)? == Some(id))
    }

    fn finish(mut self) -> Description {
        if !self.dropped.is_empty() {
            self.description.model.drop_tokens(|_, bytes| self.dropped.contains(bytes));
        }
        AddedToken::sort_by_id(&mut self.description.added_tokens);
        self.description
    }
}
