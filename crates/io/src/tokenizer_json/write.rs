//! Writing the file: one entry a line, so that two versions can be compared by eye, and the same
//! bytes every time.
use std::fmt::Write as _;

use tokenmill_core::description::{Alphabet, EndOfWord, EndOfWordForm, Split};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::{known, portable};

/// A string as JSON has it.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn cannot(reason: impl Into<String>) -> Error {
    Error::format(Defect::CannotHold, reason)
}

/// Writes a tokenizer.
///
/// # Errors
/// A format error naming what the file cannot hold.
pub(crate) fn write(engine: &Engine) -> Result<Vec<u8>> {
    let description = engine.canonical();
    let model = &description.model;
    let merges = engine.merges()?;
    let vocabulary = engine.vocabulary();
    let end_of_word = end_of_word(&model.alphabet)?;
    let added = &description.added_tokens;
    check_written_forms(engine)?;
    // The reference numbers added tokens itself, after the vocabulary and in the order of the
    // file, unless they stand in the vocabulary.
    let first = model.tokens.len();
    let numbered_alike = added.iter().enumerate().all(|(i, token)| token.id as usize == first + i);
    // The unknown token must be in the vocabulary: the reference looks it up there.
    let in_vocab = !numbered_alike || model.unk.is_some();
    if in_vocab && model.whole_pretokens {
        return Err(cannot(
            "special tokens with ids before or between the others cannot be kept apart from pretokens that are taken \
             whole",
        )
        .at("added_tokens"));
    }
    let mut text = String::from(
        "{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n\"added_tokens\": [",
    );
    for (i, token) in added.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}\n{{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \
             \"normalized\": false, \"special\": {}}}",
            token.id,
            json_string(&token.content),
            token.is_special
        );
    }
    text.push_str("\n],\n\"normalizer\": null,\n");
    let _ = writeln!(text, "\"pre_tokenizer\": {},", pre_tokenizer(&description.split, &model.alphabet)?);
    text.push_str("\"post_processor\": null,\n");
    let _ = writeln!(text, "\"decoder\": {},", decoder(&model.alphabet, end_of_word));
    text.push_str("\"model\": {\n\"type\": \"BPE\",\n\"dropout\": null,\n");
    let unk = match model.unk.map(|id| vocabulary.written(id)) {
        None => "null".to_owned(),
        Some(written) => json_string(&written.unwrap_or_default()),
    };
    let _ = writeln!(text, "\"unk_token\": {unk},\n\"continuing_subword_prefix\": null,");
    let suffix = end_of_word.map_or("null".to_owned(), |mark| json_string(&mark.symbol));
    let _ = writeln!(text, "\"end_of_word_suffix\": {suffix},");
    let _ = writeln!(
        text,
        "\"fuse_unk\": false,\n\"byte_fallback\": false,\n\"ignore_merges\": {},\n\"vocab\": {{",
        model.whole_pretokens
    );
    let ids = vocabulary.ids();
    let listed = ids.iter().filter(|&&id| in_vocab || vocabulary.added_by_id(id).is_none());
    for (i, &id) in listed.enumerate() {
        let comma = if i == 0 { "" } else { ",\n" };
        let _ = write!(text, "{comma}{}: {id}", json_string(&vocabulary.written(id).unwrap_or_default()));
    }
    text.push_str("\n},\n\"merges\": [");
    let part = |id: TokenId| json_string(&vocabulary.written(id).unwrap_or_default());
    for (i, merge) in merges.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n[{}, {}]", part(merge.left), part(merge.right));
    }
    text.push_str("\n]\n}\n}\n");
    Ok(text.into_bytes())
}

/// Files tell tokens apart by their written form alone.
///
/// # Errors
/// A format error for two tokens that are written alike.
pub(crate) fn check_written_forms(engine: &Engine) -> Result<()> {
    let vocabulary = engine.vocabulary();
    let mut seen = std::collections::HashSet::new();
    for (id, bytes) in vocabulary.tokens().iter() {
        if !seen.insert(vocabulary.write(bytes)) {
            let reason = format!("two tokens are written {:?}, one of them {id}", vocabulary.write(bytes));
            return Err(cannot(reason).at("vocab").at("model"));
        }
    }
    match vocabulary.added().iter().find(|token| seen.contains(&token.content)) {
        Some(token) => {
            let reason = format!("{:?} is also how an ordinary token is written", token.content);
            Err(cannot(reason).at("added_tokens"))
        }
        None => Ok(()),
    }
}

fn end_of_word(alphabet: &Alphabet) -> Result<Option<&EndOfWord>> {
    match alphabet {
        Alphabet::Bytes | Alphabet::Chars { end_of_word: None } => Ok(None),
        Alphabet::Chars { end_of_word: Some(mark) } if mark.form == EndOfWordForm::Suffix => Ok(Some(mark)),
        Alphabet::Chars { end_of_word: Some(mark) } => Err(cannot(format!(
            "an end-of-word symbol of its own ({:?}); train with end_of_word_form=\"suffix\" for this format",
            mark.symbol
        ))
        .at("end_of_word_suffix")
        .at("model")),
    }
}

fn pre_tokenizer(split: &Split, alphabet: &Alphabet) -> Result<String> {
    let byte_level = |use_regex: bool| {
        format!(
            "{{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false, \"use_regex\": {use_regex}}}"
        )
    };
    let is_bytes = *alphabet == Alphabet::Bytes;
    let split_stage = match split {
        Split::Whole => return Ok(if is_bytes { byte_level(false) } else { "null".to_owned() }),
        Split::Pattern(_) if is_bytes && known::name_of(split) == Some("gpt2") => {
            return Ok(byte_level(true));
        }
        Split::Pattern(regex) => {
            let regex = portable(regex).map_err(|error| {
                cannot(format!(
                    "the split means something else in this format's regular expressions: {error}"
                ))
                .at("pre_tokenizer")
            })?;
            format!(
                "{{\"type\": \"Split\", \"pattern\": {{\"Regex\": {}}}, \"behavior\": \"Isolated\", \"invert\": false}}",
                json_string(&regex)
            )
        }
    };
    Ok(if is_bytes {
        format!("{{\"type\": \"Sequence\", \"pretokenizers\": [\n{split_stage},\n{}\n]}}", byte_level(false))
    } else {
        split_stage
    })
}

fn decoder(alphabet: &Alphabet, end_of_word: Option<&EndOfWord>) -> String {
    match (alphabet, end_of_word) {
        (Alphabet::Bytes, _) => {
            "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false, \"use_regex\": false}"
                .to_owned()
        }
        (Alphabet::Chars { .. }, None) => "{\"type\": \"Fuse\"}".to_owned(),
        (Alphabet::Chars { .. }, Some(mark)) => format!(
            "{{\"type\": \"Sequence\", \"decoders\": [{{\"type\": \"Replace\", \"pattern\": {{\"String\": {}}}, \
             \"content\": \"\"}}, {{\"type\": \"Fuse\"}}]}}",
            json_string(&mark.symbol)
        ),
    }
}
