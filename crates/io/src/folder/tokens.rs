//! The added and special tokens of configuration files, and the order in which they are added to
//! those of the tokenizer.
use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tokenmill_core::description::{Additions, Role};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use crate::tokenizer_json::AddedTokenEntry;

/// The roles of tokens, in the order in which their tokens are added.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A token of a configuration file: a literal, or an object with flags.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // the files' own flags
pub(super) struct Token {
    pub(super) content: String,
    /// Does the file have flags for the token?
    pub(super) has_flags: bool,
    pub(super) single_word: bool,
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    /// By default a special token is not normalized.
    pub(super) normalized: Option<bool>,
    pub(super) special: bool,
}

impl Token {
    /// A token without flags.
    pub(super) fn literal(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            has_flags: false,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: None,
            special: false,
        }
    }

    /// A token that includes the white space before it.
    pub(super) fn stripping(content: impl Into<String>) -> Self {
        Self { has_flags: true, lstrip: true, ..Self::literal(content) }
    }

    /// Reads an object with a content and flags.
    pub(super) fn object(fields: &Map<String, Value>) -> Result<Self> {
        let flag = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(Error::format(Defect::Type, "expected true or false").at(name)),
        };
        let content = match fields.get("content") {
            Some(Value::String(content)) => content.clone(),
            Some(_) => return Err(Error::format(Defect::Type, "expected a string").at("content")),
            None => return Err(Error::format(Defect::Missing, "is missing").at("content")),
        };
        Ok(Self {
            content,
            has_flags: true,
            single_word: flag("single_word")?.unwrap_or(false),
            lstrip: flag("lstrip")?.unwrap_or(false),
            rstrip: flag("rstrip")?.unwrap_or(false),
            normalized: flag("normalized")?,
            special: flag("special")?.unwrap_or(false),
        })
    }

    /// Reads a string, an object or null.
    pub(super) fn read(value: &Value) -> Result<Option<Self>> {
        match value {
            Value::Null => Ok(None),
            Value::String(content) => Ok(Some(Self::literal(content))),
            Value::Object(fields) => Self::object(fields).map(Some),
            _ => Err(Error::format(Defect::Type, "expected a token: a string, or an object with a content")),
        }
    }

    /// The same token, special.
    pub(super) fn as_special(&self) -> Self {
        Self { special: true, ..self.clone() }
    }

    fn entry(&self) -> AddedTokenEntry {
        AddedTokenEntry {
            id: None,
            content: self.content.clone(),
            single_word: self.single_word,
            lstrip: self.lstrip,
            rstrip: self.rstrip,
            normalized: self.normalized.unwrap_or(!self.special),
            special: self.special,
        }
    }
}

/// The tokens that configuration files name.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    /// The tokens of roles by name, in the order of adding.
    pub(super) named: Vec<(String, Option<Token>)>,
    /// Additional special tokens.
    pub(super) extra: Vec<Token>,
    /// Added tokens by the ids in the files.
    pub(super) by_id: BTreeMap<u64, Token>,
}

impl Tokens {
    /// The token of a role.
    pub(super) fn of(&self, role: &str) -> Option<&Token> {
        self.named.iter().find(|(name, _)| name == role)?.1.as_ref()
    }

    /// The literal of a role.
    pub(super) fn literal_of(&self, role: &str) -> Option<&str> {
        self.of(role).map(|token| token.content.as_str())
    }

    /// All special tokens, in the order of adding.
    pub(super) fn special(&self) -> impl Iterator<Item = &Token> {
        self.named.iter().filter_map(|(_, token)| token.as_ref()).chain(&self.extra)
    }

