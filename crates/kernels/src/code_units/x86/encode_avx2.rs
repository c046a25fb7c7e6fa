//! Code units to UTF-8 in vectors of 256 bits.
use std::arch::x86_64::{
    __m256i, _mm_srli_si128, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srli_epi32,
};

use crate::byte_compress::{compress, store8};
use crate::code_units::portable::{BATCH_UNITS, HALF, encode_by_halves};
use crate::code_units::unit::CodeUnit;

/// As the portable twin. The UTF-8 of each character is made in a lane of 32 bits, the first byte lowest; then the bytes
/// that belong to characters are compressed, two characters at a time.
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::code_units) fn encode<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
) -> (usize, usize) {
    encode_by_halves(units, encoded, |half, encoded, at| encode_half(half, encoded, at))
}

/// Writes the characters at `at`, and returns where the next one goes.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn encode_half<U: CodeUnit>(half: &[U; HALF], encoded: &mut [u8; 4 * BATCH_UNITS], mut at: usize) -> usize {
    let characters: [u32; HALF] = half.map(Into::into);
    // SAFETY: the load reads the eight numbers of the array and needs no alignment.
    let bytes = utf8(unsafe { _mm256_loadu_si256(characters.as_ptr().cast()) });
    // The byte of U+0000 is zero; no other byte of a character is.
    let zeros = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
    let own = (!zeros.cast_unsigned() | 0x1111_1111).to_le_bytes();
    let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
    let pairs = [low, _mm_srli_si128::<8>(low), high, _mm_srli_si128::<8>(high)];
    for (pair, own) in pairs.into_iter().zip(own) {
        // No character before has taken more than four bytes, so there are eight for two more.
        if let Some(out) = encoded.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            store8(compress(pair, own), out);
        }
        at += own.count_ones() as usize;
    }
    at
}

#[inline]
#[target_feature(enable = "avx2")]
fn number(number: u32) -> __m256i {
    _mm256_set1_epi32(number.cast_signed())
}

/// Six bits of each character, from bit `SHIFT` on, moved to bit `TO` of its lane.
#[inline]
#[target_feature(enable = "avx2")]
fn six<const SHIFT: i32, const TO: i32>(characters: __m256i) -> __m256i {
    _mm256_slli_epi32::<TO>(_mm256_and_si256(_mm256_srli_epi32::<SHIFT>(characters), number(0x3F)))
}

/// The UTF-8 of characters, each in its lane.
#[inline]
#[target_feature(enable = "avx2")]
fn utf8(characters: __m256i) -> __m256i {
    let or = |a, b| _mm256_or_si256(a, b);
    let two = or(_mm256_srli_epi32::<6>(characters), six::<0, 8>(characters));
    let three =
        or(or(_mm256_srli_epi32::<12>(characters), six::<6, 8>(characters)), six::<0, 16>(characters));
    let front = or(_mm256_srli_epi32::<18>(characters), six::<12, 8>(characters));
    let four = or(front, or(six::<6, 16>(characters), six::<0, 24>(characters)));
    // Characters are far below 2^31, so a signed comparison will do.
    let above = |limit: u32| _mm256_cmpgt_epi32(characters, number(limit));
    let bytes = _mm256_blendv_epi8(characters, or(two, number(0x80C0)), above(0x7F));
    let bytes = _mm256_blendv_epi8(bytes, or(three, number(0x80_80E0)), above(0x7FF));
    _mm256_blendv_epi8(bytes, or(four, number(0x8080_80F0)), above(0xFFFF))
}
