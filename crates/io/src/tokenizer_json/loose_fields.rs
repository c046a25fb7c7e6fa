//! Fields without effect here, whose values are not checked, and fields that may be null or absent
//! here. The reference rejects such a file; here they are reported.
use serde_json::Value;
use tokenmill_core::description::Normalizer;
use tokenmill_core::error::{Defect, Result};

use super::file::File;
use super::kinds::Component;
use super::models::Kind;
use crate::report::Report;

/// What the reference requires of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// A boolean.
    Flag,
    /// A boolean, or absent.
    FlagOrNone,
    /// A string, null, or absent.
    TextOrNone,
    /// Not null. Null is read here as absent; another type is an error here too.
    NoNull,
}

impl Wants {
    fn fault(self, value: Option<&Value>) -> Option<Fault> {
        match (self, value) {
            (Self::Flag, None) => Some((Defect::Missing, "is missing".to_owned())),
            (Self::TextOrNone, None | Some(Value::Null | Value::String(_))) => None,
            (Self::TextOrNone, Some(other)) => {
                Some((Defect::Type, format!("is {}, not a string", shown(other))))
            }
            (_, Some(Value::Null)) => Some((Defect::Type, "is null".to_owned())),
            (Self::Flag | Self::FlagOrNone, Some(other)) if !other.is_boolean() => {
                Some((Defect::Type, format!("is {}, not true or false", shown(other))))
            }
            _ => None,
        }
    }
}

type Fault = (Defect, String);

/// The fields that are not read, or read less strictly than by the reference.
const FIELDS: [(Component, &str, &str, Wants); 11] = [
    (Component::PreTokenizer, "ByteLevel", "use_regex", Wants::NoNull),
    (Component::PreTokenizer, "Metaspace", "prepend_scheme", Wants::NoNull),
    (Component::PreTokenizer, "Metaspace", "str_rep", Wants::TextOrNone),
    (Component::PreTokenizer, "Punctuation", "behavior", Wants::NoNull),
    (Component::PreTokenizer, "FixedLength", "length", Wants::NoNull),
    (Component::PostProcessor, "ByteLevel", "use_regex", Wants::FlagOrNone),
    (Component::Decoder, "ByteLevel", "add_prefix_space", Wants::Flag),
    (Component::Decoder, "ByteLevel", "trim_offsets", Wants::Flag),
    (Component::Decoder, "ByteLevel", "use_regex", Wants::FlagOrNone),
    (Component::Decoder, "Metaspace", "prepend_scheme", Wants::NoNull),
    (Component::Decoder, "Metaspace", "str_rep", Wants::TextOrNone),
];

/// Reports the loose fields of a component.
///
/// # Errors
/// In strict loading.
pub(super) fn of_component(
    stage: Component,
    kind: &str,
    component: &Value,
    field: &str,
    report: &mut Report,
) -> Result<()> {
    for (_, _, name, wants) in
        FIELDS.iter().filter(|(its_stage, its_kind, ..)| *its_stage == stage && *its_kind == kind)
    {
        if let Some((defect, reason)) = wants.fault(component.get(*name)) {
            report.tolerate(defect, format!("{field}.{name}"), reason)?;
        }
    }
    if kind != "TemplateProcessing" {
        return Ok(());
    }
    for (name, token) in component.get("special_tokens").and_then(Value::as_object).into_iter().flatten() {
        // The reference identifies the token by its key.
        let (defect, reason) = match token.get("id") {
            Some(Value::String(_)) => continue,
            Some(other) => (Defect::Type, format!("is {}, not a string", shown(other))),
            None => (Defect::Missing, "is missing".to_owned()),
        };
        report.tolerate(defect, format!("{field}.special_tokens.{name}.id"), reason)?;
    }
    Ok(())
}

/// Reports the loose fields of the file and of its model.
///
/// # Errors
/// In strict loading.
pub(super) fn of_file(file: &File<'_>, report: &mut Report) -> Result<()> {
    let mut null = |field: &str, is_null: bool| {
        if is_null { report.tolerate(Defect::Type, field, "is null") } else { Ok(()) }
    };
    let model = &file.model;
    null("version", file.nulls.contains(&"version") && file.version.is_none())?;
    null("model.type", model.nulls.contains(&"type") && model.name.is_none())?;
    let is_unigram = || Kind::of(model).is_ok_and(|kind| kind == Kind::Unigram);
    let is_null = model.nulls.contains(&"byte_fallback") && model.byte_fallback.is_none();
    null("model.byte_fallback", is_null && is_unigram())?;
    for &i in &file.without_id {
        let content = file.added_tokens.get(i).map_or("", |entry| &entry.content);
        let reason = format!("is missing; {content:?} gets an id by its index");
        report.tolerate(Defect::Missing, format!("added_tokens[{i}].id"), reason)?;
    }
    let limits = [("truncation", &file.truncation, false), ("padding", &file.padding, true)];
    for (name, limit, is_needed) in limits {
        let direction = limit.as_ref().and_then(Value::as_object).map(|limit| limit.get("direction"));
        let (defect, reason) = match direction {
            Some(Some(Value::Null)) => (Defect::Type, "is null"),
            Some(None) if is_needed => (Defect::Missing, "is missing"),
            _ => continue,
        };
        report.tolerate(defect, format!("{name}.direction"), format!("{reason}; it is read as Right"))?;
    }
    Ok(())
}

/// Reports character maps that have a defect but can be walked.
///
/// # Errors
/// In strict loading.
pub(super) fn of_maps(steps: &[Normalizer], normalizer: Option<&Value>, report: &mut Report) -> Result<()> {
    let maps = steps.iter().filter_map(|step| match step {
        Normalizer::Precompiled(map) => Some(map),
        _ => None,
    });
    for (i, map) in maps.enumerate() {
        report.tolerate_map(map, || {
            let mut fields = Vec::new();
            find_maps(normalizer, "normalizer", &mut fields);
            fields.into_iter().nth(i).unwrap_or_else(|| "normalizer".to_owned())
        })?;
    }
    Ok(())
}

/// Collects the paths of the character maps, in order.
fn find_maps(component: Option<&Value>, field: &str, fields: &mut Vec<String>) {
    let Some(component) = component else { return };
    if let Some(steps) = component.get("normalizers").and_then(Value::as_array) {
        for (i, step) in steps.iter().enumerate() {
            find_maps(Some(step), &format!("{field}.normalizers[{i}]"), fields);
        }
    } else if component.get("type").and_then(Value::as_str) == Some("Precompiled") {
        fields.push(format!("{field}.precompiled_charsmap"));
    }
}

/// A value, shortened to one line.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let start: String = text.chars().take(40).collect();
    if start.len() < text.len() { format!("{start}...") } else { start }
}
