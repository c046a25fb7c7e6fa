//! Tokenizer files on disk: a set of files is read as it was at one moment, and replaced all or nothing.
//!
//! In: paths and bytes. Out: bytes, or files. [`Snapshot`] reads a set, [`FolderWriter`] replaces one, [`Source`] is a file
//! or a pipe that is read once, [`stream`] writes to a pipe or a device. The only format known here is the manifest;
//! the only folder within a folder is that of chat templates.
//!
//! A save of several files takes effect at one moment. The new files are written into the folder `.tokenmill-staging`,
//! which is then renamed to `.tokenmill-pending`: this rename is the commit. From then on every reader takes a pending file
//! in place of the file of the same name in the folder. The writer renames the pending files to their final places, one
//! by one, and removes the empty folder. So a killed save leaves either a staging folder, which has no effect and which the
//! next save removes, or a pending folder, which is complete and which the next save finishes. Readers never write and
//! never wait for a lock.
mod identity;
mod lock;
mod pending;
mod read;
mod snapshot;
mod source;
mod stream;
mod target;
mod writer;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::chat_files;

pub(crate) use read::{read_rest, start};
pub(crate) use snapshot::Snapshot;
pub(crate) use source::{Source, is_pipe};
pub(crate) use stream::write as write_to_stream;
pub(crate) use target::Target;
pub(crate) use writer::{FolderWriter, SavedFile};

/// The folder in which a save writes its files.
const STAGING: &str = ".tokenmill-staging";

/// The folder of a committed save whose files are not in their final places yet.
const PENDING: &str = ".tokenmill-pending";

/// Stands for the slash in a staged name. The names of templates that are saved in files do not contain it.
const BESIDE: char = '@';

/// The name in the staging or pending folder of a file that is in a subfolder: these folders have no subfolders.
fn staged_name(name: &OsStr) -> Cow<'_, OsStr> {
    match name.to_str().and_then(|name| name.strip_prefix(chat_files::FOLDER)?.strip_prefix('/')) {
        Some(rest) => OsString::from(format!("{}{BESIDE}{rest}", chat_files::FOLDER)).into(),
        None => name.into(),
    }
}

/// The file that this name in the staging or pending folder stands for.
fn name_of_staged(staged: &OsStr) -> Cow<'_, OsStr> {
    let rest = staged.to_str().and_then(|name| name.strip_prefix(chat_files::FOLDER)?.strip_prefix(BESIDE));
    let name = rest.map(|rest| format!("{}/{rest}", chat_files::FOLDER));
    // A pending folder may come from an untrusted source.
    match name.filter(|name| chat_files::is_template(name)) {
        Some(name) => OsString::from(name).into(),
        None => staged.into(),
    }
}

/// The parent of a bare file name is the empty path, which the system does not take for the current folder.
fn itself(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staged_name_leads_back_to_its_file_and_nowhere_else() {
        for name in ["tokenizer.json", "chat_template.jinja", "additional_chat_templates/a.jinja"] {
            let staged = staged_name(name.as_ref());
            assert!(!staged.to_str().unwrap().contains('/'));
            assert_eq!(name_of_staged(&staged), OsStr::new(name));
        }
        for staged in ["additional_chat_templates@..", "additional_chat_templates@a.json", "a@b.jinja"] {
            assert_eq!(name_of_staged(staged.as_ref()), OsStr::new(staged));
        }
    }
}
