//! Waiting for a pipe, for a time.
#![allow(unsafe_code)]
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

/// Can a pipe be read without waiting, or can it within this time? At its end, and where reading fails, it can. A signal
/// ends the wait.
///
/// # Errors
/// Errors of the operating system.
pub fn is_readable_within(pipe: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one structure is passed, and the pipe is open during the call.
    match unsafe { libc::poll(&raw mut asked, 1, milliseconds) } {
        -1 => {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
        }
        ready => Ok(ready > 0),
    }
}
