//! Keys under which pretokens, and segments of long ones, are cached.
//!
//! In: the bytes of a pretoken. Out: its key. Up to 15 bytes are the key themselves: a batch gets those from
//! `short_table` in the kernels, and only [`key_of`], for a single pretoken, makes them here. The key of a longer
//! pretoken is a hash, and a hit is confirmed by the bytes. A pretoken that is not worth caching has the key
//! [`UNCACHED`]; it is not looked up in the static table either, and always spelled.
use tokenmill_kernels::short_table::{self, Key, SHORT};

/// The key of a pretoken that is not cached.
pub(super) const UNCACHED: Key = 0;

/// Set in the keys of segments where the vocabulary may give the same bytes other ids than if they were a pretoken;
/// other short segments share the keys of pretokens. Without other bits it marks a segment that is too long to be
/// cached.
pub(super) const SEGMENT: Key = 0x40 << 120;

/// Set in the keys of short raw words and pieces, whose ids may differ from those of a pretoken with the same bytes.
pub(super) const WORD: Key = 0x20 << 120;

/// Flipped in the hash keys of longer ones, for the same reason.
const LONG_WORD: Key = 1 << 100;

/// Longer pretokens hardly repeat and are not cached.
const MAX_CACHED_BYTES: usize = 128;

/// Of pretokens that are longer than a key, those that begin with a character of three bytes or more are not cached
/// either: most scripts that have such characters write whole sentences without a space, or words with many
/// endings.
const LEAD_OF_THREE: u8 = 0xE0;

/// Is the key marked as that of a segment? Four bits are compared, because the key of a hash has this bit too.
pub(super) fn is_segment(key: Key) -> bool {
    (key >> 124) == (SEGMENT >> 124)
}

/// May the ids of a pretoken with this key be cached?
#[inline]
pub(in super::super) fn is_cacheable(key: Key) -> bool {
    key & !SEGMENT != UNCACHED
}

/// Is a pretoken that is longer than a key likely never to repeat, judging by its bytes? Two bytes are looked at,
/// since the first may be a space. Only decides whether it is divided: [`key_of_long`] looks at one byte.
pub(super) fn hardly_repeats(pretoken: &[u8]) -> bool {
    pretoken.len() > MAX_CACHED_BYTES || pretoken.iter().take(2).any(|&byte| byte >= LEAD_OF_THREE)
}

/// The length of a short word with this key; `None` for other keys.
#[inline]
pub(super) fn length_of_word(key: Key) -> Option<usize> {
    ((key >> 124) == (WORD >> 124)).then_some((key >> 120) as usize & 0xF)
}

/// May the ids of a word be cached?
pub(super) fn may_cache_word(word: &[u8]) -> bool {
    word.len() <= MAX_CACHED_BYTES
}

/// The key of a raw word that is longer than a key. Unlike pretokens, such words repeat in every script.
pub(in super::super) fn key_of_long_word(word: &[u8]) -> Key {
    if may_cache_word(word) { hash_key(word) ^ LONG_WORD } else { UNCACHED }
}

/// The key of a pretoken of any length.
pub(in super::super) fn key_of(pretoken: &[u8]) -> Key {
    match pretoken.len() {
        0 => UNCACHED,
        1..=SHORT => short_table::key_at(pretoken, 0, pretoken.len()),
        _ => key_of_long(pretoken),
    }
}

/// The key of a pretoken that is longer than a key.
pub(super) fn key_of_long(pretoken: &[u8]) -> Key {
    let is_cached =
        pretoken.len() <= MAX_CACHED_BYTES && pretoken.first().is_some_and(|&first| first < LEAD_OF_THREE);
    if is_cached { hash_key(pretoken) } else { UNCACHED }
}

/// A hash, marked so that it differs from the key of every short pretoken. A hit is confirmed by the bytes.
fn hash_key(pretoken: &[u8]) -> Key {
    let (words, rest) = pretoken.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let (mut low, mut high) = (pretoken.len() as u64, 0x9e37_79b9_7f4a_7c15_u64);
    for &word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(word);
        low = mix(low ^ word, 0xd6e8_feb8_6659_fd93);
        high = mix(high.rotate_left(29) ^ word, 0xa076_1d64_78bd_642f);
    }
    u128::from(low) | u128::from(high) << 64 | 0xFF << 120
}

#[inline]
fn mix(word: u64, factor: u64) -> u64 {
    let wide = u128::from(word) * u128::from(factor);
    (wide >> 64) as u64 ^ wide as u64
}
