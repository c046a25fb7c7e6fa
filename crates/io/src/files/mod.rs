//! Tokenizer files on disk: a set of files is read as it was at one moment, and replaced all or nothing.
//!
//! In: paths and bytes. Out: bytes, or files. [`Snapshot`] reads a set, [`FolderWriter`] replaces one, [`Source`] is a file
//! or a pipe that is read once, [`stream`] writes to a pipe or a device. The only format known here is the manifest.
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

use std::path::Path;

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

/// The parent of a bare file name is the empty path, which the system does not take for the current folder.
fn itself(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
