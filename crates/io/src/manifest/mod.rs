//! `tokenmill.json` next to a saved tokenizer: what it is, and what it does.
//!
//! The files that a save wrote are listed by sha256. Settings that were in the folder before the save and do not
//! belong to the saved tokenizer are listed as ignored. So settings that someone adds or changes later can be
//! distinguished from both. Beside them stand the facts: ids, fingerprint, what is known of the training, and golden
//! vectors. `annotations` is what has no effect on the tokenizer, `facts` what is found out of an engine, `samples`
//! chooses the texts of `golden` vectors.
mod annotations;
mod entries;
mod facts;
mod golden;
mod samples;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::watch::Watch;

use crate::chat_files;
use crate::contents;
use crate::known_files::sha256;
use crate::tokenizer_json::json_error;

pub use annotations::Annotations;
pub(crate) use entries::{Entries, FileEntry};
pub(crate) use facts::Facts;
pub use facts::Mismatch;

/// The files that say how a tokenizer is used. Users and other programs may write them next to a saved tokenizer.
pub(crate) const SETTINGS: [&str; 3] =
    ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];

/// Is this a file that says how a tokenizer is used: settings, or a chat template?
pub(crate) fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name) || chat_files::is_template(name)
}

/// The file name of the manifest.
pub(crate) const NAME: &str = "tokenmill.json";

/// The version that is written. Files of version 1 have hashes, sizes and special tokens only.
const VERSION: u32 = 2;

/// The fields beside the facts.
const OTHER_FIELDS: [&str; 4] = ["manifest_version", "tokenizer_sha256", "files", "ignored"];

/// The manifest of a folder.
pub(crate) struct Manifest {
    version: u32,
    files: BTreeMap<String, FileEntry>,
    ignored: BTreeMap<String, FileEntry>,
    /// The sha256 of the file with the vocabulary, in version 2.
    tokenizer_sha256: Option<String>,
    facts: WrittenFacts,
}

/// What a manifest says besides files.
enum WrittenFacts {
    First { vocab_size: usize, special_tokens: BTreeMap<String, u32> },
    Second(Box<Facts>),
}

#[derive(Deserialize)]
struct Version {
    manifest_version: u32,
}

#[derive(Deserialize)]
struct FirstVersion {
    files: BTreeMap<String, FileEntry>,
    #[serde(default)]
    ignored: BTreeMap<String, FileEntry>,
    vocab_size: usize,
    special_tokens: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct FilesOfSecondVersion {
    tokenizer_sha256: String,
    files: BTreeMap<String, FileEntry>,
    ignored: BTreeMap<String, FileEntry>,
}

/// The text of a manifest. `main` is the name of the file with the vocabulary, one of `files`.
pub(crate) fn write(main: &str, files: &Entries, ignored: &Entries, facts: &Facts) -> Result<Vec<u8>> {
    let hash = files.get(main).map(|entry| entry.sha256.as_str());
    let hash = hash.ok_or_else(|| Error::internal(format!("manifest: {main} is not listed")))?;
    facts.write(VERSION, hash, files, ignored)
}

/// Parses one view of a manifest.
fn view<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(json_error)
}

