//! What is read once, front to back: a file, or a pipe that may keep its reader waiting.
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokenmill_core::watch::Watch;

/// How long is waited between two looks at the watch.
const POLL: Duration = Duration::from_millis(20);

/// Something to be read.
pub(crate) struct Source<'a> {
    file: Handle<'a>,
    size: u64,
    watch: &'a dyn Watch,
}

enum Handle<'a> {
    Borrowed(&'a File),
    Owned(File),
}

impl<'a> Source<'a> {
    /// A file that is open, from where it stands.
    pub(crate) fn of(file: &'a File, watch: &'a dyn Watch) -> io::Result<Self> {
        Ok(Self { size: file.metadata()?.len(), file: Handle::Borrowed(file), watch })
    }

    /// Opens what is at a path, once. The watch is heard while a pipe waits for who writes.
    ///
    /// # Errors
    /// The operating system's; a folder; that the watch says no, which has its own reason.
    pub(crate) fn open(path: &Path, watch: &'a dyn Watch) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let file = if is_pipe(&metadata) { open_pipe(path, watch)? } else { File::open(path)? };
        Ok(Self { file: Handle::Owned(file), size: metadata.len(), watch })
    }

    /// How many bytes there are, where that is known; 0 for a pipe.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.file {
                Handle::Borrowed(file) => file.read(buffer),
                Handle::Owned(file) => file.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    // By a signal. What it means is found out now: a pipe may be silent for ever. The watch does not look
                    // for signals more often than this.
                    std::thread::sleep(POLL);
                    self.watch.poll().map_err(io::Error::other)?;
                }
                read => return read,
            }
        }
    }
}

/// Opens a pipe in a thread of its own: the system waits for a writer, and signals do not end the wait.
#[allow(clippy::disallowed_methods)] // without the interpreter lock, and the watch is asked meanwhile
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
            // Opening the pipe for writing ends the thread's wait; else it would later take what is for another reader.
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
