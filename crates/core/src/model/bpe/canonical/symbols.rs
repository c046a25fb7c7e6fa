//! The numbers of symbols: bytes first, and then products, so that of two merges the one with the lower product
//! comes first.
//!
//! Constants and the row that merging starts from, nothing else: every module beside this one may use it, and it
//! must never use one of them.
use tokenmill_kernels::{NO_MERGE, try_alloc};

use crate::error::Result;

/// The number of symbols that are bytes: products come after these.
pub(super) const BYTES: u32 = 256;

/// Short pretokens that are merged side by side. Several cost little more than one: they wait for memory together.
pub const MERGE_BATCH: usize = 8;

/// In place of the two parts of a product: no text is ever merged to it.
pub(super) const NOT_BUILT: (u32, u32) = (NO_MERGE, NO_MERGE);

/// Replaces `symbols` by the bytes of a pretoken.
pub(super) fn start(pretoken: &[u8], symbols: &mut Vec<u32>) -> Result<()> {
    symbols.clear();
    try_alloc::reserve(symbols, pretoken.len())?;
    symbols.extend(pretoken.iter().copied().map(u32::from));
    Ok(())
}
