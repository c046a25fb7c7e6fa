//! A folder of images, one for each set of files and options that a tokenizer was loaded from.
//!
//! In: what a tokenizer is made of. Out: the tokenizer and its report, from an image if there is one; else the image is
//! kept there. An image is found by a hash of all that was read, so that a changed file has another one. A folder that
//! cannot be written, and an image that cannot be read, must never make a load fail.
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Kind, Result};
use tokenmill_core::hooks::Hooks;
use tokenmill_core::watch::Watch;

use super::RELEASE;
use crate::files::{FolderWriter, Snapshot};
use crate::known_files::hex;
use crate::report::{Report, SavedReport};

/// Files that are larger in all are loaded without an image: hashing them would take longer than loading.
const MOST_BYTES: u64 = 64 << 20;

/// An image that is in a folder, or may be kept there.
pub(crate) struct KeptImage<'a> {
    folder: &'a Path,
    name: String,
}

impl<'a> KeptImage<'a> {
    /// The image of these files, loaded with these options. `None` if the files are too large, or if one cannot be
    /// read: it need not be one that loading reads.
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn of_files(folder: &'a Path, files: &Snapshot<'_>, options: &str) -> Result<Option<Self>> {
        let mut hash = Sha256::new_with_prefix(format!("{RELEASE} {options}"));
        match files.hash(MOST_BYTES, &mut |part| hash.update(part)) {
            Err(error) if matches!(error.kind, Kind::Cancelled) => Err(error),
            hashed => Ok(matches!(hashed, Ok(true)).then(|| Self::named(folder, hash))),
        }
    }

    /// Is it the image of what these files hold now?
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn is_of(&self, files: &Snapshot<'_>, options: &str) -> Result<bool> {
        Ok(Self::of_files(self.folder, files, options)?.is_some_and(|now| now.name == self.name))
    }

    /// The image of a pickled tokenizer.
    pub(crate) fn of_state(folder: &'a Path, state: &[u8]) -> Self {
        Self::named(folder, Sha256::new_with_prefix(format!("{RELEASE} state")).chain_update(state))
    }

    fn named(folder: &'a Path, hash: Sha256) -> Self {
        Self { folder, name: format!("{}.tokenmill", hex(&hash.finalize())) }
    }

    /// The tokenizer and its report, if the image is there and can be read.
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn load(&self, hooks: &Hooks, watch: &dyn Watch) -> Result<Option<(Engine, Report)>> {
        let Some(file) = super::find(&self.folder.join(&self.name)) else { return Ok(None) };
        match super::load(&file, hooks, watch) {
            Ok((engine, report)) => {
                let report: Option<SavedReport> = serde_json::from_slice(&report).ok();
                Ok(report.and_then(SavedReport::into_report).map(|report| (engine, report)))
            }
            Err(error) if matches!(error.kind, Kind::Cancelled) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Keeps the image of a tokenizer, and gives the tokenizer of the image. If that is not possible, the report says
    /// why. A tokenizer that calls functions of Python is not kept.
    ///
    /// # Errors
    /// Those of the watch.
    pub(crate) fn keep(
        &self,
        engine: Engine,
        report: Report,
        hooks: &Hooks,
        watch: &dyn Watch,
    ) -> Result<(Engine, Report)> {
        if engine.description().hooks().next().is_some() {
            return Ok((engine, report));
        }
        match self.write(&engine, &report, watch) {
            Ok(()) => Ok(self.load(hooks, watch)?.unwrap_or((engine, report))),
            Err(error) if matches!(error.kind, Kind::Cancelled) => Err(error),
            Err(error) => {
                let mut report = report;
                report.note(format!("no image was kept: {error}"));
                Ok((engine, report))
            }
        }
    }

    fn write(&self, engine: &Engine, report: &Report, watch: &dyn Watch) -> Result<()> {
        let report = serde_json::to_vec(&SavedReport::of(report)).map_err(std::io::Error::from)?;
        let image = super::write(engine, &report)?;
        std::fs::create_dir_all(self.folder)?;
        FolderWriter::new(self.folder, watch)?.replace(&[(self.name.clone().into(), image)])
    }
}
