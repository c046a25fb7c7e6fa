//! Tokenizer files on disk: read as one moment has them, replaced all or none.
//!
//! In come paths, out go bytes, and the other way round. [`Snapshot`] reads what belongs together, [`FolderWriter`]
//! replaces it, [`Source`] is read once, file or pipe, [`stream`] writes to what is no regular file. No format is known
//! here but that of the manifest.
//!
//! A save of several files has one moment at which it counts: the rename of the folder `.tokenmill-staging`, in which
//! the new files were written, to `.tokenmill-pending`. From then on a pending file stands for the file of its name
//! beside the folder, whoever reads; the files are then renamed to their places one by one and the empty folder is
//! removed. What a save left when it was killed is thus either not there (staging) or complete (pending), and
//! the next save clears the one and completes the other. Readers write nothing and wait for nobody.
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
pub(crate) use source::Source;
pub(crate) use stream::write as write_to_stream;
pub(crate) use target::Target;
pub(crate) use writer::{FolderWriter, SavedFile};

/// The folder in which a save writes its files.
const STAGING: &str = ".tokenmill-staging";

/// The folder whose files stand for those of their names beside it.
const PENDING: &str = ".tokenmill-pending";

/// A folder by a path that leads to it: the folder of a bare file name has none.
fn itself(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
