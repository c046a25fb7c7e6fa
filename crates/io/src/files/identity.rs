//! Which file a path leads to.
use std::fs::{self, File, Metadata};
use std::path::Path;

/// What tells one file from another while it is open.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = (u64, Option<std::time::SystemTime>);

#[cfg(unix)]
fn of(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

// Without numbers of files, size and time have to do.
#[cfg(not(unix))]
fn of(metadata: &Metadata) -> Identity {
    (metadata.len(), metadata.modified().ok())
}

/// Does `path` still lead to the file that was opened by it? While a file is open, no other gets its number.
pub(super) fn is_same(path: &Path, file: &File) -> bool {
    match (fs::metadata(path), file.metadata()) {
        (Ok(now), Ok(then)) => of(&now) == of(&then),
        _ => false,
    }
}
