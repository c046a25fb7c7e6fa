//! Writes the file: one entry per line, so that versions can be compared with a diff, and the same
//! bytes every time.
use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tokenmill_core::byte_alphabet;
use tokenmill_core::description::{
    AddedToken, Alphabet, BpeDescription, Decoder, Decoding, Description, EndOfWordForm, Merges,
    ModelDescription, Pattern, UnigramDescription,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;
use tokenmill_core::ids::TokenId;

use crate::tables::{Map, Set};

use super::added::{self, Numbering};
use super::fields::cannot;
use super::numbers;
use super::{decoders, limits, normalizers, post_processors, pre_tokenizers};

/// A string as JSON.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a tokenizer.
///
/// # Errors
/// A format error that names what the file cannot hold.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
    let description = engine.canonical();
    description.check_hooks_have_names()?;
    check_written_forms(engine)?;
    if description.model.as_bpe().is_some() {
        // If no merge list determines the merges, the error gives the reason.
        engine.merges()?;
    }
    check_added_tokens(engine, &description)?;
    let normalizer = normalizers::write(&description.normalizer).map_err(|e| e.at("normalizer"))?;
    let steps = if description.is_byte_level() {
        pre_tokenizers::with_byte_alphabet(&description.pre_tokenizer)
    } else {
        description.pre_tokenizer.clone()
    };
    let pre_tokenizer = pre_tokenizers::write(&steps).map_err(|e| e.at("pre_tokenizer"))?;
    let decoder = decoders::write(&spelled_out(&description)).map_err(|e| e.at("decoder"))?;
    let model = write_model(engine, &description).map_err(|e| e.at("model"))?;

    let mut text = String::from("{\n\"version\": \"1.0\",\n");
    let truncation = limits::write_truncation(description.truncation.as_ref());
    let _ = writeln!(text, "\"truncation\": {truncation},");
    let _ = writeln!(text, "\"padding\": {},", limits::write_padding(description.padding.as_ref()));
    text.push_str("\"added_tokens\": [");
    for (i, token) in added_entries(engine, &description).iter().enumerate() {
        let entry = json!({
            "id": token.id,
            "content": token.content,
            "single_word": token.single_word,
            "lstrip": token.lstrip,
            "rstrip": token.rstrip,
            "normalized": token.normalized,
            "special": token.is_special,
        });
        let _ = write!(text, "{}\n{entry}", if i == 0 { "" } else { "," });
    }
    text.push_str("\n],\n");
    let _ = writeln!(text, "\"normalizer\": {normalizer},");
    let _ = writeln!(text, "\"pre_tokenizer\": {pre_tokenizer},");
    let _ = writeln!(text, "\"post_processor\": {},", post_processors::write(&description.post_processor));
    let _ = writeln!(text, "\"decoder\": {decoder},");
    let _ = writeln!(text, "\"model\": {model}\n}}");
    Ok(text.into_bytes())
}

/// The added tokens as the file lists them. An entry that only takes a number precedes the token
/// that has the id.
fn added_entries<'a>(engine: &Engine, description: &'a Description) -> Vec<Cow<'a, AddedToken>> {
    let vocabulary = engine.vocabulary();
    let has_gap = numbering(engine, description).has_gap;
    let mut entries = Vec::with_capacity(has_gap.len());
    for (token, has_gap) in description.added_tokens.iter().zip(has_gap) {
        if has_gap {
            let mut content = format!("<number {}>", token.id);
            while vocabulary.id_of_written(&content).is_some() {
                content.push('>');
            }
            let taker = AddedToken { is_special: false, ..AddedToken::special(token.id, &content) };
            entries.push(Cow::Owned(taker));
        }
        entries.push(Cow::Borrowed(token));
    }
    entries
}

/// The decoding as steps of the file.
fn spelled_out(description: &Description) -> Decoding {
    if description.decoding != Decoding::Bytes {
        return description.decoding.clone();
    }
    Decoding::Steps(match description.model.alphabet() {
        Some(Alphabet::Bytes) => vec![Decoder::ByteLevel],
        Some(Alphabet::Chars { end_of_word: Some(mark) }) => {
            let pattern = Pattern::Literal(mark.symbol.clone());
            vec![Decoder::Replace { pattern, content: String::new() }, Decoder::Fuse]
        }
        _ => vec![Decoder::Fuse],
    })
}

