//! Files that appear whole or not at all.
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokenmill_core::error::{Error, Result};

/// Writes files so that all of them appear or none: each into a temporary file beside its place,
/// flushed to the disk, and when all are there they are renamed. Whatever fails, nothing
/// half-written stands under a final name and no temporary file is left.
///
/// # Errors
/// The operating system's, with the path.
pub(crate) fn write(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    // A link stays a link: what it points to is replaced.
    let targets: Vec<PathBuf> = files
        .iter()
        .map(|(path, _)| {
            if path.is_symlink() {
                fs::canonicalize(path).unwrap_or_else(|_| path.clone())
            } else {
                path.clone()
            }
        })
        .collect();
    let mut waiting = Waiting(Vec::with_capacity(files.len()));
    for (path, (_, bytes)) in targets.iter().zip(files) {
        // A rename onto a folder would fail after others were done.
        if path.is_dir() {
            return Err(Error::from(std::io::Error::from(std::io::ErrorKind::IsADirectory)).in_file(path));
        }
        let temporary = temporary_name(path);
        let created = File::create_new(&temporary);
        waiting.0.push(temporary);
        created
            .and_then(|mut file| {
                file.write_all(bytes)?;
                if let Ok(before) = fs::metadata(path) {
                    file.set_permissions(before.permissions())?;
                }
                file.sync_all()
            })
            .map_err(|error| Error::from(error).in_file(path))?;
    }
    let mut new = Vec::new();
    for (path, temporary) in targets.iter().zip(&waiting.0) {
        let was_there = path.exists();
        if let Err(error) = fs::rename(temporary, path) {
            // Undo what can be undone: files that were not there before.
            for path in new {
                let _: std::io::Result<()> = fs::remove_file(path);
            }
            return Err(Error::from(error).in_file(path));
        }
        if !was_there {
            new.push(path);
        }
    }
    waiting.0.clear();
    Ok(())
}

/// Temporary files, removed when the work ends without them.
struct Waiting(Vec<PathBuf>);

impl Drop for Waiting {
    fn drop(&mut self) {
        for path in &self.0 {
            // The error that matters is the one that ended the work.
            let _: std::io::Result<()> = fs::remove_file(path);
        }
    }
}

/// A name in the same folder (a rename is atomic only within one file system) that no other
/// thread or process uses.
fn temporary_name(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}
