//! `vocab.json` and `merges.txt`, GPT-2's pair of files: ids by token in written form, and one
//! merge per line. They contain neither the split nor which tokens are special.
use std::borrow::Cow;
use std::fmt::Write as _;

use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, Description, Merge, Merges, Split, TokenList,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use crate::merges::keep_last;
use crate::names::{Joining, Names};
use crate::report::Report;
use crate::tables::Set;
use crate::tokenizer_json::{
    VocabEntries, check_written_forms, json_error, json_string, report_shared_ids, trailing_text,
};
use crate::{contents, gaps};

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

/// Reads the entries of `vocab.json`, in the order of the file.
///
/// # Errors
/// A format error that names the entry.
pub(crate) fn read_vocab(bytes: &[u8]) -> Result<Vec<(Cow<'_, str>, TokenId)>> {
    let text = contents::text(bytes)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let entries: VocabEntries = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer.end().map_err(|error| trailing_text(&error))?;
    match entries {
        VocabEntries::Object(entries) => Ok(entries),
        VocabEntries::List(_) => {
            Err(Error::format(Defect::Type, "expected an object of ids by token, found a list"))
        }
    }
}

/// A merge with the number of its line, from 1 on.
pub(crate) struct MergeLine<'a> {
    pub(crate) number: usize,
    pub(crate) left: &'a str,
    pub(crate) right: &'a str,
}

/// Reads the merges of `merges.txt`.
///
/// # Errors
/// A format error that names the line.
pub(crate) fn read_merges(bytes: &[u8]) -> Result<Vec<MergeLine<'_>>> {
    // Without merges the vocabulary is its alphabet.
    let text = if bytes.iter().all(u8::is_ascii_whitespace) { "" } else { contents::text(bytes)? };
    let mut merges = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // The header is a comment; lines such as `# #` are merges.
        if line.is_empty() || line.starts_with("#version") {
            continue;
        }
        let Some((left, right)) = line.split_once(' ').filter(|(_, right)| !right.contains(' ')) else {
            let reason = format!("expected two tokens with a blank between them, found {line:?}");
            return Err(Error::format(Defect::Line, reason).at(format!("line {}", i + 1)));
        };
        merges.push(MergeLine { number: i + 1, left, right });
    }
    Ok(merges)
}

/// Reads the ids of `vocab.json` by token.
///
/// # Errors
/// A format error that names the entry.
pub(crate) fn parse_vocab(vocab: &[u8], report: &mut Report) -> Result<Names> {
    let entries = read_vocab(vocab)?;
    // As in the reference, the last of repeated keys counts.
    let count = entries.len();
    let written = Names::new(&entries);
    if written.len() < count {
        let reason = format!("{} keys occur twice; the last occurrence counts", count - written.len());
        report.tolerate(Defect::Duplicate, "", reason)?;
    }
    report_shared_ids(&written, &[], "", report)?;
    gaps::find(written.iter().map(|(_, id)| id), &[], "id", report)?;
    Ok(written)
}

/// Byte-level BPE from the two files. Entries named in `special` are special tokens, matched by
/// their literal.
///
/// # Errors
/// A format error that names an entry of `vocab.json`.
pub(crate) fn describe(
    written: &Names,
    merges: Vec<Merge>,
    split: &Split,
    special: &[&str],
) -> Result<Description> {
    let built: Set<TokenId> = merges.iter().flat_map(|m| [m.left, m.right, m.result]).collect();
    let mut tokens = Vec::with_capacity(written.len());
    let mut added_tokens = Vec::new();
    for (token, id) in written.iter() {
        if special.contains(&token) && !built.contains(&id) {
            added_tokens.push(AddedToken::special(id, token));
            continue;
        }
        let Some(bytes) = byte_alphabet::read(token) else {
            let reason = "is not written in the byte alphabet (a space is Ġ, a newline Ċ); a special token must be \
                          named in special_tokens=";
            return Err(Error::format(Defect::Encoding, reason).at(token));
        };
        tokens.push((id, bytes));
    }
    AddedToken::sort_by_id(&mut added_tokens);
    let model =
        BpeDescription::plain(Alphabet::Bytes, TokenList::from_entries(tokens), Merges::listed(merges));
    Ok(Description { added_tokens, ..Description::of_bpe(split, model) })
}

/// At most one merge in this many may have an unknown token by mistake; with more, the files do not
/// belong together.
const MERGES_FOR_EACH_MISTAKE: usize = 10;

/// Reads the merges of `merges.txt` by their ids.
///
/// # Errors
/// A format error that names the line.
pub(crate) fn parse_merges(bytes: &[u8], names: &Names, report: &mut Report) -> Result<Vec<Merge>> {
    let entries = read_merges(bytes)?;
    let mut merges = Vec::with_capacity(entries.len());
    let mut unknown: Option<(usize, Error)> = None;
    let mut count_of_unknown = 0;
    let mut joining = Joining::default();
    for entry in &entries {
        match resolve(entry, names, &mut joining) {
            Ok(merge) => merges.push(merge),
            Err(error) => {
                count_of_unknown += 1;
                unknown.get_or_insert((entry.number, error));
            }
        }
    }
    if let Some((line, error)) = unknown {
        let error = if count_of_unknown * MERGES_FOR_EACH_MISTAKE > entries.len() && count_of_unknown > 1 {
            let reason = format!(
                "{count_of_unknown} of {} merges are of tokens that are not in the vocabulary; the two files are of \
                 different models",
                entries.len()
            );
            Error::format(Defect::Inconsistent, reason)
        } else {
            error
        };
        return Err(error.at(format!("line {line}")));
    }
    let (merges, repeated) = keep_last(merges);
    for (place, earlier) in repeated {
        let reason = format!("the merge is also on line {}; this line counts", entries[earlier].number);
        report.tolerate(Defect::Duplicate, format!("line {}", entries[place].number), reason)?;
    }
    Ok(merges)
}

fn resolve(line: &MergeLine<'_>, names: &Names, joining: &mut Joining) -> Result<Merge> {
    let &MergeLine { left, right, .. } = line;
    let unknown = |token: &str| {
        let reason = format!("{token:?} of the merge \"{left} {right}\" is not in the vocabulary");
        Error::format(Defect::Merge, reason)
    };
    let id = |token: &str| names.get(token).ok_or_else(|| unknown(token));
    let (left_id, right_id) = (id(left)?, id(right)?);
    let result = joining.place(names, left, right).ok_or_else(|| unknown(&format!("{left}{right}")))?;
    Ok(Merge { left: left_id, right: right_id, result: names.id(result) })
}

/// Writes the two files: (`vocab.json`, `merges.txt`). Added tokens are among the ids of the first.
/// The caller must have checked that the split, and which tokens are special, may be lost.
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
    let mut vocab = String::from("{");
    for (i, (id, written)) in vocabulary.entries().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(vocab, "{comma}\n{}:{id}", json_string(&written));
    }
    vocab.push_str("\n}\n");
    let mut merges = String::from("#version: 0.2\n");
    for parts in model.parts_of(&listed, vocabulary.added()) {
        let (left, right) = parts?;
        let _ = writeln!(merges, "{} {}", vocabulary.write(left), vocabulary.write(right));
    }
    Ok((vocab.into_bytes(), merges.into_bytes()))
}
