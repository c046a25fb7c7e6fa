//! Keys: a short pretoken packed into 16 bytes, so that comparing two keys compares their texts.
use crate::hashing::GOLDEN_RATIO;

/// The most bytes of a pretoken that can be a key.
pub const SHORT: usize = 15;

/// The most buckets that a lookup probes. This limit keeps lookups fast even for crafted keys.
pub(super) const MAX_PROBES: usize = 8;

/// A pretoken of 1 to [`SHORT`] bytes in little-endian order, with its length in the highest byte.
pub type Key = u128;

/// For each length of a key, the mask of its bytes and the length in the highest byte.
static LENGTHS: [[u128; 2]; 16] = lengths();

const fn lengths() -> [[u128; 2]; 16] {
    let (mut lengths, mut length) = ([[0; 2]; 16], 1);
    while length < 16 {
        lengths[length] = [u128::MAX >> (128 - 8 * length), (length as u128) << 120];
        length += 1;
    }
    lengths
}

/// The key of `text[start..start + length]`. `length` must be 1 to [`SHORT`].
#[inline]
pub fn key_at(text: &[u8], start: usize, length: usize) -> Key {
    match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => key_of(u128::from_le_bytes(*bytes), length),
        None => last_key(text, start, length),
    }
}

/// The key of the first `length` of these bytes.
#[inline]
pub(super) fn key_of(bytes: u128, length: usize) -> Key {
    let [mask, length] = LENGTHS[length & 15];
    bytes & mask | length
}

/// As [`key_at`], for a `start` after which fewer than 16 bytes follow. It reads the last 16 bytes of the text and
/// shifts out the ones before `start`.
#[inline]
pub(super) fn last_key(text: &[u8], start: usize, length: usize) -> Key {
    let (bytes, first) = match text.last_chunk() {
        Some(last) => (u128::from_le_bytes(*last), text.len() - 16),
        None => (read_all(text), 0),
    };
    key_of(bytes >> (8 * ((start - first) & 15)), length)
}

/// Reads a whole text of fewer than 16 bytes, mostly with two loads that overlap.
fn read_all(text: &[u8]) -> u128 {
    let shift = |part: usize| 8 * (text.len() - part);
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << shift(8)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << shift(4)
    } else {
        text.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte))
    }
}

/// Hashes a key so that all its bits influence the high bits, which select the bucket.
#[inline]
pub fn hash(key: Key) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low ^ high.rotate_left(29)).wrapping_mul(GOLDEN_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_bytes_and_the_length() {
        let bytes: Vec<u8> = (201..=240).collect();
        for text in (1..=bytes.len()).map(|end| &bytes[..end]) {
            for start in 0..text.len() {
                for length in 1..=SHORT.min(text.len() - start) {
                    let mut want = [0; 16];
                    want[..length].copy_from_slice(&text[start..start + length]);
                    want[15] = length as u8;
                    assert_eq!(key_at(text, start, length), u128::from_le_bytes(want));
                }
            }
        }
        // Trailing zero bytes are part of a pretoken.
        assert_ne!(key_at(b"a\0", 0, 1), key_at(b"a\0", 0, 2));
    }
}
