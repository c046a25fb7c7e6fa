//! Texts of a batch, which need not be UTF-8 in memory: they are decoded when their turn comes.
use std::ops::Range;

use tokenmill_kernels::{Prefetcher, try_alloc};

use super::input::Text;
use super::lookup::PREFETCH_BYTES;
use crate::error::Result;
use crate::watch::Watch;

/// Units between two looks at the watch: some milliseconds of reading.
const SLICE: usize = 1 << 22;

/// A text in code units of its own, such as a string of Python.
pub trait CodeUnits: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Are there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes of UTF-8 they are, rather too many than too few.
    fn bytes(&self) -> usize;

    /// Appends the characters of some units. Returns the end of what was read, which may be after `units.end`: no
    /// character is read in part.
    ///
    /// # Errors
    /// Where there are units that stand for no character; memory that cannot be had.
    fn append(&self, units: Range<usize>, text: &mut String) -> Result<usize>;

    /// The memory of all units from there on.
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
    /// About how many bytes it has.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.as_bytes().len(),
            Self::Units(units) => units.bytes(),
        }
    }

    /// The memory of it.
    fn ahead(&self) -> Prefetcher {
        match self {
            Self::Text(text) => Prefetcher::new(text.as_bytes()),
            Self::Units(units) => units.ahead(0),
        }
    }

    /// What of the next text is prefetched while this one is encoded.
    pub(super) fn prefetcher_for(&self, next: Option<Self>) -> Prefetcher {
        next.map_or_else(Prefetcher::default, |next| next.ahead().paced(PREFETCH_BYTES, self.size()))
    }

    /// The text, perhaps in `buffer`.
    ///
    /// # Errors
    /// As [`CodeUnits::append`]; cancellation.
    pub(super) fn read<'a>(&'a self, buffer: &'a mut String, watch: &dyn Watch) -> Result<Text<'a>> {
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
