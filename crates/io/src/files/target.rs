//! The target path of a save, by what exists there.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Longest chain of links that is followed, as in Linux.
const MOST_LINKS: usize = 40;

/// The target of a saved file.
pub(crate) enum Target {
    /// A regular file, or nothing yet; replaced by a rename. Links have been followed, so that they stay.
    File(PathBuf),
    /// A pipe or a character device: written to.
    Stream(PathBuf),
}

impl Target {
    /// The target of a save to `path`.
    ///
    /// # Errors
    /// A folder, a socket or a disk, which cannot be a target; a cycle of links; errors of the
    /// operating system.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => follow(path).map(Self::File),
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if is_stream(&metadata) => Ok(Self::Stream(path.to_owned())),
            Ok(_) => {
                let reason = "is no regular file, and nothing that can be written to; save elsewhere";
                Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => follow(path).map(Self::File),
            Err(error) => Err(error),
        }
    }

    /// As [`Self::of`], for one of several files that are saved together: a pipe or a device is an error.
    pub(super) fn file(path: &Path) -> io::Result<PathBuf> {
        match Self::of(path)? {
            Self::File(path) => Ok(path),
            Self::Stream(_) => {
                let reason = "is a pipe or a device, which takes one file alone; save elsewhere";
                Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
            }
        }
    }
}

#[cfg(unix)]
fn is_stream(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &fs::Metadata) -> bool {
    false
}

/// The file at the end of links, which need not be there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many links"))
}
