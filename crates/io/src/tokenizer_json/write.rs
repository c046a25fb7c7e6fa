//! Writing the file: one entry a line, so that two versions can be compared by eye, and the same
//! bytes every time.
use std::fmt::Write as _;

use serde_json::{Value, json};
use tokenmill_core::description::{
    Alphabet, Bpe, Decoder, Decoding, Description, EndOfWordForm, Merges, Model, Pattern, Unigram,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Result;
use tokenmill_core::ids::TokenId;

use super::fields::cannot;
use super::{added, decoders, limits, normalizers, post_processors, pre_tokenizers};

/// A string as JSON has it.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a tokenizer.
///
/// # Errors
/// A format error naming what the file cannot hold.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
    let description = engine.canonical();
    check_written_forms(engine)?;
    if description.model.as_bpe().is_some() {
        // Where no list says what the merges say, this has the reason.
        engine.merges()?;
    }
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
    for (i, token) in description.added_tokens.iter().enumerate() {
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

/// Decoding in the steps of the file.
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
        Model::Bpe(model) => write_bpe(engine, description, model),
        Model::WordPiece(model) => {
            let head = json!({
                "type": "WordPiece",
                "unk_token": unk(engine, model.unk),
                "continuing_subword_prefix": model.continuing_prefix,
                "max_input_chars_per_word": model.max_chars,
            });
            Ok(with_vocab(engine, description, &head) + "\n}")
        }
        Model::WordLevel(model) => {
            let head = json!({ "type": "WordLevel", "unk_token": unk(engine, model.unk) });
            Ok(with_vocab(engine, description, &head) + "\n}")
        }
        Model::Unigram(model) => write_unigram(engine, description, model),
    }
}

/// How the unknown token is written. Models that must name one name one that is not there where
/// there is none: it is missed only when it is needed, as here.
fn unk(engine: &Engine, id: Option<TokenId>) -> String {
    id.and_then(|id| engine.vocabulary().written(id)).unwrap_or_else(|| "<unk>".to_owned())
}

/// The fields of `head`, and the vocabulary as an object of ids.
fn with_vocab(engine: &Engine, description: &Description, head: &Value) -> String {
    let vocabulary = engine.vocabulary();
    let added = &description.added_tokens;
    let tokens = description.model.tokens();
    let is_ordinary = |id| tokens.index_of(id).is_some();
    let mut listed = added::in_vocabulary(added, is_ordinary, tokens.len());
    // The unknown token must be in the vocabulary: the reference looks it up there.
    if description.model.unk().is_some() {
        let last = description.model.unk().and_then(|unk| added.iter().position(|token| token.id == unk));
        listed = listed.max(last.map_or(0, |last| last + 1));
    }
    let mut text = String::from("{\n");
    for (name, value) in head.as_object().into_iter().flatten() {
        let _ = writeln!(text, "{}: {value},", json_string(name));
    }
    text.push_str("\"vocab\": {");
    let later: Vec<TokenId> = added[listed..].iter().map(|token| token.id).collect();
    let ids = vocabulary.ids();
    let ids = ids.iter().filter(|&&id| is_ordinary(id) || later.binary_search(&id).is_err());
    for (i, &id) in ids.enumerate() {
        let written = json_string(&vocabulary.written(id).unwrap_or_default());
        let _ = write!(text, "{}\n{written}: {id}", if i == 0 { "" } else { "," });
    }
    text.push_str("\n}");
    text
}

fn write_bpe(engine: &Engine, description: &Description, model: &Bpe) -> Result<String> {
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
    let part = |id: TokenId| json_string(&engine.vocabulary().written(id).unwrap_or_default());
    for (i, merge) in merges.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n[{}, {}]", part(merge.left), part(merge.right));
    }
    text.push_str("\n]\n}");
    Ok(text)
}

fn write_unigram(engine: &Engine, description: &Description, model: &Unigram) -> Result<String> {
    if model.single_precision || !model.kinds.is_empty() {
        return Err(cannot("a model that sums as SentencePiece does; save as a SentencePiece model"));
    }
    let vocabulary = engine.vocabulary();
    let added = &description.added_tokens;
    let is_ordinary = |id| model.tokens.index_of(id).is_some();
    let listed = added::in_vocabulary(added, is_ordinary, model.tokens.len());
    let later: Vec<TokenId> = added[listed..].iter().map(|token| token.id).collect();
    let ids = vocabulary.ids();
    let ids: Vec<TokenId> =
        ids.into_iter().filter(|&id| is_ordinary(id) || later.binary_search(&id).is_err()).collect();
    if ids.iter().zip(0..).any(|(&id, place)| id != place) {
        return Err(cannot("ids with holes between them; they are places in a list here").at("vocab"));
    }
    let mut text = String::from("{\n\"type\": \"Unigram\",\n");
    let _ = writeln!(text, "\"unk_id\": {},", json!(model.unk));
    let _ = writeln!(text, "\"byte_fallback\": {},\n\"vocab\": [", model.byte_fallback);
    let mut lowest = f64::INFINITY;
    for (i, &id) in ids.iter().enumerate() {
        // A special token is never chosen by its score.
        let score = model.tokens.index_of(id).map_or(0.0, |index| model.scores[index]);
        lowest = lowest.min(score);
        let written = json_string(&vocabulary.written(id).unwrap_or_default());
        let comma = if i + 1 == ids.len() { "" } else { "," };
        let _ = writeln!(text, "[{written}, {}]{comma}", json!(score));
    }
    if (lowest - 10.0).to_bits() != model.unk_score.to_bits() {
        let reason =
            format!("a score of {} for what is unknown; it is ten below the lowest here", model.unk_score);
        return Err(cannot(reason).at("unk_score"));
    }
    text.push_str("]\n}");
    Ok(text)
}

/// Files tell tokens apart by their written form alone.
///
/// # Errors
/// A format error for two tokens that are written alike.
pub(crate) fn check_written_forms(engine: &Engine) -> Result<()> {
    let vocabulary = engine.vocabulary();
    let mut seen = std::collections::HashMap::new();
    for (id, bytes) in vocabulary.tokens().iter() {
        if seen.insert(vocabulary.write(bytes), id).is_some() {
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
