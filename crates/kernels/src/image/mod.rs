//! Images: tables written to a file as they are in memory, so that loading them is mapping the file.
//!
//! In: tables, and later the bytes of a file. Out: the bytes of a file, and later tables whose arrays are parts of it.
//! A file that is not an image of this machine and this build, or that was changed or cut, must never be read.
//!
//! ```text
//! magic (16 bytes), version of the layout u32, machine u32, size of the file u64, hash of the rest u128,
//! release (16 bytes); then numbers, and arrays that begin at multiples of 64 bytes
//! ```
//!
//! The layout of tables is private to one release of this library, one byte order and one pointer width.
mod array;
mod memory;

use std::sync::Arc;

use twox_hash::XxHash3_128;

#[cfg(unix)]
use crate::mapped_file::MappedFile;
use crate::try_alloc::OutOfMemory;
pub use array::{Array, ArrayMut, Plain};
use memory::ALIGNMENT;
pub(crate) use memory::Memory;

/// The first bytes of every image.
pub const MAGIC: [u8; 16] = *b"tokenmill image\n";

/// The version of the layout. It changes with the layout of any table, also between releases.
pub const LAYOUT: u32 = 2;

/// Reads as another number on a machine with another byte order or pointer width.
const MACHINE: u32 = 0x0102_0300 | size_of::<usize>() as u32;

/// Where the parts of the header begin.
const AT_LAYOUT: usize = MAGIC.len();
const AT_MACHINE: usize = AT_LAYOUT + 4;
const AT_SIZE: usize = AT_MACHINE + 4;
const AT_HASH: usize = AT_SIZE + 8;
const AT_RELEASE: usize = AT_HASH + 16;
const HEADER: usize = AT_RELEASE + RELEASE;

/// The bytes of the name of a release.
const RELEASE: usize = 16;

/// Why bytes are not an image that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageError {
    /// They do not begin as an image does.
    NotAnImage,
    /// Another build of this library wrote them; this is the name of its release.
    OtherVersion(String),
    /// They are of a machine with another byte order or pointer width.
    OtherMachine,
    /// The file has another size than it says.
    Size {
        /// As the file says.
        said: u64,
        /// As it is.
        is: u64,
    },
    /// The hash does not fit: bytes were changed.
    Changed,
    /// The parts contradict each other. Only a crafted file has a hash that fits and gets here.
    Inconsistent(&'static str),
    /// There is no memory for a copy.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for ImageError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

/// The hash of an image: of all bytes but those of the hash.
fn hash(bytes: &[u8]) -> u128 {
    let header = XxHash3_128::oneshot(&bytes[..AT_HASH]);
    XxHash3_128::oneshot_with_seed(header as u64, &bytes[AT_RELEASE..])
}

/// An image, checked.
#[derive(Debug, Clone)]
pub struct Image(Arc<Memory>);

impl Image {
    /// Maps a file. `None` where this machine cannot map it, so that it is to be read.
    ///
    /// The file must not be written in place, or made shorter, as long as anything that was read from it is in use. A
    /// file that is replaced by a rename stays as it is for those who have it mapped. This is what programs and shared
    /// libraries ask for, too.
    ///
    /// # Errors
    /// If it is not an image of this build and machine, or if it was changed or cut.
    #[cfg(unix)]
    pub fn map(file: impl std::os::fd::AsFd, release: &str) -> Result<Option<Self>, ImageError> {
        let Some(file) = MappedFile::new(file.as_fd()) else { return Ok(None) };
        Self::checked(Memory::Mapped(file), release).map(Some)
    }

    /// The image of these bytes, which are copied.
    ///
    /// # Errors
    /// As [`Self::map`]; if there is no memory for the copy.
    pub fn of_bytes(bytes: &[u8], release: &str) -> Result<Self, ImageError> {
        Self::checked(Memory::copied(bytes)?, release)
    }

    fn checked(memory: Memory, release: &str) -> Result<Self, ImageError> {
        let bytes = memory.bytes();
        if !bytes.starts_with(&MAGIC) {
            return Err(ImageError::NotAnImage);
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Err(ImageError::Size { said: HEADER as u64, is: bytes.len() as u64 });
        };
        if number(header, AT_MACHINE) != MACHINE {
            return Err(ImageError::OtherMachine);
        }
        let said = u64::from(number(header, AT_SIZE)) | u64::from(number(header, AT_SIZE + 4)) << 32;
        if said != bytes.len() as u64 {
            return Err(ImageError::Size { said, is: bytes.len() as u64 });
        }
        let is_same = number(header, AT_LAYOUT) == LAYOUT && header[AT_RELEASE..] == name_of(release);
        if hash(bytes).to_le_bytes() != header[AT_HASH..AT_RELEASE] {
            return Err(ImageError::Changed);
        }
        if !is_same {
            let name = header[AT_RELEASE..].split(|&byte| byte == 0).next().unwrap_or_default();
            return Err(ImageError::OtherVersion(String::from_utf8_lossy(name).into_owned()));
        }
        Ok(Self(Arc::new(memory)))
    }

    /// Reads the parts of the image in the order in which they were written.
    pub fn reader(&self) -> ImageReader {
        ImageReader { image: Arc::clone(&self.0), at: HEADER }
    }
}

/// The `u32` at an offset in the header. Headers are in native byte order, and the machine is checked first.
fn number(header: &[u8; HEADER], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |&bytes| u32::from_ne_bytes(bytes))
}