    /// The tokens as additions to a file of any format.
    ///
    /// # Errors
    /// A format error for a token with flags that only a class could heed.
    pub(super) fn additions(&self) -> Result<Additions> {
        let mut additions = Additions::default();
        for (id, token) in &self.by_id {
            let at = |error: Error| error.at(id.to_string()).at("added_tokens_decoder");
            let is_plain = token.special
                && !(token.single_word || token.lstrip || token.rstrip || token.normalized == Some(true));
            if !is_plain {
                let reason = format!(
                    "{:?} has flags or is not special, and without a class of transformers that reads this folder \
                     nothing heeds them; load the vocabulary file itself, with special_tokens=",
                    token.content
                );
                return Err(at(Error::format(Defect::Unsupported, reason)));
            }
            let id = TokenId::try_from(*id)
                .map_err(|_| at(Error::format(Defect::Range, "is too large for an id")))?;
            additions.special_tokens.push((token.content.clone(), Some(id)));
        }
        for (name, token) in &self.named {
            let Some(token) = token else { continue };
            match Role::ALL.into_iter().find(|role| name.strip_suffix("_token") == Some(role.name())) {
                Some(role) => additions.roles.push((role, token.content.clone())),
                None => additions.add(&token.content),
            }
        }
        self.extra.iter().for_each(|token| additions.add(&token.content));
        Ok(additions)
    }

    /// Adds the tokens to `entries`: first those with ids, by id, then missing tokens of roles and
    /// additional special tokens.
    pub(super) fn add_to(&self, entries: &mut Vec<AddedTokenEntry>) {
        let mut new: Vec<Token> = Vec::new();
        for token in self.by_id.values() {
            let entry = token.entry();
            if !entries.iter().any(|known| AddedTokenEntry { id: None, ..known.clone() } == entry) {
                new.push(token.clone());
            }
        }
        let is_known = |content: &str, new: &[Token]| {
            entries.iter().any(|entry| entry.content == content)
                || new.iter().any(|token| token.content == content)
        };
        let first = new.clone();
        for token in self.special() {
            if !is_known(&token.content, &first) && !new.contains(token) {
                new.push(token.clone());
            }
        }
        for token in new {
            let plays_a_part = self
                .named
                .iter()
                .any(|(_, named)| named.as_ref().is_some_and(|named| named.content == token.content));
            let is_special = token.special || !token.has_flags || plays_a_part;
            add(entries, Token { special: is_special, ..token }.entry());
        }
    }

    /// Adds all special tokens again, as special literals without flags.
    pub(super) fn add_plainly(&self, entries: &mut Vec<AddedTokenEntry>) {
        for token in self.special() {
            add(entries, Token { special: true, ..Token::literal(&token.content) }.entry());
        }
    }

    /// Adds all special tokens again, with their flags.
    pub(super) fn add_again(&self, entries: &mut Vec<AddedTokenEntry>) {
        for token in self.special() {
            add(entries, token.as_special().entry());
        }
    }
}

/// Adds a token. The flags of an existing one are replaced, but it stays special.
fn add(entries: &mut Vec<AddedTokenEntry>, entry: AddedTokenEntry) {
    match entries.iter_mut().rev().find(|known| known.content == entry.content) {
        Some(known) => {
            *known = AddedTokenEntry { id: known.id, special: known.special || entry.special, ..entry };
        }
        None => entries.push(entry),
    }
}

/// Reads `added_tokens_decoder`: objects by id.
pub(super) fn read_by_id(value: &Value) -> Result<BTreeMap<u64, Token>> {
    let wrong = || Error::format(Defect::Type, "expected an object of tokens by id");
    let read = |(id, token): (&String, &Value)| {
        let number = id.trim().parse().map_err(|_| wrong().at(id))?;
        let fields = token.as_object().ok_or_else(|| wrong().at(id))?;
        Ok((number, Token::object(fields).map_err(|error| error.at(id))?))
    };
    value.as_object().ok_or_else(wrong)?.iter().map(read).collect()
}

/// Compares the ids in a file with the ids of the tokens.
pub(super) fn check_ids(
    by_id: &BTreeMap<u64, Token>,
    id_of: impl Fn(&str) -> Option<TokenId>,
    mut differs: impl FnMut(u64, &str, TokenId) -> Result<()>,
) -> Result<()> {
    for (&filed, token) in by_id {
        if let Some(id) = id_of(&token.content)
            && u64::from(id) != filed
        {
            differs(filed, &token.content, id)?;
        }
    }
    Ok(())
}
