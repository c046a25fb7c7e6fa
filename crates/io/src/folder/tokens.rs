//! Added and special tokens as configuration files name them, and the order in which they come to
//! those that the tokenizer has.
use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use crate::tokenizer_json::AddedTokenEntry;

/// The parts that tokens play, in the order in which their tokens are added.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A token of a configuration file: a literal alone, or one with flags.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // the files' own flags
pub(super) struct Token {
    pub(super) content: String,
    /// Does the file say more than the literal?
    pub(super) has_flags: bool,
    pub(super) single_word: bool,
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    /// Unless the file says so, what is special is not normalized.
    pub(super) normalized: Option<bool>,
    pub(super) special: bool,
}

impl Token {
    /// A literal.
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

    /// A literal that takes the white space before it.
    pub(super) fn stripping(content: impl Into<String>) -> Self {
        Self { has_flags: true, lstrip: true, ..Self::literal(content) }
    }

    /// An object with a content and flags.
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

    /// A string, an object, or nothing.
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
    /// What plays a part, by the part's name, in the order of adding.
    pub(super) named: Vec<(String, Option<Token>)>,
    /// Further special ones.
    pub(super) extra: Vec<Token>,
    /// Added ones by the ids that the files give them; `None` is no number.
    pub(super) by_id: BTreeMap<u64, Token>,
}

impl Tokens {
    /// The token of a part.
    pub(super) fn of(&self, role: &str) -> Option<&Token> {
        self.named.iter().find(|(name, _)| name == role)?.1.as_ref()
    }

    /// The literal of a part.
    pub(super) fn literal_of(&self, role: &str) -> Option<&str> {
        self.of(role).map(|token| token.content.as_str())
    }

    /// All special tokens, in the order of adding.
    pub(super) fn special(&self) -> impl Iterator<Item = &Token> {
        self.named.iter().filter_map(|(_, token)| token.as_ref()).chain(&self.extra)
    }

    /// Adds the tokens to those that are there: first those with ids, in that order, then what
    /// plays a part or is named special and is not there yet.
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

    /// Adds all special tokens again, as literals that are special.
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

/// Adds a token. Of one that is there the flags are replaced, but special stays special.
fn add(entries: &mut Vec<AddedTokenEntry>, entry: AddedTokenEntry) {
    match entries.iter_mut().rev().find(|known| known.content == entry.content) {
        Some(known) => {
            *known = AddedTokenEntry { id: known.id, special: known.special || entry.special, ..entry };
        }
        None => entries.push(entry),
    }
}

/// The tokens of `added_tokens_decoder`: objects by id.
pub(super) fn read_by_id(value: &Value) -> Result<BTreeMap<u64, Token>> {
    let wrong = || Error::format(Defect::Type, "expected an object of tokens by id");
    let read = |(id, token): (&String, &Value)| {
        let number = id.trim().parse().map_err(|_| wrong().at(id))?;
        let fields = token.as_object().ok_or_else(|| wrong().at(id))?;
        Ok((number, Token::object(fields).map_err(|error| error.at(id))?))
    };
    value.as_object().ok_or_else(wrong)?.iter().map(read).collect()
}

/// Are the ids of a file those that the tokens have?
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
