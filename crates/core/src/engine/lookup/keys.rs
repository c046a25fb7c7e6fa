//! Keys under which pretokens, and segments of long ones, are cached.
//!
//! In: the bytes of a pretoken. Out: its key. Up to 15 bytes are the key themselves: a batch gets those from
//! `short_table` in the kernels, and only [`key_of`], for a single pretoken, makes them here. The key of a longer
//! pretoken is a hash, and a hit is confirmed by the bytes. A pretoken that is not worth caching has the key
//! [`UNCACHED`]; it is not looked up in the static table either, and always spelled.
use tokenmill_kernels::short_table::{self, Key, SHORT};

/// The key of a pretoken that is not cached.
pub(super) const UNCACHED: Key = 0;

/// Marks the keys of segments that may not share those of pretokens: all segments of a vocabulary which may give the same
/// bytes other ids if they are a pretoken, and elsewhere the [long ones](key_of_long_segment). The mark alone is the key
/// of a segment that is not cached.
pub(super) const SEGMENT: Key = 0x40 << 120;

/// Set in the keys of short raw words and pieces, whose ids may differ from those of a pretoken with the same bytes.
pub(super) const WORD: Key = 0x20 << 120;

/// Flipped in the hash keys of longer ones, for the same reason.
const LONG_WORD: Key = 1 << 100;

/// Longer pretokens hardly repeat and are not cached.
const MAX_CACHED_BYTES: usize = 128;

/// Do long pretokens hardly repeat if they begin with this character? That is so for scripts without spaces between
/// words, where a pretoken is a whole sentence; for Hangul, whose words have many endings; and for runs of punctuation,
/// wide spaces or combining marks. Of other scripts with characters of three bytes, such as Devanagari, 40 to 70 % of
/// the long words in a text occurred in it before. Blocks of Unicode are told by their first two bytes at most, so a
/// few small scripts are on the wrong side.
#[inline]
fn begins_what_hardly_repeats(text: &[u8]) -> bool {
    match text {
        // Thai and Lao.
        [0xE0, second, ..] => matches!(second, 0xB8..=0xBB),
        // Myanmar; Khmer; from Limbu to the combining marks.
        [0xE1, second, ..] => matches!(second, 0x80..=0x82 | 0x9E | 0x9F | 0xA4..=0xB7),
        // Punctuation, wide spaces, kana, ideographs, Hangul, and all characters of four bytes.
        [first, ..] => *first >= 0xE2,
        [] => false,
    }
}

/// Is the key marked as that of a segment? Four bits are compared, because the key of a hash has this bit too.
pub(super) fn is_segment(key: Key) -> bool {
    (key >> 124) == (SEGMENT >> 124)
}

/// May the ids of a pretoken with this key be cached?
#[inline]
pub(in super::super) fn is_cacheable(key: Key) -> bool {
    key & !SEGMENT != UNCACHED
}

/// Is a pretoken that is longer than a key likely never to repeat? Its second byte is looked at as well, since the
/// first may be a space. Only decides whether it is divided: [`key_of_long`] looks at the first one.
pub(super) fn hardly_repeats(pretoken: &[u8]) -> bool {
    let second = pretoken.get(1..).unwrap_or_default();
    !is_short_enough_to_cache(pretoken)
        || begins_what_hardly_repeats(pretoken)
        || begins_what_hardly_repeats(second)
}

/// The length of a short word with this key; `None` for other keys.
#[inline]
pub(super) fn length_of_word(key: Key) -> Option<usize> {
    ((key >> 124) == (WORD >> 124)).then_some((key >> 120) as usize & 0xF)
}

/// Is a word, or a pretoken, short enough to be cached?
pub(super) fn is_short_enough_to_cache(text: &[u8]) -> bool {
    text.len() <= MAX_CACHED_BYTES
}

/// The key of a raw word that is longer than a key. Unlike pretokens, such words repeat in every script.
pub(in super::super) fn key_of_long_word(word: &[u8]) -> Key {
    if is_short_enough_to_cache(word) { hash_key(word) ^ LONG_WORD } else { UNCACHED }
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
    if is_short_enough_to_cache(pretoken) && !begins_what_hardly_repeats(pretoken) {
        hash_key(pretoken)
    } else {
        UNCACHED
    }
}

/// The key of a segment that is longer than a key and may be cached.
pub(super) fn key_of_long_segment(segment: &[u8]) -> Key {
    hash_key(segment) & !(0xFF << 120) | SEGMENT
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