/// The name of a release in a header.
fn name_of(release: &str) -> [u8; RELEASE] {
    let mut name = [0; RELEASE];
    let length = release.len().min(RELEASE);
    name[..length].copy_from_slice(&release.as_bytes()[..length]);
    name
}

/// A table that can be a part of an image.
pub trait InImage: Sized {
    /// Appends the table.
    fn write(&self, image: &mut ImageWriter);

    /// Reads the table that was written at this place. Its arrays are parts of the image.
    ///
    /// # Errors
    /// If the parts contradict each other.
    fn read(image: &mut ImageReader) -> Result<Self, ImageError>;
}

/// An image while it is written.
#[derive(Debug)]
pub struct ImageWriter(Vec<u8>);

impl ImageWriter {
    /// An image without parts.
    pub fn new(release: &str) -> Self {
        let mut header = vec![0; HEADER];
        header[..AT_LAYOUT].copy_from_slice(&MAGIC);
        header[AT_LAYOUT..AT_MACHINE].copy_from_slice(&LAYOUT.to_ne_bytes());
        header[AT_MACHINE..AT_SIZE].copy_from_slice(&MACHINE.to_ne_bytes());
        header[AT_RELEASE..].copy_from_slice(&name_of(release));
        Self(header)
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    /// Appends an array.
    pub fn array<T: Plain>(&mut self, items: &[T]) {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        self.number(items.len() as u64);
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
        // SAFETY: the items are plain, so all their bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
        self.0.extend_from_slice(bytes);
    }

    /// Appends a table, or that there is none.
    pub fn optional<T: InImage>(&mut self, table: Option<&T>) {
        self.number(u64::from(table.is_some()));
        if let Some(table) = table {
            table.write(self);
        }
    }

    /// The bytes of the image.
    pub fn finish(mut self) -> Vec<u8> {
        let size = self.0.len() as u64;
        self.0[AT_SIZE..AT_SIZE + 4].copy_from_slice(&(size as u32).to_ne_bytes());
        self.0[AT_SIZE + 4..AT_HASH].copy_from_slice(&((size >> 32) as u32).to_ne_bytes());
        let hash = hash(&self.0);
        self.0[AT_HASH..AT_RELEASE].copy_from_slice(&hash.to_le_bytes());
        self.0
    }
}

/// The place in an image from which it is read.
#[derive(Debug)]
pub struct ImageReader {
    image: Arc<Memory>,
    at: usize,
}

impl ImageReader {
    /// The bytes of the whole image.
    pub fn size(&self) -> usize {
        self.image.bytes().len()
    }

    /// The next number.
    ///
    /// # Errors
    /// If the image ends before it does.
    pub fn number(&mut self) -> Result<u64, ImageError> {
        let bytes = self.image.bytes().get(self.at..).and_then(<[u8]>::first_chunk);
        let &bytes = bytes.ok_or(ImageError::Inconsistent("it ends within a number"))?;
        self.at += bytes.len();
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The next number, which must be below `end`.
    ///
    /// # Errors
    /// If the image ends before it does; if it is not below `end`.
    pub fn number_below(&mut self, end: u64) -> Result<u32, ImageError> {
        let number = self.number()?;
        let small = u32::try_from(number).ok().filter(|_| number < end);
        small.ok_or(ImageError::Inconsistent("a number is out of range"))
    }

    /// The next array.
    ///
    /// # Errors
    /// If the image ends before it does.
    pub fn array<T: Plain>(&mut self) -> Result<Array<T>, ImageError> {
        let len =
            usize::try_from(self.number()?).map_err(|_| ImageError::Inconsistent("an array is too long"))?;
        let start = self.at.next_multiple_of(ALIGNMENT);
        let array = Array::of_image(&self.image, start, len);
        let array = array.ok_or(ImageError::Inconsistent("it ends within an array"))?;
        self.at = start + size_of_val(&*array);
        Ok(array)
    }

    /// The next array, which must have this length.
    ///
    /// # Errors
    /// As [`Self::array`]; if it has another length.
    pub fn array_of<T: Plain>(&mut self, len: usize) -> Result<Array<T>, ImageError> {
        let array = self.array()?;
        if array.len() == len {
            Ok(array)
        } else {
            Err(ImageError::Inconsistent("an array has another length"))
        }
    }

    /// A copy of the next array, which must have `N` items.
    ///
    /// # Errors
    /// As [`Self::array_of`].
    pub fn copy<T: Plain, const N: usize>(&mut self) -> Result<Box<[T; N]>, ImageError> {
        let items = self.array_of(N)?.into_vec().into_boxed_slice();
        items.try_into().map_err(|_| ImageError::Inconsistent("an array has another length"))
    }

    /// The next table, if there is one.
    ///
    /// # Errors
    /// As [`InImage::read`].
    pub fn optional<T: InImage>(&mut self) -> Result<Option<T>, ImageError> {
        if self.number_below(2)? == 0 { Ok(None) } else { T::read(self).map(Some) }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// If there is more in the image.
    pub fn end(self) -> Result<(), ImageError> {
        if self.at == self.image.bytes().len() {
            Ok(())
        } else {
            Err(ImageError::Inconsistent("it has more parts"))
        }
    }
}

#[cfg(test)]
mod tests;
