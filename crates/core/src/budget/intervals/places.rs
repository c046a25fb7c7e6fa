//! The mapping between the characters and the bytes of a text.
use tokenmill_kernels::{prefetch, try_alloc};

use crate::error::Result;
use crate::ids::to_u32;

/// Maps characters to bytes and back.
#[derive(Debug)]
pub(super) struct Places {
    count: usize,
    /// The start of each character, and the end of the text; empty for ASCII.
    starts: Vec<u32>,
}

impl Places {
    pub(super) fn new(text: &str) -> Result<Self> {
        let count = text.chars().count();
        let mut starts = Vec::new();
        if count < text.len() {
            try_alloc::reserve(&mut starts, count + 1)?;
            starts.extend(text.char_indices().map(|(at, _)| to_u32(at)));
            starts.push(to_u32(text.len()));
        }
        Ok(Self { count, starts })
    }

    /// The number of characters.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The byte where a character begins.
    #[inline]
    pub(super) fn byte(&self, character: usize) -> usize {
        self.starts.get(character).map_or(character, |&at| at as usize)
    }

    /// Prefetches what [`Self::byte`] reads.
    pub(super) fn prefetch(&self, character: usize) {
        prefetch(&self.starts, character);
    }

    /// The character that begins at a byte; `None` inside a character.
    #[inline]
    pub(super) fn character(&self, byte: usize) -> Option<usize> {
        if self.starts.is_empty() {
            return Some(byte);
        }
        self.starts.binary_search_by_key(&byte, |&at| at as usize).ok()
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * self.starts.capacity()
    }
}
