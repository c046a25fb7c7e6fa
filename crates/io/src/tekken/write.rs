//! Writes `tekken.json`.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::fmt::Write as _;

use tokenmill_core::compile::compile;
use tokenmill_core::description::{
    AddedToken, Alphabet, CallDefaults, Description, PreTokenizer, Roles, Split, TokenList,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;

use super::read::{FRAME, parse};
use crate::fingerprint::Digests;
use crate::folder::LOSSY;
use crate::ranks;
use crate::report::Report;

/// The version that is written: the first one of files with these fields. It says how conversations are laid out, which
/// is no part of a tokenizer here.
const VERSION: &str = "v3";

/// Writes a file; the same bytes every time.
///
/// # Errors
/// A format error that names what the file cannot hold; with `lossy` only if it cannot hold the ids of a text.
pub(crate) fn write(engine: &Engine, lossy: bool) -> Result<Vec<u8>> {
    let description = engine.description();
    let specials = specials(&description.added_tokens, lossy)?;
    let tokens = ordinary(engine, specials)?;
    let split = split(description, lossy)?;
    let first = specials as usize;
    let mut text = String::from("{\n\"config\": ");
    let config = json!({
        "pattern": split,
        "num_vocab_tokens": tokens.len(),
        "default_vocab_size": first + tokens.len(),
        "default_num_special_tokens": first,
        "version": VERSION,
    });
    let _ = write!(text, "{config},\n\"vocab\": [");
    for (rank, (_, bytes)) in tokens.iter().enumerate() {
        let entry = json!({
            "rank": rank,
            "token_bytes": STANDARD.encode(bytes),
            "token_str": std::str::from_utf8(bytes).ok(),
        });
        let _ = write!(text, "{}\n{entry}", if rank == 0 { "" } else { "," });
    }
    text.push_str("\n],\n\"special_tokens\": [");
    for (rank, token) in description.added_tokens.iter().take(first).enumerate() {
        let entry = json!({"rank": rank, "token_str": token.content, "is_control": true});
        let _ = write!(text, "{}\n{entry}", if rank == 0 { "" } else { "," });
    }
    text.push_str("\n]");
    let read =
        |text: &str| parse(format!("{text}\n}}\n").as_bytes(), &mut Report::default()).map_err(refused);
    let mut again = read(&text)?;
    if again.roles != description.roles {
        let _ = write!(text, ",\n\"{FRAME}\": {}", json!({"roles": named(&description.roles)}));
        again = read(&text)?;
    }
    if !lossy {
        check(engine, again)?;
    }
    text.push_str("\n}\n");
    Ok(text.into_bytes())
}

fn named(roles: &Roles) -> serde_json::Map<String, serde_json::Value> {
    roles.named().into_iter().filter_map(|(name, id)| Some((name.to_owned(), json!(id?)))).collect()
}

fn cannot<T>(field: &str, reason: &str) -> Result<T> {
    let reason = format!("tekken.json {reason}; save as tokenizer.json");
    Err(Error::format(Defect::CannotHold, reason).at(field.to_owned()))
}

/// An error of the reader means that the file cannot hold the tokenizer.
fn refused(mut error: Error) -> Error {
    if let Kind::Format { defect, reason, .. } = &mut error.kind {
        *defect = Defect::CannotHold;
        *reason = format!("tekken.json cannot hold this: {reason}");
    }
    error
}

/// The number of special tokens, which must have the first ids.
fn specials(added: &[AddedToken], lossy: bool) -> Result<TokenId> {
    for (place, token) in (0..).zip(added) {
        if token.id != place || !token.is_special {
            return cannot(
                "added_tokens",
                &format!(
                    "gives special tokens the ids from 0 on, and other tokens the ids after them; {:?} is {} with the \
                     id {}",
                    token.content,
                    if token.is_special { "special" } else { "an added token that is not special" },
                    token.id
                ),
            );
        }
        if *token != AddedToken::special(place, token.content.as_str()) && !lossy {
            let reason =
                format!("cannot say what surrounds the special token {:?} where it matches", token.content);
            return cannot("added_tokens", &reason);
        }
    }
    Ok(added.len() as TokenId)
}

/// The tokens of the model after the special ones, by rank.
fn ordinary(engine: &Engine, specials: TokenId) -> Result<TokenList> {
    let model = engine.bpe().or_else(|_| cannot("model", "holds byte-pair encoding and no other model"))?;
    if model.alphabet != Alphabet::Bytes || model.unk.is_some() {
        return cannot("model", "holds tokens over bytes, without an unknown token");
    }
    let tokens = model.tokens.without(|id, _| id < specials);
    if let Some((id, _)) = tokens.ids().iter().zip(specials..).find(|(id, place)| *id != place) {
        return cannot(
            "model",
            &format!("numbers tokens without a gap, and there is one before the id {id}"),
        );
    }
    let has_bytes = (0..=u8::MAX).all(|byte| {
        let index = usize::from(byte);
        index < tokens.len() && tokens.bytes(index) == [byte]
    });
    if !has_bytes {
        return cannot(
            "model",
            "has the 256 bytes in their order as the first tokens after the special ones",
        );
    }
    if !ranks::are_ids(engine, tokens.clone())? {
        return cannot("model", "ranks merges by id, and the ids of these tokens do not rank their merges");
    }
    Ok(tokens)
}

/// The pattern of the split.
fn split(description: &Description, lossy: bool) -> Result<String> {
    if !description.normalizer.is_empty() && !lossy {
        return cannot("normalizer", "has no normalizer");
    }
    let is_letters = |step: &PreTokenizer| *step == PreTokenizer::ByteAlphabet;
    let steps: Vec<PreTokenizer> =
        description.pre_tokenizer.iter().filter(|step| !is_letters(step)).cloned().collect();
    match Split::of_stages(&steps) {
        Some(Split::Pattern(pattern)) => Ok(pattern),
        _ => cannot("split", "splits text by one pattern, and this tokenizer does not"),
    }
}

/// Checks what is read again, but for the ids of a text: `ranks` has proved these equal.
fn check(engine: &Engine, again: Description) -> Result<()> {
    let description = engine.description();
    if description.defaults != CallDefaults::default() {
        let reason = format!("cannot hold what holds for calls that do not say otherwise ({LOSSY})");
        return cannot("defaults", &reason);
    }
    let (again, own) = (Digests::of(&compile(again)?)?, Digests::of(engine)?);
    if again.template != own.template {
        let reason =
            format!("puts <s> before a text, nothing after it, and neither pads nor truncates ({LOSSY})");
        return cannot("post_processor", &reason);
    }
    if again.decode != own.decode {
        return cannot("decoder", &format!("decodes ids to the bytes of their tokens ({LOSSY})"));
    }
    Ok(())
}
