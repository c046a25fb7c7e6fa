//! Reads and writes the normalizers of the file.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokenmill_core::description::{HookName, Normalizer, UnicodeTables};
use tokenmill_core::error::{Defect, Error, Result};

use super::fields::{Fields, cannot, unsupported};
use super::kinds::Component;
use super::patterns;

/// Reads the steps in order and flattens nested sequences.
pub(super) fn read(value: Option<&Value>) -> Result<Vec<Normalizer>> {
    let mut steps = Vec::new();
    if let Some(value) = value.filter(|value| !value.is_null()) {
        read_into(value, &mut steps)?;
    }
    Ok(steps)
}

fn read_into(value: &Value, steps: &mut Vec<Normalizer>) -> Result<()> {
    let fields = Fields::new(value)?;
    let step = match Component::Normalizer.kind_of(&fields)? {
        "Sequence" => {
            for (i, value) in fields.list("normalizers")?.iter().enumerate() {
                read_into(value, steps).map_err(|e| e.at_index(i).at("normalizers"))?;
            }
            return Ok(());
        }
        "NFC" => Normalizer::Nfc(tables(&fields)?),
        "NFD" => Normalizer::Nfd(tables(&fields)?),
        "NFKC" => Normalizer::Nfkc(tables(&fields)?),
        "NFKD" => Normalizer::Nfkd(tables(&fields)?),
        "Lowercase" => Normalizer::Lowercase,
        "Strip" => Normalizer::Strip { left: fields.bool("strip_left")?, right: fields.bool("strip_right")? },
        "StripAccents" => Normalizer::StripAccents,
        "Replace" => Normalizer::Replace {
            pattern: patterns::read(fields.value("pattern")?).map_err(|e| e.at("pattern"))?,
            content: fields.string("content")?.to_owned(),
        },
        "Prepend" => Normalizer::Prepend(fields.string("prepend")?.to_owned()),
        "ByteLevel" => Normalizer::ByteLevel,
        "Nmt" => Normalizer::Nmt,
        "BertNormalizer" | "Bert" => Normalizer::Bert {
            clean_text: fields.bool("clean_text")?,
            handle_chinese_chars: fields.bool("handle_chinese_chars")?,
            strip_accents: fields.optional_bool("strip_accents")?,
            lowercase: fields.bool("lowercase")?,
        },
        "Precompiled" => {
            let blob = fields.optional_string("precompiled_charsmap")?.unwrap_or_default();
            let blob = STANDARD.decode(blob).map_err(|error| {
                Error::format(Defect::Base64, format!("not base64: {error}")).at("precompiled_charsmap")
            })?;
            Normalizer::Precompiled(blob.into())
        }
        "Hook" => Normalizer::Hook(HookName::Named(fields.string("name")?.to_owned())),
        other => return Err(unsupported(format!("the normalizer {other:?}")).at("type")),
    };
    steps.push(step);
    Ok(())
}

/// The edition of the Unicode data: a key of our own, which the reference ignores.
const TABLES: &str = "unicode_tables";

fn tables(fields: &Fields<'_>) -> Result<UnicodeTables> {
    match fields.optional_string(TABLES)? {
        None => Ok(UnicodeTables::Reference),
        Some("current") => Ok(UnicodeTables::Current),
        Some(other) => Err(unsupported(format!("{other:?}")).at(TABLES)),
    }
}

pub(super) fn write(steps: &[Normalizer]) -> Result<Value> {
    let written = steps.iter().enumerate().map(|(i, step)| write_step(step).map_err(|e| e.at_index(i)));
    let mut written: Vec<Value> = written.collect::<Result<_>>()?;
    Ok(match written.len() {
        0 => Value::Null,
        1 => written.remove(0),
        _ => json!({ "type": "Sequence", "normalizers": written }),
    })
}

fn write_step(step: &Normalizer) -> Result<Value> {
    let form = |name: &str, tables: UnicodeTables| match tables {
        UnicodeTables::Reference => json!({ "type": name }),
        UnicodeTables::Current => json!({ "type": name, TABLES: "current" }),
    };
    Ok(match step {
        Normalizer::Nfc(tables) => form("NFC", *tables),
        Normalizer::Nfd(tables) => form("NFD", *tables),
        Normalizer::Nfkc(tables) => form("NFKC", *tables),
        Normalizer::Nfkd(tables) => form("NFKD", *tables),
        Normalizer::Lowercase => json!({ "type": "Lowercase" }),
        Normalizer::Strip { left, right } => {
            json!({ "type": "Strip", "strip_left": left, "strip_right": right })
        }
        Normalizer::StripAccents => json!({ "type": "StripAccents" }),
        Normalizer::Replace { pattern, content } => {
            let pattern = patterns::write(pattern).map_err(|e| e.at("pattern"))?;
            json!({ "type": "Replace", "pattern": pattern, "content": content })
        }
        Normalizer::Prepend(text) => json!({ "type": "Prepend", "prepend": text }),
        Normalizer::ByteLevel => json!({ "type": "ByteLevel" }),
        Normalizer::Nmt => json!({ "type": "Nmt" }),
        Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => json!({
            "type": "BertNormalizer",
            "clean_text": clean_text,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        }),
        Normalizer::Precompiled(blob) => {
            json!({ "type": "Precompiled", "precompiled_charsmap": STANDARD.encode(blob) })
        }
        Normalizer::Hook(hook) => json!({ "type": "Hook", "name": hook.name() }),
        Normalizer::SentencePiece(_) => {
            return Err(cannot("normalization as SentencePiece does it; save as a SentencePiece model"));
        }
    })
}
