//! `vocab.json` and `merges.txt`, GPT-2's pair of files: ids by written token, and one merge a
//! line. They hold neither the split nor which tokens are special.
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{AddedToken, Alphabet, Bpe, Description, Merge, Merges, Split, TokenList};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use crate::contents;
use crate::merges::keep_last;
use crate::tokenizer_json::{VocabEntries, check_written_forms, json_error, json_string};

/// Ids by written token, as they stand in the file.
type Written = HashMap<String, TokenId>;

/// Does this text look like a `vocab.json`: an object of numbers?
pub(crate) fn is_like_vocab(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('{') else { return false };
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    if !matches!(strings.next(), Some(Ok(_))) {
        return false;
    }
    let after = rest[strings.byte_offset()..].trim_start();
    after
        .strip_prefix(':')
        .is_some_and(|value| value.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-'))
}

/// Reads the two files, byte-level BPE. Entries named in `special` are special tokens and stand for
/// themselves. Errors of the second file pass through `in_merges`.
///
/// # Errors
/// A format error naming the entry or the line.
pub(crate) fn parse(
    vocab: &[u8],
    merges: &[u8],
    split: &Split,
    special: &[&str],
    in_merges: impl Fn(Error) -> Error,
) -> Result<Description> {
    let text = contents::text(vocab)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let entries: VocabEntries = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer.end().map_err(|error| Error::format(Defect::Json, error.to_string()))?;
    let VocabEntries::Object(entries) = entries else {
        return Err(Error::format(Defect::Type, "expected an object of ids by token, found a list"));
    };
    // As in the reference, the last of repeated keys counts.
    let written: Written = entries.into_iter().collect();
    let merges = parse_merges(merges, &written).map_err(in_merges)?;
    let built: HashSet<TokenId> = merges.iter().flat_map(|m| [m.left, m.right, m.result]).collect();
    let mut tokens = Vec::with_capacity(written.len());
    let mut added_tokens = Vec::new();
    for (token, &id) in &written {
        if special.contains(&token.as_str()) && !built.contains(&id) {
            added_tokens.push(AddedToken::special(id, token));
            continue;
        }
        let Some(bytes) = byte_alphabet::read(token) else {
            let reason = "is not written in the byte alphabet (a space is Ġ, a newline Ċ); a special token must be \
                          named in special_tokens=";
            return Err(Error::format(Defect::Encoding, reason).at(token.clone()));
        };
        tokens.push((id, bytes));
    }
    // A map has no order; validation finds ids that are there twice.
    tokens.sort();
    added_tokens.sort_by_key(|token| token.id);
    let model = Bpe::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::Listed(merges));
    Ok(Description { added_tokens, ..Description::of_bpe(split, model) })
}

fn parse_merges(bytes: &[u8], ids: &Written) -> Result<Vec<Merge>> {
    // No merges at all is a vocabulary of its alphabet.
    let text = if bytes.iter().all(u8::is_ascii_whitespace) { "" } else { contents::text(bytes)? };
    let mut merges = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // The header is a comment; lines such as `# #` are merges.
        if line.is_empty() || line.starts_with("#version") {
            continue;
        }
        let merge = parse_merge(line, ids).map_err(|e| e.at(format!("line {}", i + 1)))?;
        merges.push(merge);
    }
    Ok(keep_last(merges))
}

fn parse_merge(line: &str, ids: &Written) -> Result<Merge> {
    let fields: Vec<&str> = line.split(' ').collect();
    let &[left, right] = fields.as_slice() else {
        let reason = format!("expected two tokens with a blank between them, found {line:?}");
        return Err(Error::format(Defect::Line, reason));
    };
    let id = |token: &str| {
        ids.get(token).copied().ok_or_else(|| {
            Error::format(Defect::Merge, format!("{token:?} of the merge {line:?} is not in the vocabulary"))
        })
    };
    Ok(Merge { left: id(left)?, right: id(right)?, result: id(&format!("{left}{right}"))? })
}

/// Writes the two files: (`vocab.json`, `merges.txt`). Added tokens are among the ids of the
/// first; that they are special, and the split, the caller has made sure may be lost.
///
/// # Errors
/// A format error for what the files cannot hold.
pub(crate) fn write(engine: &Engine) -> Result<(Vec<u8>, Vec<u8>)> {
    let model = engine.bpe()?;
    let cannot = |reason: &str| Err(Error::format(Defect::CannotHold, reason).at("model"));
    if model.alphabet != Alphabet::Bytes {
        return cannot("vocab.json and merges.txt hold tokens over bytes here; save as tokenizer.json");
    }
    if model.unk.is_some() {
        return cannot(
            "vocab.json and merges.txt do not say which token is the unknown one; save as tokenizer.json",
        );
    }
    if model.tokens.is_empty() {
        return cannot("an empty vocab.json says nothing; this tokenizer has no ordinary tokens");
    }
    let listed = engine.merges()?;
    if model.whole_pretokens && matches!(model.merges, Merges::Listed(_)) {
        return cannot("merges.txt cannot say that whole pretokens come first; save as tokenizer.json");
    }
    let vocabulary = engine.vocabulary();
    check_written_forms(engine)?;
    let written = |id: TokenId| vocabulary.written(id).unwrap_or_default();
    let mut vocab = String::from("{");
    for (i, id) in vocabulary.ids().into_iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(vocab, "{comma}\n{}:{id}", json_string(&written(id)));
    }
    vocab.push_str("\n}\n");
    let mut merges = String::from("#version: 0.2\n");
    for merge in listed {
        let _ = writeln!(merges, "{} {}", written(merge.left), written(merge.right));
    }
    Ok((vocab.into_bytes(), merges.into_bytes()))
}
