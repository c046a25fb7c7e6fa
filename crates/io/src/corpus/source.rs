//! One source of text, opened once and read once from its beginning to its end.
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

/// How long is waited between two questions to the watch, which looks for signals not more often.
const WAIT: Duration = Duration::from_millis(20);

/// A source that is open.
#[derive(Debug)]
pub(super) struct Source(File);

impl Source {
    /// Opens a source. A named pipe is waited for until it has a writer, or the watch says no.
    ///
    /// # Errors
    /// What the system says, and what the watch says.
    pub(super) fn open(path: &Path, watch: &dyn Watch) -> Result<Self> {
        let is_pipe = std::fs::metadata(path).is_ok_and(|found| is_fifo(&found));
        Ok(Self(if is_pipe { open_pipe(path, watch)? } else { File::open(path)? }))
    }

    /// Reads what comes next into `block` and says how much it is; nothing is the end.
    ///
    /// # Errors
    /// What the system says, and what the watch says.
    pub(super) fn read(&mut self, block: &mut [u8], watch: &dyn Watch) -> Result<usize> {
        watch.poll()?;
        loop {
            match self.0.read(block) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    // By a signal. What it means is found out now: a pipe may be silent for ever.
                    std::thread::sleep(WAIT);
                    watch.poll()?;
                }
                done => return Ok(done?),
            }
        }
    }
}

/// Opens a pipe in a thread of its own: the system waits for a writer, and signals do not end the
/// wait.
fn open_pipe(path: &Path, watch: &dyn Watch) -> Result<File> {
    let (sender, opened) = channel();
    let name = path.to_owned();
    let opening = std::thread::Builder::new().name("tokenmill-pipe".to_owned());
    let opening = opening.spawn(move || drop(sender.send(File::open(name))))?;
    loop {
        match opened.recv_timeout(WAIT) {
            Ok(file) => return Ok(file?),
            Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a pipe was not opened")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(stopped) = watch.poll() {
            // This writer ends the wait, so that no reader is left behind that takes what is for others.
            if let Ok(writer) = OpenOptions::new().read(true).write(true).open(path) {
                drop(opening.join());
                drop(writer);
            }
            return Err(stopped);
        }
    }
}

#[cfg(unix)]
fn is_fifo(found: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type())
}

#[cfg(not(unix))]
fn is_fifo(_: &Metadata) -> bool {
    false
}

/// Refuses a pipe that is named twice: what it holds can be read once, and the second reading would
/// find nothing or wait for ever.
///
/// # Errors
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the path of the second one.
#[cfg(unix)]
pub(super) fn refuse_pipes_given_twice(paths: &[PathBuf]) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    let mut pipes = Vec::new();
    for path in paths {
        let Ok(found) = std::fs::metadata(path) else { continue };
        if !is_fifo(&found) {
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
pub(super) fn refuse_pipes_given_twice(_: &[PathBuf]) -> Result<()> {
    Ok(())
}
