//! Compares a folder with its manifest, and makes the manifest of a folder that has none.
//!
//! In: a folder. Out: what differs, or the text of a manifest. Nothing is written unless that is asked for.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};
use tokenmill_core::error::{Defect, Error, Kind, Result};
use tokenmill_core::watch::Watch;

use crate::files::{FolderWriter, Snapshot};
use crate::known_files::hex;
use crate::load::{LoadOptions, load_folder, take_folder};
use crate::main_file::by_preference;
use crate::manifest::{self, Annotations, Entries, Facts, FileEntry, Mismatch};
use crate::report::Report;

/// What the comparison of a folder with its manifest found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The version of the manifest.
    pub version: u32,
    /// Files whose hashes were compared.
    pub files: usize,
    /// Golden vectors that were tried. The first version of manifests has none.
    pub vectors: usize,
    /// What differs: fields that the manifest cannot have, files, fields in the order of the manifest, then vectors.
    pub mismatches: Vec<Mismatch>,
}

/// Bytes of a file that are hashed at once.
const BLOCK: usize = 1 << 16;

/// The size and the hash of a file, which may be too large for memory.
fn entry(files: &Snapshot<'_>, name: &str) -> Result<FileEntry> {
    let hash = || -> Result<FileEntry> {
        let mut source = files.source(OsStr::new(name))?;
        let mut block = vec![0; BLOCK];
        let (mut hash, mut bytes) = (Sha256::new(), 0u64);
        loop {
            let read = source.read(&mut block)?;
            if read == 0 {
                break;
            }
            hash.update(&block[..read]);
            bytes += read as u64;
        }
        Ok(FileEntry::new(bytes, hex(&hash.finalize())))
    };
    hash().map_err(|error| error.in_file(&files.path(name)))
}

/// Compares a folder with its manifest: hashes of files, then what the manifest says of the tokenizer, then golden
/// vectors. The tokenizer is that of the files as they are. Of `options` the split, the additions and the hooks
/// count, for files that hold none.
///
/// # Errors
/// A format error for a folder without a manifest, and for one that cannot be read; errors of [`crate::load`], unless
/// a file has changed: then that is the finding.
pub fn verify(folder: &Path, options: &LoadOptions, watch: &dyn Watch) -> Result<Verification> {
    let files = open(folder, watch)?.unchecked();
    let Some(manifest) = files.manifest()? else {
        let reason = format!(
            "the folder has no {}; tokenmill manifest --write makes one of what is there",
            manifest::NAME
        );
        return Err(Error::format(Defect::Missing, reason).in_file(folder));
    };
    let mut found = BTreeMap::new();
    for name in manifest.names() {
        watch.poll()?;
        // A manifest may list any name; only what is in the folder is opened.
        let entry = if files.has_inside(&name) { Some(entry(&files, &name)?) } else { None };
        found.insert(name, entry);
    }
    let mut mismatches = files.unknown_fields()?;
    mismatches.extend(manifest.compare_files(&found));
    let loaded = load_folder(&files, options, &mut Report::on_folder(folder, false), watch);
    let compared = loaded.and_then(|engine| manifest.compare_facts(&engine, watch));
    let vectors = match compared {
        Ok((more, vectors)) => {
            mismatches.extend(more);
            vectors
        }
        Err(error) if !mismatches.is_empty() && is_of_files(&error) => {
            let expected = "a tokenizer".to_owned();
            mismatches.push(Mismatch { field: "files".to_owned(), expected, found: error.to_string() });
            0
        }
        Err(error) => return Err(error),
    };
    Ok(Verification { version: manifest.version(), files: found.len(), vectors, mismatches })
}

/// May files that have changed be the cause?
fn is_of_files(error: &Error) -> bool {
    !matches!(
        error.kind,
        Kind::Cancelled | Kind::Memory { .. } | Kind::MemoryEstimate { .. } | Kind::Raised { .. }
    )
}

fn open<'w>(folder: &Path, watch: &'w dyn Watch) -> Result<Snapshot<'w>> {
    if !folder.is_dir() {
        let kind = if folder.exists() { io::ErrorKind::NotADirectory } else { io::ErrorKind::NotFound };
        return Err(Error::from(io::Error::from(kind)).in_file(folder));
    }
    take_folder(folder, watch)
}

/// The manifest of a folder as it is: its own annotations, with those that `given` adds as JSON, and the files that
/// loading reads. With `writes` it is written into the folder, in place of another. `split_name` is the name of the
/// split in `options`.
///
/// # Errors
/// Errors of [`crate::load`]; a manifest error for what cannot be given, and for files that are not what a manifest
/// that is there says.
pub fn manifest_of_folder(
    folder: &Path,
    options: &LoadOptions,
    split_name: Option<&'static str>,
    given: Option<&str>,
    writes: bool,
    watch: &dyn Watch,
) -> Result<String> {
    // No save comes between what is read and what is written.
    let writer = if writes && folder.is_dir() { Some(FolderWriter::new(folder, watch)?) } else { None };
    let files = open(folder, watch)?;
    let mut report = Report::on_folder(folder, options.strict);
    let engine = load_folder(&files, options, &mut report, watch)?;
    let annotations = match given {
        Some(given) => report.annotations().with_given(given)?,
        None => Annotations::clone(report.annotations()),
    };
    let used = files.used();
    let ignored = files.settings().into_iter().filter(|name| !used.iter().any(|other| other == name));
    let entries = |names: &mut dyn Iterator<Item = &str>| -> Result<Entries> {
        names.map(|name| Ok((name.to_owned(), entry(&files, name)?))).collect()
    };
    let listed = entries(&mut used.iter().map(String::as_str))?;
    let ignored = entries(&mut ignored.into_iter())?;
    let main = by_preference(&used).first().copied().unwrap_or_default().to_owned();
    let facts = Facts::of(&engine, &annotations, split_name.or(report.split_name()), watch)?;
    let text = manifest::write(&main, &listed, &ignored, &facts)?;
    if let Some(writer) = writer {
        writer.replace(&[(manifest::NAME.into(), text.clone())])?;
    }
    String::from_utf8(text).map_err(|error| Error::internal(format!("manifest: {error}")))
}