fn write_model(engine: &Engine, description: &Description) -> Result<String> {
    match &description.model {
        ModelDescription::Bpe(model) => write_bpe(engine, description, model),
        ModelDescription::WordPiece(model) => {
            let head = json!({
                "type": "WordPiece",
                "unk_token": unk(engine, model.unk),
                "continuing_subword_prefix": model.continuing_prefix,
                "max_input_chars_per_word": model.max_chars,
            });
            Ok(with_vocab(engine, description, &head) + "\n}")
        }
        ModelDescription::WordLevel(model) => {
            let head = json!({ "type": "WordLevel", "unk_token": unk(engine, model.unk) });
            Ok(with_vocab(engine, description, &head) + "\n}")
        }
        ModelDescription::Unigram(model) => write_unigram(engine, description, model),
    }
}

/// The written form of the unknown token. A model type that requires one, but has none, gets a name
/// without an entry: as here, the reference then fails only when the token is needed.
fn unk(engine: &Engine, id: Option<TokenId>) -> String {
    id.and_then(|id| engine.vocabulary().written(id)).unwrap_or_else(|| "<unk>".to_owned())
}

/// The numbering of added tokens by the reference.
fn numbering(engine: &Engine, description: &Description) -> Numbering {
    let vocabulary = engine.vocabulary();
    let added = vocabulary.added();
    let is_ordinary = |token: &AddedToken| vocabulary.holds_as_ordinary(token);
    let unk = description.model.unk().filter(|_| !matches!(description.model, ModelDescription::Unigram(_)));
    // The unknown token must be in the vocabulary: the reference looks it up there.
    let unk = unk.and_then(|unk| added.iter().rposition(|token| token.id == unk && !is_ordinary(token)));
    added::numbering(added, is_ordinary, vocabulary.tokens().len(), unk)
}

