//! How much a vocabulary file may hold. Memory is asked for by what a file says, so that it says no more than this.

/// Tokens of one file.
pub(crate) const ENTRY_LIMIT: usize = 16 << 20;

/// Bytes of one token.
pub(crate) const TOKEN_LIMIT: usize = 64 << 10;
