//! Decoding in its plain form: rows of strings to rows of strings, step by step.
use crate::byte_alphabet;
use crate::description::{Decoder, Decoding, Pattern, PrependScheme};

use super::super::cleanup::clean_up;

/// The text of a row.
pub(super) fn decode(decoding: &Decoding, tokens: &[String]) -> String {
    match decoding {
        Decoding::Bytes => unreachable!("has no steps"),
        Decoding::Spaced => tokens.join(" "),
        Decoding::Steps(steps) => {
            let mut row = tokens.to_vec();
            for step in steps {
                row = apply(step, row);
            }
            row.concat()
        }
    }
}

fn apply(step: &Decoder, row: Vec<String>) -> Vec<String> {
    let last = row.len().wrapping_sub(1);
    let numbered = row.iter().cloned().enumerate();
    match step {
        Decoder::ByteLevel => {
            let bytes: Vec<u8> = row
                .iter()
                .flat_map(|token| byte_alphabet::read(token).unwrap_or_else(|| token.clone().into_bytes()))
                .collect();
            vec![String::from_utf8_lossy(&bytes).into_owned()]
        }
        Decoder::WordPiece { prefix, cleanup } => numbered
            .map(|(i, token)| {
                let mut token = match token.strip_prefix(prefix.as_str()) {
                    _ if i == 0 => token,
                    Some(rest) => rest.to_owned(),
                    None => format!(" {token}"),
                };
                if *cleanup {
                    clean_up(&mut token);
                }
                token
            })
            .collect(),
        Decoder::Metaspace { replacement, prepend, .. } => numbered
            .map(|(i, token)| {
                let dropped = i == 0 && *prepend != PrependScheme::Never;
                token.replace(*replacement, if dropped { "" } else { " " })
            })
            .collect(),
        Decoder::Bpe { suffix } => {
            numbered.map(|(i, token)| token.replace(suffix, if i == last { "" } else { " " })).collect()
        }
        Decoder::Ctc { pad, delimiter, cleanup } => {
            let mut row = row;
            row.dedup();
            row.into_iter()
                .map(|token| {
                    let mut token = token.replace(pad, "");
                    if *cleanup {
                        clean_up(&mut token);
                        token = token.replace(delimiter, " ");
                    }
                    token
                })
                .filter(|token| !token.is_empty())
                .collect()
        }
        Decoder::ByteFallback => byte_fallback(row),
        Decoder::Fuse => vec![row.concat()],
        Decoder::Strip { content, start, stop } => {
            row.iter().map(|token| strip(token, *content, *start, *stop)).collect()
        }
        Decoder::Replace { pattern: Pattern::Literal(literal), content } => row
            .into_iter()
            .map(|token| if token.is_empty() { token } else { token.replace(literal, content) })
            .collect(),
        Decoder::Replace { .. } | Decoder::SentencePiece { .. } | Decoder::Denormalize { .. } => {
            unreachable!("have tests of their own")
        }
    }
}

fn byte_fallback(row: Vec<String>) -> Vec<String> {
    let byte = |token: &str| {
        let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
        if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
    };
    let mut out = Vec::new();
    let mut run = Vec::new();
    for token in row.into_iter().map(Some).chain([None]) {
        if let Some(byte) = token.as_deref().and_then(byte) {
            run.push(byte);
            continue;
        }
        match String::from_utf8(std::mem::take(&mut run)) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => out.push(text),
            Err(error) => out.extend(std::iter::repeat_n("\u{fffd}".to_owned(), error.as_bytes().len())),
        }
        out.extend(token);
    }
    out
}

fn strip(token: &str, content: char, start: usize, stop: usize) -> String {
    let mut token: std::collections::VecDeque<char> = token.chars().collect();
    for _ in 0..start.min(token.len()) {
        if token.front() != Some(&content) {
            break;
        }
        token.pop_front();
    }
    for _ in 0..stop.min(token.len()) {
        if token.back() != Some(&content) {
            break;
        }
        token.pop_back();
    }
    token.into_iter().collect()
}
