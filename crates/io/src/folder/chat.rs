//! Chat templates of a folder: in files of their own, else in tokenizer_config.json.
use serde_json::{Map, Value};
use tokenmill_core::description::ChatTemplates;
use tokenmill_core::error::{Defect, Error, Result};

use super::settings::CONFIG;
use crate::chat_files;
use crate::files::Snapshot;
use crate::report::Report;

/// The key in tokenizer_config.json.
pub(super) const KEY: &str = "chat_template";

/// Where processors of text and images had their template, which tokenizers do not read.
const OF_PROCESSORS: &str = "chat_template.json";

/// Reads the templates. Where there is a file of one, tokenizer_config.json counts for nothing.
///
/// # Errors
/// A format error that names file and field.
pub(super) fn read(
    files: &Snapshot<'_>,
    config: Option<&Map<String, Value>>,
    report: &mut Report,
) -> Result<ChatTemplates> {
    let of_config = config.and_then(|config| config.get(KEY)).filter(|value| !value.is_null());
    let mut paths = Vec::new();
    for path in files.chat_templates() {
        let path = path.into_string().map_err(|path| {
            let reason = "the name of a chat template is not UTF-8";
            Error::format(Defect::Encoding, reason).in_file(&files.folder().join(path))
        })?;
        paths.push(path);
    }
    if paths.is_empty() {
        let Some(value) = of_config else {
            if files.has(OF_PROCESSORS) {
                report.note(format!("{OF_PROCESSORS} is a processor's; a tokenizer does not read it"));
            }
            return Ok(ChatTemplates::default());
        };
        report.set_file(CONFIG);
        let templates = in_config(value, report).map_err(|error| error.in_file(&files.path(CONFIG)))?;
        if !templates.is_empty() {
            report.add_part(KEY);
        }
        return Ok(templates);
    }
    let templates = in_files(files, &paths, report)?;
    let counts_for_nothing = |value| in_config(value, &mut Report::default()).ok() != Some(templates.clone());
    if of_config.is_some_and(counts_for_nothing) {
        report.note(format!("{KEY} of {CONFIG} is ignored because of {}", paths.join(", ")));
    }
    Ok(templates)
}

fn in_files(files: &Snapshot<'_>, paths: &[String], report: &mut Report) -> Result<ChatTemplates> {
    let taken = chat_files::taken_for_default();
    let is_taken = paths.contains(&taken);
    let is_default = |path: &&String| **path == if is_taken { &taken } else { chat_files::DEFAULT };
    let others = paths.iter().filter(|path| **path != taken && *path != chat_files::DEFAULT);
    let mut templates = ChatTemplates::default();
    for path in paths.iter().filter(is_default).chain(others) {
        let name = if *path == taken { None } else { chat_files::name_of(path) };
        let mut read = || {
            ChatTemplates::check_length(files.source(path.as_ref())?.size())?;
            let bytes = files.read(path)?;
            let text = std::str::from_utf8(&bytes).map_err(|error| {
                let reason = format!("the file is not UTF-8 (byte {})", error.valid_up_to());
                Error::format(Defect::Encoding, reason)
            })?;
            templates.set(name.unwrap_or(ChatTemplates::DEFAULT), &chat_files::with_newlines(text))
        };
        read().map_err(|error| error.in_file(&files.path(path)))?;
        report.set_file(path);
        report.add_part(KEY);
        if name.is_none() {
            report.note(format!("{path} is the default template, as transformers takes it"));
        }
    }
    Ok(templates)
}

