//! Reports keys and type names without effect: keys that a component does not have, and names that
//! are not its own. The reference ignores them silently.
use serde_json::Value;
use tokenmill_core::error::{Defect, Result};

use super::fields::Fields;
use super::kinds::Component;
use super::known_keys::known;
use super::loose_fields;
use crate::report::Report;

/// Reports the unknown keys of a component and of its nested components.
pub(super) fn find(stage: Component, value: Option<&Value>, field: &str, report: &mut Report) -> Result<()> {
    let Some(value) = value.filter(|value| value.is_object()) else { return Ok(()) };
    let Ok(kind) = Component::kind_of(stage, &Fields::new(value)?) else { return Ok(()) };
    let Some(known) = known(kind) else { return Ok(()) };
    let named = value.get("type");
    if named.is_none_or(|named| *named != kind) {
        let reason = format!("{} is read as {kind}, by its fields", named.unwrap_or(&Value::Null));
        let defect = if named.is_none() { Defect::Missing } else { Defect::Ignored };
        report.tolerate(defect, format!("{field}.type"), reason)?;
    }
    loose_fields::of_component(stage, kind, value, field, report)?;
    for (key, value) in value.as_object().into_iter().flatten() {
        let field = format!("{field}.{key}");
        if kind == "Sequence"
            && let Some(steps) = value.as_array()
        {
            for (i, step) in steps.iter().enumerate() {
                find(stage, Some(step), &format!("{field}[{i}]"), report)?;
            }
        }
        if key != "type" && !known.contains(&key.as_str()) {
            report.tolerate(Defect::Ignored, field, format!("{kind} has no such key"))?;
        }
    }
    Ok(())
}
