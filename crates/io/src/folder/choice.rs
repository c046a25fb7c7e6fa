//! Chooses the class that a folder is loaded as, by the rules of transformers' AutoTokenizer.
//!
//! In: configuration. Out: a [`Choice`]. Nothing that a folder names is ever executed; where
//! AutoTokenizer would ask to run code from the folder, loading fails.
use serde_json::{Map, Value};
use tokenmill_core::error::{Defect, Error, Result};

use super::classes::{self, Class, Recipe};
use super::model_types::{is_misnamed, registered};
use super::settings::{CONFIG, MODEL_CONFIG};

/// The input of the choice.
pub(super) struct Signs<'a> {
    /// tokenizer_config.json.
    pub(super) config: &'a Map<String, Value>,
    /// config.json.
    pub(super) model_config: &'a Map<String, Value>,
    /// Does tokenizer.json mention `ByteLevel`?
    pub(super) is_byte_level: bool,
    /// Does the folder have a tekken.json?
    pub(super) has_tekken: bool,
}

/// The class, and the reason for the choice.
pub(super) struct Choice {
    /// `None` is Mistral's own library, which reads tekken.json only.
    pub(super) recipe: Option<&'static Recipe>,
    pub(super) why: String,
    /// A class that the folder names, but that is unknown.
    pub(super) unknown: Option<String>,
}

/// The class of Mistral's own library, for folders with a tekken.json.
const MISTRAL: &str = "MistralCommonBackend";

fn plain(why: String) -> Choice {
    Choice { recipe: Some(classes::plain()), why, unknown: None }
}

fn base(name: &str) -> &str {
    name.strip_suffix("Fast").unwrap_or(name)
}

/// Chooses the class.
///
/// # Errors
/// A format error for a class that is not supported, and for a folder that needs its own code.
pub(super) fn choose(signs: &Signs<'_>) -> Result<Choice> {
    let text = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    let declared = text(signs.config, "tokenizer_class");
    let by_model = text(signs.model_config, "tokenizer_class");
    let named_in = if declared.is_some() { CONFIG } else { MODEL_CONFIG };
    let named = declared.clone().or(by_model.clone());
    let model_type = text(signs.model_config, "model_type").unwrap_or_default();
    let of_type = registered(&model_type);
    let code = signs.config.get("auto_map").and_then(code_of);

    if code.is_none()
        && let Some(name) = &named
    {
        if base(name) == "LlamaTokenizer"
            && of_type != Some(MISTRAL)
            && !is_misnamed(&model_type)
            && signs.is_byte_level
        {
            return Ok(plain(format!(
                "{named_in} names {name}, but tokenizer.json is byte-level: it is read unchanged"
            )));
        }
        if let Some(of_type) = of_type.filter(|of_type| *of_type != base(name)) {
            return between(name, named_in, &model_type, of_type, signs.has_tekken);
        }
    }
    if let Some(code) = code.filter(|_| !is_misnamed(&model_type)) {
        let is_known = |name: &String| !matches!(classes::find(name), Class::Unknown);
        if of_type.is_none() && !declared.as_ref().is_some_and(is_known) {
            let reason = format!("the folder needs its own code, {code}, which is never executed");
            return Err(Error::format(Defect::Unsupported, reason).at("auto_map"));
        }
    }
    if let Some(name) = declared {
        return by_name(&name, CONFIG);
    }
    if let Some(name) = by_model {
        return by_name(&name, MODEL_CONFIG);
    }
    match of_type {
        Some(MISTRAL) if signs.has_tekken => Ok(mistral(&model_type)),
        Some(MISTRAL) => Ok(plain(format!("{MODEL_CONFIG} says {model_type}, and there is no tekken.json"))),
        Some(class) => {
            known(class, format!("{MODEL_CONFIG} says {model_type}, which has {class}"), MODEL_CONFIG)
        }
        None => Ok(plain("no file names a class".to_owned())),
    }
}

/// The choice if the folder names a class other than that of its model type.
fn between(
    name: &str,
    named_in: &str,
    model_type: &str,
    of_type: &'static str,
    has_tekken: bool,
) -> Result<Choice> {
    if !matches!(of_type, "TokenizersBackend" | MISTRAL) {
        let (class, why) = if is_misnamed(model_type) {
            (
                of_type,
                format!(
                    "{named_in} names {name}, which is known to be wrong for {model_type}: it has {of_type}"
                ),
            )
        } else {
            (name, format!("{named_in} names {name}"))
        };
        return match classes::find(class) {
            Class::Unknown => Ok(Choice {
                unknown: Some(class.to_owned()),
                ..plain(format!("{class} is an unknown class"))
            }),
            _ => known(class, why, named_in),
        };
    }
    if of_type == MISTRAL && has_tekken {
        return Ok(mistral(model_type));
    }
    Ok(plain(format!("{named_in} names {name}, but {model_type} reads tokenizer.json unchanged")))
}

fn by_name(name: &str, named_in: &str) -> Result<Choice> {
    match classes::find(name) {
        Class::Unknown => Ok(Choice {
            unknown: Some(name.to_owned()),
            ..plain(format!("{named_in} names {name}, an unknown class"))
        }),
        _ => known(name, format!("{named_in} names {name}"), named_in),
    }
}

fn known(name: &str, why: String, named_in: &str) -> Result<Choice> {
    if let Class::Known(recipe) = classes::find(name) {
        return Ok(Choice { recipe: Some(recipe), why, unknown: None });
    }
    let reason = format!(
        "{name} builds its tokenizer in its own way, which this version of tokenmill does not reproduce; load \
         tokenizer.json itself to read it unchanged"
    );
    let field = if named_in == CONFIG { "tokenizer_class" } else { "model_type" };
    Err(Error::format(Defect::Unsupported, reason).at(field))
}

fn mistral(model_type: &str) -> Choice {
    let why = format!("{MODEL_CONFIG} says {model_type}, and there is a tekken.json");
    Choice { recipe: None, why, unknown: None }
}

/// The code that a folder names for its tokenizer.
fn code_of(map: &Value) -> Option<String> {
    let list = match map {
        Value::Array(list) => list,
        Value::Object(fields) => match fields.get("AutoTokenizer")? {
            Value::Array(list) => list,
            Value::String(name) => return Some(name.clone()),
            _ => return None,
        },
        _ => return None,
    };
    list.iter().rev().find_map(Value::as_str).map(str::to_owned)
}
