//! Typed access to the tokenizer's keys of a GGUF file.
use tokenmill_core::description::PieceKind;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::container::{Keys, List, Type, Value};
use crate::limits::{ENTRY_LIMIT, TOKEN_LIMIT};

/// The prefix of the tokenizer's keys.
const PREFIX: &str = "tokenizer.ggml.";

/// The keys of a file.
pub(super) struct Metadata<'a>(pub(super) Keys<'a>);

/// One token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

fn wrong(expected: &str, field: &str) -> Error {
    Error::format(Defect::Type, format!("expected {expected}")).at(field)
}

/// The full name of a key.
pub(super) fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

impl<'a> Metadata<'a> {
    fn get(&self, name: &str) -> Option<Value<'a>> {
        self.0.get(key(name).as_str()).copied()
    }

    /// The value as a string; `None` if the key is absent.
    ///
    /// # Errors
    /// A format error for a value that is not a string.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(bytes)) => std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|_| Error::format(Defect::Encoding, "is not UTF-8").at(key(name))),
            Some(_) => Err(wrong("a string", &key(name))),
        }
    }

    /// The model's name in lower case, or an empty string; some tokens depend on it.
    pub(super) fn model_name(&self) -> String {
        match self.0.get("general.name") {
            Some(Value::Text(bytes)) => String::from_utf8_lossy(bytes).to_lowercase(),
            _ => String::new(),
        }
    }

    /// Number of tokens.
    ///
    /// # Errors
    /// A format error if they are no list of strings, or absent.
    pub(super) fn count(&self) -> Result<usize> {
        let list = self.list("tokens", "strings", |of| of == Type::Text)?;
        list.map(|list| list.count)
            .ok_or_else(|| Error::format(Defect::Missing, "is missing").at(key("tokens")))
    }

    /// The value as a boolean, or `default`.
    ///
    /// # Errors
    /// A format error for a value that is not a boolean.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Plain(Type::Bool, &[byte])) => Ok(byte != 0),
            Some(_) => Err(wrong("true or false", &key(name))),
        }
    }

    /// The id of a role's token. The largest 32-bit number and negative numbers mean `None`.
    ///
    /// # Errors
    /// A format error for a value that is not an integer, or an id that does not exist.
    pub(super) fn id(&self, name: &str, count: usize) -> Result<Option<TokenId>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::Plain(kind, bytes) => whole(kind, bytes),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong("a whole number", &key(name)))?;
        if number < 0 || number == i128::from(u32::MAX) {
            return Ok(None);
        }
        if number >= count as i128 {
            let reason = format!("the id {number} does not exist; there are {count} tokens");
            return Err(Error::format(Defect::Range, reason).at(key(name)));
        }
        Ok(TokenId::try_from(number).ok())
    }

    fn list(&self, name: &str, expected: &str, is_right: impl Fn(Type) -> bool) -> Result<Option<List<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::List(list)) if is_right(list.of) => Ok(Some(list)),
            Some(_) => Err(wrong(&format!("a list of {expected}"), &key(name))),
        }
    }

    /// The bytes of a list of bytes.
    ///
    /// # Errors
    /// A format error for a value that is not a list of bytes.
    pub(super) fn bytes(&self, name: &str) -> Result<&'a [u8]> {
        let list = self.list(name, "bytes", |of| matches!(of, Type::U8 | Type::I8))?;
        Ok(list.map_or(&[], |list| list.bytes))
    }

    /// The strings of a list.
    ///
    /// # Errors
    /// A format error if the list is absent or not a list, or at the index of an item that is not a string.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>> {
        let list = self.list(name, "strings", |of| of == Type::Text)?;
        let list = list.ok_or_else(|| Error::format(Defect::Missing, "is missing").at(key(name)))?;
        if list.count > ENTRY_LIMIT {
            let reason = format!("{} strings are more than {ENTRY_LIMIT}", list.count);
            return Err(Error::limit(reason, ENTRY_LIMIT as u64).at(key(name)));
        }
        let read = |(i, bytes): (usize, &'a [u8])| {
            let place = |error: Error| error.at_index(i).at(key(name));
            if bytes.len() > TOKEN_LIMIT {
                let reason = format!("{} bytes are more than a token can have", bytes.len());
                return Err(place(Error::limit(reason, TOKEN_LIMIT as u64)));
            }
            std::str::from_utf8(bytes).map_err(|_| place(Error::format(Defect::Encoding, "is not UTF-8")))
        };
        list.texts().enumerate().map(read).collect()
    }

    /// Reads all tokens.
    ///
    /// # Errors
    /// A format error that names the key and the token.
    pub(super) fn tokens(&self) -> Result<Vec<Token>> {
        let texts = self.texts("tokens")?;
        if texts.is_empty() {
            return Err(Error::format(Defect::Empty, "there are no tokens").at(key("tokens")));
        }
        let scores =
            self.list("scores", "single-precision numbers", |of| matches!(of, Type::F32 | Type::I32))?;
        let kinds =
            self.list("token_type", "numbers of 32 bits", |of| matches!(of, Type::I32 | Type::U32))?;
        for (name, list) in [("scores", scores), ("token_type", kinds)] {
            if let Some(list) = list.filter(|list| list.count != texts.len()) {
                let reason = format!("{} entries, but there are {} tokens", list.count, texts.len());
                return Err(Error::format(Defect::Inconsistent, reason).at(key(name)));
            }
        }
        let word =
            |list: List<'a>, i: usize| list.bytes.as_chunks::<4>().0.get(i).copied().unwrap_or_default();
        let mut tokens = Vec::with_capacity(texts.len());
        for (i, text) in texts.into_iter().enumerate() {
            let score = scores.map_or(0.0, |list| match list.of {
                #[allow(clippy::cast_precision_loss)] // the rule of the format
                Type::I32 => i32::from_le_bytes(word(list, i)) as f32,
                _ => f32::from_le_bytes(word(list, i)),
            });
            if !score.is_finite() {
                let reason = format!("{score} is no score");
                return Err(Error::format(Defect::Range, reason).at_index(i).at(key("scores")));
            }
            let kind = match kinds.map(|list| u32::from_le_bytes(word(list, i))) {
                Some(2) => PieceKind::Unknown,
                Some(3) => PieceKind::Control,
                Some(4) => PieceKind::UserDefined,
                Some(5) => PieceKind::Unused,
                Some(6) => PieceKind::Byte,
                // Other kinds behave as ordinary tokens in tokenization.
                _ => PieceKind::Normal,
            };
            let text = if text.is_empty() { format!("[EMPTY_{i}]") } else { text.to_owned() };
            tokens.push(Token { text, score, kind });
        }
        Ok(tokens)
    }
}

fn whole(kind: Type, bytes: &[u8]) -> Option<i128> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(wide);
    let shift = 64 - 8 * bytes.len() as u32;
    #[allow(clippy::cast_possible_wrap)] // sign extension
    let signed = ((number << shift) as i64) >> shift;
    match kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Some(number.into()),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Some(signed.into()),
        _ => None,
    }
}
