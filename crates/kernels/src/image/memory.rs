//! The bytes of an image, mapped or copied, so that an item of any alignment up to [`ALIGNMENT`] may begin in them.
use std::fmt;

#[cfg(unix)]
use crate::mapped_file::MappedFile;
use crate::try_alloc::{self, OutOfMemory};

/// Arrays in an image begin at multiples of this: the size of a cache line.
pub(super) const ALIGNMENT: usize = 64;

/// Bytes that never change. They begin at a multiple of [`ALIGNMENT`].
pub(crate) enum Memory {
    #[cfg(unix)]
    Mapped(MappedFile),
    Copied {
        lines: Vec<Line>,
        /// In bytes.
        size: usize,
    },
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; ALIGNMENT]);

impl Memory {
    /// A copy of these bytes.
    pub(super) fn copied(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut lines = try_alloc::vec(bytes.len().div_ceil(ALIGNMENT))?;
        let (whole, rest) = bytes.as_chunks::<ALIGNMENT>();
        lines.extend(whole.iter().map(|&line| Line(line)));
        if !rest.is_empty() {
            let mut last = [0; ALIGNMENT];
            last[..rest.len()].copy_from_slice(rest);
            lines.push(Line(last));
        }
        Ok(Self::Copied { lines, size: bytes.len() })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        let (start, size) = match self {
            #[cfg(unix)]
            Self::Mapped(file) => (file.start().as_ptr().cast_const(), file.size()),
            Self::Copied { lines, size } => (lines.as_ptr().cast(), *size),
        };
        // SAFETY: `size` bytes begin there and live as long as `self`. Lines are made of bytes without gaps. No one
        // writes them; see `Image::map` for other processes.
        unsafe { std::slice::from_raw_parts(start, size) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({})", self.bytes().len())
    }
}
