//! `tokenmill.json` next to a saved tokenizer: the files of the folder by sha256.
//!
//! The files that a save wrote are listed. Settings that were in the folder before the save and do not belong to
//! the saved tokenizer are listed as ignored. So settings that someone adds or changes later can be distinguished
//! from both.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};

use crate::chat_files;
use crate::contents;
use crate::files::SavedFile;
use crate::known_files::sha256;
use crate::tokenizer_json::json_error;

/// The files that say how a tokenizer is used. Users and other programs may write them next to a saved tokenizer.
pub(crate) const SETTINGS: [&str; 3] =
    ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];

/// Is this a file that says how a tokenizer is used: settings, or a chat template?
pub(crate) fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name) || chat_files::is_template(name)
}

/// The file name of the manifest.
pub(crate) const NAME: &str = "tokenmill.json";

/// The manifest of a folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    #[serde(rename = "manifest_version")]
    version: u32,
    files: BTreeMap<String, FileEntry>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ignored: BTreeMap<String, FileEntry>,
    vocab_size: usize,
    special_tokens: BTreeMap<String, u32>,
}

#[derive(Serialize, Deserialize)]
struct FileEntry {
    bytes: usize,
    sha256: String,
}

/// The manifest for these files of a tokenizer, in a folder with other settings that are not its own.
pub(crate) fn write(files: &[SavedFile], ignored: &[SavedFile], engine: &Engine) -> Result<Vec<u8>> {
    let entry = |bytes: &[u8]| FileEntry { bytes: bytes.len(), sha256: sha256(bytes) };
    let entries = |files: &[SavedFile]| -> BTreeMap<String, FileEntry> {
        files.iter().map(|(name, bytes)| (name.to_string_lossy().into_owned(), entry(bytes))).collect()
    };
    let special = engine.vocabulary().added().iter().filter(|token| token.is_special);
    let manifest = Manifest {
        version: 1,
        files: entries(files),
        ignored: entries(ignored),
        vocab_size: engine.vocabulary().len(),
        special_tokens: special.map(|token| (token.content.clone(), token.id)).collect(),
    };
    let mut text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| Error::internal(format!("manifest: {error}")))?;
    text.push(b'\n');
    Ok(text)
}

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// A format error that names the field.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(contents::text(bytes)?);
        let manifest: Self = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
        if manifest.version != 1 {
            let reason =
                format!("manifest version {} is not known; this tokenmill reads 1", manifest.version);
            return Err(Error::format(Defect::Version, reason).at("manifest_version"));
        }
        Ok(manifest)
    }

    /// Is the file listed: one of the last save?
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The names of the listed files: those of the last save.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }

    /// Did the last save write or ignore a file with these bytes?
    pub(crate) fn knows(&self, name: &str, bytes: &[u8]) -> bool {
        let mut entries = self.files.get(name).into_iter().chain(self.ignored.get(name));
        entries.any(|entry| entry.sha256 == sha256(bytes))
    }

    /// Checks the bytes of a file, if it is listed.
    ///
    /// # Errors
    /// A manifest error with both hashes.
    pub(crate) fn check(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let Some(entry) = self.files.get(name) else { return Ok(()) };
        let found = sha256(bytes);
        if entry.sha256 == found {
            return Ok(());
        }
        let (expected, found) = (format!("sha256 {}", entry.sha256), format!("sha256 {found}"));
        Err(Error::from(Kind::Manifest { expected, found }).at("sha256").at(name).at("files"))
    }
}
