//! A lock that admits one save into a folder at a time.
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

use super::{identity, itself};

/// Timeout. A save of the largest tokenizer takes less than a second.
const WAIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);

/// A lock on a folder (`flock`), held for one save. The system releases it when the process ends.
pub(super) struct Lock {
    /// `None` if the file system has no locks, or the folder cannot be opened.
    folder: Option<File>,
}

impl Lock {
    /// Waits for the lock of a folder.
    ///
    /// # Errors
    /// A timeout if another process holds the lock for a minute; errors of the watch.
    pub(super) fn acquire(path: &Path, watch: &dyn Watch) -> Result<Self> {
        let (path, start) = (itself(path), Instant::now());
        loop {
            // On systems that cannot open folders, saves proceed without a lock.
            let Ok(folder) = File::open(path) else { return Ok(Self { folder: None }) };
            match folder.try_lock() {
                // Another process may have replaced the folder in the meantime.
                Ok(()) if identity::is_same(path, &folder) => return Ok(Self { folder: Some(folder) }),
                Ok(()) => {}
                Err(TryLockError::Error(_)) => return Ok(Self { folder: None }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
            watch.poll()?;
            if start.elapsed() > WAIT {
                let reason = "another process holds the lock of this folder; end it, or save elsewhere";
                return Err(Error::from(io::Error::new(io::ErrorKind::TimedOut, reason)).in_file(path));
            }
        }
    }

    /// Is the lock held, so that no other save is running?
    pub(super) fn is_held(&self) -> bool {
        self.folder.is_some()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child forked during the save shares the lock, so that closing the file would not release it.
        if let Some(folder) = &self.folder {
            let _: io::Result<()> = folder.unlock();
        }
    }
}
