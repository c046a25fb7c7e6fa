//! Builds a description from the file.
use std::collections::hash_map::Entry;

use tokenmill_core::description::{
    AddedToken, Alphabet, CallDefaults, ChatTemplates, Decoder, Decoding, Description, EndOfWordForm,
    ModelDescription, Normalizer, Pattern, Roles,
};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::normalize::Normalizers;

use super::file::{File, json_error, trailing_text};
use super::kinds::Component;
use super::models::{Kind, Source, report_shared_ids};
use super::{
    added, decoders, limits, loose_fields, normalizers, post_processors, pre_tokenizers, unknown_keys,
};
use crate::contents;
use crate::report::Report;
use crate::tables::Map;

/// Reads a file.
///
/// # Errors
/// A format error that names the field.
pub(crate) fn parse(bytes: &[u8], report: &mut Report) -> Result<Description> {
    describe(read(bytes)?, report)
}

/// Reads the file into its structure.
///
/// # Errors
/// A format error that names the field.
pub(crate) fn read(bytes: &[u8]) -> Result<File<'_>> {
    let text = contents::text(bytes)?;
    // Only an invalid file is read again with its path tracked, which takes as long as reading.
    let file: Result<File<'_>> = serde_json::from_str(text).or_else(|_| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let file = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
        deserializer.end().map_err(|error| trailing_text(&error))?;
        Ok(file)
    });
    let mut file = file?;
    file.without_id = (0..file.added_tokens.len()).filter(|&i| file.added_tokens[i].id.is_none()).collect();
    Ok(file)
}

/// Builds the description of a file.
///
/// # Errors
/// As [`parse`].
pub(crate) fn describe(file: File<'_>, report: &mut Report) -> Result<Description> {
    if let Some(version) = file.version.as_ref().filter(|version| *version != "1.0") {
        return Err(Error::format(
            Defect::Version,
            format!("version {version:?} is not known; expected \"1.0\""),
        )
        .at("version"));
    }
    let truncation = limits::read_truncation(file.truncation.as_ref()).map_err(|e| e.at("truncation"))?;
    let padding = limits::read_padding(file.padding.as_ref()).map_err(|e| e.at("padding"))?;
    let normalizer = normalizers::read(file.normalizer.as_ref()).map_err(|e| e.at("normalizer"))?;
    let steps = pre_tokenizers::read(file.pre_tokenizer.as_ref()).map_err(|e| e.at("pre_tokenizer"))?;
    let post_processor =
        post_processors::read(file.post_processor.as_ref()).map_err(|e| e.at("post_processor"))?;
    let decoding = decoders::read(file.decoder.as_ref()).map_err(|e| e.at("decoder"))?;

    let components = [
        (Component::Normalizer, &file.normalizer, "normalizer"),
        (Component::PreTokenizer, &file.pre_tokenizer, "pre_tokenizer"),
        (Component::PostProcessor, &file.post_processor, "post_processor"),
        (Component::Decoder, &file.decoder, "decoder"),
    ];
    loose_fields::of_maps(&normalizer, file.normalizer.as_ref(), report)?;
    for (stage, component, name) in components {
        unknown_keys::find(stage, component.as_ref(), name, report)?;
    }
    loose_fields::of_file(&file, report)?;
    let in_file = file.repeated.iter().map(|key| (*key).to_owned());
    let in_model = file.model.repeated.iter().map(|key| format!("model.{key}"));
    for key in in_file.chain(in_model) {
        report.tolerate(Defect::Duplicate, key, "the key occurs twice; the last occurrence counts")?;
    }
    for key in &file.model.others {
        report.tolerate(Defect::Ignored, format!("model.{key}"), "no model has such a key")?;
    }

    let in_model = |error: Error| error.at("model");
    let mut entry = file.model;
    let kind = Kind::of(&entry).map_err(in_model)?;
    let vocabulary = kind.vocabulary(&mut entry, report)?;
    let mut added_tokens = added::assign(&file.added_tokens, &vocabulary, report)?;
    report_shared_ids(&vocabulary.names, &added_tokens, "model.vocab", report)?;
    added::report_taken_ids(&file.added_tokens, &added_tokens, &vocabulary, report)?;
    find_alike(&added_tokens, &normalizer, report)?;
    AddedToken::sort_by_id(&mut added_tokens);
    let before_bytes = pre_tokenizers::without_byte_alphabet(&steps)
        .filter(|_| !normalizer.contains(&Normalizer::ByteLevel));
    if let Some(unk) = &entry.unk_token
        && !vocabulary.names.contains(unk)
        && !added_tokens.iter().any(|token| token.content == *unk)
    {
        let reason = format!("{unk:?} is not in the vocabulary, so there is no unknown token");
        report.tolerate(Defect::Missing, "model.unk_token", reason)?;
    }
    let source = Source {
        kind,
        entry,
        vocabulary: &vocabulary,
        added: &added_tokens,
        comes_in_bytes: before_bytes.is_some(),
    };
    let model = source.read(report)?;
    let is_byte_level = model.alphabet() == Some(&Alphabet::Bytes);
    let pre_tokenizer = match before_bytes {
        Some(before) if is_byte_level => before.to_vec(),
        _ => steps,
    };
    let decoding = simplify(decoding, &model);
    let pad = padding.as_ref().map(|padding| padding.id);
    let known = |id| model.tokens().index_of(id).is_some() || added_tokens.iter().any(|token| token.id == id);
    let roles = Roles { pad: pad.filter(|&id| known(id)), ..Roles::default() };
    Ok(Description {
        added_tokens,
        normalizer,
        pre_tokenizer,
        model,
        post_processor,
        decoding,
        truncation,
        padding,
        roles,
        defaults: CallDefaults::default(),
        chat_templates: ChatTemplates::default(),
    })
}

