//! Replacing a set of files in a folder, all or nothing.
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
use super::{PENDING, STAGING, itself, name_of_staged, staged_name};

/// Without a lock, a save gives up after this many others were committed first.
const MOST_SAVES: usize = 100;

/// The name of a file and its new content.
pub(crate) type SavedFile = (OsString, Vec<u8>);

/// A folder that files are being saved into, locked against other saves.
pub(crate) struct FolderWriter {
    folder: PathBuf,
    lock: Lock,
}

impl FolderWriter {
    /// Waits until no other save into this folder is running, then completes or clears what a killed save left.
    ///
    /// # Errors
    /// Errors of the operating system, with the path; errors of the watch.
    pub(crate) fn new(folder: &Path, watch: &dyn Watch) -> Result<Self> {
        let writer = Self { folder: folder.to_owned(), lock: Lock::acquire(folder, watch)? };
        writer.complete()?;
        if writer.lock.is_held() {
            // With the lock held, no living save uses it.
            remove_files(&folder.join(STAGING));
        }
        Ok(writer)
    }

    /// Replaces these files of the folder, or none of them if there is an error. There is one exception: if renaming
    /// fails after some files are in their final places, the others stay pending. Readers then take the new files, and the
    /// next save completes it.
    ///
    /// # Errors
    /// Errors of the operating system, with the path.
    pub(crate) fn replace(&self, files: &[SavedFile]) -> Result<()> {
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
            ([(name, _)], [target]) => place(&staging.path.join(staged_name(name)), target)
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
        // Without a lock, another save may have committed first.
        for _ in 0..MOST_SAVES {
            if !matches!(&renamed, Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty) {
                break;
            }
            self.complete()?;
            renamed = fs::rename(&staging.path, &pending);
        }
        renamed.map_err(|error| Error::from(error).in_file(&pending))?;
        self.place_all(files.iter().map(|(name, _)| name).zip(targets)).inspect_err(|_| {
            // While no file is in its final place yet, the commit can be undone.
            if files.iter().all(|(name, _)| pending.join(staged_name(name)).exists()) {
                let _: io::Result<()> = fs::rename(&pending, &staging.path);
            }
        })
    }

    /// Completes a save that was killed after its commit. The folder may come from elsewhere, so its pending files are not
    /// trusted: a link at a final place is replaced, not followed, and nothing outside the folder is written.
    fn complete(&self) -> Result<()> {
        let Some(pending) = Pending::of(&self.folder) else { return Ok(()) };
        let names = names_in(&self.folder.join(PENDING));
        let mut names = names.map_err(|error| Error::from(error).in_file(itself(&self.folder)))?;
        names = names.iter().map(|name| name_of_staged(name).into_owned()).collect();
        names.retain(|name| pending.replaces(name));
        for folder in names.iter().filter_map(|name| self.folder_within(name)) {
            if folder.is_symlink() {
                fs::remove_file(&folder).map_err(|error| Error::from(error).in_file(&folder))?;
            }
        }
        let targets: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        for target in &targets {
            Target::file(target).map_err(|error| Error::from(error).in_file(target))?;
        }
        self.place_all(names.iter().zip(&targets))
    }

    /// Renames pending files to their final places, and removes the pending folder. Idempotent, and safe if several
    /// processes do it at once.
    fn place_all<'a>(&self, files: impl Iterator<Item = (&'a OsString, &'a PathBuf)>) -> Result<()> {
        let path = self.folder.join(PENDING);
        // The commit must be on the disk before the first file is moved.
        sync_folder(&self.folder).map_err(|error| Error::from(error).in_file(itself(&self.folder)))?;
        for (name, target) in files {
            let staged = path.join(staged_name(name));
            if let Some(folder) = self.folder_within(name) {
                match fs::create_dir(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    made => made.map_err(|error| Error::from(error).in_file(&folder))?,
                }
            }
            match place(&staged, target) {
                // Another process has moved it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !staged.exists() => {}
                placed => placed.map_err(|error| self.error(error, name))?,
            }
        }
        match fs::remove_dir(&path) {
            // Another process removed it, or it holds something that no save of ours put there.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) =>
            {
                Ok(())
            }
            removed => removed.map_err(|error| self.error(error, PENDING)),
        }
    }

    /// Removes these files, and subfolders that are empty then. A file may already be gone.
    ///
    /// # Errors
    /// Errors of the operating system, with the path.
    pub(crate) fn remove(&self, names: &[OsString]) -> Result<()> {
        for name in names {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(|error| self.error(error, name))?,
            }
            if let Some(folder) = self.folder_within(name) {
                // The folder may contain other files.
                let _: io::Result<()> = fs::remove_dir(folder);
            }
        }
        sync_folder(&self.folder).map_err(|error| Error::from(error).in_file(itself(&self.folder)))
    }

    /// The subfolder of a file that is not directly in this folder.
    fn folder_within(&self, name: &OsStr) -> Option<PathBuf> {
        let within = Path::new(name).parent().filter(|within| !within.as_os_str().is_empty())?;
        Some(self.folder.join(within))
    }

    fn error(&self, error: io::Error, name: impl AsRef<OsStr>) -> Error {
        Error::from(error).in_file(&self.folder.join(name.as_ref()))
    }
}

/// The staging folder of one save. Dropping this removes what is left of it.
struct Staging {
    path: PathBuf,
}

impl Staging {
    /// Makes the folder. It gets a unique name if there is no lock, since another save may be running, or if one is left
    /// that cannot be removed, such as another user's in `/tmp`.
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

    /// Makes the folder as readable as its parent, independent of the umask, since readers must see
    /// pending files. The files keep their own permissions.
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

    /// Writes and flushes a file, with the permissions of the one that it will replace.
    fn write(&self, name: &OsStr, bytes: &[u8], target: &Path) -> io::Result<()> {
        let mut file = File::create_new(self.path.join(staged_name(name)))?;
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

/// Removes a folder and its files; a link to a folder is kept. Best effort: errors are ignored, so
/// as not to hide the original one.
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
            names.sort_unstable();
            Ok(names)
        }
    }
}

/// Renames a staged file to its final place.
fn place(staged: &Path, target: &Path) -> io::Result<()> {
    match fs::rename(staged, target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => place_elsewhere(staged, target),
        renamed => renamed,
    }
}

/// As [`place`], where a link leads to another file system: copies the file beside its place first.
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

/// Flushes the entries of a folder to the disk, where the file system supports that.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(open) = File::open(itself(folder)) else { return Ok(()) };
    match open.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}
