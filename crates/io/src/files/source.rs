//! What is read once, front to back: a file, or a pipe that may keep its reader waiting.
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokenmill_core::watch::Watch;

/// How long a silent pipe is waited for between two looks at the watch.
const POLL: Duration = Duration::from_millis(20);

/// What is read of a pipe at a time, at most.
const PART: usize = 1 << 18;

/// Something to be read.
pub(crate) struct Source<'a> {
    input: Input<'a>,
    size: u64,
    watch: &'a dyn Watch,
}

enum Input<'a> {
    Open(&'a File),
    File(File),
    /// A thread of its own opens and reads: both may wait for who writes, and nothing else ends that.
    Pipe {
        parts: Receiver<io::Result<Vec<u8>>>,
        /// The last part, and how much of it was read.
        part: Vec<u8>,
        read: usize,
    },
}

impl<'a> Source<'a> {
    /// A file that is open, from where it stands.
    pub(crate) fn of(file: &'a File, watch: &'a dyn Watch) -> io::Result<Self> {
        Ok(Self { size: file.metadata()?.len(), input: Input::Open(file), watch })
    }

    /// Opens what is at a path, once. A pipe is opened where it is read first; then the watch is heard while nobody writes.
    ///
    /// # Errors
    /// The operating system's; a folder.
    pub(crate) fn open(path: &Path, watch: &'a dyn Watch) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let input = if metadata.is_file() { None } else { pipe(path) };
        let input = input.map_or_else(|| File::open(path).map(Input::File), Ok)?;
        Ok(Self { input, size: metadata.len(), watch })
    }

    /// How many bytes there are, where that is known; 0 for a pipe.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// `None` where no thread can be had.
fn pipe(path: &Path) -> Option<Input<'static>> {
    let (sender, parts) = sync_channel(1);
    let path = path.to_owned();
    let work = move || {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return drop(sender.send(Err(error))),
        };
        let mut buffer = vec![0; PART];
        loop {
            let part = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map(|n| buffer[..n].to_vec()),
            };
            let is_last = !matches!(&part, Ok(part) if !part.is_empty());
            // Who does not listen any more has given up.
            if sender.send(part).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(work).ok()?;
    Some(Input::Pipe { parts, part: Vec::new(), read: 0 })
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (parts, part, read) = match &mut self.input {
            Input::Open(file) => return file.read(buffer),
            Input::File(file) => return file.read(buffer),
            Input::Pipe { parts, part, read } => (parts, part, read),
        };
        while *read == part.len() {
            match parts.recv_timeout(POLL) {
                Ok(next) => {
                    (*part, *read) = (next?, 0);
                    if part.is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                // The watch keeps its own reason; this only ends the reading.
                Err(RecvTimeoutError::Timeout) => self.watch.poll().map_err(io::Error::other)?,
            }
        }
        let n = buffer.len().min(part.len() - *read);
        buffer[..n].copy_from_slice(&part[*read..*read + n]);
        *read += n;
        Ok(n)
    }
}
