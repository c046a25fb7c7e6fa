//! What the keys of llama.cpp leave out, in keys beside them.
//!
//! A GGUF file may hold the tokenizer.json that its tokens are from (`tokenizer.huggingface.json` of the format's
//! specification); llama.cpp does not read it. A file saved here has one, or a SentencePiece model, where the other
//! keys do not say everything, and `tokenmill.source` then names the key that does. Other programs' files have no such
//! key, and mean what llama.cpp takes them to mean.
use tokenmill_core::description::{CallDefaults, CallLimits, Description, Role, Roles, Side};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;

use super::container::{List, Type, Value};
use super::keys::KeyWriter;
use super::metadata::{Metadata, key};
use crate::report::Report;
use crate::{sentencepiece, tokenizer_json};

const SOURCE: &str = "tokenmill.source";
const TOKENIZER_JSON: &str = "tokenizer.huggingface.json";
const SENTENCEPIECE: &str = "tokenmill.sentencepiece";

const ROLES: &str = "tokenmill.roles";
const SPECIAL_AS_TEXT: &str = "tokenmill.special_as_text";
const CLEAN_UP_SPACES: &str = "tokenmill.clean_up_spaces";
const PAD_LEFT: &str = "tokenmill.pads_left";
const TRUNCATE_LEFT: &str = "tokenmill.truncates_left";
const MAX_LENGTH: &str = "tokenmill.max_length";

/// The name of the key that has the id of a role, after the prefix of the tokenizer's keys.
pub(super) fn key_of(role: Role) -> &'static str {
    match role {
        Role::Bos => "bos_token_id",
        Role::Eos => "eos_token_id",
        Role::Unk => "unknown_token_id",
        // The format spells it so.
        Role::Sep => "seperator_token_id",
        Role::Pad => "padding_token_id",
        Role::Cls => "cls_token_id",
        Role::Mask => "mask_token_id",
    }
}

/// Writes which tokens have a role, and what holds for calls that do not say otherwise.
pub(super) fn write_frame(description: &Description, keys: &mut KeyWriter) {
    let Description { roles, defaults, .. } = description;
    let named: Vec<&str> = roles.named().into_iter().filter_map(|(name, id)| id.map(|_| name)).collect();
    keys.texts(ROLES, &named);
    if defaults.special_as_text {
        keys.flag(SPECIAL_AS_TEXT, true);
    }
    if defaults.clean_up_spaces {
        keys.flag(CLEAN_UP_SPACES, true);
    }
    if let Some(CallLimits { padding_side, truncation_side, max_length }) = defaults.limits {
        keys.flag(PAD_LEFT, padding_side == Side::Left);
        keys.flag(TRUNCATE_LEFT, truncation_side == Side::Left);
        if let Some(max_length) = max_length {
            keys.large_number(MAX_LENGTH, max_length as u64);
        }
    }
}

/// Writes the tokenizer as the first format that holds it.
///
/// # Errors
/// The error of tokenizer.json, if a SentencePiece model does not hold it either.
pub(super) fn write_source(engine: &Engine, keys: &mut KeyWriter) -> Result<()> {
    let json = tokenizer_json::write(engine).and_then(|json| {
        String::from_utf8(json).map_err(|_| Error::internal("tokenizer.json: not UTF-8".to_owned()))
    });
    let refused = match json {
        Ok(json) => {
            keys.text(SOURCE, TOKENIZER_JSON);
            keys.text(TOKENIZER_JSON, &json);
            return Ok(());
        }
        Err(error) => error,
    };
    // Settings, and the tokens around a text, are in other keys.
    let alone = Description {
        defaults: CallDefaults::default(),
        post_processor: Vec::new(),
        ..engine.description().clone()
    };
    let model = sentencepiece::write(&alone).map_err(|_| refused)?;
    keys.text(SOURCE, SENTENCEPIECE);
    keys.raw(SENTENCEPIECE, &model);
    Ok(())
}

