//! One source of text, opened once and read once from its beginning to its end.
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

/// How long is waited between two questions to the watch, which looks for signals not more often.
const WAIT: Duration = Duration::from_millis(20);

/// Bytes of a pipe that are read at once; on Linux a pipe holds no more.
const PIPE_BLOCK: usize = 1 << 16;

/// Blocks of a pipe that may wait to be used.
const PIPE_BLOCKS: usize = 16;

/// A source that is open.
#[derive(Debug)]
pub(super) enum Source {
    /// A file, or a device.
    File(File),
    /// What may let its reader wait for ever.
    Pipe(Pipe),
}

impl Source {
    /// Opens a source. A named pipe is waited for until it has a writer, or the watch says no.
    ///
    /// # Errors
    /// What the system says, and what the watch says.
    pub(super) fn open(path: &Path, watch: &dyn Watch) -> Result<Self> {
        let is_pipe = std::fs::metadata(path).is_ok_and(|found| is_fifo(&found));
        Ok(if is_pipe { Self::Pipe(Pipe::open(path, watch)?) } else { Self::File(File::open(path)?) })
    }

    /// Reads what comes next into `block` and says how much it is; nothing is the end.
    ///
    /// # Errors
    /// What the system says, and what the watch says.
    pub(super) fn read(&mut self, block: &mut [u8], watch: &dyn Watch) -> Result<usize> {
        watch.poll()?;
        match self {
            Self::File(file) => loop {
                match file.read(block) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {
                        // By a signal. What it means is found out before a terminal is waited for again.
                        std::thread::sleep(WAIT);
                        watch.poll()?;
                    }
                    done => return Ok(done?),
                }
            },
            Self::Pipe(pipe) => pipe.read(block, watch),
        }
    }
}

/// A pipe, opened and read in a thread of its own: the system waits for a writer and for what it
/// writes, and the watch is asked meanwhile. Where the work is stopped while the pipe is silent, the
/// thread ends with the next thing that happens there.
#[derive(Debug)]
pub(super) struct Pipe {
    blocks: Receiver<std::io::Result<Vec<u8>>>,
    block: Vec<u8>,
    /// What of the block was used.
    used: usize,
}

impl Pipe {
    fn open(path: &Path, watch: &dyn Watch) -> Result<Self> {
        let (sender, blocks) = sync_channel(PIPE_BLOCKS);
        let name = path.to_owned();
        let reading = std::thread::Builder::new().name("tokenmill-pipe".to_owned());
        let reading = reading.spawn(move || send_all(&name, &sender))?;
        let mut pipe = Self { blocks, block: Vec::new(), used: 0 };
        match pipe.next(watch) {
            Ok(_) => Ok(pipe),
            Err(stopped) => {
                drop(pipe);
                // Nobody may be left waiting to take what is meant for others: a writer ends the wait.
                if let Ok(writer) = OpenOptions::new().read(true).write(true).open(path) {
                    drop(reading.join());
                    drop(writer);
                }
                Err(stopped)
            }
        }
    }

    /// Waits for the next block; says no at the end.
    fn next(&mut self, watch: &dyn Watch) -> Result<bool> {
        loop {
            match self.blocks.recv_timeout(WAIT) {
                Ok(block) => {
                    (self.block, self.used) = (block?, 0);
                    return Ok(true);
                }
                Err(RecvTimeoutError::Timeout) => watch.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    fn read(&mut self, into: &mut [u8], watch: &dyn Watch) -> Result<usize> {
        while self.used == self.block.len() {
            if !self.next(watch)? {
                return Ok(0);
            }
        }
        let left = &self.block[self.used..];
        let n = left.len().min(into.len());
        into[..n].copy_from_slice(&left[..n]);
        self.used += n;
        Ok(n)
    }
}

/// Sends an empty block when the pipe is open, then all that comes, or the error that ended it. Stops
/// where nobody is there to take it.
fn send_all(path: &Path, sender: &SyncSender<std::io::Result<Vec<u8>>>) {
    let sent = File::open(path).and_then(|mut file| {
        let mut block = Vec::new();
        while sender.send(Ok(std::mem::take(&mut block))).is_ok() {
            block.resize(PIPE_BLOCK, 0);
            let n = loop {
                match file.read(&mut block) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    done => break done?,
                }
            };
            if n == 0 {
                break;
            }
            block.truncate(n);
        }
        Ok(())
    });
    if let Err(error) = sent {
        drop(sender.send(Err(error)));
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
