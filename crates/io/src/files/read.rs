//! Reading a source to its end, up to a limit.
use std::io::{self, Read as _};

use tokenmill_core::error::{Error, Result};

use super::source::Source;

/// Tokenizer files are at most this large.
const FILE_LIMIT: u64 = 1 << 30;

/// The next `size` bytes of a source, or fewer if it ends before.
pub(crate) fn start(source: &mut Source<'_>, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `bytes`, which were read from the source before, and the rest of it.
///
/// # Errors
/// The operating system's; a limit error above 1 GiB, before memory is taken.
pub(crate) fn read_rest(source: Source<'_>, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let too_large = || Error::limit("the file is larger than a tokenizer file can be (1 GiB)", FILE_LIMIT);
    let size = source.size();
    if size > FILE_LIMIT {
        return Err(too_large());
    }
    let more = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1).saturating_sub(bytes.len());
    bytes.try_reserve_exact(more).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // Reads one byte beyond the limit, to see whether there is more.
    source.take(FILE_LIMIT + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(too_large());
    }
    Ok(bytes)
}
