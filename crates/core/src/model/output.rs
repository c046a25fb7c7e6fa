//! The output of a model: the ids of a pretoken, and where the part of the pretoken that each stands for ends.
//!
//! In: ids, in order. Out: the same ids, appended to the caller's vectors. What the vectors held before must never
//! change.
use tokenmill_kernels::{OutOfMemory, try_alloc};

use crate::ids::TokenId;

/// In place of an end: the id stands for the same part of the pretoken as the one before it.
pub const SAME_PART: u32 = u32::MAX;

/// The vectors of the caller.
pub(super) struct Output<'a> {
    pub(super) ids: &'a mut Vec<TokenId>,
    /// `None` if the caller does not ask for ends.
    pub(super) ends: Option<&'a mut Vec<u32>>,
}

impl Output<'_> {
    /// How many ids and ends there are.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.ids.len(), self.ends.as_ref().map_or(0, |ends| ends.len()))
    }

    /// Removes everything that was written after these [lengths](Self::lengths).
    pub(super) fn truncate(&mut self, (ids, ends): (usize, usize)) {
        self.ids.truncate(ids);
        if let Some(all) = &mut self.ends {
            all.truncate(ends);
        }
    }

    #[inline]
    pub(super) fn push(&mut self, id: TokenId, end: u32) -> Result<(), OutOfMemory> {
        try_alloc::push(self.ids, id)?;
        match &mut self.ends {
            Some(ends) => try_alloc::push(ends, end),
            None => Ok(()),
        }
    }
}
