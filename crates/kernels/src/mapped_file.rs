//! Files that are mapped for reading.
//!
//! In: an open file. Out: its bytes as memory, read from the file when they are first used and shared with every other
//! process that maps it. Truncating a mapped file in place makes the system end a process that reads past its new end;
//! a file that is replaced by a rename, as in every save, keeps its old contents for the processes that have it mapped.
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;

/// A mapping of a whole file.
pub(crate) struct MappedFile {
    start: NonNull<u8>,
    /// In bytes, above zero.
    size: usize,
}

// SAFETY: the mapping belongs to no thread, and no one writes through it.
unsafe impl Send for MappedFile {}
// SAFETY: as for `Send`.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps the whole file; `None` for one that is empty or cannot be mapped.
    pub(crate) fn new(file: BorrowedFd<'_>) -> Option<Self> {
        // SAFETY: a `stat` of zeros is valid, as it consists of numbers; the call fills it for an open descriptor.
        let size = unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            if libc::fstat(file.as_raw_fd(), &raw mut stat) != 0 {
                return None;
            }
            usize::try_from(stat.st_size).ok().filter(|&size| size > 0)?
        };
        // SAFETY: this maps new pages at an address that the system chooses, so it does not affect other memory.
        let start = unsafe {
            let (null, descriptor) = (std::ptr::null_mut(), file.as_raw_fd());
            libc::mmap(null, size, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Self { start: NonNull::new(start.cast())?, size })
    }

    /// The first byte, at the start of a page. The others follow it as long as the mapping lives.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and size, and nothing uses it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}
