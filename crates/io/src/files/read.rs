//! Reads a source to its end, up to a limit.
use std::io::{self, Read};

use tokenmill_core::error::{Error, Result};

use super::source::Source;

/// Maximum size of a tokenizer file in bytes.
const FILE_LIMIT: u64 = 1 << 30;

/// Reads up to `size` bytes; fewer at the end of the source.
pub(crate) fn start(source: &mut dyn Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the rest of a source and appends it to `bytes`, which were read before.
///
/// # Errors
/// Errors of the operating system; a limit error above 1 GiB, before memory is allocated.
pub(crate) fn read_rest(source: Source<'_>, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let too_large = || Error::limit("the file is larger than a tokenizer file can be (1 GiB)", FILE_LIMIT);
    let size = source.size();
    if size > FILE_LIMIT {
        return Err(too_large());
    }
    let more = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1).saturating_sub(bytes.len());
    bytes.try_reserve_exact(more).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // Reads one byte beyond the limit, to detect a longer file.
    source.take(FILE_LIMIT + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(too_large());
    }
    Ok(bytes)
}