impl Manifest {
    /// Parses a manifest of any version.
    ///
    /// # Errors
    /// A format error that names the field.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let text = contents::text(bytes)?;
        if text.trim_start().starts_with(['[', '"']) || text.trim() == "null" {
            let reason = "a manifest must be an object, as tokenmill manifest prints it";
            return Err(Error::format(Defect::Type, reason));
        }
        let Version { manifest_version: version } = view(text)?;
        match version {
            1 => {
                let FirstVersion { files, ignored, vocab_size, special_tokens } = view(text)?;
                let facts = WrittenFacts::First { vocab_size, special_tokens };
                Ok(Self { version, files, ignored, tokenizer_sha256: None, facts })
            }
            VERSION => {
                let FilesOfSecondVersion { tokenizer_sha256, files, ignored } = view(text)?;
                let facts = WrittenFacts::Second(Box::new(view(text)?));
                Ok(Self { version, files, ignored, tokenizer_sha256: Some(tokenizer_sha256), facts })
            }
            _ => {
                let reason =
                    format!("manifest version {version} is not known; this tokenmill reads 1 to {VERSION}");
                Err(Error::format(Defect::Version, reason).at("manifest_version"))
            }
        }
    }

    /// Its version.
    pub(crate) fn version(&self) -> u32 {
        self.version
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

    /// What it says that has no effect on the tokenizer, and the name of its split.
    pub(crate) fn annotations(&self) -> (Annotations, Option<&str>) {
        match &self.facts {
            WrittenFacts::First { .. } => (Annotations::default(), None),
            WrittenFacts::Second(facts) => (facts.annotations(), facts.split()),
        }
    }

    /// Is this the name of the file with the vocabulary?
    pub(crate) fn is_main(&self, name: &str) -> bool {
        let entry = self.files.get(name);
        entry.is_some_and(|entry| self.tokenizer_sha256.as_ref() == Some(&entry.sha256))
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
        let reason = format!(
            "the file has changed since it was saved: {found}, the manifest says {expected}; restore the file, or \
             delete the manifest to load it as it is"
        );
        Err(Error::from(Kind::Manifest { expected, found, reason }).at("sha256").at(name).at("files"))
    }

    /// The fields of its text, `bytes`, that its version does not have. The first version may have any.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(crate) fn unknown_fields(&self, bytes: &[u8]) -> Result<Vec<Mismatch>> {
        let WrittenFacts::Second(facts) = &self.facts else { return Ok(Vec::new()) };
        let mut fields: serde_json::Map<String, Value> = view(contents::text(bytes)?)?;
        for known in facts.fields()?.chain(OTHER_FIELDS.map(str::to_owned)) {
            fields.remove(&known);
        }
        let expected = format!("no such field in version {}", self.version);
        let mismatch =
            |(name, value): (String, Value)| Mismatch::new(name, expected.clone(), value.to_string());
        Ok(fields.into_iter().map(mismatch).collect())
    }

    /// The differences between the listed files and those that are there; `None` stands for a missing file.
    pub(crate) fn compare_files(&self, found: &BTreeMap<String, Option<FileEntry>>) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        for (name, entry) in &self.files {
            let place = format!("files.{name}");
            let expected = format!("sha256 {}", entry.sha256);
            match found.get(name).and_then(Option::as_ref) {
                None => {
                    mismatches.push(Mismatch::new(place, expected, "no such file in the folder".to_owned()));
                }
                Some(there) if there.sha256 != entry.sha256 => {
                    let found = format!("sha256 {}", there.sha256);
                    mismatches.push(Mismatch::new(format!("{place}.sha256"), expected, found));
                }
                Some(there) if there.bytes != entry.bytes => mismatches.push(Mismatch::new(
                    format!("{place}.bytes"),
                    entry.bytes.to_string(),
                    there.bytes.to_string(),
                )),
                Some(_) => {}
            }
        }
        if let Some(hash) = &self.tokenizer_sha256
            && !self.files.values().any(|entry| entry.sha256 == *hash)
        {
            let found = "no listed file has this hash".to_owned();
            mismatches.push(Mismatch::new("tokenizer_sha256".to_owned(), hash.clone(), found));
        }
        mismatches
    }

    /// The differences between what it says and what an engine does, in the order of the fields; then those of
    /// vectors. Of version 1: of its size and special tokens. With them, how many vectors were tried.
    ///
    /// # Errors
    /// As [`Facts::of`].
    pub(crate) fn compare_facts(&self, engine: &Engine, watch: &dyn Watch) -> Result<(Vec<Mismatch>, usize)> {
        match &self.facts {
            WrittenFacts::Second(facts) => facts.compare(engine, watch),
            WrittenFacts::First { vocab_size, special_tokens } => {
                let (size, special) = facts::first_facts(engine);
                let mut mismatches = Vec::new();
                facts::compare("vocab_size", vocab_size, &size, &mut mismatches)?;
                facts::compare("special_tokens", special_tokens, &special, &mut mismatches)?;
                Ok((mismatches, 0))
            }
        }
    }
}
