//! Chat templates of a GGUF file.
use tokenmill_core::description::ChatTemplates;
use tokenmill_core::error::{Defect, Result};
use tokenmill_core::sorting;

use super::container::{Keys, Type, Value};
use crate::report::Report;

/// The key of the default template; the keys of other templates append a dot and the name.
pub(super) const KEY: &str = "tokenizer.chat_template";

/// The key of the list of other names.
pub(super) const NAMES: &str = "tokenizer.chat_templates";

/// Reads the templates: the default one, then the others in the order of the list. llama.cpp does not look at these
/// keys when it loads a file, so a bad one is tolerated.
///
/// # Errors
/// A limit error that names the key; a defect in strict loading.
pub(super) fn read(keys: &Keys<'_>, report: &mut Report) -> Result<ChatTemplates> {
    let mut named: Vec<(&str, &str)> =
        keys.keys().filter_map(|key| Some((key.strip_prefix(KEY)?.strip_prefix('.')?, *key))).collect();
    let listed: Vec<&str> = match keys.get(NAMES) {
        None => Vec::new(),
        Some(Value::List(list)) if list.of == Type::Text => {
            list.texts().filter_map(|name| std::str::from_utf8(name).ok()).take(ChatTemplates::MOST).collect()
        }
        Some(_) => {
            report.tolerate(Defect::Type, NAMES, "is no list of strings; it is not read")?;
            Vec::new()
        }
    };
    let place = |name: &str| listed.iter().position(|known| *known == name).unwrap_or(listed.len());
    sorting::sort_by(&mut named, |(a, _), (b, _)| place(a).cmp(&place(b)).then(a.cmp(b)));
    let default = keys.contains_key(KEY).then_some((ChatTemplates::DEFAULT, KEY));
    let mut templates = ChatTemplates::default();
    for (name, key) in default.into_iter().chain(named) {
        let text = match keys.get(key) {
            Some(Value::Text(bytes)) => std::str::from_utf8(bytes).map_err(|_| Defect::Encoding),
            _ => Err(Defect::Type),
        };
        match text {
            Ok(source) => templates.set(name, source).map_err(|error| error.at(key))?,
            Err(Defect::Encoding) => {
                report.tolerate(Defect::Encoding, key, "is not UTF-8; it is not read")?;
            }
            Err(defect) => report.tolerate(defect, key, "is no string; it is not read")?,
        }
    }
    for name in listed {
        if templates.get(name).is_none() {
            report.tolerate(Defect::Missing, NAMES, format!("no template has the name {name:?}"))?;
        }
    }
    if !templates.is_empty() {
        report.add_part("chat_template");
    }
    Ok(templates)
}
