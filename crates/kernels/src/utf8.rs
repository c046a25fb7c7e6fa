//! A constant of UTF-8 that several routines use.

/// The highest continuation byte, 0xBF, as a signed number. All continuation bytes (0x80 to 0xBF) are at most
/// this, and all other bytes are above it.
pub(crate) const LAST_CONTINUATION: i8 = -65;
