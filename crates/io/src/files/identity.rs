//! Checks that a path still leads to the file that was opened by it.
use std::fs::{self, File, Metadata};
use std::path::Path;

/// Device and inode, which identify an open file.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = (u64, Option<std::time::SystemTime>);

#[cfg(unix)]
fn of(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

// Other systems: size and time must do.
#[cfg(not(unix))]
fn of(metadata: &Metadata) -> Identity {
    (metadata.len(), metadata.modified().ok())
}

/// Does `path` lead to this open file? The system does not reuse the inode of an open file.
pub(super) fn is_same(path: &Path, file: &File) -> bool {
    match (fs::metadata(path), file.metadata()) {
        (Ok(now), Ok(then)) => of(&now) == of(&then),
        _ => false,
    }
}
