//! Token ids, and the integer cast that is checked once and for all.

use tokenmill_kernels::{OutOfMemory, try_alloc};

/// The number of a token. Ids are below 2^32 - 1 and may have holes between them.
pub type TokenId = u32;

/// The id that no token has: the filler of dense tables.
pub const NO_ID: TokenId = u32::MAX;

/// An empty row with room for the ids of so many bytes. In hardly any script it is too small, and what is never
/// written to takes hardly any memory.
///
/// # Errors
/// Where there is no memory for it.
pub fn row_for(bytes: usize) -> Result<Vec<TokenId>, OutOfMemory> {
    try_alloc::vec(bytes / 2 + 8)
}

/// A length or count as `u32`, where construction has bounded it.
///
/// # Panics
/// Never for values that a constructor of this crate has accepted.
#[inline]
pub(crate) fn to_u32(n: usize) -> u32 {
    debug_assert!(u32::try_from(n).is_ok());
    n as u32
}
