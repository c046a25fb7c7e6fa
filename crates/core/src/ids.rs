//! Token ids, and a debug-checked cast to `u32`.

use tokenmill_kernels::{OutOfMemory, try_alloc};

/// The number of a token. Ids are below 2^32 - 1 and may have gaps.
pub type TokenId = u32;

/// Not a valid id; fills unused entries of dense tables.
pub const NO_ID: TokenId = u32::MAX;

/// An empty vector with capacity for the ids of `bytes` bytes of text. The capacity is enough for
/// nearly all scripts, and pages that are never written take hardly any memory.
///
/// # Errors
/// Out of memory.
pub fn row_for(bytes: usize) -> Result<Vec<TokenId>, OutOfMemory> {
    try_alloc::vec(bytes / 2 + 8)
}

/// Casts a length or count to `u32`; its constructor has bounded it.
///
/// # Panics
/// Only with debug assertions, for a value that no constructor of this crate accepts.
#[inline]
pub(crate) fn to_u32(n: usize) -> u32 {
    debug_assert!(u32::try_from(n).is_ok());
    n as u32
}
