//! Limits of vocabulary files. Memory is allocated by the sizes in a file, so these are bounded.

/// Maximum number of tokens in a file.
pub(crate) const ENTRY_LIMIT: usize = 16 << 20;

/// Maximum length of a token in bytes.
pub(crate) const TOKEN_LIMIT: usize = 64 << 10;
