//! What the file means.
use std::collections::{HashMap, HashSet};

use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    AddedToken, Alphabet, Bpe, Description, EndOfWord, EndOfWordForm, Merge, Merges, Roles, Split, TokenList,
};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::{Splitter, from_portable, known};

use super::file::{
    AddedTokenEntry, Decoder, File, MergeEntry, Model, OtherStage, Pattern, PostProcessor, PreTokenizer,
    VocabEntries, json_error,
};
use crate::contents;
use crate::merges::keep_last;

/// Reads a file.
///
/// # Errors
/// A format error naming the field.
pub(crate) fn parse(bytes: &[u8]) -> Result<Description> {
    let mut deserializer = serde_json::Deserializer::from_str(contents::text(bytes)?);
    let file: File = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
    deserializer
        .end()
        .map_err(|error| Error::format(Defect::Json, format!("more text behind the end: {error}")))?;
    describe(file)
}

fn unsupported(what: impl Into<String>) -> Error {
    Error::format(
        Defect::Unsupported,
        format!("{} is not supported by this version of tokenmill", what.into()),
    )
}

fn describe(file: File) -> Result<Description> {
    if let Some(version) = file.version.filter(|version| version != "1.0") {
        return Err(Error::format(
            Defect::Version,
            format!("version {version:?} is not known; expected \"1.0\""),
        )
        .at("version"));
    }
    if let Some(name) = file.model.name.as_ref().filter(|name| *name != "BPE") {
        return Err(unsupported(format!("the model {name:?}")).at("type").at("model"));
    }
    if file.model.name.is_none() && file.model.merges.is_none() && file.model.vocab.is_some() {
        return Err(unsupported("a model without merges").at("type").at("model"));
    }
    if matches!(file.model.vocab, Some(VocabEntries::List)) {
        return Err(unsupported("a model whose vocabulary is a list").at("type").at("model"));
    }
    for (name, value) in
        [("truncation", &file.truncation), ("padding", &file.padding), ("normalizer", &file.normalizer)]
    {
        if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
            let kind = value.get("type").and_then(serde_json::Value::as_str);
            return Err(
                unsupported(kind.map_or("this setting".to_owned(), |kind| format!("{kind:?}"))).at(name)
            );
        }
    }
    match &file.post_processor {
        None | Some(PostProcessor::ByteLevel { trim_offsets: false }) => {}
        Some(PostProcessor::ByteLevel { trim_offsets: true }) => {
            return Err(unsupported("trimming offsets").at("trim_offsets").at("post_processor"));
        }
        Some(PostProcessor::Other(stage)) => return Err(unsupported(stage_name(stage)).at("post_processor")),
    }
    let (split, is_byte_level) = split_of(file.pre_tokenizer.as_ref()).map_err(|e| e.at("pre_tokenizer"))?;
    let mark = file.model.end_of_word_suffix.clone().filter(|suffix| !suffix.is_empty());
    check_decoder(file.decoder.as_ref(), is_byte_level, mark.as_deref()).map_err(|e| e.at("decoder"))?;
    let alphabet = if is_byte_level {
        if mark.is_some() {
            return Err(unsupported("an end-of-word suffix over bytes").at("end_of_word_suffix").at("model"));
        }
        Alphabet::Bytes
    } else {
        let end_of_word = mark.map(|symbol| EndOfWord { symbol, form: EndOfWordForm::Suffix });
        Alphabet::Chars { end_of_word }
    };
    model_of(file.model, &file.added_tokens, alphabet, split)
}

fn stage_name(stage: &OtherStage) -> String {
    stage.name.clone().unwrap_or_else(|| "a stage without a type".to_owned())
}

/// The split, and whether what follows works on bytes.
fn split_of(stage: Option<&PreTokenizer>) -> Result<(Split, bool)> {
    match stage {
        None => Ok((Split::Whole, false)),
        Some(PreTokenizer::ByteLevel(byte_level)) => {
            if byte_level.add_prefix_space {
                return Err(unsupported("a prefix space").at("add_prefix_space"));
            }
            Ok((if byte_level.use_regex { known::split_from("gpt2") } else { Split::Whole }, true))
        }
        Some(PreTokenizer::Split { pattern, behavior, invert }) => {
            if behavior != "Isolated" {
                return Err(unsupported(format!("behavior {behavior:?}")).at("behavior"));
            }
            if *invert {
                return Err(unsupported("an inverted split").at("invert"));
            }
            match pattern {
                Pattern::Regex(regex) => {
                    let split = split_at(regex).map_err(|e| e.at("Regex").at("pattern"))?;
                    Ok((split, false))
                }
                Pattern::String(_) => Err(unsupported("splitting at a string").at("String").at("pattern")),
            }
        }
        Some(PreTokenizer::Sequence { pretokenizers }) => match pretokenizers.as_slice() {
            [one] => split_of(Some(one)).map_err(|e| e.at_index(0).at("pretokenizers")),
            [first @ PreTokenizer::Split { .. }, PreTokenizer::ByteLevel(second)] if !second.use_regex => {
                if second.add_prefix_space {
                    return Err(unsupported("a prefix space")
                        .at("add_prefix_space")
                        .at_index(1)
                        .at("pretokenizers"));
                }
                let (split, _) = split_of(Some(first)).map_err(|e| e.at_index(0).at("pretokenizers"))?;
                Ok((split, true))
            }
            _ => Err(unsupported("this sequence of pre-tokenizers").at("pretokenizers")),
        },
        Some(PreTokenizer::Other(stage)) => Err(unsupported(stage_name(stage))),
    }
}

