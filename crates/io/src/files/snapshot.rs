//! The files of a folder as of one moment, even while another process saves into it.
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

use super::Source;
use super::pending::Pending;
use super::read::read_rest;
use crate::chat_files;
use crate::manifest::{self, Manifest, Mismatch, SETTINGS, is_setting};

/// An attempt rarely meets a save; this many in a row mean that files are replaced all the time.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_micros(200);

/// Some files of a folder, opened together, and the folder's manifest.
///
/// Only regular files are opened in advance; other files are opened on demand.
pub(crate) struct Snapshot<'w> {
    folder: PathBuf,
    watch: &'w dyn Watch,
    /// By name; `None` for a file that did not exist.
    files: BTreeMap<OsString, Option<Opened>>,
    manifest_bytes: Option<Vec<u8>>,
    manifest: OnceCell<Manifest>,
    /// Files that were read although the manifest has another hash of them.
    changed: RefCell<Vec<String>>,
    /// Files that were read for what they say.
    used: RefCell<BTreeSet<String>>,
    /// Is a file read even if the manifest has another hash of it?
    is_unchecked: bool,
}

struct Opened {
    /// An error is reported when the file is read.
    file: io::Result<File>,
    is_pending: bool,
}

impl<'w> Snapshot<'w> {
    /// Opens the existing files among `names`, and those that the manifest lists.
    ///
    /// # Errors
    /// A manifest that cannot be read; a folder whose files never stop changing.
    pub(crate) fn take<'a>(
        folder: &Path,
        names: impl IntoIterator<Item = &'a OsStr>,
        watch: &'w dyn Watch,
    ) -> Result<Self> {
        let names: Vec<&OsStr> = names.into_iter().collect();
        for _ in 0..TRIES {
            let pending = Pending::of(folder);
            let snapshot = Self::open(folder, &names, pending.as_ref(), watch)?;
            // The order matters. If the same save (or none) was pending before and after the files were opened, and
            // each path still leads to the file that was opened, then all of them were in place when the last one was
            // opened.
            let is_same_save = match &pending {
                Some(pending) => pending.is_there(),
                None => Pending::of(folder).is_none(),
            };
            if is_same_save && snapshot.is_current() {
                return Ok(snapshot);
            }
            std::thread::sleep(PAUSE);
        }
        let reason = "the files of this folder are replaced again and again; load it when that has ended";
        Err(Error::from(io::Error::new(io::ErrorKind::TimedOut, reason)).in_file(folder))
    }

    fn open(
        folder: &Path,
        names: &[&OsStr],
        pending: Option<&Pending>,
        watch: &'w dyn Watch,
    ) -> Result<Self> {
        let mut snapshot = Self {
            folder: folder.to_owned(),
            watch,
            files: BTreeMap::new(),
            manifest_bytes: None,
            manifest: OnceCell::new(),
            changed: RefCell::default(),
            used: RefCell::default(),
            is_unchecked: false,
        };
        snapshot.add(OsStr::new(manifest::NAME), pending);
        if snapshot.has(manifest::NAME) {
            snapshot.manifest_bytes = Some(snapshot.bytes(manifest::NAME)?);
        }
        for name in names {
            snapshot.add(name, pending);
        }
        // An invalid manifest is reported when it is used.
        let listed = snapshot.manifest().ok().flatten().map(Manifest::names).unwrap_or_default();
        for name in listed {
            snapshot.add(OsStr::new(&name), pending);
        }
        Ok(snapshot)
    }

    fn add(&mut self, name: &OsStr, pending: Option<&Pending>) {
        // A manifest may list any name; only those inside the folder are opened.
        let is_inside = Path::new(name).file_name() == Some(name)
            || Path::new(name).parent() == Some(Path::new(chat_files::FOLDER));
        if !is_inside || self.files.contains_key(name) {
            return;
        }
        let opened = if let Some(file) = pending.and_then(|pending| pending.file(name).transpose()) {
            Some(Opened { file, is_pending: true })
        } else {
            let path = self.folder.join(name);
            path.is_file().then(|| Opened { file: File::open(&path), is_pending: false })
        };
        self.files.insert(name.to_owned(), opened);
    }

    /// Are all files that were found still in place, and all others still absent?
    fn is_current(&self) -> bool {
        self.files.iter().all(|(name, opened)| {
            let path = self.folder.join(name);
            match opened {
                // A pending file is complete, and the pending folder was checked by the caller.
                Some(Opened { is_pending: true, .. }) => true,
                Some(Opened { file: Ok(file), .. }) => super::identity::is_same(&path, file),
                Some(Opened { file: Err(error), .. }) => error.kind() != io::ErrorKind::NotFound,
                None => !path.is_file(),
            }
        })
    }

    /// The same files, each read as it is, whatever the manifest says of it.
    pub(crate) fn unchecked(self) -> Self {
        Self { is_unchecked: true, ..self }
    }

    /// The path of the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file in the folder, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Is there a regular file with this name?
    pub(crate) fn has(&self, name: &str) -> bool {
        match self.files.get(OsStr::new(name)) {
            Some(opened) => opened.is_some(),
            None => self.folder.join(name).is_file(),
        }
    }

    /// Is this the name of a regular file that is known to be in the folder? No other one is opened for it.
    pub(crate) fn has_inside(&self, name: &str) -> bool {
        self.files.get(OsStr::new(name)).is_some_and(Option::is_some)
    }

    /// The settings and chat templates in the folder.
    pub(crate) fn settings(&self) -> Vec<&str> {
        let templates = self.files.keys().filter_map(|name| name.to_str());
        let names = SETTINGS.into_iter().chain(templates.filter(|name| chat_files::is_template(name)));
        names.filter(|name| self.has(name)).collect()
    }

    /// Is there a file with this name that is part of the tokenizer? With a manifest these are the files of
    /// the last save, and settings that came later.
    pub(crate) fn has_part(&self, name: &str) -> bool {
        let manifest = self.manifest().ok().flatten();
        self.has(name)
            && manifest.is_none_or(|manifest| manifest.lists(name) || self.is_later(manifest, name))
    }

    /// Did these settings appear or change after the last save? If they cannot be read, yes.
    fn is_later(&self, manifest: &Manifest, name: &str) -> bool {
        let is_known = || self.bytes(name).is_ok_and(|bytes| manifest.knows(name, &bytes));
        is_setting(name) && self.has(name) && !is_known()
    }

    /// The files of chat templates that are part of the tokenizer.
    pub(crate) fn chat_templates(&self) -> Vec<OsString> {
        let is_part = |path: &&OsString| match path.to_str() {
            Some(path) => chat_files::is_template(path) && self.has_part(path),
            // Only templates have such names here, and no manifest lists one.
            None => true,
        };
        self.files.keys().filter(is_part).cloned().collect()
    }

    /// Was this file written by the last save, and not changed since?
    pub(crate) fn is_as_saved(&self, name: &str) -> bool {
        let manifest = self.manifest().ok().flatten();
        let is_as_saved =
            |manifest: &Manifest, bytes: &[u8]| manifest.lists(name) && manifest.check(name, bytes).is_ok();
        manifest.is_some_and(|manifest| self.bytes(name).is_ok_and(|bytes| is_as_saved(manifest, &bytes)))
    }

    /// The settings in the folder that came after the last save, and those that it ignored.
    pub(crate) fn other_settings(&self) -> (Vec<&str>, Vec<&str>) {
        let Ok(Some(manifest)) = self.manifest() else { return (Vec::new(), Vec::new()) };
        let others = self.settings().into_iter().filter(|name| !manifest.lists(name));
        others.partition(|name| self.is_later(manifest, name))
    }

    /// The files that were read although they are not those of the last save.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.changed.borrow().clone()
    }

    /// The files that were read so far, sorted.
    pub(crate) fn used(&self) -> Vec<String> {
        self.used.borrow().iter().cloned().collect()
    }

    /// Notes that a file is read that [`Self::check`] is not asked about.
    pub(crate) fn note_used(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    /// Opens a file at its start; a file outside the snapshot is opened now.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn source(&self, name: &OsStr) -> io::Result<Source<'_>> {
        match self.files.get(name) {
            Some(Some(Opened { file: Ok(file), .. })) => {
                let mut from_start = file;
                from_start.rewind()?;
                Source::of(file, self.watch)
            }
            // The file under the final name belongs to another save.
            Some(Some(Opened { file: Err(error), is_pending: true })) => {
                Err(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
            }
            _ => Source::open(&self.folder.join(name), self.watch),
        }
    }

    /// The bytes of a file, checked against the manifest if it lists the file.
    ///
    /// # Errors
    /// Errors of the operating system, or a limit, with the path; errors of the manifest.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let bytes = self.bytes(name)?;
        self.check(name, &bytes)?;
        Ok(bytes)
    }

    /// Passes the name and the content of every file to `update`, in the order of the names. Stops if the files are
    /// larger in all than a limit, and says whether they are not.
    ///
    /// # Errors
    /// Errors of the operating system, with the path.
    pub(crate) fn hash(&self, limit: u64, update: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut left = limit;
        for name in self.files.iter().filter_map(|(name, opened)| opened.as_ref().map(|_| name)) {
            let size = self.source(name).map_or(0, |source| source.size());
            if size > left {
                return Ok(false);
            }
            left -= size;
            let bytes = self.bytes(name)?;
            // Lengths come first, so that no two sets of files are hashed alike.
            for part in [name.as_encoded_bytes(), &bytes] {
                update(&(part.len() as u64).to_le_bytes());
                update(part);
            }
        }
        Ok(true)
    }

    /// When each file was last changed, in the order of the names.
    pub(crate) fn modified(&self) -> Vec<Option<SystemTime>> {
        let of =
            |opened: &Option<Opened>| opened.as_ref()?.file.as_ref().ok()?.metadata().ok()?.modified().ok();
        self.files.values().map(of).collect()
    }

    fn bytes(&self, name: impl AsRef<OsStr>) -> Result<Vec<u8>> {
        let name = name.as_ref();
        let source = self.source(name).map_err(Error::from);
        source
            .and_then(|source| read_rest(source, Vec::new()))
            .map_err(|error| error.in_file(&self.folder.join(name)))
    }

    /// The names in the folder's manifest: the files of the last save.
    ///
    /// # Errors
    /// A format error for a manifest that cannot be read.
    pub(crate) fn listed(&self) -> Result<Option<Vec<String>>> {
        Ok(self.manifest()?.map(Manifest::names))
    }

    /// Checks the bytes of a file against the manifest, if it lists the file. Settings and chat templates may
    /// change after a save. If settings did, another program may have written the other files as well, and all
    /// of them count as they are.
    ///
    /// # Errors
    /// A manifest error with both hashes; a format error for a manifest that cannot be read.
    pub(crate) fn check(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.note_used(name);
        match self.manifest()? {
            _ if self.is_unchecked => Ok(()),
            Some(manifest) => match manifest.check(name, bytes) {
                Err(_)
                    if chat_files::is_template(name)
                        || SETTINGS.iter().any(|name| self.is_later(manifest, name)) =>
                {
                    let mut changed = self.changed.borrow_mut();
                    if !changed.iter().any(|known| known == name) {
                        changed.push(name.to_owned());
                    }
                    Ok(())
                }
                checked => checked.map_err(|error| error.in_file(&self.path(manifest::NAME))),
            },
            None => Ok(()),
        }
    }

    /// The fields of the manifest that its version does not have.
    ///
    /// # Errors
    /// A format error for a manifest that cannot be read.
    pub(crate) fn unknown_fields(&self) -> Result<Vec<Mismatch>> {
        let (Some(bytes), Some(manifest)) = (&self.manifest_bytes, self.manifest()?) else {
            return Ok(Vec::new());
        };
        manifest.unknown_fields(bytes)
    }

    /// The manifest of the folder, if it has one.
    ///
    /// # Errors
    /// A format error for a manifest that cannot be read.
    pub(crate) fn manifest(&self) -> Result<Option<&Manifest>> {
        let Some(bytes) = &self.manifest_bytes else { return Ok(None) };
        if self.manifest.get().is_none() {
            let read = Manifest::parse(bytes).map_err(|error| error.in_file(&self.path(manifest::NAME)))?;
            let _: std::result::Result<(), Manifest> = self.manifest.set(read);
        }
        Ok(self.manifest.get())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokenmill_core::watch::Unwatched;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tokenmill-snapshot-{name}-{}", std::process::id()));
        let _: io::Result<()> = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn take(folder: &Path) -> Snapshot<'static> {
        Snapshot::take(folder, ["a", "b"].map(OsStr::new), &Unwatched).unwrap()
    }

    #[test]
    fn what_is_pending_stands_for_the_file_of_its_name() {
        let folder = folder("pending");
        fs::write(folder.join("a"), "old a").unwrap();
        fs::write(folder.join("b"), "old b").unwrap();
        fs::create_dir(folder.join(super::super::STAGING)).unwrap();
        fs::write(folder.join(super::super::STAGING).join("a"), "staged").unwrap();
        assert_eq!(take(&folder).read("a").unwrap(), b"old a");
        fs::create_dir(folder.join(super::super::PENDING)).unwrap();
        fs::write(folder.join(super::super::PENDING).join("a"), "new a").unwrap();
        let snapshot = take(&folder);
        assert_eq!(snapshot.read("a").unwrap(), b"new a");
        assert_eq!(snapshot.read("b").unwrap(), b"old b");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_read_as_often_as_it_is_asked_for_and_as_it_was() {
        let folder = folder("again");
        fs::write(folder.join("a"), "then").unwrap();
        let snapshot = take(&folder);
        fs::write(folder.join("c"), "now").unwrap();
        fs::rename(folder.join("c"), folder.join("a")).unwrap();
        for _ in 0..2 {
            assert_eq!(snapshot.read("a").unwrap(), b"then");
        }
        assert!(!snapshot.has("b"));
        fs::remove_dir_all(folder).unwrap();
    }
}
