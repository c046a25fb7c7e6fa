//! Keys under which pretokens, and segments of long ones, are cached.
//!
//! In: the bytes of a pretoken. Out: its key. Up to 15 bytes are the key themselves: a batch gets those from
//! `short_table` in the kernels, and only [`key_of`], for a single pretoken, makes them here. The key of a longer
//! pretoken is a hash, and a hit is confirmed by the bytes. A pretoken that is not worth caching has the key
//! [`UNCACHED`]; it is not looked up in the static table either, and always spelled.
use tokenmill_kernels::short_table::{self, Key, SHORT};

/// The key of a pretoken that is not cached.
pub(super) const UNCACHED: Key = 0;

/// Set in the keys of segments where the vocabulary may give the same bytes other ids than if they were a pretoken.
/// Elsewhere short segments share the keys of pretokens, and it marks the [hashes](key_of_long_segment) of longer ones.
/// Without other bits it marks a segment that is not cached: a longer one of such a vocabulary or of a long pretoken.
pub(super) const SEGMENT: Key = 0x40 << 120;

/// Set in the keys of short raw words and pieces, whose ids may differ from those of a pretoken with the same bytes.
pub(super) const WORD: Key = 0x20 << 120;

/// Flipped in the hash keys of longer ones, for the same reason.
const LONG_WORD: Key = 1 << 100;

/// Longer pretokens hardly repeat and are not cached.
const MAX_CACHED_BYTES: usize = 128;

/// Does a text begin with a character of a script that is written without spaces between words, or of Hangul, whose
/// words are better divided? Pretokens of the former are whole sentences, which hardly repeat. Of other scripts that have
/// characters of three bytes, two fifths to two thirds of the long words in a text occurred before. Judged by a byte or
/// two, so some rare scripts count as the ones beside them.
#[inline]
fn begins_unspaced(text: &[u8]) -> bool {
    match text {
        // Thai and Lao; Myanmar, Khmer, scripts from Limbu to Lepcha, and marks; punctuation, wide spaces, kana, ideographs
        // and Hangul.
        [0xE0, second, ..] => matches!(second, 0xB8..=0xBB),
        [0xE1, second, ..] => matches!(second, 0x80..=0x82 | 0x9E | 0x9F | 0xA4..=0xB7),
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
    pretoken.len() > MAX_CACHED_BYTES || begins_unspaced(pretoken) || begins_unspaced(second)
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
    if pretoken.len() <= MAX_CACHED_BYTES && !begins_unspaced(pretoken) {
        hash_key(pretoken)
    } else {
        UNCACHED
    }
}

/// The key of a segment that is longer than a key, where short segments share the keys of pretokens: a hash with the
/// mark of a segment. `pretoken` is the length of its pretoken. Unlike the sentences of scripts without spaces, their
/// segments repeat; those of longer pretokens, such as random letters, do not.
pub(super) fn key_of_long_segment(segment: &[u8], pretoken: usize) -> Key {
    if pretoken > MAX_CACHED_BYTES {
        return SEGMENT;
    }
    hash_key(segment) << 8 >> 8 | SEGMENT | 0xF << 120
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