/// If the decoder steps only undo the byte alphabet, each id decodes to its own bytes.
fn simplify(decoding: Decoding, model: &ModelDescription) -> Decoding {
    let Decoding::Steps(steps) = &decoding else { return decoding };
    let suffix = match model.alphabet() {
        Some(Alphabet::Chars { end_of_word: Some(mark) }) if mark.form == EndOfWordForm::Suffix => {
            Some(mark.symbol.as_str())
        }
        _ => None,
    };
    let removes_suffix = |step: &Decoder| {
        matches!(step, Decoder::Replace { pattern: Pattern::Literal(literal), content }
            if Some(literal.as_str()) == suffix && content.is_empty())
    };
    let is_bytes = model.alphabet() == Some(&Alphabet::Bytes);
    let is_own_bytes = match steps.as_slice() {
        [Decoder::ByteLevel] => is_bytes,
        [] | [Decoder::Fuse] => !is_bytes && suffix.is_none(),
        [replace, Decoder::Fuse] => !is_bytes && removes_suffix(replace),
        _ => false,
    };
    if is_own_bytes { Decoding::Bytes } else { decoding }
}

/// Reports added tokens with the same normalized form: text cannot tell them apart.
fn find_alike(tokens: &[AddedToken], normalizer: &[Normalizer], report: &mut Report) -> Result<()> {
    let normalized = tokens.iter().filter(|token| token.normalized);
    // The result of a hook is unknown while the file is read.
    let has_hook = normalizer.iter().any(|step| matches!(step, Normalizer::Hook(_)));
    if normalizer.is_empty() || has_hook || normalized.clone().count() < 2 {
        return Ok(());
    }
    let normalizers = Normalizers::compile(normalizer, &Hooks::default()).map_err(|e| e.at("normalizer"))?;
    let mut seen: Map<String, &str> = Map::default();
    for token in normalized {
        match seen.entry(normalizers.apply_to(&token.content)?) {
            Entry::Vacant(place) => {
                place.insert(&token.content);
            }
            Entry::Occupied(first) => {
                let reason = format!(
                    "{:?} and {:?} are both {:?} when they are normalized",
                    first.get(),
                    token.content,
                    first.key()
                );
                report.tolerate(Defect::Duplicate, "added_tokens", reason)?;
            }
        }
    }
    Ok(())
}
