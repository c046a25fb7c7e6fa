//! All checks of a description that need no compiling, in one place for every way in.
use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::{AddedToken, Alphabet, Bpe, Description, EndOfWordForm, Merge, Merges, Model, TokenList};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId};

impl Description {
    /// Is this a tokenizer?
    ///
    /// # Errors
    /// A format error that names the field at fault.
    pub fn validate(&self) -> Result<()> {
        self.validate_tokens().map_err(|e| e.at("vocab").at("model"))?;
        self.validate_added().map_err(|e| e.at("added_tokens"))?;
        if let Some(id) = self.model.unk() {
            self.validate_id(id).map_err(|e| e.at("unk").at("model"))?;
        }
        for (name, id) in self.roles.named() {
            if let Some(id) = id {
                self.validate_id(id).map_err(|e| e.at(name).at("roles"))?;
            }
        }
        match &self.model {
            Model::Bpe(model) => model.validate().map_err(|e| e.at("model")),
            Model::Unigram(model) => check_lengths(&model.tokens, &[model.scores.len()])
                .and_then(|()| {
                    let kinds = model.kinds.len();
                    if kinds == 0 { Ok(()) } else { check_lengths(&model.tokens, &[kinds]) }
                })
                .map_err(|e| e.at("vocab").at("model")),
            Model::WordPiece(_) | Model::WordLevel(_) => Ok(()),
        }
    }

    fn validate_tokens(&self) -> Result<()> {
        let ids = self.model.tokens().ids();
        if let Some(i) = ids.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(duplicate_id(ids[i + 1]).at_index(i + 1));
        }
        if ids.last() == Some(&NO_ID) {
            return Err(Error::format(
                Defect::Range,
                format!("id {NO_ID} is too large; ids end at {}", NO_ID - 1),
            ));
        }
        let mut seen: HashSet<&[u8], FixedState> =
            HashSet::with_capacity_and_hasher(ids.len(), FixedState::default());
        if let Some((i, (id, _))) =
            self.model.tokens().iter().enumerate().find(|(_, (_, bytes))| !seen.insert(bytes))
        {
            let reason = format!("token {id} has the same bytes as one before it");
            return Err(Error::format(Defect::Duplicate, reason).at_index(i));
        }
        Ok(())
    }

    fn validate_added(&self) -> Result<()> {
        let mut contents = HashSet::new();
        let mut previous = None;
        for (i, token) in self.added_tokens.iter().enumerate() {
            let defect = if token.content.is_empty() {
                Some(Error::format(Defect::Empty, "an added token is empty"))
            } else if !contents.insert(token.content.as_str()) {
                Some(Error::format(
                    Defect::Duplicate,
                    format!("added token {:?} is there twice", token.content),
                ))
            } else if previous >= Some(token.id) || self.is_another_token(token) {
                Some(duplicate_id(token.id))
            } else if token.id == NO_ID {
                Some(Error::format(Defect::Range, format!("id {NO_ID} is too large")))
            } else {
                None
            };
            if let Some(error) = defect {
                return Err(error.at_index(i));
            }
            previous = Some(token.id);
        }
        Ok(())
    }

    /// Is the id of an added token that of an ordinary token with another text?
    fn is_another_token(&self, added: &AddedToken) -> bool {
        let tokens = self.model.tokens();
        tokens.index_of(added.id).is_some_and(|index| tokens.bytes(index) != added.content.as_bytes())
    }

    fn validate_id(&self, id: TokenId) -> Result<()> {
        let known = self.model.tokens().index_of(id).is_some()
            || self.added_tokens.iter().any(|token| token.id == id);
        if known { Ok(()) } else { Err(Error::format(Defect::Missing, format!("id {id} does not exist"))) }
    }
}

impl Bpe {
    fn validate(&self) -> Result<()> {
        match &self.merges {
            Merges::Listed(merges) => self.validate_merges(merges).map_err(|e| e.at("merges"))?,
            Merges::ById => {}
            Merges::ByScore { scores, kinds } => check_lengths(&self.tokens, &[scores.len(), kinds.len()])?,
        }
        self.validate_alphabet().map_err(|e| e.at("alphabet"))
    }

    fn validate_merges(&self, merges: &[Merge]) -> Result<()> {
        let tokens = &self.tokens;
        let bytes = |id| tokens.index_of(id).map(|index| tokens.bytes(index));
        for (i, merge) in merges.iter().enumerate() {
            let (Some(left), Some(right), Some(result)) =
                (bytes(merge.left), bytes(merge.right), bytes(merge.result))
            else {
                let missing =
                    [merge.left, merge.right, merge.result].into_iter().find(|&id| bytes(id).is_none());
                let reason = format!("id {} is not an ordinary token", missing.unwrap_or_default());
                return Err(Error::format(Defect::Merge, reason).at_index(i));
            };
            // As the reference has it: so many bytes are left out, whatever they are.
            let prefix = self.continuing_prefix.as_deref().unwrap_or_default();
            let right = right.get(prefix.len()..).unwrap_or(right);
            let joined = result.len() == left.len() + right.len()
                && result.starts_with(left)
                && result.ends_with(right);
            if !joined {
                let reason = format!("token {} is not its two parts joined", merge.result);
                return Err(Error::format(Defect::Merge, reason).at_index(i));
            }
        }
        Ok(())
    }

    fn validate_alphabet(&self) -> Result<()> {
        let Alphabet::Chars { end_of_word } = &self.alphabet else { return Ok(()) };
        if let Some((id, _)) = self.tokens.iter().find(|(_, bytes)| std::str::from_utf8(bytes).is_err()) {
            let reason = format!("token {id} is not UTF-8, but the alphabet is characters");
            return Err(Error::format(Defect::Encoding, reason));
        }
        let Some(mark) = end_of_word else { return Ok(()) };
        if mark.symbol.is_empty() {
            return Err(Error::format(Defect::Empty, "the end-of-word symbol is empty"));
        }
        let is_token = || self.tokens.iter().any(|(_, bytes)| bytes == mark.symbol.as_bytes());
        if mark.form == EndOfWordForm::Separate && !is_token() {
            let reason = format!("the end-of-word symbol {:?} is not a token", mark.symbol);
            return Err(Error::format(Defect::Missing, reason));
        }
        Ok(())
    }
}

fn check_lengths(tokens: &TokenList, lengths: &[usize]) -> Result<()> {
    match lengths.iter().find(|&&length| length != tokens.len()) {
        None => Ok(()),
        Some(length) => {
            let reason = format!("{} tokens but {length} scores or kinds", tokens.len());
            Err(Error::format(Defect::Inconsistent, reason))
        }
    }
}

fn duplicate_id(id: TokenId) -> Error {
    Error::format(Defect::Duplicate, format!("two tokens have the id {id}"))
}
