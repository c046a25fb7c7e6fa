//! Code units to UTF-8 in vectors of 256 bits.
use std::arch::x86_64::{
    __m256i, _mm_srli_si128, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srli_epi32,
};

use crate::byte_compress::{compress, store8};
use crate::code_units::portable::{BATCH_UNITS, GROUP, encode_one_by_one, is_character};
use crate::code_units::unit::CodeUnit;

/// As the portable twin. The UTF-8 of each character is made in a lane of 32 bits, the first byte lowest; then the bytes
/// that belong to characters are compressed, two characters at a time.
#[target_feature(enable = "avx2,popcnt")]
pub(in crate::code_units) fn encode<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
) -> (usize, usize) {
    let (groups, rest) = units.as_chunks::<GROUP>();
    let mut at = 0;
    for (i, group) in groups.iter().enumerate() {
        let all = group.iter().fold(0, |all, &unit| all | unit.into());
        if all < 0x80 {
            for (byte, &unit) in encoded[at..at + GROUP].iter_mut().zip(group) {
                *byte = unit.into() as u8;
            }
            at += GROUP;
            continue;
        }
        if all >= 0x800 && !group.iter().all(|&unit| is_character(unit.into())) {
            let (read, at) = encode_one_by_one(group, encoded, at);
            return (i * GROUP + read, at);
        }
        for half in group.as_chunks::<8>().0 {
            let characters: [u32; 8] = half.map(Into::into);
            // SAFETY: reads the eight numbers of the array, from any alignment.
            let bytes = utf8(unsafe { _mm256_loadu_si256(characters.as_ptr().cast()) });
            // The byte of U+0000 is zero; no other byte of a character is.
            let zeros = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
            let own = !zeros.cast_unsigned() | 0x1111_1111;
            let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
            for (two, own) in [low, _mm_srli_si128::<8>(low), high, _mm_srli_si128::<8>(high)]
                .into_iter()
                .zip(own.to_le_bytes())
            {
                // No character before has taken more than four bytes, so there are eight for two more.
                if let Some(out) = encoded.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    store8(compress(two, own), out);
                }
                at += own.count_ones() as usize;
            }
        }
    }
    let (read, at) = encode_one_by_one(rest, encoded, at);
    (groups.len() * GROUP + read, at)
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
