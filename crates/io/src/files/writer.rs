//! Files of a folder replaced all or none.
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

use super::lock::Lock;
use super::pending::Pending;
use super::target::Target;
use super::{PENDING, STAGING, itself};

/// So many saves may come before one that has no lock.
const MOST_SAVES: usize = 100;

/// A folder that is being saved into.
pub(crate) struct FolderWriter {
    folder: PathBuf,
    lock: Lock,
}

impl FolderWriter {
    /// Waits until no other save is at work in the folder, puts what one has committed in its place, and clears
    /// what one has not.
    ///
    /// # Errors
    /// The operating system's, with the path; the watch's.
    pub(crate) fn new(folder: &Path, watch: &dyn Watch) -> Result<Self> {
        let writer = Self { folder: folder.to_owned(), lock: Lock::acquire(folder, watch)? };
        writer.complete()?;
        if writer.lock.is_held() {
            // Nobody alive uses it.
            remove_files(&folder.join(STAGING));
        }
        Ok(writer)
    }

    /// Puts files of these names into the folder, all of them or, where there is an error, none. An error that comes
    /// after the first of them is in its place leaves the rest pending: whoever reads with tokenmill has the new
    /// ones, and the next save puts them in their places.
    ///
    /// # Errors
    /// The operating system's, with the path.
    pub(crate) fn replace(self, files: &[(String, Vec<u8>)]) -> Result<()> {
        let mut targets = Vec::with_capacity(files.len());
        for (name, _) in files {
            let path = self.folder.join(name);
            targets.push(Target::file(&path).map_err(|error| Error::from(error).in_file(&path))?);
        }
        let staging = Staging::new(&self.folder, self.lock.is_held()).map_err(|error| match files {
            [(name, _)] => self.error(error, name),
            _ => Error::from(error).in_file(itself(&self.folder)),
        })?;
        for ((name, bytes), target) in files.iter().zip(&targets) {
            staging.write(name, bytes, target).map_err(|error| self.error(error, name))?;
        }
        match (files, targets.as_slice()) {
            ([(name, _)], [target]) => place(&staging.path.join(name), target)
                .and_then(|()| sync_folder(&self.folder))
                .map_err(|error| self.error(error, name)),
            _ => self.commit(&staging, files),
        }
    }

    fn commit(&self, staging: &Staging, files: &[(String, Vec<u8>)]) -> Result<()> {
        let in_folder = |error: io::Error| Error::from(error).in_file(itself(&self.folder));
        sync_folder(&staging.path).map_err(in_folder)?;
        let pending = self.folder.join(PENDING);
        let mut renamed = fs::rename(&staging.path, &pending);
        // Without a lock another save may have come first.
        for _ in 0..MOST_SAVES {
            if !matches!(&renamed, Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty) {
                break;
            }
            self.complete()?;
            renamed = fs::rename(&staging.path, &pending);
        }
        renamed.map_err(in_folder)?;
        self.complete().inspect_err(|_| {
            // As long as none is in its place, the save can be taken back.
            if files.iter().all(|(name, _)| pending.join(name).exists()) {
                let _: io::Result<()> = fs::rename(&pending, &staging.path);
            }
        })
    }

    /// Puts pending files in their places. Whoever does it, once or several times, it comes to the same.
    fn complete(&self) -> Result<()> {
        let Some(pending) = Pending::of(&self.folder) else { return Ok(()) };
        let path = self.folder.join(PENDING);
        let in_folder = |error: io::Error| Error::from(error).in_file(itself(&self.folder));
        // That they are pending is on the disk before the first is in its place.
        sync_folder(&self.folder).map_err(in_folder)?;
        for name in names_in(&path).map_err(in_folder)? {
            if pending.stands_for(&name) {
                Target::file(&self.folder.join(&name))
                    .and_then(|target| place(&path.join(&name), &target))
                    .map_err(|error| self.error(error, &name))?;
            }
        }
        match fs::remove_dir(&path) {
            // Somebody else did it, or has put in what stands for no file of this folder.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) =>
            {
                Ok(())
            }
            removed => removed.map_err(|error| self.error(error, PENDING)),
        }
    }

    fn error(&self, error: io::Error, name: impl AsRef<OsStr>) -> Error {
        Error::from(error).in_file(&self.folder.join(name.as_ref()))
    }
}

/// The folder in which new files are written. What is left of it goes with this value.
struct Staging {
    path: PathBuf,
}

impl Staging {
    /// A new one. Without a lock another save may be at work, and in a folder that is everybody's (`/tmp`) that of
    /// another user cannot be cleared: then it has a name of its own.
    fn new(folder: &Path, is_locked: bool) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = folder.join(STAGING);
        if is_locked {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self { path }),
            }
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{STAGING}-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Writes a file to the disk, with the rights of the one that it will replace.
    fn write(&self, name: &str, bytes: &[u8], target: &Path) -> io::Result<()> {
        let mut file = File::create_new(self.path.join(name))?;
        file.write_all(bytes)?;
        if let Ok(before) = fs::metadata(target) {
            file.set_permissions(before.permissions())?;
        }
        file.sync_all()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        remove_files(&self.path);
    }
}

/// Removes a folder of files. What cannot be removed stays: the error that matters is another one.
fn remove_files(folder: &Path) {
    for name in names_in(folder).unwrap_or_default() {
        let _: io::Result<()> = fs::remove_file(folder.join(name));
    }
    let _: io::Result<()> = fs::remove_dir(folder);
}

fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let mut names: Vec<OsString> =
                entries?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
            names.sort();
            Ok(names)
        }
    }
}

/// Renames a file to its place, where it need not be there any more.
fn place(staged: &Path, target: &Path) -> io::Result<()> {
    match fs::rename(staged, target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => place_elsewhere(staged, target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !staged.exists() => Ok(()),
        renamed => renamed,
    }
}

/// Puts a file in a place on another file system, to which a link leads.
fn place_elsewhere(staged: &Path, target: &Path) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let beside = target.with_file_name(name);
    let placed = fs::copy(staged, &beside)
        .and_then(|_| File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, target));
    if placed.is_err() {
        let _: io::Result<()> = fs::remove_file(&beside);
    }
    placed.and_then(|()| fs::remove_file(staged))
}

/// Writes the entries of a folder to the disk. Some file systems have nothing to write.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(open) = File::open(itself(folder)) else { return Ok(()) };
    match open.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}
