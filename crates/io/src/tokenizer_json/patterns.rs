//! Patterns and behaviors, shared by several components.
use serde_json::{Value, json};
use tokenmill_core::description::{Behavior, Pattern, PrependScheme, Split};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::pattern::{Splitter, from_portable, portable};

use super::fields::{Fields, cannot, unsupported, wrong};

/// `{"String": ..}` or `{"Regex": ..}`.
pub(super) fn read(value: &Value) -> Result<Pattern> {
    match Fields::new(value)?.choice()? {
        ("String", text) => match text.as_str() {
            Some(text) => Ok(Pattern::Literal(text.to_owned())),
            None => Err(wrong("a string", text).at("String")),
        },
        ("Regex", regex) => match regex.as_str() {
            Some(regex) => read_regex(regex).map(Pattern::Regex).map_err(|e| e.at("Regex")),
            None => Err(wrong("a string", regex).at("Regex")),
        },
        (other, _) => Err(unsupported(format!("a pattern {other:?}"))),
    }
}

/// Translates a regular expression of the file into our own dialect.
fn read_regex(regex: &str) -> Result<String> {
    let compiled = from_portable(regex).and_then(|regex| {
        let split = Split::Pattern(regex.clone());
        Splitter::compile(&split).map(|_| regex)
    });
    compiled.map_err(|error| match &error.kind {
        // The file is at fault, not a pattern of the caller.
        Kind::Pattern { reason, .. } => Error::format(Defect::Pattern, format!("{regex:?}: {reason}")),
        _ => error,
    })
}

pub(super) fn write(pattern: &Pattern) -> Result<Value> {
    Ok(match pattern {
        Pattern::Literal(text) => json!({ "String": text }),
        Pattern::Regex(regex) => {
            let portable = portable(regex).map_err(|error| {
                cannot(format!(
                    "the pattern means something else in this format's regular expressions: {error}"
                ))
            })?;
            json!({ "Regex": portable })
        }
    })
}

const BEHAVIORS: [(&str, Behavior); 5] = [
    ("Removed", Behavior::Removed),
    ("Isolated", Behavior::Isolated),
    ("MergedWithPrevious", Behavior::MergedWithPrevious),
    ("MergedWithNext", Behavior::MergedWithNext),
    ("Contiguous", Behavior::Contiguous),
];

pub(super) fn read_behavior(name: &str) -> Result<Behavior> {
    match BEHAVIORS.iter().find(|(known, _)| *known == name) {
        Some((_, behavior)) => Ok(*behavior),
        None => Err(Error::format(Defect::Type, format!("{name:?} is no behavior")).at("behavior")),
    }
}

pub(super) fn write_behavior(behavior: Behavior) -> &'static str {
    BEHAVIORS.iter().find(|(_, known)| *known == behavior).map_or("Isolated", |(name, _)| name)
}

const SCHEMES: [(&str, PrependScheme); 3] =
    [("first", PrependScheme::First), ("never", PrependScheme::Never), ("always", PrependScheme::Always)];

/// Reads a Metaspace in its newer or older form: (mark, scheme, split).
pub(super) fn read_metaspace(fields: &Fields<'_>) -> Result<(char, PrependScheme, bool)> {
    let scheme = match fields.optional_string("prepend_scheme")? {
        None => PrependScheme::Always,
        Some(name) => {
            let known = SCHEMES.iter().find(|(known, _)| *known == name).map(|(_, scheme)| *scheme);
            known.ok_or_else(|| {
                let reason = format!("{name:?} is not one of first, never, always");
                Error::format(Defect::Type, reason).at("prepend_scheme")
            })?
        }
    };
    if fields.optional_bool("add_prefix_space")? == Some(false) && scheme != PrependScheme::Never {
        let reason = "false contradicts prepend_scheme, which must then be \"never\"";
        return Err(Error::format(Defect::Inconsistent, reason).at("add_prefix_space"));
    }
    Ok((fields.char("replacement")?, scheme, fields.optional_bool("split")?.unwrap_or(true)))
}

pub(super) fn write_metaspace(replacement: char, prepend: PrependScheme, split: bool) -> Value {
    let scheme = SCHEMES.iter().find(|(_, known)| *known == prepend).map_or("always", |(name, _)| name);
    json!({ "type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": split })
}
