//! A file or a pipe, opened once and read once, front to back. Waiting for a pipe can be interrupted.
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokenmill_core::watch::Watch;

/// Time between two polls of the watch.
const POLL: Duration = Duration::from_millis(20);

/// An open file or pipe.
pub(crate) struct Source<'a> {
    file: Handle<'a>,
    size: u64,
    /// May reading wait for somebody who writes?
    may_wait: bool,
    watch: &'a dyn Watch,
}

enum Handle<'a> {
    Borrowed(&'a File),
    Owned(File),
}

impl<'a> Source<'a> {
    /// Wraps an open file, from its current position.
    pub(crate) fn of(file: &'a File, watch: &'a dyn Watch) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (size, may_wait) = (metadata.len(), !metadata.is_file());
        Ok(Self { size, may_wait, file: Handle::Borrowed(file), watch })
    }

    /// Opens a path, once. The watch is polled while a pipe has no writer.
    ///
    /// # Errors
    /// Errors of the operating system; `IsADirectory` for a folder; the watch's error inside an `io::Error`.
    pub(crate) fn open(path: &Path, watch: &'a dyn Watch) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let file = if is_pipe(&metadata) { open_pipe(path, watch)? } else { File::open(path)? };
        let (size, may_wait) = (metadata.len(), !metadata.is_file());
        Ok(Self { file: Handle::Owned(file), size, may_wait, watch })
    }

    /// Size in bytes; 0 for a pipe, whose size is not known.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = match &self.file {
            Handle::Borrowed(file) => *file,
            Handle::Owned(file) => file,
        };
        // A read of a silent pipe may never return: after a signal it goes on, if a library asked for that.
        while self.may_wait && !is_ready(file)? {
            self.watch.poll().map_err(io::Error::other)?;
        }
        loop {
            match file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// Can it be read without waiting, perhaps after a while?
#[cfg(unix)]
fn is_ready(file: &File) -> io::Result<bool> {
    use std::os::fd::AsFd as _;
    tokenmill_core::is_readable_within(file.as_fd(), POLL)
}

/// Elsewhere nobody knows before reading.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)] // as above
fn is_ready(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// Opens a pipe in a thread of its own: opening blocks until there is a writer, and is restarted after a signal.
#[allow(clippy::disallowed_methods)] // without the interpreter lock, and the watch is polled meanwhile
fn open_pipe(path: &Path, watch: &dyn Watch) -> io::Result<File> {
    let (sender, opened) = channel();
    let name = path.to_owned();
    let opening = std::thread::Builder::new().spawn(move || drop(sender.send(File::open(name))))?;
    loop {
        match opened.recv_timeout(POLL) {
            Ok(file) => return file,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the pipe was not opened")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(stopped) = watch.poll() {
            // Opening the pipe for writing unblocks the thread, which would otherwise steal the next writer's data.
            if let Ok(writer) = File::options().read(true).write(true).open(path) {
                drop(opening.join());
                drop(writer);
            }
            return Err(io::Error::other(stopped));
        }
    }
}

/// Is it a pipe, which can be read once?
#[cfg(unix)]
pub(crate) fn is_pipe(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.file_type().is_fifo()
}

#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &Metadata) -> bool {
    false
}
