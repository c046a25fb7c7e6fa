//! The files of chat templates in a folder, as transformers 5.23 writes and reads them.
use std::ffi::OsString;
use std::io;
use std::path::Path;
use tokenmill_core::sorting;

use tokenmill_core::description::ChatTemplates;
use tokenmill_core::error::{Error, Result};

/// The file of the default template.
pub(crate) const DEFAULT: &str = "chat_template.jinja";

/// The folder of the other templates, each in a file with its name.
pub(crate) const FOLDER: &str = "additional_chat_templates";

const ENDING: &str = ".jinja";

/// transformers takes the file of this name in [`FOLDER`] for the default template, by an accident of its keys.
const TAKEN: &str = "file";

/// The path of the additional template that transformers takes for the default one.
pub(crate) fn taken_for_default() -> String {
    format!("{FOLDER}/{TAKEN}{ENDING}")
}

/// The name of a template by its path in the folder of the tokenizer; `None` for any other path.
pub(crate) fn name_of(path: &str) -> Option<&str> {
    if path == DEFAULT {
        return Some(ChatTemplates::DEFAULT);
    }
    let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_suffix(ENDING)?;
    (!name.contains(['/', '\\', ':', '\0'])).then_some(name)
}

/// Is this the path of a template in the folder of the tokenizer?
pub(crate) fn is_template(path: &str) -> bool {
    name_of(path).is_some()
}

/// The path that a template is saved under; `None` for a name that is not a valid file name on every system, or
/// that is read back as another name.
fn path_of(name: &str) -> Option<String> {
    if name == ChatTemplates::DEFAULT {
        return Some(DEFAULT.to_owned());
    }
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let is_known = name.eq_ignore_ascii_case(ChatTemplates::DEFAULT) || name.eq_ignore_ascii_case(TAKEN);
    (is_plain && !is_known && !name.is_empty() && !name.starts_with('.') && name.len() <= 100)
        .then(|| format!("{FOLDER}/{name}{ENDING}"))
}

/// The files of templates, by path; `None` if files cannot hold all of them unchanged: line ends are read as `\n`,
/// and some systems do not distinguish upper and lower case.
pub(crate) fn files(templates: &ChatTemplates) -> Option<Vec<(OsString, Vec<u8>)>> {
    let mut lower: Vec<String> = templates.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    sorting::sort(&mut lower);
    lower.dedup();
    if lower.len() < templates.len() || templates.iter().any(|(_, source)| source.contains('\r')) {
        return None;
    }
    let file = |(name, source): (&str, &str)| Some((path_of(name)?.into(), source.as_bytes().to_vec()));
    templates.iter().map(file).collect()
}

/// The paths of the templates in a folder, sorted; at most a few more than a tokenizer can have.
///
/// # Errors
/// Errors of the operating system, with the path.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<OsString>> {
    let mut paths = Vec::new();
    if folder.join(DEFAULT).is_file() {
        paths.push(DEFAULT.into());
    }
    let within = folder.join(FOLDER);
    let in_folder = |error: std::io::Error| Error::from(error).in_file(&within);
    if !within.is_dir() {
        return Ok(paths);
    }
    let entries = match std::fs::read_dir(&within) {
        // A save removed it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(paths),
        entries => entries.map_err(in_folder)?,
    };
    for entry in entries {
        let entry = entry.map_err(in_folder)?;
        let name = entry.file_name();
        if name.as_encoded_bytes().ends_with(ENDING.as_bytes()) && entry.path().is_file() {
            let mut path = OsString::from(FOLDER);
            path.push("/");
            path.push(name);
            paths.push(path);
        }
        if paths.len() > ChatTemplates::MOST {
            break;
        }
    }
    sorting::sort(&mut paths);
    Ok(paths)
}

/// The text of a file as Python reads it: each line end is `\n`.
pub(crate) fn with_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(entries: &[(&str, &str)]) -> ChatTemplates {
        let mut templates = ChatTemplates::default();
        for (name, source) in entries {
            templates.set(name, source).unwrap();
        }
        templates
    }

    #[test]
    fn a_template_has_one_path_and_that_path_its_name() {
        let held = files(&templates(&[("default", "a"), ("tool_use", "b"), ("rag-1.0", "c")])).unwrap();
        let paths: Vec<&str> = held.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(
            paths,
            [DEFAULT, "additional_chat_templates/tool_use.jinja", "additional_chat_templates/rag-1.0.jinja"]
        );
        let names: Vec<&str> = paths.iter().map(|path| name_of(path).unwrap()).collect();
        assert_eq!(names, ["default", "tool_use", "rag-1.0"]);
    }

    #[test]
    fn what_is_not_a_file_name_everywhere_is_not_held_by_files() {
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "c:a", "a b", "ä", "file", "Default"] {
            assert_eq!(files(&templates(&[("default", "a"), (name, "b")])), None, "{name:?}");
        }
        assert_eq!(files(&templates(&[("a", "1"), ("A", "2")])), None);
        assert_eq!(files(&templates(&[("default", "a\r\nb")])), None);
        assert_eq!(files(&templates(&[(&"n".repeat(101), "a")])), None);
    }

    #[test]
    fn other_paths_are_no_templates() {
        for path in [
            "tokenizer.json",
            "a.jinja",
            "additional_chat_templates",
            "additional_chat_templates/",
            "additional_chat_templates/a.txt",
            "additional_chat_templates/a/b.jinja",
            "additional_chat_templates/../b.jinja",
            "additional_chat_templates/..\\b.jinja",
            "../chat_template.jinja",
            "/additional_chat_templates/a.jinja",
        ] {
            assert!(!is_template(path), "{path}");
        }
    }

    #[test]
    fn line_ends_are_those_that_python_reads() {
        assert_eq!(with_newlines("a\r\nb\rc\n\r\n\r\r\n"), "a\nb\nc\n\n\n\n");
    }
}
