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

/// Without a lock, a save gives up after this many others were committed first.
const MOST_SAVES: usize = 100;

/// The name of a file, and what is to be in it.
pub(crate) type SavedFile = (OsString, Vec<u8>);

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
    pub(crate) fn replace(self, files: &[SavedFile]) -> Result<()> {
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
            _ => self.commit(&staging, files, &targets),
        }
    }

    fn commit(&self, staging: &Staging, files: &[SavedFile], targets: &[PathBuf]) -> Result<()> {
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
        renamed.map_err(|error| Error::from(error).in_file(&pending))?;
        self.place_all(files.iter().map(|(name, _)| name).zip(targets)).inspect_err(|_| {
            // As long as none is in its place, the save can be taken back.
            if files.iter().all(|(name, _)| pending.join(name).exists()) {
                let _: io::Result<()> = fs::rename(&pending, &staging.path);
            }
        })
    }

    /// Puts the files of a save that ended early in their places. They come from whoever made the folder, so that a link
    /// in one of these places is replaced, and never followed out of the folder.
    fn complete(&self) -> Result<()> {
        let Some(pending) = Pending::of(&self.folder) else { return Ok(()) };
        let names = names_in(&self.folder.join(PENDING));
        let mut names = names.map_err(|error| Error::from(error).in_file(itself(&self.folder)))?;
        names.retain(|name| pending.stands_for(name));
        let targets: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        for target in &targets {
            Target::file(target).map_err(|error| Error::from(error).in_file(target))?;
        }
        self.place_all(names.iter().zip(&targets))
    }

    /// Renames pending files to their places, and removes their folder. Idempotent, and safe if several do it at once.
    fn place_all<'a>(&self, files: impl Iterator<Item = (&'a OsString, &'a PathBuf)>) -> Result<()> {
        let path = self.folder.join(PENDING);
        // That they are pending is on the disk before the first is in its place.
        sync_folder(&self.folder).map_err(|error| Error::from(error).in_file(itself(&self.folder)))?;
        for (name, target) in files {
            place(&path.join(name), target).map_err(|error| self.error(error, name))?;
        }
        match fs::remove_dir(&path) {
            // Somebody else did it, or there is something in it that stands for no file of this folder.
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
                made => return made.and_then(|()| Self { path }.readable(folder)),
            }
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{STAGING}-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Self { path }.readable(folder)
    }

    /// Lets everybody look into it who may look into the folder, whatever rights new folders get: a reader must see what is
    /// pending. The files have rights of their own.
    #[cfg(unix)]
    fn readable(self, folder: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(itself(folder))?.permissions().mode();
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode & 0o755 | 0o700))?;
        Ok(self)
    }

    #[cfg(not(unix))]
    fn readable(self, _: &Path) -> io::Result<Self> {
        Ok(self)
    }

    /// Writes a file to the disk, with the rights of the one that it will replace.
    fn write(&self, name: &OsStr, bytes: &[u8], target: &Path) -> io::Result<()> {
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

/// Removes a folder of files, and nothing that a link of its name leads to. Best effort: errors are ignored, so as not to
/// hide the one that matters.
fn remove_files(folder: &Path) {
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
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
