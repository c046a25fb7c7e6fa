//! The configuration files of a folder, merged as transformers merges them.
use std::path::Path;

use serde_json::{Map, Value};
use tokenmill_core::description::Side;
use tokenmill_core::error::{Defect, Error, Result};

use super::tokens::{ROLES, Token, Tokens, read_by_id};
use crate::contents;
use crate::files::Snapshot;
use crate::manifest::SETTINGS;
use crate::report::Report;
use crate::tokenizer_json::{AddedTokenEntry, json_error};

pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const CONFIG: &str = SETTINGS[0];
const SPECIAL: &str = SETTINGS[1];
const ADDED: &str = SETTINGS[2];
pub(super) const MODEL_CONFIG: &str = "config.json";

/// The key of special tokens without a role, and its older name.
pub(super) const EXTRA: &str = "extra_special_tokens";
const FORMERLY_EXTRA: &str = "additional_special_tokens";

/// The files that mark a tokenizer.json as a folder of transformers.
pub(super) const CONFIGS: [&str; 4] = [CONFIG, MODEL_CONFIG, SPECIAL, ADDED];

/// Reads a JSON object from a folder; `None` if the file does not exist or is not part of the tokenizer.
pub(super) fn read(files: &Snapshot<'_>, name: &str) -> Result<Option<Map<String, Value>>> {
    if !files.has_part(name) {
        return Ok(None);
    }
    let read = || {
        let bytes = files.read(name)?;
        let mut deserializer = serde_json::Deserializer::from_str(contents::text(&bytes)?);
        serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)
    };
    read().map(Some).map_err(|error: Error| error.in_file(&files.path(name)))
}

/// The input of a class.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The values of tokenizer_config.json, and of special_tokens_map.json if it is read.
    values: Map<String, Value>,
    /// The tokens of the files, without defaults of roles.
    pub(super) tokens: Tokens,
    /// Do the files name additional special tokens, even an empty list?
    pub(super) names_extra: bool,
    /// Additional special tokens under their legacy name, if both names occur, or those of a
    /// SentencePiece model; `None` if there are none.
    pub(super) formerly_extra: Option<Vec<Token>>,
    /// Did the ids of `tokens.by_id` come from tokenizer_config.json?
    pub(super) has_decoder: bool,
    /// The roles that the folder names.
    pub(super) named: Vec<String>,
}

impl Settings {
    /// Reads the configuration next to a tokenizer.json, whose added tokens are `entries`.
    pub(super) fn read(
        files: &Snapshot<'_>,
        config: Option<Map<String, Value>>,
        entries: Option<&[AddedTokenEntry]>,
        report: &mut Report,
    ) -> Result<Self> {
        let in_config = |error: Error| error.in_file(&files.path(CONFIG));
        let has_config = config.is_some();
        let mut values = config.unwrap_or_default();
        if has_config {
            report.set_file(CONFIG);
        }
        for name in ["tokenizer_class", "auto_map"] {
            values.shift_remove(name);
        }
        if let Some(inputs) =
            values.shift_remove("init_inputs").filter(|inputs| *inputs != Value::Array(Vec::new()))
        {
            let reason = format!("{inputs} for the code of the class is not supported");
            return Err(in_config(Error::format(Defect::Unsupported, reason).at("init_inputs")));
        }
        note_paths(&values, report).map_err(in_config)?;
        for key in [EXTRA, FORMERLY_EXTRA] {
            if values.contains_key(key) {
                report.add_part(key);
            }
        }
        rename_extra(&mut values);
        let mut own = Map::new();
        take_own(&mut values, &mut own);
        let mut settings = Self::default();
        if let Some(decoder) = values.shift_remove("added_tokens_decoder") {
            settings.tokens.by_id =
                read_by_id(&decoder).map_err(|error| in_config(error.at("added_tokens_decoder")))?;
            settings.has_decoder = true;
            report.add_part("added_tokens_decoder");
        } else {
            if let Some(special) = read(files, SPECIAL)? {
                report.set_file(SPECIAL);
                for (key, value) in special {
                    report.add_part(&key);
                    merge_special(&mut values, key, value);
                }
                if let Some(Value::Object(_)) = values.get(EXTRA)
                    && let Some(Value::Object(extra)) = values.shift_remove(EXTRA)
                {
                    own.extend(extra);
                }
            }
            if let Some(added) = read(files, ADDED)? {
                report.set_file(ADDED);
                report.add_part("added_tokens");
                settings.read_added(&values, &added).map_err(|error| error.in_file(&files.path(ADDED)))?;
            }
            for (place, entry) in entries.unwrap_or_default().iter().enumerate() {
                settings.tokens.by_id.insert(entry.id.map_or(place as u64, u64::from), of_entry(entry));
            }
        }
        settings.read_tokens(&mut values, own).map_err(in_config)?;
        settings.values = values;
        if has_config {
            report.set_file(CONFIG);
        }
        Ok(settings)
    }