/// The description as the keys of this library complete it.
///
/// # Errors
/// A format error that names the key; `Inconsistent` if the named source has other tokens than the file.
pub(super) fn completed(
    plain: Description,
    metadata: &Metadata<'_>,
    report: &mut Report,
) -> Result<Description> {
    let mut description = match metadata.0.get(SOURCE) {
        None => plain,
        Some(Value::Text(b"tokenizer.huggingface.json")) => {
            let Some(Value::Text(json)) = metadata.0.get(TOKENIZER_JSON) else {
                return Err(missing(TOKENIZER_JSON));
            };
            let source = tokenizer_json::parse(json, report).map_err(|error| error.at(TOKENIZER_JSON))?;
            agreeing(&plain, source, TOKENIZER_JSON)?
        }
        Some(Value::Text(b"tokenmill.sentencepiece")) => {
            let Some(Value::List(List { of: Type::U8, bytes, .. })) = metadata.0.get(SENTENCEPIECE) else {
                return Err(missing(SENTENCEPIECE));
            };
            let source = sentencepiece::parse(bytes, report).map_err(|error| error.at(SENTENCEPIECE))?;
            let source = agreeing(&plain, source, SENTENCEPIECE)?;
            Description { post_processor: plain.post_processor, ..source }
        }
        Some(_) => {
            let reason = format!("is neither {TOKENIZER_JSON} nor {SENTENCEPIECE}");
            return Err(Error::format(Defect::Unsupported, reason).at(SOURCE));
        }
    };
    let Some(named) = metadata.0.get(ROLES) else { return Ok(description) };
    let Value::List(named) = named else { return Err(wrong("a list of strings", ROLES)) };
    let mut roles = Roles::default();
    if named.of == Type::Text {
        for name in named.texts() {
            let role = Role::ALL.into_iter().find(|role| role.name().as_bytes() == name);
            let role = role.ok_or_else(|| {
                let reason = format!("{:?} is not a role", String::from_utf8_lossy(name));
                Error::format(Defect::Unknown, reason).at(ROLES)
            })?;
            let id = metadata.id(key_of(role), metadata.count()?)?;
            let id = id.ok_or_else(|| missing(&key(key_of(role))))?;
            roles.set(role, id);
        }
    }
    description.roles = roles;
    description.defaults = defaults(metadata)?;
    Ok(description)
}

fn defaults(metadata: &Metadata<'_>) -> Result<CallDefaults> {
    let flag = |name: &str| match metadata.0.get(name) {
        None => Ok(None),
        Some(Value::Plain(Type::Bool, [byte])) => Ok(Some(*byte != 0)),
        Some(_) => Err(wrong("true or false", name)),
    };
    let side = |is_left: bool| if is_left { Side::Left } else { Side::Right };
    let max_length = match metadata.0.get(MAX_LENGTH) {
        None => None,
        Some(Value::Plain(Type::U64, bytes)) => {
            let bytes: [u8; 8] = (*bytes).try_into().unwrap_or_default();
            Some(usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX))
        }
        Some(_) => return Err(wrong("a whole number of 64 bits", MAX_LENGTH)),
    };
    let limits = flag(PAD_LEFT)?.zip(flag(TRUNCATE_LEFT)?).map(|(pads_left, truncates_left)| CallLimits {
        padding_side: side(pads_left),
        truncation_side: side(truncates_left),
        max_length,
    });
    Ok(CallDefaults {
        special_as_text: flag(SPECIAL_AS_TEXT)?.unwrap_or(false),
        clean_up_spaces: flag(CLEAN_UP_SPACES)?.unwrap_or(false),
        limits,
    })
}

/// The source, whose tokens must be those of the other keys: a program that changed only these made another
/// tokenizer.
fn agreeing(plain: &Description, source: Description, name: &str) -> Result<Description> {
    match first_difference(plain, &source) {
        None => Ok(source),
        Some(id) => {
            let reason = format!(
                "token {id} is another one than in {}; without {SOURCE} the file is read as llama.cpp reads it",
                key("tokens")
            );
            Err(Error::format(Defect::Inconsistent, reason).at(name))
        }
    }
}

/// The first id of `other` that stands for other bytes in `plain`.
pub(super) fn first_difference(plain: &Description, other: &Description) -> Option<TokenId> {
    let is_in = |id: TokenId, bytes: &[u8]| {
        let tokens = plain.model.tokens();
        tokens.indices_of(id).any(|index| tokens.bytes(index) == bytes)
            || plain
                .added_tokens
                .binary_search_by_key(&id, |token| token.id)
                .is_ok_and(|index| plain.added_tokens[index].content.as_bytes() == bytes)
    };
    let ordinary = other.model.tokens().iter();
    let added = other.added_tokens.iter().map(|token| (token.id, token.content.as_bytes()));
    let of_added = |id: TokenId| other.added_tokens.binary_search_by_key(&id, |token| token.id).is_ok();
    // The keys have one text for each id, that of its added token.
    let ordinary = ordinary.filter(|&(id, _)| !of_added(id));
    ordinary.chain(added).find(|&(id, bytes)| !is_in(id, bytes)).map(|(id, _)| id)
}

/// An error of the reader as one of the writer: what was read again is not what was to be saved.
pub(super) fn refused(error: Error) -> Error {
    refused_as("a GGUF file cannot hold this", error)
}

/// An error as the reason for a refusal.
pub(super) fn refused_as(what: &str, mut error: Error) -> Error {
    if let Kind::Format { defect, reason, .. } = &mut error.kind {
        *defect = Defect::CannotHold;
        *reason = format!("{what}: {reason}");
    }
    error
}

fn missing(name: &str) -> Error {
    Error::format(Defect::Missing, "is missing").at(name.to_owned())
}

fn wrong(expected: &str, name: &str) -> Error {
    Error::format(Defect::Type, format!("expected {expected}")).at(name.to_owned())
}
