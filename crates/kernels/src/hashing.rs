//! The factor of multiplicative hashing, in which the high bits of a product select the bucket.

/// 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
pub(crate) const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
