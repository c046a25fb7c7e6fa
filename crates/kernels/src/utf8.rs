//! What several routines know of UTF-8.

/// As signed numbers the continuation bytes, 0x80 to 0xBF, are the lowest: up to this one.
pub(crate) const LAST_CONTINUATION: i8 = -65;
