//! `.tiktoken`: one `base64(bytes) rank` per line. The rank is the id; any two tokens whose
//! joined bytes are a token merge, lowest rank first, and a pretoken that is a token is taken
//! whole. The file holds neither the split nor the special tokens.
use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use tokenmill_core::byte_alphabet;
use tokenmill_core::compile::compile;
use tokenmill_core::description::{Alphabet, Bpe, Description, Merges, Split, TokenList};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::{NO_ID, TokenId};

use crate::contents;

/// Entries and bytes of one token that a file may have.
const ENTRY_LIMIT: usize = 16 << 20;
const TOKEN_LIMIT: usize = 64 << 10;

/// Does this text look like ranks: base64, blank, digits?
pub(crate) fn is_like(text: &str) -> bool {
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else { return false };
    let mut fields = line.split_ascii_whitespace();
    let is_base64 = |field: &str| field.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b));
    fields.next().is_some_and(is_base64)
        && fields.next().is_some_and(|rank| rank.bytes().all(|b| b.is_ascii_digit()))
        && fields.next().is_none()
}

/// Reads a file of ranks.
///
/// # Errors
/// A format error naming the line.
pub(crate) fn parse(bytes: &[u8], split: &Split) -> Result<Description> {
    let text = contents::text(bytes)?;
    let mut entries: Vec<(TokenId, Vec<u8>)> = Vec::new();
    let mut line_of_rank: HashMap<TokenId, usize> = HashMap::new();
    let mut line_of_token: HashMap<Vec<u8>, usize> = HashMap::new();
    for (i, line) in text.split('\n').enumerate() {
        let number = i + 1;
        let Some((token, rank)) = parse_line(line).map_err(|e| e.at(format!("line {number}")))? else {
            continue;
        };
        let twice = |what: &str, earlier| {
            let reason = format!("{what} is on line {earlier} already");
            Err(Error::format(Defect::Duplicate, reason).at(format!("line {number}")))
        };
        if let Some(earlier) = line_of_rank.insert(rank, number) {
            return twice(&format!("the rank {rank}"), earlier);
        }
        if let Some(earlier) = line_of_token.insert(token.clone(), number) {
            return twice("the token", earlier);
        }
        if entries.len() == ENTRY_LIMIT {
            return Err(Error::limit(format!("more than {ENTRY_LIMIT} tokens"), ENTRY_LIMIT as u64));
        }
        entries.push((rank, token));
    }
    if is_in_byte_alphabet(&line_of_token) {
        let reason = "the tokens are written in the byte alphabet (a space is Ġ) before they are base64, which is \
                      no .tiktoken file; load the tokenizer.json of this model";
        return Err(Error::format(Defect::WrongKind, reason));
    }
    let tokens = TokenList::from_entries(entries);
    let model = Bpe { whole_pretokens: true, ..Bpe::plain(Alphabet::Bytes, tokens, Merges::ById) };
    Ok(Description::of_bpe(split, model))
}

/// Are the tokens not bytes but characters that stand for bytes? Then all 256 of those are tokens,
/// and none holds a byte that would be written in another way.
fn is_in_byte_alphabet(tokens: &HashMap<Vec<u8>, usize>) -> bool {
    let is_written =
        |token: &Vec<u8>| std::str::from_utf8(token).is_ok_and(|text| byte_alphabet::read(text).is_some());
    (0..=255).all(|byte| tokens.contains_key(byte_alphabet::write(&[byte]).as_bytes()))
        && tokens.keys().all(is_written)
}

fn parse_line(line: &str) -> Result<Option<(Vec<u8>, TokenId)>> {
    if line.len() > TOKEN_LIMIT * 2 {
        let reason = format!("the line is longer than a token of {TOKEN_LIMIT} bytes can be");
        return Err(Error::limit(reason, TOKEN_LIMIT as u64));
    }
    let mut fields = line.split_ascii_whitespace();
    let Some(token) = fields.next() else { return Ok(None) };
    let Some(rank) = fields.next() else {
        let reason = "expected a base64 token, a blank and a rank; the rank is missing";
        return Err(Error::format(Defect::Line, reason));
    };
    if fields.next().is_some() {
        return Err(Error::format(
            Defect::Line,
            "expected a base64 token, a blank and a rank; there is more",
        ));
    }
    let rank = match rank.parse::<i128>() {
        Ok(rank) => TokenId::try_from(rank).ok().filter(|&rank| rank != NO_ID).ok_or_else(|| {
            Error::format(Defect::Range, format!("the rank {rank} is not between 0 and {}", NO_ID - 1))
        })?,
        Err(_) => return Err(Error::format(Defect::Line, format!("the rank {rank:?} is not a number"))),
    };
    Ok(Some((decode(token)?, rank)))
}

/// Padding is optional: files without it are read by tiktoken's own loader too.
fn decode(token: &str) -> Result<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let bytes = LENIENT.decode(token).map_err(|error| {
        let hint =
            if token.contains(['-', '_']) { " (this is the URL-safe alphabet; use + and /)" } else { "" };
        Error::format(Defect::Base64, format!("{token:?} is not base64: {error}{hint}"))
    })?;
    if bytes.is_empty() {
        return Err(Error::format(Defect::Empty, "the token is empty"));
    }
    Ok(bytes)
}

/// Writes the ranks of a tokenizer. The split and the added tokens are not in the file; the
/// caller has made sure that they may be lost.
///
/// # Errors
/// A format error when the ids do not say what the merges say.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
    let description = engine.description();
    let model = engine.bpe()?;
    let cannot = |reason: String| Err(Error::format(Defect::CannotHold, reason).at("model"));
    if model.alphabet != Alphabet::Bytes {
        return cannot(
            "a .tiktoken file holds tokens over bytes, not characters; save as tokenizer.json".to_owned(),
        );
    }
    if model.unk.is_some() {
        return cannot("a .tiktoken file has no unknown token; save as tokenizer.json".to_owned());
    }
    if model.tokens.is_empty() {
        return cannot("an empty file says nothing; this tokenizer has no ordinary tokens".to_owned());
    }
    // Reading the file gives this; it must mean what this tokenizer means.
    let read = Bpe { merges: Merges::ById, whole_pretokens: true, ..model.clone() };
    let split = description.split().unwrap_or(Split::Whole);
    if compile(Description::of_bpe(&split, read))?.canonical().model != engine.canonical().model {
        return cannot(
            "the ids do not rank the merges as a .tiktoken file must have it; save as tokenizer.json"
                .to_owned(),
        );
    }
    let mut text = String::new();
    for (id, bytes) in model.tokens.iter() {
        STANDARD.encode_string(bytes, &mut text);
        let _ = writeln!(text, " {id}");
    }
    Ok(text.into_bytes())
}