    /// Reads added_tokens.json: ids by literal.
    fn read_added(&mut self, values: &Map<String, Value>, added: &Map<String, Value>) -> Result<()> {
        let literal = |value: &Value| match value {
            Value::String(content) => Some(content.clone()),
            Value::Object(fields) => fields.get("content").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        let mut special: Vec<String> =
            ROLES.iter().filter_map(|role| values.get(*role).and_then(literal)).collect();
        if let Some(extra) = values.get(EXTRA).and_then(Value::as_array) {
            special.extend(extra.iter().filter_map(literal));
        }
        for (content, id) in added {
            let id = id.as_u64().ok_or_else(|| Error::format(Defect::Type, "expected an id").at(content))?;
            let is_special = special.contains(content);
            let token = Token { has_flags: true, special: is_special, ..Token::literal(content) };
            self.tokens.by_id.insert(id, token);
        }
        Ok(())
    }

    /// Reads the tokens of roles and the additional special tokens.
    fn read_tokens(&mut self, values: &mut Map<String, Value>, own: Map<String, Value>) -> Result<()> {
        // The flags of a literal elsewhere in the files hold here too.
        let flagged = |token: Token| {
            let known = self.tokens.by_id.values().rev().find(|known| known.content == token.content);
            known.cloned().unwrap_or(token)
        };
        let mut named = Vec::new();
        for role in ROLES {
            if let Some(value) = values.shift_remove(role) {
                let token = Token::read(&value).map_err(|error| error.at(role))?;
                named.push((role.to_owned(), token.map(flagged)));
            }
        }
        let is_own = |(key, value): &(&String, &Value)| {
            key.ends_with("_token") && matches!(value, Value::String(_) | Value::Object(_))
        };
        let keys: Vec<String> = values.iter().filter(is_own).map(|(key, _)| key.clone()).collect();
        let later = keys.into_iter().filter_map(|key| values.shift_remove(&key).map(|value| (key, value)));
        let own: Map<String, Value> = later.chain(own).collect();
        for (key, value) in own {
            let token = Token::read(&value).map_err(|error| error.at(&key))?;
            named.push((key, token));
        }
        self.tokens.named = named;
        self.names_extra = values.contains_key(EXTRA);
        let list = |values: &mut Map<String, Value>, key: &str| -> Result<Option<Vec<Token>>> {
            let list = match values.shift_remove(key) {
                None | Some(Value::Null) => return Ok(None),
                Some(Value::Array(list)) => list,
                Some(_) => return Err(Error::format(Defect::Type, "expected a list of tokens").at(key)),
            };
            let read = |(i, value)| Token::read(value).map_err(|error| error.at_index(i).at(key));
            list.iter().enumerate().map(read).filter_map(Result::transpose).collect::<Result<_>>().map(Some)
        };
        self.tokens.extra = list(values, EXTRA)?.unwrap_or_default();
        self.formerly_extra = list(values, FORMERLY_EXTRA)?;
        Ok(())
    }

    /// Does the folder itself name the token of a role?
    pub(super) fn has_named(&self, role: &str) -> bool {
        self.named.iter().any(|name| name == role)
    }

    /// The literal of a role: that of the folder, `None` if it is null, else `default`.
    pub(super) fn literal_or(&self, role: &str, default: &str) -> Option<String> {
        match self.tokens.named.iter().find(|(name, _)| name == role) {
            Some((_, token)) => token.as_ref().map(|token| token.content.clone()),
            None => Some(default.to_owned()),
        }
    }

    /// Sets a value from the vocabulary, which overrides the folder.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// A boolean setting; `None` if it is absent or null.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(Error::format(Defect::Type, "expected true or false").at(name)),
        }
    }

    /// A string setting; `None` if it is absent or null.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::format(Defect::Type, "expected a string").at(name)),
        }
    }

    /// A non-negative integer setting; `None` if it is absent or null.
    pub(super) fn count(&self, name: &str) -> Result<Option<usize>> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                value.as_u64().and_then(|count| usize::try_from(count).ok()).map(Some).ok_or_else(|| {
                    Error::format(Defect::Type, "expected a number that is not negative").at(name)
                })
            }
        }
    }

    /// A side; `None` if it is absent or null.
    pub(super) fn side(&self, name: &str) -> Result<Option<Side>> {
        match self.text(name)? {
            None => Ok(None),
            Some("left") => Ok(Some(Side::Left)),
            Some("right") => Ok(Some(Side::Right)),
            Some(other) => {
                let reason = format!("{other:?} is neither \"left\" nor \"right\"");
                Err(Error::format(Defect::Range, reason).at(name))
            }
        }
    }

    /// The maximum length of an input, under its name or its older one; `None` if there is none.
    pub(super) fn max_length(&self) -> Result<Option<usize>> {
        /// Larger lengths mean that there is no maximum (transformers writes `10^30`).
        const NONE: f64 = 1e20;
        let name = if self.has("model_max_length") { "model_max_length" } else { "max_len" };
        match self.values.get(name) {
            Some(Value::Number(number)) if number.as_f64().is_some_and(|number| number > NONE) => Ok(None),
            _ => self.count(name),
        }
    }

    /// Is the setting present, even as null?
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
}

