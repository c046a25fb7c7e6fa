//! All checks of a description that need no compilation, shared by all readers and constructors.
use std::collections::HashSet;

use super::{
    AddedToken, Alphabet, BpeDescription, Description, EndOfWordForm, Merges, ModelDescription, TokenList,
};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId};

impl Description {
    /// Checks that the description is consistent.
    ///
    /// # Errors
    /// A format error that names the wrong field.
    pub fn validate(&self) -> Result<()> {
        self.validate_tokens().map_err(|e| e.at("vocab").at("model"))?;
        self.validate_added().map_err(|e| e.at("added_tokens"))?;
        self.validate_hooks()?;
        if let Some(id) = self.model.unk() {
            self.validate_id(id).map_err(|e| e.at("unk").at("model"))?;
        }
        for (name, id) in self.roles.named() {
            if let Some(id) = id {
                self.validate_id(id).map_err(|e| e.at(name).at("roles"))?;
            }
        }
        match &self.model {
            ModelDescription::Bpe(model) => model.validate(&self.added_tokens).map_err(|e| e.at("model")),
            ModelDescription::Unigram(model) => check_lengths(&model.tokens, &[model.scores.len()])
                .and_then(|()| {
                    let kinds = model.kinds.len();
                    if kinds == 0 { Ok(()) } else { check_lengths(&model.tokens, &[kinds]) }
                })
                .map_err(|e| e.at("vocab").at("model")),
            ModelDescription::WordPiece(_) | ModelDescription::WordLevel(_) => Ok(()),
        }
    }

    fn validate_tokens(&self) -> Result<()> {
        let tokens = self.model.tokens();
        let ids = tokens.ids();
        // Several tokens may share an id; they are ordered by their bytes.
        let follows =
            |i: usize| ids[i] < ids[i + 1] || (ids[i] == ids[i + 1] && tokens.bytes(i) < tokens.bytes(i + 1));
        if let Some(i) = (1..ids.len()).find(|&i| !follows(i - 1)) {
            let reason = format!("token {} occurs twice, or is not in the order of ids", ids[i]);
            return Err(Error::format(Defect::Duplicate, reason).at_index(i));
        }
        if ids.last() == Some(&NO_ID) {
            return Err(Error::format(
                Defect::Range,
                format!("id {NO_ID} is too large; ids end at {}", NO_ID - 1),
            ));
        }
        // A Unigram file is a list whose positions are the ids; of equal pieces the last counts.
        if matches!(self.model, ModelDescription::Unigram(_)) {
            return Ok(());
        }
        if let Some(index) = tokens.first_repeated() {
            let reason = format!("token {} has the same bytes as one before it", ids[index]);
            return Err(Error::format(Defect::Duplicate, reason).at_index(index));
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
                    format!("added token {:?} occurs twice", token.content),
                ))
            } else if previous >= Some(token.id) {
                let reason = format!("two added tokens have the id {}", token.id);
                Some(Error::format(Defect::Duplicate, reason))
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

    fn validate_id(&self, id: TokenId) -> Result<()> {
        let known = self.model.tokens().index_of(id).is_some()
            || self.added_tokens.iter().any(|token| token.id == id);
        if known { Ok(()) } else { Err(Error::format(Defect::Missing, format!("id {id} does not exist"))) }
    }
}

impl BpeDescription {
    fn validate(&self, added: &[AddedToken]) -> Result<()> {
        match &self.merges {
            Merges::Listed(merges) => {
                self.parts_of(merges, added)
                    .try_for_each(|parts| parts.map(|_| ()))
                    .map_err(|e| e.at("merges"))?;
            }
            Merges::ById => {}
            Merges::ByScore { scores, kinds } => check_lengths(&self.tokens, &[scores.len(), kinds.len()])?,
        }
        self.validate_alphabet().map_err(|e| e.at("alphabet"))
    }

    fn validate_alphabet(&self) -> Result<()> {
        let Alphabet::Chars { end_of_word } = &self.alphabet else { return Ok(()) };
        // A piece with a score may be invalid UTF-8; no text produces it.
        let is_by_score = matches!(self.merges, Merges::ByScore { .. });
        if !is_by_score
            && let Some((id, _)) = self.tokens.iter().find(|(_, bytes)| std::str::from_utf8(bytes).is_err())
        {
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
