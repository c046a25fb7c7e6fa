//! Code units to UTF-8 in vectors of 512 bits.
use std::arch::x86_64::{
    __m512i, _mm_storeu_si128, _mm512_and_si512, _mm512_cmpge_epu32_mask, _mm512_cmplt_epu32_mask,
    _mm512_cvtepi32_epi8, _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_maskz_compress_epi8,
    _mm512_or_si512, _mm512_set1_epi32, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_test_epi8_mask, _mm512_xor_si512,
};

use crate::code_units::portable::{BATCH_UNITS, GROUP, encode_one_by_one};
use crate::code_units::unit::CodeUnit;

/// As the portable twin. The UTF-8 of each character of a group is made in a lane of 32 bits, the first byte
/// lowest; then the bytes that belong to characters are compressed.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(in crate::code_units) fn encode<U: CodeUnit>(
    units: &[U],
    encoded: &mut [u8; 4 * BATCH_UNITS],
) -> (usize, usize) {
    let (groups, rest) = units.as_chunks::<GROUP>();
    let mut at = 0;
    for (i, group) in groups.iter().enumerate() {
        let characters: [u32; GROUP] = group.map(Into::into);
        // SAFETY: the load reads the sixteen numbers of the array and needs no alignment.
        let characters = unsafe { _mm512_loadu_si512(characters.as_ptr().cast()) };
        let not_below = |limit: u32| _mm512_cmpge_epu32_mask(characters, number(limit));
        // There are always enough bytes left, as no unit before has taken more than four.
        let Some(out) = encoded.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<{ 4 * GROUP }>) else {
            let (read, at) = encode_one_by_one(group, encoded, at);
            return (i * GROUP + read, at);
        };
        let are_wide = not_below(0x80);
        if are_wide == 0 {
            // SAFETY: the store fills the first sixteen bytes of the array and needs no alignment.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(characters)) }
            at += GROUP;
            continue;
        }
        let are_surrogates =
            _mm512_cmplt_epu32_mask(_mm512_xor_si512(characters, number(0xD800)), number(0x800));
        if are_surrogates | not_below(0x11_0000) != 0 {
            let (read, at) = encode_one_by_one(group, encoded, at);
            return (i * GROUP + read, at);
        }
        let are_supplementary = not_below(0x1_0000);
        let bytes = _mm512_mask_blend_epi32(are_wide, characters, two_bytes(characters));
        let bytes = _mm512_mask_blend_epi32(not_below(0x800), bytes, three_bytes(characters));
        let bytes = _mm512_mask_blend_epi32(are_supplementary, bytes, four_bytes(characters));
        // The byte of U+0000 is zero; no other byte of a character is.
        let own = _mm512_test_epi8_mask(bytes, bytes) | 0x1111_1111_1111_1111;
        // SAFETY: the store fills the 64 bytes of the array and needs no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(own, bytes)) }
        at += own.count_ones() as usize;
    }
    let (read, at) = encode_one_by_one(rest, encoded, at);
    (groups.len() * GROUP + read, at)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn number(number: u32) -> __m512i {
    _mm512_set1_epi32(number.cast_signed())
}

/// Six bits of each character, from bit `SHIFT` on, moved to bit `TO` of its lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn six<const SHIFT: u32, const TO: u32>(characters: __m512i) -> __m512i {
    _mm512_slli_epi32::<TO>(_mm512_and_si512(_mm512_srli_epi32::<SHIFT>(characters), number(0x3F)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn two_bytes(characters: __m512i) -> __m512i {
    let bytes = _mm512_or_si512(_mm512_srli_epi32::<6>(characters), six::<0, 8>(characters));
    _mm512_or_si512(bytes, number(0x80C0))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn three_bytes(characters: __m512i) -> __m512i {
    let bytes = _mm512_or_si512(_mm512_srli_epi32::<12>(characters), six::<6, 8>(characters));
    _mm512_or_si512(_mm512_or_si512(bytes, six::<0, 16>(characters)), number(0x80_80E0))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn four_bytes(characters: __m512i) -> __m512i {
    let front = _mm512_or_si512(_mm512_srli_epi32::<18>(characters), six::<12, 8>(characters));
    let back = _mm512_or_si512(six::<6, 16>(characters), six::<0, 24>(characters));
    _mm512_or_si512(_mm512_or_si512(front, back), number(0x8080_80F0))
}
