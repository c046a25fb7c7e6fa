//! Reads and writes the post-processors of the file.
use serde_json::{Map, Value, json};
use tokenmill_core::description::{PostProcessor, Template, TemplatePiece, TemplateToken};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::ids::TokenId;

use super::fields::{Fields, unsupported, wrong};
use super::kinds::Component;

/// Reads the steps in order, flattens nested sequences, and drops steps without effect.
pub(super) fn read(value: Option<&Value>) -> Result<Vec<PostProcessor>> {
    let mut steps = Vec::new();
    if let Some(value) = value.filter(|value| !value.is_null()) {
        read_into(value, &mut steps)?;
    }
    Ok(steps)
}

fn read_into(value: &Value, steps: &mut Vec<PostProcessor>) -> Result<()> {
    let fields = Fields::new(value)?;
    let step = match Component::PostProcessor.kind_of(&fields)? {
        "Sequence" => {
            for (i, value) in fields.list("processors")?.iter().enumerate() {
                read_into(value, steps).map_err(|e| e.at_index(i).at("processors"))?;
            }
            return Ok(());
        }
        "ByteLevel" => {
            let add_prefix_space = fields.bool("add_prefix_space")?;
            if !fields.bool("trim_offsets")? {
                return Ok(());
            }
            PostProcessor::ByteLevel { trim_offsets: true, add_prefix_space }
        }
        "BertProcessing" => {
            PostProcessor::Bert { sep: named_id(&fields, "sep")?, cls: named_id(&fields, "cls")? }
        }
        "RobertaProcessing" => PostProcessor::Roberta {
            sep: named_id(&fields, "sep")?,
            cls: named_id(&fields, "cls")?,
            trim_offsets: fields.bool("trim_offsets")?,
            add_prefix_space: fields.bool("add_prefix_space")?,
        },
        "TemplateProcessing" => PostProcessor::Template(read_template(&fields)?),
        other => return Err(unsupported(format!("the post-processor {other:?}")).at("type")),
    };
    steps.push(step);
    Ok(())
}

/// Reads a token with its id, such as `["[SEP]", 102]`.
fn named_id(fields: &Fields<'_>, name: &str) -> Result<(String, TokenId)> {
    let value = fields.value(name)?;
    let pair = value.as_array().filter(|pair| pair.len() == 2);
    let read = pair.and_then(|pair| Some((pair[0].as_str()?, TokenId::try_from(pair[1].as_u64()?).ok()?)));
    let (token, id) = read.ok_or_else(|| wrong("a token and its id", value).at(name))?;
    Ok((token.to_owned(), id))
}

fn read_template(fields: &Fields<'_>) -> Result<Template> {
    let mut special_tokens = Vec::new();
    for (name, value) in fields.object("special_tokens")? {
        let token = read_token(name, value).map_err(|e| e.at(name.as_str()).at("special_tokens"))?;
        special_tokens.push(token);
    }
    TemplateToken::sort_by_name(&mut special_tokens);
    let template = Template {
        single: fields.each("single", read_piece)?,
        pair: fields.each("pair", read_piece)?,
        special_tokens,
    };
    for (pieces, field) in [(&template.single, "single"), (&template.pair, "pair")] {
        for (i, piece) in pieces.iter().enumerate() {
            if let TemplatePiece::Special { name, .. } = piece
                && !template.special_tokens.iter().any(|token| token.name == *name)
            {
                let reason = format!("the special token {name:?} is not among special_tokens");
                return Err(Error::format(Defect::Missing, reason).at_index(i).at(field));
            }
        }
    }
    Ok(template)
}

fn read_token(name: &str, value: &Value) -> Result<TemplateToken> {
    let fields = Fields::new(value)?;
    let id = |value: &Value| {
        let id = value.as_u64().and_then(|id| TokenId::try_from(id).ok());
        id.ok_or_else(|| wrong("an id", value))
    };
    let token = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| wrong("a string", value));
    let (ids, tokens) = (fields.each("ids", id)?, fields.each("tokens", token)?);
    if ids.len() != tokens.len() {
        let reason = format!("{} ids but {} tokens", ids.len(), tokens.len());
        return Err(Error::format(Defect::Inconsistent, reason).at("ids"));
    }
    Ok(TemplateToken { name: name.to_owned(), ids, tokens })
}

fn read_piece(value: &Value) -> Result<TemplatePiece> {
    let (kind, value) = Fields::new(value)?.choice()?;
    let fields = Fields::new(value).map_err(|e| e.at(kind))?;
    let read = || {
        let type_id = fields.number("type_id")?;
        match (kind, fields.string("id")?) {
            ("Sequence", "A") => Ok(TemplatePiece::Sequence { second: false, type_id }),
            ("Sequence", "B") => Ok(TemplatePiece::Sequence { second: true, type_id }),
            ("SpecialToken", name) => Ok(TemplatePiece::Special { name: name.to_owned(), type_id }),
            (_, other) => Err(Error::format(Defect::Type, format!("{other:?} is no sequence")).at("id")),
        }
    };
    read().map_err(|e| e.at(kind))
}

pub(super) fn write(steps: &[PostProcessor]) -> Value {
    let mut written: Vec<Value> = steps.iter().map(write_step).collect();
    match written.len() {
        0 => Value::Null,
        1 => written.remove(0),
        _ => json!({ "type": "Sequence", "processors": written }),
    }
}

fn write_step(step: &PostProcessor) -> Value {
    match step {
        PostProcessor::ByteLevel { trim_offsets, add_prefix_space } => json!({
            "type": "ByteLevel",
            "add_prefix_space": add_prefix_space,
            "trim_offsets": trim_offsets,
            "use_regex": true,
        }),
        PostProcessor::Bert { sep, cls } => {
            json!({ "type": "BertProcessing", "sep": [sep.0, sep.1], "cls": [cls.0, cls.1] })
        }
        PostProcessor::Roberta { sep, cls, trim_offsets, add_prefix_space } => json!({
            "type": "RobertaProcessing",
            "sep": [sep.0, sep.1],
            "cls": [cls.0, cls.1],
            "trim_offsets": trim_offsets,
            "add_prefix_space": add_prefix_space,
        }),
        PostProcessor::Template(template) => {
            let special: Map<String, Value> = template
                .special_tokens
                .iter()
                .map(|token| {
                    let value = json!({ "id": token.name, "ids": token.ids, "tokens": token.tokens });
                    (token.name.clone(), value)
                })
                .collect();
            json!({
                "type": "TemplateProcessing",
                "single": template.single.iter().map(write_piece).collect::<Vec<_>>(),
                "pair": template.pair.iter().map(write_piece).collect::<Vec<_>>(),
                "special_tokens": special,
            })
        }
    }
}

fn write_piece(piece: &TemplatePiece) -> Value {
    match piece {
        TemplatePiece::Sequence { second, type_id } => {
            json!({ "Sequence": { "id": if *second { "B" } else { "A" }, "type_id": type_id } })
        }
        TemplatePiece::Special { name, type_id } => {
            json!({ "SpecialToken": { "id": name, "type_id": type_id } })
        }
    }
}