/// The tokens of the model's vocabulary in written form: ordinary tokens, and added tokens that
/// need an entry, such as the unknown one.
fn listed<'a>(engine: &'a Engine, description: &Description) -> Vec<(TokenId, Cow<'a, str>)> {
    let vocabulary = engine.vocabulary();
    let later = vocabulary.added().iter().zip(numbering(engine, description).is_numbered);
    let later = later.filter(|(_, is_numbered)| *is_numbered);
    let later: Set<&str> = later.map(|(token, _)| token.content.as_str()).collect();
    let is_listed = |(_, written): &(TokenId, Cow<'_, str>)| !later.contains(written.as_ref());
    vocabulary.entries().filter(is_listed).collect()
}

/// Checks the added tokens that are not special: the reader adds each of them in the vocabulary to the model.
///
/// # Errors
/// A format error for a token that the model does not have, and whose id requires an entry in the vocabulary.
fn check_added_tokens(engine: &Engine, description: &Description) -> Result<()> {
    let vocabulary = engine.vocabulary();
    let added = vocabulary.added().iter().zip(numbering(engine, description).is_numbered);
    let mut listed = added.filter(|(_, is_numbered)| !is_numbered).map(|(token, _)| token);
    // For a model of bytes, the reader leaves out tokens that are not in the byte alphabet.
    let is_read = |token: &AddedToken| {
        description.model.alphabet() != Some(&Alphabet::Bytes)
            || byte_alphabet::read(&token.content).is_some()
    };
    let is_lost =
        |token: &&AddedToken| !token.is_special && !vocabulary.holds_as_ordinary(token) && is_read(token);
    match listed.find(is_lost) {
        Some(token) => {
            let reason = format!(
                "{:?} as an added token that the model does not have, with the id {}",
                token.content, token.id
            );
            Err(cannot(reason).at("added_tokens"))
        }
        None => Ok(()),
    }
}

/// The fields of `head`, and the vocabulary as an object of ids.
fn with_vocab(engine: &Engine, description: &Description, head: &Value) -> String {
    let mut text = String::from("{\n");
    for (name, value) in head.as_object().into_iter().flatten() {
        let _ = writeln!(text, "{}: {value},", json_string(name));
    }
    text.push_str("\"vocab\": {");
    for (i, (id, written)) in listed(engine, description).into_iter().enumerate() {
        let _ = write!(text, "{}\n{}: {id}", if i == 0 { "" } else { "," }, json_string(&written));
    }
    text.push_str("\n}");
    text
}

fn write_bpe(engine: &Engine, description: &Description, model: &BpeDescription) -> Result<String> {
    let suffix = match &model.alphabet {
        Alphabet::Bytes | Alphabet::Chars { end_of_word: None } => None,
        Alphabet::Chars { end_of_word: Some(mark) } if mark.form == EndOfWordForm::Suffix => {
            Some(&mark.symbol)
        }
        Alphabet::Chars { end_of_word: Some(mark) } => {
            return Err(cannot(format!(
                "an end-of-word symbol of its own ({:?}); train with end_of_word_form=\"suffix\" for this format",
                mark.symbol
            ))
            .at("end_of_word_suffix"));
        }
    };
    let Merges::Listed(merges) = &model.merges else {
        return Err(cannot("merges that are no list").at("merges"));
    };
    let head = json!({
        "type": "BPE",
        "dropout": model.dropout,
        "unk_token": model.unk.map(|id| unk(engine, Some(id))),
        "continuing_subword_prefix": model.continuing_prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": model.fuse_unk,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": model.whole_pretokens,
    });
    let mut text = with_vocab(engine, description, &head);
    text.push_str(",\n\"merges\": [");
    let part = |bytes| json_string(&engine.vocabulary().write(bytes));
    for (i, parts) in model.parts_of(merges, &description.added_tokens).enumerate() {
        let (left, right) = parts.map_err(|e| e.at("merges"))?;
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n[{}, {}]", part(left), part(right));
    }
    text.push_str("\n]\n}");
    Ok(text)
}

fn write_unigram(engine: &Engine, description: &Description, model: &UnigramDescription) -> Result<String> {
    if model.single_precision || !model.kinds.is_empty() {
        return Err(cannot(
            "a model that sums as SentencePiece does; save as a SentencePiece model, or pass lossy=True",
        ));
    }
    let ids = listed(engine, description);
    if ids.iter().zip(0..).any(|((id, _), place)| *id != place) {
        return Err(cannot("ids with holes between them; they are places in a list here").at("vocab"));
    }
    let mut text = String::from("{\n\"type\": \"Unigram\",\n");
    let _ = writeln!(text, "\"unk_id\": {},", json!(model.unk));
    let _ = writeln!(text, "\"byte_fallback\": {},\n\"vocab\": [", model.byte_fallback);
    // A special token is never chosen by its score, but its score may be the lowest.
    let penalty = f64::from(UnigramDescription::UNK_PENALTY);
    let needed = model.unk_score + penalty;
    let is_needed = model.scores.iter().all(|&score| score > needed);
    let of_special = if is_needed { needed } else { 0.0 };
    let mut lowest = f64::INFINITY;
    for (i, (id, written)) in ids.iter().enumerate() {
        let score = model.tokens.index_of(*id).map_or(of_special, |index| model.scores[index]);
        lowest = lowest.min(score);
        let written = json_string(written);
        let comma = if i + 1 == ids.len() { "" } else { "," };
        let _ = writeln!(text, "[{written}, {}]{comma}", numbers::written(score));
    }
    if (lowest - penalty).to_bits() != model.unk_score.to_bits() {
        let reason = format!(
            "a score of {} for unknown characters; here it is ten below the lowest score",
            model.unk_score
        );
        return Err(cannot(reason).at("unk_score"));
    }
    text.push_str("]\n}");
    Ok(text)
}

/// Checks that written forms are unique, since files identify tokens by them.
///
/// # Errors
/// A format error for two tokens with the same written form.
pub(crate) fn check_written_forms(engine: &Engine) -> Result<()> {
    let vocabulary = engine.vocabulary();
    // Pieces of a list may repeat: their indices identify them.
    let is_list = matches!(engine.description().model, ModelDescription::Unigram(_));
    let mut seen = Map::default();
    for (id, bytes) in vocabulary.tokens().iter() {
        if seen.insert(vocabulary.write(bytes), id).is_some() && !is_list {
            let reason = format!("two tokens are written {:?}, one of them {id}", vocabulary.write(bytes));
            return Err(cannot(reason).at("vocab").at("model"));
        }
    }
    let is_another = |content: &str, id| seen.get(content).is_some_and(|&other| other != id);
    match vocabulary.added().iter().find(|token| is_another(&token.content, token.id)) {
        Some(token) => {
            let reason = format!("{:?} is also how an ordinary token is written", token.content);
            Err(cannot(reason).at("added_tokens"))
        }
        None => Ok(()),
    }
}
