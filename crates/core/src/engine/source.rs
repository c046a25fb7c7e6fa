//! Texts of a batch, which need not be UTF-8 in memory: they are decoded when their turn comes.
use std::ops::Range;

use tokenmill_kernels::{Prefetcher, try_alloc};

use super::input::Text;
use super::lookup::PREFETCH_BYTES;
use crate::error::Result;
use crate::watch::Watch;

/// Code units between two polls of the watch: some milliseconds of reading.
const SLICE: usize = 1 << 22;

/// A text in code units that are not UTF-8, such as a string of Python.
pub trait CodeUnits: Sync {
    /// Number of code units.
    fn len(&self) -> usize;

    /// Are there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes of UTF-8 they make; rather an overestimate.
    fn bytes(&self) -> usize;

    /// Appends the characters of some units. Returns the end of what was read, which may be after `units.end`: no
    /// character is read in part.
    ///
    /// # Errors
    /// An error for units that stand for no character; out of memory.
    fn append(&self, units: Range<usize>, text: &mut String) -> Result<usize>;

    /// A prefetcher of the memory of all units from `from` on.
    fn ahead(&self, from: usize) -> Prefetcher;
}

/// A text of a batch.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// As it is.
    Text(Text<'a>),
    /// Decoded when its turn comes, by the thread that encodes it, while it is in the processor's cache.
    Units(&'a dyn CodeUnits),
}

impl Source<'_> {
    /// Its size in UTF-8, in bytes; an estimate for code units.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.as_bytes().len(),
            Self::Units(units) => units.bytes(),
        }
    }

    /// A prefetcher of its memory.
    fn ahead(&self) -> Prefetcher {
        match self {
            Self::Text(text) => Prefetcher::new(text.as_bytes()),
            Self::Units(units) => units.ahead(0),
        }
    }

    /// A prefetcher of the next text, for use while this one is encoded.
    pub(super) fn prefetcher_for(&self, next: Option<Self>) -> Prefetcher {
        next.map_or_else(Prefetcher::default, |next| next.ahead().paced(PREFETCH_BYTES, self.size()))
    }

    /// The text, decoded into `buffer` if needed.
    ///
    /// # Errors
    /// As [`CodeUnits::append`]; cancellation.
    pub(crate) fn read<'a>(&'a self, buffer: &'a mut String, watch: &dyn Watch) -> Result<Text<'a>> {
        match self {
            Self::Text(text) => Ok(*text),
            Self::Units(units) => {
                buffer.clear();
                try_alloc::reserve_text(buffer, units.bytes())?;
                let mut at = 0;
                while at < units.len() {
                    if at > 0 {
                        watch.poll()?;
                    }
                    at = units.append(at..units.len().min(at + SLICE), buffer)?;
                }
                Ok(Text::Str(buffer))
            }
        }
    }
}