/// A split at the matches of a regular expression of the file.
fn split_at(regex: &str) -> Result<Split> {
    let compiled = from_portable(regex).and_then(|regex| {
        let split = Split::Pattern(regex);
        Splitter::compile(&split).map(|_| split)
    });
    compiled.map_err(|error| match error.kind {
        // It is the file that is at fault, not a pattern of the caller's.
        Kind::Pattern { reason, .. } => Error::format(Defect::Pattern, format!("{regex:?}: {reason}")),
        _ => error,
    })
}

/// The decoder must undo exactly what the alphabet does.
fn check_decoder(decoder: Option<&Decoder>, is_byte_level: bool, mark: Option<&str>) -> Result<()> {
    let removes_mark = |decoder: &Decoder| {
        matches!(decoder, Decoder::Replace { pattern: Pattern::String(pattern), content }
            if Some(pattern.as_str()) == mark && content.is_empty())
    };
    let fits = match decoder {
        Some(Decoder::ByteLevel {}) => is_byte_level,
        Some(Decoder::Fuse {}) => !is_byte_level && mark.is_none(),
        Some(Decoder::Sequence { decoders }) => match decoders.as_slice() {
            [replace, Decoder::Fuse {}] => !is_byte_level && removes_mark(replace),
            [Decoder::Fuse {}] => !is_byte_level && mark.is_none(),
            _ => false,
        },
        Some(Decoder::Replace { .. }) => false,
        Some(Decoder::Other(stage)) => return Err(unsupported(stage_name(stage))),
        None => return Err(unsupported("decoding without a decoder, which joins tokens by blanks,")),
    };
    if fits { Ok(()) } else { Err(unsupported("this decoder after this pre-tokenizer")) }
}

fn model_of(
    model: Model,
    added: &[AddedTokenEntry],
    alphabet: Alphabet,
    split: Split,
) -> Result<Description> {
    let at_model = |error: Error| error.at("model");
    check_model(&model).map_err(at_model)?;
    let missing = |what: &str| Error::format(Defect::Missing, "is missing").at(what).at("model");
    let Some(VocabEntries::Object(vocab)) = model.vocab else { return Err(missing("vocab")) };
    let merges = model.merges.ok_or_else(|| missing("merges"))?;
    // As in the reference, the last of repeated keys counts.
    let size = vocab.len();
    let mut ids: HashMap<String, TokenId> = HashMap::with_capacity(size);
    for (token, id) in vocab {
        ids.insert(token, id);
    }
    let added_tokens = assign_added(added, &ids).map_err(|e| e.at("added_tokens"))?;
    let contents: HashSet<&str> = added_tokens.iter().map(|token| token.content.as_str()).collect();
    let taken: HashSet<TokenId> = added_tokens.iter().map(|token| token.id).collect();
    let is_bytes = alphabet == Alphabet::Bytes;
    let mut entries = Vec::with_capacity(ids.len());
    for (token, &id) in &ids {
        // An entry with the id of an added token but another text is a fault, which validation names.
        if contents.contains(token.as_str()) {
            continue;
        }
        let bytes = if is_bytes { byte_alphabet::read(token) } else { Some(token.clone().into_bytes()) };
        let Some(bytes) = bytes else {
            let reason = "is not written in the byte alphabet (a space is Ġ, a newline Ċ)";
            return Err(Error::format(Defect::Encoding, reason).at(token.clone()).at("vocab").at("model"));
        };
        entries.push((id, bytes));
    }
    // A map has no order; ids are unique where the file is sound, and validation finds where not.
    entries.sort();
    let unk = match &model.unk_token {
        None => None,
        Some(token) => {
            let by_content = added_tokens.iter().find(|added| added.content == *token).map(|added| added.id);
            let id = by_content.or_else(|| ids.get(token).copied());
            Some(id.ok_or_else(|| {
                let reason = format!("the unknown token {token:?} is not in the vocabulary");
                Error::format(Defect::Missing, reason).at("unk_token").at("model")
            })?)
        }
    };
    if is_bytes {
        refuse_built(&added_tokens, &merges)?;
    }
    let merges = resolve_merges(&merges, &ids, &taken).map_err(|e| e.at("merges").at("model"))?;
    Ok(Description {
        added_tokens,
        split,
        model: Bpe {
            alphabet,
            tokens: TokenList::from_entries(entries).into(),
            merges: Merges::Listed(merges),
            whole_pretokens: model.ignore_merges == Some(true),
            unk,
        },
        roles: Roles::default(),
    })
}

