//! Truncation and padding of the file: kept for saving, applied only on request.
use serde_json::{Value, json};
use tokenmill_core::description::{Padding, PaddingLength, Side, Truncation, TruncationStrategy};
use tokenmill_core::error::{Defect, Error, Result};

use super::fields::{Fields, wrong};

const STRATEGIES: [(&str, TruncationStrategy); 3] = [
    ("LongestFirst", TruncationStrategy::LongestFirst),
    ("OnlyFirst", TruncationStrategy::OnlyFirst),
    ("OnlySecond", TruncationStrategy::OnlySecond),
];

pub(super) fn read_truncation(value: Option<&Value>) -> Result<Option<Truncation>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let fields = Fields::new(value)?;
    let name = fields.string("strategy")?;
    let Some((_, strategy)) = STRATEGIES.iter().find(|(known, _)| *known == name) else {
        return Err(Error::format(Defect::Type, format!("{name:?} is no strategy")).at("strategy"));
    };
    Ok(Some(Truncation {
        direction: read_side(&fields)?,
        max_length: fields.size("max_length")?,
        strategy: *strategy,
        stride: fields.size("stride")?,
    }))
}

pub(super) fn read_padding(value: Option<&Value>) -> Result<Option<Padding>> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let fields = Fields::new(value)?;
    let strategy = fields.value("strategy")?;
    let length = match strategy {
        Value::String(name) if name == "BatchLongest" => PaddingLength::Longest,
        Value::Object(fixed) if fixed.len() == 1 && fixed.contains_key("Fixed") => {
            let fields = Fields::new(strategy)?;
            PaddingLength::Fixed(fields.size("Fixed").map_err(|e| e.at("strategy"))?)
        }
        other => return Err(wrong("\"BatchLongest\" or {\"Fixed\": n}", other).at("strategy")),
    };
    Ok(Some(Padding {
        length,
        direction: read_side(&fields)?,
        multiple_of: fields.optional_size("pad_to_multiple_of")?,
        id: fields.number("pad_id")?,
        type_id: fields.number("pad_type_id")?,
        token: fields.string("pad_token")?.to_owned(),
    }))
}

fn read_side(fields: &Fields<'_>) -> Result<Side> {
    match fields.optional_string("direction")? {
        None | Some("Right") => Ok(Side::Right),
        Some("Left") => Ok(Side::Left),
        Some(other) => Err(Error::format(Defect::Type, format!("{other:?} is no direction")).at("direction")),
    }
}

fn write_side(side: Side) -> &'static str {
    match side {
        Side::Left => "Left",
        Side::Right => "Right",
    }
}

pub(super) fn write_truncation(truncation: Option<&Truncation>) -> Value {
    let Some(truncation) = truncation else { return Value::Null };
    let strategy = STRATEGIES.iter().find(|(_, known)| *known == truncation.strategy);
    json!({
        "direction": write_side(truncation.direction),
        "max_length": truncation.max_length,
        "strategy": strategy.map_or("LongestFirst", |(name, _)| name),
        "stride": truncation.stride,
    })
}

pub(super) fn write_padding(padding: Option<&Padding>) -> Value {
    let Some(padding) = padding else { return Value::Null };
    let strategy = match padding.length {
        PaddingLength::Longest => json!("BatchLongest"),
        PaddingLength::Fixed(length) => json!({ "Fixed": length }),
    };
    json!({
        "strategy": strategy,
        "direction": write_side(padding.direction),
        "pad_to_multiple_of": padding.multiple_of,
        "pad_id": padding.id,
        "pad_type_id": padding.type_id,
        "pad_token": padding.token,
    })
}