/// The templates of tokenizer_config.json: one, a list of them with names, or an object.
fn in_config(value: &Value, report: &mut Report) -> Result<ChatTemplates> {
    const WRONG: &str = "is no string; it is not read";
    let mut templates = ChatTemplates::default();
    let at = |error: Error| error.at(KEY);
    match value {
        Value::Null => {}
        Value::String(source) => templates.set(ChatTemplates::DEFAULT, source).map_err(at)?,
        Value::Object(named) => {
            for (name, source) in named {
                match source.as_str() {
                    Some(source) => templates.set(name, source).map_err(|error| at(error.at(name)))?,
                    None => report.tolerate(Defect::Type, format!("{KEY}.{name}"), WRONG)?,
                }
            }
        }
        Value::Array(list) => {
            for (i, entry) in list.iter().enumerate() {
                let place = |error: Error| at(error.at_index(i));
                let Value::Object(entry) = entry else {
                    let reason = "expected an object with name and template";
                    return Err(place(Error::format(Defect::Type, reason)));
                };
                let part = |key: &str| {
                    entry.get(key).ok_or_else(|| place(Error::format(Defect::Missing, "is missing").at(key)))
                };
                let (name, source) = (part("name")?, part("template")?);
                let (Some(name), Some(source)) = (name.as_str(), source.as_str()) else {
                    let wrong = if name.is_string() { "template" } else { "name" };
                    report.tolerate(Defect::Type, format!("{KEY}[{i}].{wrong}"), WRONG)?;
                    continue;
                };
                if templates.get(name).is_some() {
                    let reason = format!("{name:?} occurs twice; the last one counts");
                    report.tolerate(Defect::Duplicate, format!("{KEY}[{i}].name"), reason)?;
                }
                templates.set(name, source).map_err(place)?;
            }
        }
        _ => report.tolerate(Defect::Type, KEY, "is neither a string nor a list of them; it is not read")?,
    }
    Ok(templates)
}

/// The value for tokenizer_config.json, for templates that files cannot hold.
pub(super) fn for_config(templates: &ChatTemplates) -> Value {
    if templates.len() == 1
        && let Some(source) = templates.get(ChatTemplates::DEFAULT)
    {
        return source.into();
    }
    let entry = |(name, source)| serde_json::json!({ "name": name, "template": source });
    templates.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokenmill_core::error::Kind;

    use super::*;

    fn read(value: &Value) -> (Vec<(String, String)>, Vec<String>) {
        let mut report = Report::default();
        let templates = in_config(value, &mut report).unwrap();
        let templates = templates.iter().map(|(name, source)| (name.to_owned(), source.to_owned())).collect();
        (templates, report.tolerated().iter().map(|finding| finding.field.clone()).collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect()
    }

    #[test]
    fn each_form_of_the_setting_is_read() {
        let named = json!([{"name": "tool_use", "template": "b"}, {"name": "default", "template": "a"}]);
        let both = pairs(&[("tool_use", "b"), ("default", "a")]);
        assert_eq!(read(&json!("a")), (pairs(&[("default", "a")]), vec![]));
        assert_eq!(read(&named), (both.clone(), vec![]));
        assert_eq!(read(&json!({"tool_use": "b", "default": "a"})), (both, vec![]));
        for nothing in [json!(null), json!([]), json!({})] {
            assert_eq!(read(&nothing), (vec![], vec![]));
        }
    }

    #[test]
    fn what_transformers_lets_pass_is_tolerated_and_not_read() {
        let fields = |value: &Value| read(value).1;
        for wrong in [json!(5), json!(true)] {
            assert_eq!(read(&wrong), (vec![], vec!["chat_template".to_owned()]));
        }
        assert_eq!(fields(&json!({"a": 5})), ["chat_template.a"]);
        assert_eq!(fields(&json!([{"name": "a", "template": null}])), ["chat_template[0].template"]);
        assert_eq!(fields(&json!([{"name": 1, "template": "a"}])), ["chat_template[0].name"]);
        let twice = json!([{"name": "a", "template": "1"}, {"name": "a", "template": "2"}]);
        assert_eq!(read(&twice), (pairs(&[("a", "2")]), vec!["chat_template[1].name".to_owned()]));
    }

    #[test]
    fn what_transformers_refuses_is_refused_with_its_place() {
        let fault = |value: Value| {
            let error = in_config(&value, &mut Report::default()).unwrap_err();
            let Kind::Format { defect, .. } = error.kind else { panic!("{error}") };
            (error.field.to_string(), defect)
        };
        assert_eq!(fault(json!([3])), ("chat_template[0]".to_owned(), Defect::Type));
        assert_eq!(fault(json!([{"name": "a"}])), ("chat_template[0].template".to_owned(), Defect::Missing));
        assert_eq!(fault(json!([{"template": "a"}])), ("chat_template[0].name".to_owned(), Defect::Missing));
        assert_eq!(fault(json!("a".repeat((1 << 20) + 1))), ("chat_template".to_owned(), Defect::Limit));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for value in
            [json!("a\r\n"), json!([{"name": "a/b", "template": "1"}, {"name": "default", "template": ""}])]
        {
            let templates = in_config(&value, &mut Report::new(true)).unwrap();
            assert_eq!(for_config(&templates), value);
        }
    }
}
