//! The pending folder: files of a committed save that are not in their final places yet.
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{PENDING, identity, itself, staged_name};

/// A pending folder, identified by an open handle.
pub(super) struct Pending {
    folder: PathBuf,
    path: PathBuf,
    /// Keeps the inode of the folder from being reused.
    open: Option<File>,
}

impl Pending {
    /// The pending folder of `folder`, if there is one.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let path = folder.join(PENDING);
        let is_there = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        is_there.then(|| Self { folder: folder.to_owned(), open: File::open(&path).ok(), path })
    }

    /// Opens the pending file that replaces the one of this name.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<Option<File>> {
        if !self.replaces(name) {
            return Ok(None);
        }
        match File::open(self.path.join(staged_name(name))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Is there a pending file that replaces the one of this name?
    pub(super) fn replaces(&self, name: &OsStr) -> bool {
        let path = self.path.join(staged_name(name));
        fs::symlink_metadata(&path).is_ok_and(|pending| {
            pending.is_file() && is_trusted(&self.folder, &self.folder.join(name), &pending)
        })
    }

    /// Does the path still lead to the folder that was opened?
    pub(super) fn is_there(&self) -> bool {
        match &self.open {
            Some(open) => identity::is_same(&self.path, open),
            None => self.path.is_dir(),
        }
    }
}

/// In a sticky folder (`/tmp`) a pending file is ignored if its owner could not replace the real one.
#[cfg(unix)]
fn is_trusted(folder: &Path, file: &Path, pending: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const STICKY: u32 = 0o1000;
    let Ok(around) = fs::metadata(itself(folder)) else { return false };
    around.mode() & STICKY == 0
        || pending.uid() == around.uid()
        || fs::symlink_metadata(file).map_or(true, |file| file.uid() == pending.uid())
}

#[cfg(not(unix))]
fn is_trusted(_: &Path, _: &Path, _: &fs::Metadata) -> bool {
    true
}
