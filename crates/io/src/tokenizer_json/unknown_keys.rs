//! Keys of components that say nothing: the reference passes over them, and so do we, but say so.
use serde_json::Value;
use tokenmill_core::error::{Defect, Result};

use crate::report::Report;

/// What the reference reads of a component, by its type; keys that it writes but that say nothing
/// are among them.
fn known(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "NFC" | "NFD" | "NFKC" | "NFKD" => &["unicode_tables"],
        "Lowercase" | "StripAccents" | "Nmt" | "BertPreTokenizer" | "Whitespace" | "WhitespaceSplit"
        | "UnicodeScripts" | "ByteFallback" | "Fuse" => &[],
        "Replace" => &["pattern", "content"],
        "Prepend" => &["prepend"],
        "BertNormalizer" | "Bert" => &["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"],
        "Precompiled" => &["precompiled_charsmap"],
        "ByteLevel" => &["add_prefix_space", "trim_offsets", "use_regex"],
        "Metaspace" => &["replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"],
        "Split" => &["pattern", "behavior", "invert"],
        "Punctuation" => &["behavior"],
        "Digits" => &["individual_digits"],
        "CharDelimiterSplit" => &["delimiter"],
        "FixedLength" => &["length"],
        "BertProcessing" => &["sep", "cls"],
        "RobertaProcessing" => &["sep", "cls", "trim_offsets", "add_prefix_space"],
        "TemplateProcessing" => &["single", "pair", "special_tokens"],
        "WordPiece" => &["prefix", "cleanup"],
        "BPEDecoder" => &["suffix"],
        "CTC" => &["pad_token", "word_delimiter_token", "cleanup"],
        // A normalizer and a decoder of the same name.
        "Strip" => &["strip_left", "strip_right", "content", "start", "stop"],
        "Sequence" => &["normalizers", "pretokenizers", "processors", "decoders"],
        _ => return None,
    })
}

/// Reports the unknown keys of a component, and of those within it.
pub(super) fn find(value: Option<&Value>, field: &str, report: &mut Report) -> Result<()> {
    let Some(component) = value.and_then(Value::as_object) else { return Ok(()) };
    let kind = component.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some(known) = known(kind) else { return Ok(()) };
    for (key, value) in component {
        let field = format!("{field}.{key}");
        if kind == "Sequence"
            && let Some(steps) = value.as_array()
        {
            for (i, step) in steps.iter().enumerate() {
                find(Some(step), &format!("{field}[{i}]"), report)?;
            }
        }
        if key != "type" && !known.contains(&key.as_str()) {
            report.tolerate(Defect::Ignored, field, format!("{kind} has no such key"))?;
        }
    }
    Ok(())
}
