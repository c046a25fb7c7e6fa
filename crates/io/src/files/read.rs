//! The bytes of an open file, within bounds and read once, front to back.
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use tokenmill_core::error::{Error, Result};

/// Tokenizer files are at most this large.
const FILE_LIMIT: u64 = 1 << 30;

/// All bytes of a file.
///
/// # Errors
/// The operating system's; a limit error above 1 GiB, before memory is taken.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(Error::from);
    file.and_then(|file| read_rest(&file, Vec::new())).map_err(|error| error.in_file(path))
}

/// Up to `size` bytes from where an open file stands: fewer only where it ends.
pub(crate) fn start(mut file: &File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What was read of an open file, and all that follows.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_rest(mut file: &File, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let too_large = || Error::limit("the file is larger than a tokenizer file can be (1 GiB)", FILE_LIMIT);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    // Pipes have no size.
    if metadata.len() > FILE_LIMIT {
        return Err(too_large());
    }
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
    let more = size.saturating_sub(bytes.len());
    bytes.try_reserve_exact(more).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // One more than the limit shows whether there is more.
    file.by_ref().take(FILE_LIMIT + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(too_large());
    }
    Ok(bytes)
}
