//! `tokenmill.json` beside a saved tokenizer: what the folder holds, by sha256.
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};

use crate::contents;
use crate::known_files::sha256;
use crate::tokenizer_json::json_error;

/// Its name in the folder.
pub(crate) const NAME: &str = "tokenmill.json";

#[derive(Serialize, Deserialize)]
struct Manifest {
    #[serde(rename = "manifest_version")]
    version: u32,
    files: std::collections::BTreeMap<String, FileEntry>,
    vocab_size: usize,
    special_tokens: std::collections::BTreeMap<String, u32>,
}

#[derive(Serialize, Deserialize)]
struct FileEntry {
    bytes: usize,
    sha256: String,
}

/// The manifest of a folder that holds these files of this tokenizer.
pub(crate) fn write(files: &[(String, &[u8])], engine: &Engine) -> Result<Vec<u8>> {
    let entry = |bytes: &[u8]| FileEntry { bytes: bytes.len(), sha256: sha256(bytes) };
    let special = engine.vocabulary().added().iter().filter(|token| token.is_special);
    let manifest = Manifest {
        version: 1,
        files: files.iter().map(|(name, bytes)| (name.clone(), entry(bytes))).collect(),
        vocab_size: engine.vocabulary().len(),
        special_tokens: special.map(|token| (token.content.clone(), token.id)).collect(),
    };
    let mut text = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| Error::internal(format!("manifest: {error}")))?;
    text.push(b'\n');
    Ok(text)
}

/// The manifest of a folder, where it has one.
fn read(folder: &Path) -> Result<Option<Manifest>> {
    let path = folder.join(NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let read = || -> Result<Manifest> {
        let bytes = contents::read(&path)?;
        let mut deserializer = serde_json::Deserializer::from_str(contents::text(&bytes)?);
        let manifest: Manifest = serde_path_to_error::deserialize(&mut deserializer).map_err(json_error)?;
        if manifest.version != 1 {
            let reason =
                format!("manifest version {} is not known; this tokenmill reads 1", manifest.version);
            return Err(Error::format(Defect::Version, reason).at("manifest_version"));
        }
        Ok(manifest)
    };
    read().map(Some).map_err(|error| error.in_file(&path))
}

/// The files that a folder's manifest lists: what was saved there last.
///
/// # Errors
/// A format error for a manifest that cannot be read.
pub(crate) fn listed(folder: &Path) -> Result<Option<Vec<String>>> {
    Ok(read(folder)?.map(|manifest| manifest.files.into_keys().collect()))
}

/// Checks a file of a folder against the folder's manifest, where there is one that lists it.
///
/// # Errors
/// A manifest error with both hashes; a format error for a manifest that cannot be read.
pub(crate) fn check(folder: &Path, file: &str, bytes: &[u8]) -> Result<()> {
    let Some(manifest) = read(folder)? else { return Ok(()) };
    let found = sha256(bytes);
    match manifest.files.get(file) {
        Some(entry) if entry.sha256 != found => {
            let expected = format!("sha256 {}", entry.sha256);
            let found = format!("sha256 {found}");
            let error = Error::from(Kind::Manifest { expected, found }).at("sha256").at(file).at("files");
            Err(error.in_file(&folder.join(NAME)))
        }
        _ => Ok(()),
    }
}
