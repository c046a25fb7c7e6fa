//! Checks of the pipes in a corpus.
use std::path::PathBuf;

use tokenmill_core::error::{Error, Result};

#[cfg(unix)]
use crate::files::is_pipe;

/// Rejects a pipe that is listed twice: it can be read only once, and a second read would find
/// nothing or block for ever.
///
/// # Errors
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the path of the second occurrence.
#[cfg(unix)]
pub fn refuse_pipes_given_twice(paths: &[PathBuf]) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    let mut pipes = Vec::new();
    for path in paths {
        let Ok(found) = std::fs::metadata(path) else { continue };
        if !is_pipe(&found) {
            continue;
        }
        let pipe = (found.dev(), found.ino());
        if pipes.contains(&pipe) {
            let reason = "is a pipe, which can be read once, and is given twice; save what comes through it to a \
                          file first";
            return Err(Error::training(reason).in_file(path));
        }
        pipes.push(pipe);
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn refuse_pipes_given_twice(_: &[PathBuf]) -> Result<()> {
    Ok(())
}
