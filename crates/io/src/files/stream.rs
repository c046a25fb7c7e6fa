//! Writing to a pipe or a character device, such as a terminal or `/dev/null`.
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

/// Time between two attempts to write to a full pipe.
const POLL: Duration = Duration::from_millis(2);

/// Writes all of `bytes`. A pipe without a reader is an error. While a slow reader leaves the pipe full, the watch is polled.
///
/// # Errors
/// Errors of the operating system; errors of the watch.
pub(crate) fn write(path: &Path, bytes: &[u8], watch: &dyn Watch) -> Result<()> {
    let mut file = open(path).map_err(|error| Error::from(error).in_file(path))?;
    let mut left = bytes;
    while !left.is_empty() {
        watch.poll()?;
        match file.write(left) {
            Ok(0) => return Err(Error::from(io::Error::from(io::ErrorKind::WriteZero)).in_file(path)),
            Ok(written) => left = &left[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(POLL),
            Err(error) => return Err(Error::from(error).in_file(path)),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let opened = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => io::Error::other("nobody reads from this pipe; start its reader first"),
        _ => error,
    })
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}