fn of_entry(entry: &AddedTokenEntry) -> Token {
    Token {
        content: entry.content.clone(),
        has_flags: true,
        single_word: entry.single_word,
        lstrip: entry.lstrip,
        rstrip: entry.rstrip,
        normalized: Some(entry.normalized),
        special: entry.special,
    }
}

/// Renames the legacy key of additional special tokens.
fn rename_extra(values: &mut Map<String, Value>) {
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if values.contains_key(FORMERLY_EXTRA) && values.get(EXTRA).is_none_or(is_nothing) {
        let tokens = values.shift_remove(FORMERLY_EXTRA).unwrap_or_default();
        values.insert(EXTRA.to_owned(), tokens);
    }
}

/// Extracts model-specific tokens: literals under keys such as `image_token`.
fn take_own(values: &mut Map<String, Value>, own: &mut Map<String, Value>) {
    let is_own = |(key, value): &(&String, &Value)| {
        key.ends_with("_token") && !ROLES.contains(&key.as_str()) && value.is_string()
    };
    let keys: Vec<String> = values.iter().filter(is_own).map(|(key, _)| key.clone()).collect();
    for key in keys {
        if let Some(value) = values.shift_remove(&key) {
            own.insert(key, value);
        }
    }
    if let Some(Value::Object(_)) = values.get(EXTRA)
        && let Some(Value::Object(extra)) = values.shift_remove(EXTRA)
    {
        own.extend(extra);
    }
}

/// Merges a key of special_tokens_map.json, which overrides tokenizer_config.json.
fn merge_special(values: &mut Map<String, Value>, key: String, value: Value) {
    let as_special = |value: Value| match value {
        Value::Object(mut fields) => {
            fields.insert("special".to_owned(), Value::Bool(true));
            Value::Object(fields)
        }
        other => other,
    };
    let value = match value {
        Value::Object(_) if key != EXTRA => as_special(value),
        Value::Array(list) if key == EXTRA => {
            let mut merged = match values.shift_remove(&key) {
                Some(Value::Array(merged)) => merged,
                _ => Vec::new(),
            };
            for token in list.into_iter().map(as_special) {
                if !merged.contains(&token) {
                    merged.push(token);
                }
            }
            Value::Array(merged)
        }
        other => other,
    };
    values.insert(key, value);
}

/// Reports paths outside the folder. They are not followed: all files of a folder are in it, under
/// their usual names.
fn note_paths(values: &Map<String, Value>, report: &mut Report) -> Result<()> {
    for (key, value) in values {
        let Some(path) = value.as_str().filter(|_| key.ends_with("_file")) else { continue };
        if !is_base_name(path) {
            let reason = format!("{path:?} is not a file of the folder; it is not read");
            report.tolerate(Defect::Ignored, key, reason)?;
        }
    }
    Ok(())
}

/// Is this a plain file name, without a path?
pub(super) fn is_base_name(name: &str) -> bool {
    let is_plain = !name.contains(['/', '\\', ':', '\0']) && !matches!(name, "" | "." | "..");
    is_plain && Path::new(name).file_name() == Some(name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_name_stays_in_its_folder_on_every_system() {
        for name in ["tokenizer.json", "tokenizer.4.0.0.json", "...", "a b"] {
            assert!(is_base_name(name), "{name:?}");
        }
        let outside = [
            "",
            ".",
            "..",
            "/etc/passwd",
            "../a",
            "a/b",
            "a/..",
            "a\\b",
            "..\\a",
            "c:a",
            "C:\\a",
            "\\\\host\\a",
            "file:///a",
            "https://a/b",
            "a\0b",
            "a/",
            "./a",
            "~/a",
        ];
        for name in outside {
            assert!(!is_base_name(name), "{name:?}");
        }
    }
}
