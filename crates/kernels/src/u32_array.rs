//! Arrays of 32-bit numbers that are owned, or are parts of a mapped file.
//!
//! In: a vector, bytes, or an open file. Out: numbers, one at a time, with every index checked. Another process may
//! write to a mapped file at any time. So its numbers are read atomically and never lent as a slice: a write changes
//! numbers and does no other harm.
use std::fmt;
use std::sync::Arc;
#[cfg(all(unix, target_endian = "little"))]
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[cfg(all(unix, target_endian = "little"))]
use crate::mapped_file::MappedFile;
use crate::try_alloc::{self, OutOfMemory};

/// The bytes of a number.
const WIDTH: usize = size_of::<u32>();

/// An array of 32-bit numbers. Immutable; clones share their memory.
#[derive(Clone)]
pub struct U32Array(Memory);

#[derive(Clone)]
enum Memory {
    Owned(Arc<Vec<u32>>),
    #[cfg(all(unix, target_endian = "little"))]
    Mapped {
        file: Arc<MappedFile>,
        /// In numbers.
        start: usize,
        len: usize,
    },
}

impl U32Array {
    /// The number of numbers.
    pub fn len(&self) -> usize {
        match &self.0 {
            Memory::Owned(words) => words.len(),
            #[cfg(all(unix, target_endian = "little"))]
            Memory::Mapped { len, .. } => *len,
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at an index; `None` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        match &self.0 {
            Memory::Owned(words) => words.get(index).copied(),
            #[cfg(all(unix, target_endian = "little"))]
            Memory::Mapped { file, start, len } if index < *len => word(file, start + index),
            #[cfg(all(unix, target_endian = "little"))]
            Memory::Mapped { .. } => None,
        }
    }

    /// All numbers.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        match &self.0 {
            Memory::Owned(words) => words.capacity() * WIDTH,
            #[cfg(all(unix, target_endian = "little"))]
            Memory::Mapped { .. } => 0,
        }
    }

    /// The numbers that these little-endian bytes are. Bytes after the last whole number are left out.
    ///
    /// # Errors
    /// If the allocation fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let (whole, _) = bytes.as_chunks::<WIDTH>();
        let mut words = try_alloc::vec(whole.len())?;
        words.extend(whole.iter().map(|&word| u32::from_le_bytes(word)));
        Ok(words.into())
    }

    /// A part of the numbers, in the same memory where that is mapped; `None` if there is no such part.
    ///
    /// # Errors
    /// If the allocation of a copy fails.
    pub fn part(&self, start: usize, len: usize) -> Result<Option<Self>, OutOfMemory> {
        let Some(end) = start.checked_add(len).filter(|&end| end <= self.len()) else { return Ok(None) };
        Ok(Some(match &self.0 {
            Memory::Owned(words) => try_alloc::copy(&words[start..end])?.into(),
            #[cfg(all(unix, target_endian = "little"))]
            Memory::Mapped { file, start: before, .. } => {
                Self(Memory::Mapped { file: Arc::clone(file), start: before + start, len })
            }
        }))
    }

    /// The numbers of a whole file, mapped; `None` where this machine cannot map it as it is, so that it is to be read.
    #[cfg(unix)]
    pub fn map(file: impl std::os::fd::AsFd) -> Option<Self> {
        #[cfg(target_endian = "little")]
        {
            let file = MappedFile::new(file.as_fd())?;
            let len = file.size() / WIDTH;
            Some(Self(Memory::Mapped { file: Arc::new(file), start: 0, len }))
        }
        #[cfg(target_endian = "big")]
        {
            let _ = file;
            None
        }
    }
}

impl From<Vec<u32>> for U32Array {
    fn from(words: Vec<u32>) -> Self {
        Self(Memory::Owned(Arc::new(words)))
    }
}

impl fmt::Debug for U32Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U32Array({})", self.len())
    }
}

/// The number at an index of a mapped file; `None` past its end.
#[cfg(all(unix, target_endian = "little"))]
#[inline]
fn word(file: &MappedFile, index: usize) -> Option<u32> {
    if index >= file.size() / WIDTH {
        return None;
    }
    // SAFETY: the index is inside the mapping, which lives as long as `file` and begins at a page, so the number is
    // aligned. It is read by an atomic load, which may meet writes of other processes and needs no right to write.
    Some(unsafe { file.start().cast::<AtomicU32>().add(index).as_ref() }.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_up_to_the_end() {
        let words = U32Array::from_bytes(&[1, 0, 0, 0, 0, 1, 0, 0, 9]).unwrap();
        assert_eq!(words.iter().collect::<Vec<_>>(), [1, 256]);
        assert_eq!((words.len(), words.get(2), words.is_empty()), (2, None, false));
        assert_eq!(words.part(1, 1).unwrap().unwrap().get(0), Some(256));
        assert!(words.part(1, 2).unwrap().is_none() && words.part(usize::MAX, 2).unwrap().is_none());
        assert_eq!(words.part(2, 0).unwrap().unwrap().len(), 0);
    }

    #[cfg(all(unix, not(miri)))]
    #[test]
    fn a_mapped_file_has_the_numbers_of_its_bytes() {
        let path = std::env::temp_dir().join(format!("tokenmill-u32-array-{}", std::process::id()));
        let bytes: Vec<u8> = (0..40_003_u32).map(|number| number as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let (read, mapped) = (U32Array::from_bytes(&bytes).unwrap(), U32Array::map(&file).unwrap());
        std::fs::remove_file(&path).unwrap();
        drop(file);
        assert!(read.iter().eq(mapped.iter()) && mapped.len() == 10_000 && mapped.get(10_000).is_none());
        let part = mapped.part(9_000, 1_000).unwrap().unwrap();
        drop(mapped);
        assert!(part.iter().eq(read.part(9_000, 1_000).unwrap().unwrap().iter()));
        assert_eq!((part.get(1_000), part.memory()), (None, 0));
        assert!(part.part(1_000, 1).unwrap().is_none());
    }
}