fn check_model(model: &Model) -> Result<()> {
    if model.dropout.is_some_and(|dropout| dropout != 0.0) {
        return Err(unsupported("dropout").at("dropout"));
    }
    if model.continuing_subword_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty()) {
        return Err(unsupported("a prefix of continuing tokens").at("continuing_subword_prefix"));
    }
    if model.fuse_unk == Some(true) {
        return Err(unsupported("fusing unknown tokens").at("fuse_unk"));
    }
    if model.byte_fallback == Some(true) {
        return Err(unsupported("byte fallback").at("byte_fallback"));
    }
    Ok(())
}

/// Ids of added tokens as the reference assigns them: the file's ids are not used. A content in
/// the vocabulary keeps that id; the others are numbered from the size of the vocabulary on.
fn assign_added(entries: &[AddedTokenEntry], ids: &HashMap<String, TokenId>) -> Result<Vec<AddedToken>> {
    refuse_entangled(entries)?;
    let mut added: Vec<AddedToken> = Vec::with_capacity(entries.len());
    let mut next = TokenId::try_from(ids.len()).unwrap_or(TokenId::MAX);
    for (i, entry) in entries.iter().enumerate() {
        let flags = [("single_word", entry.single_word), ("lstrip", entry.lstrip), ("rstrip", entry.rstrip)];
        if let Some((flag, _)) = flags.into_iter().find(|(_, set)| *set) {
            return Err(unsupported("this flag").at(flag).at_index(i));
        }
        if entry.content.is_empty() {
            continue;
        }
        if let Some(earlier) = added.iter_mut().find(|token| token.content == entry.content) {
            earlier.is_special |= entry.special;
            continue;
        }
        let id = ids.get(&entry.content).copied().unwrap_or_else(|| {
            next = next.saturating_add(1);
            next - 1
        });
        added.push(AddedToken { id, content: entry.content.clone(), is_special: entry.special });
    }
    added.sort_by_key(|token| token.id);
    Ok(added)
}

/// In a byte-level vocabulary an added token `Ġlow` is found where the text holds that very literal,
/// while merges build the same entry from ` low`: one id with two meanings.
fn refuse_built(added: &[AddedToken], merges: &[MergeEntry]) -> Result<()> {
    let two_faced: HashMap<&str, usize> = added
        .iter()
        .enumerate()
        .filter(|(_, token)| {
            byte_alphabet::read(&token.content).is_some_and(|b| b != token.content.as_bytes())
        })
        .map(|(i, token)| (token.content.as_str(), i))
        .collect();
    let mut joined = merges.iter().map(|merge| format!("{}{}", merge.left, merge.right));
    match joined.find_map(|result| two_faced.get(result.as_str()).copied()) {
        Some(i) => Err(unsupported("an added token that merges build from other text")
            .at_index(i)
            .at("added_tokens")),
        None => Ok(()),
    }
}

/// The reference looks for tokens with `normalized` unset first and for the others in what is left.
/// Where literals of the two kinds cannot overlap in a text, one search finds the same.
fn refuse_entangled(entries: &[AddedTokenEntry]) -> Result<()> {
    let (later, first): (Vec<_>, Vec<_>) =
        entries.iter().enumerate().partition(|(_, entry)| entry.normalized);
    let can_tell = later.len().saturating_mul(first.len()) <= 1 << 20;
    for (i, entry) in &later {
        if first.iter().any(|(_, other)| !can_tell || overlap(&entry.content, &other.content)) {
            return Err(unsupported("a token with it that overlaps one without")
                .at("normalized")
                .at_index(*i));
        }
    }
    Ok(())
}

/// Can the two share a character of some text?
fn overlap(a: &str, b: &str) -> bool {
    let meet = |left: &str, right: &str| left.char_indices().any(|(i, _)| right.starts_with(&left[i..]));
    !a.is_empty() && !b.is_empty() && (a.contains(b) || b.contains(a) || meet(a, b) || meet(b, a))
}

/// Merges by id. One that needs an added token can never happen, since those are cut out of the
/// text before; it is left out.
fn resolve_merges(
    entries: &[MergeEntry],
    ids: &HashMap<String, TokenId>,
    added: &HashSet<TokenId>,
) -> Result<Vec<Merge>> {
    let mut merges = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let id = |token: &str, what: &str| {
            ids.get(token).copied().ok_or_else(|| {
                let reason = format!("{what} {token:?} is not in the vocabulary");
                Error::format(Defect::Merge, reason).at_index(i)
            })
        };
        let left = id(&entry.left, "the left part")?;
        let right = id(&entry.right, "the right part")?;
        let result = id(&format!("{}{}", entry.left, entry.right), "the result")?;
        if [left, right, result].iter().any(|id| added.contains(id)) {
            continue;
        }
        merges.push(Merge { left, right, result });
    }
    Ok(keep_last(merges))
}
