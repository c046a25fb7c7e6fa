//! Reads and writes the pre-tokenizers of the file.
//!
//! A ByteLevel of the file is three steps here: a prepended space, GPT-2's split, and the byte
//! alphabet. If the model works on bytes, the reader of the model removes the last step again.
use serde_json::{Value, json};
use tokenmill_core::description::{Behavior, HookName, PreTokenizer};
use tokenmill_core::error::Result;
use tokenmill_core::pattern::named_splits;

use super::fields::{Fields, cannot, unsupported};
use super::kinds::Component;
use super::patterns;

/// Reads the steps in order and flattens nested sequences.
pub(super) fn read(value: Option<&Value>) -> Result<Vec<PreTokenizer>> {
    let mut steps = Vec::new();
    if let Some(value) = value.filter(|value| !value.is_null()) {
        read_into(value, &mut steps)?;
    }
    Ok(steps)
}

fn read_into(value: &Value, steps: &mut Vec<PreTokenizer>) -> Result<()> {
    let fields = Fields::new(value)?;
    let step = match Component::PreTokenizer.kind_of(&fields)? {
        "Sequence" => {
            for (i, value) in fields.list("pretokenizers")?.iter().enumerate() {
                read_into(value, steps).map_err(|e| e.at_index(i).at("pretokenizers"))?;
            }
            return Ok(());
        }
        "ByteLevel" => {
            fields.bool("trim_offsets")?;
            if fields.bool("add_prefix_space")? {
                steps.push(PreTokenizer::PrefixSpace);
            }
            if fields.optional_bool("use_regex")?.unwrap_or(true) {
                steps.extend(named_splits::split_from("gpt2").stages());
            }
            PreTokenizer::ByteAlphabet
        }
        "Split" => PreTokenizer::Split {
            pattern: patterns::read(fields.value("pattern")?).map_err(|e| e.at("pattern"))?,
            behavior: patterns::read_behavior(fields.string("behavior")?)?,
            invert: fields.bool("invert")?,
        },
        "BertPreTokenizer" => PreTokenizer::Bert,
        "Punctuation" => match fields.optional_string("behavior")? {
            None => PreTokenizer::Punctuation(Behavior::Isolated),
            Some(name) => PreTokenizer::Punctuation(patterns::read_behavior(name)?),
        },
        "Whitespace" => PreTokenizer::Whitespace,
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "Digits" => PreTokenizer::Digits { individual: fields.bool("individual_digits")? },
        "CharDelimiterSplit" => PreTokenizer::CharDelimiter(fields.char("delimiter")?),
        "FixedLength" => PreTokenizer::FixedLength(fields.optional_size("length")?.unwrap_or(5)),
        "UnicodeScripts" => PreTokenizer::UnicodeScripts,
        "Metaspace" => {
            let (replacement, prepend, split) = patterns::read_metaspace(&fields)?;
            PreTokenizer::Metaspace { replacement, prepend, split }
        }
        "Hook" => PreTokenizer::Hook(HookName::Named(fields.string("name")?.to_owned())),
        other => return Err(unsupported(format!("the pre-tokenizer {other:?}")).at("type")),
    };
    steps.push(step);
    Ok(())
}

/// Writes the steps; a group that ends with the byte alphabet becomes one ByteLevel.
pub(super) fn write(steps: &[PreTokenizer]) -> Result<Value> {
    let gpt2 = named_splits::split_from("gpt2").stages();
    let mut written = Vec::new();
    let mut rest = steps;
    while let Some((step, after)) = rest.split_first() {
        let byte_level = |add_prefix_space: bool, use_regex: bool| {
            json!({
                "type": "ByteLevel",
                "add_prefix_space": add_prefix_space,
                "trim_offsets": false,
                "use_regex": use_regex,
            })
        };
        // The longest group of steps that is one ByteLevel.
        let has_prefix = *step == PreTokenizer::PrefixSpace;
        let after_prefix = if has_prefix { after } else { rest };
        let after_split = after_prefix.strip_prefix(gpt2.as_slice());
        let byte_level_end = [(after_split, true), (Some(after_prefix), false)]
            .into_iter()
            .find_map(|(steps, regex)| Some((steps?.strip_prefix(&[PreTokenizer::ByteAlphabet])?, regex)));
        if let Some((after, use_regex)) = byte_level_end {
            written.push(byte_level(has_prefix, use_regex));
            rest = after;
            continue;
        }
        written.push(write_step(step).map_err(|e| e.at_index(steps.len() - rest.len()))?);
        rest = after;
    }
    Ok(match written.len() {
        0 => Value::Null,
        1 => written.remove(0),
        _ => json!({ "type": "Sequence", "pretokenizers": written }),
    })
}

fn write_step(step: &PreTokenizer) -> Result<Value> {
    Ok(match step {
        PreTokenizer::Split { pattern, behavior, invert } => json!({
            "type": "Split",
            "pattern": patterns::write(pattern).map_err(|e| e.at("pattern"))?,
            "behavior": patterns::write_behavior(*behavior),
            "invert": invert,
        }),
        PreTokenizer::PrefixSpace | PreTokenizer::ByteAlphabet => {
            return Err(cannot("a space before pieces that is not followed by the byte alphabet"));
        }
        PreTokenizer::Bert => json!({ "type": "BertPreTokenizer" }),
        PreTokenizer::Punctuation(behavior) => {
            json!({ "type": "Punctuation", "behavior": patterns::write_behavior(*behavior) })
        }
        PreTokenizer::Whitespace => json!({ "type": "Whitespace" }),
        PreTokenizer::WhitespaceSplit => json!({ "type": "WhitespaceSplit" }),
        PreTokenizer::Digits { individual } => json!({ "type": "Digits", "individual_digits": individual }),
        PreTokenizer::CharDelimiter(delimiter) => {
            json!({ "type": "CharDelimiterSplit", "delimiter": delimiter })
        }
        PreTokenizer::FixedLength(length) => json!({ "type": "FixedLength", "length": length }),
        PreTokenizer::UnicodeScripts => json!({ "type": "UnicodeScripts" }),
        PreTokenizer::Hook(hook) => json!({ "type": "Hook", "name": hook.name() }),
        PreTokenizer::Metaspace { replacement, prepend, split } => {
            patterns::write_metaspace(*replacement, *prepend, *split)
        }
    })
}

/// The steps of the file, for a model that works on bytes.
pub(super) fn with_byte_alphabet(steps: &[PreTokenizer]) -> Vec<PreTokenizer> {
    steps.iter().cloned().chain([PreTokenizer::ByteAlphabet]).collect()
}

/// The steps before the byte alphabet, if it is the last step and occurs once; else `None`.
pub(super) fn without_byte_alphabet(steps: &[PreTokenizer]) -> Option<&[PreTokenizer]> {
    let before = steps.strip_suffix(&[PreTokenizer::ByteAlphabet])?;
    (!before.contains(&PreTokenizer::ByteAlphabet)).then_some(before)
}
