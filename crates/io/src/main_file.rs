//! Which file of a folder has the vocabulary.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::sorting;

use crate::files::Snapshot;
use crate::folder;
use crate::manifest::is_setting;

/// The files that are searched for in a folder, most complete first.
const IN_FOLDERS: [&str; 5] = ["tokenizer.json", "tekken.json", "tokenizer.model", "vocab.json", "vocab.txt"];

/// Extensions that are accepted if the folder has one such file.
const ENDINGS: [&str; 3] = ["tiktoken", "model", "gguf"];

/// The names among these of files that may hold a vocabulary, most complete first.
pub(crate) fn by_preference(names: &[String]) -> Vec<&str> {
    let is_other = |name: &str| name == "merges.txt" || is_setting(name) || folder::is_config(name);
    let mut names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !is_other(name)).collect();
    let place = |name: &&str| IN_FOLDERS.iter().position(|known| known == name).unwrap_or(IN_FOLDERS.len());
    sorting::sort_by_key(&mut names, place);
    names
}

/// The names of the files in a folder that are accepted if there is one of them.
///
/// # Errors
/// Errors of the operating system, with the path.
pub(crate) fn by_ending(folder: &Path) -> Result<Vec<OsString>> {
    let in_folder = |error: std::io::Error| Error::from(error).in_file(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(in_folder)? {
        let name = entry.map_err(in_folder)?.file_name();
        let ending = Path::new(&name).extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            found.push(name);
        }
    }
    Ok(found)
}

/// The path of the file with the vocabulary.
///
/// # Errors
/// A format error for a folder without one, and for one with several that none is chosen of.
pub(crate) fn file_in(files: &Snapshot<'_>) -> Result<PathBuf> {
    let folder = files.folder();
    // The files of the last save come first.
    let listed = files.listed()?.unwrap_or_default();
    for name in by_preference(&listed).into_iter().chain(IN_FOLDERS) {
        // Names in a manifest are untrusted: only files in the folder are opened.
        let is_plain = Path::new(name).file_name() == Some(name.as_ref());
        if is_plain && files.has(name) {
            return Ok(folder.join(name));
        }
    }
    match by_ending(folder)?.as_slice() {
        [one] => Ok(folder.join(one)),
        [] => {
            let reason =
                format!("the folder holds no {}, .{} file", IN_FOLDERS.join(", "), ENDINGS.join(", ."));
            Err(Error::format(Defect::Missing, reason).in_file(folder))
        }
        several => {
            let reason = format!(
                "the folder holds {} .{} files; name one of them",
                several.len(),
                ENDINGS.join(", .")
            );
            Err(Error::format(Defect::Unknown, reason).in_file(folder))
        }
    }
}
