//! UTF-8 to code units in vectors of 512 bits.
//!
//! For every byte of a block, the code point of a character that would begin there is computed from that byte and
//! the following ones; the lanes of continuation bytes are then dropped. No branch depends on the length of a
//! character.
use std::arch::x86_64::{
    __m512i, _mm_cmpgt_epi8_mask, _mm_loadu_si128, _mm_set1_epi8, _mm256_cmpgt_epi8_mask, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm512_and_si512, _mm512_cmpge_epu16_mask, _mm512_cmpge_epu32_mask,
    _mm512_cmpgt_epi8_mask, _mm512_cvtepu8_epi16, _mm512_cvtepu8_epi32, _mm512_loadu_si512,
    _mm512_mask_blend_epi8, _mm512_mask_blend_epi16, _mm512_mask_blend_epi32, _mm512_mask_cmpgt_epi8_mask,
    _mm512_maskz_compress_epi8, _mm512_maskz_compress_epi16, _mm512_maskz_compress_epi32,
    _mm512_maskz_loadu_epi8, _mm512_max_epu8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_slli_epi16, _mm512_slli_epi32,
    _mm512_storeu_si512,
};
use std::mem::MaybeUninit;

use crate::code_units::unit::CodeUnit;
use crate::utf8::LAST_CONTINUATION;

/// The bits that a continuation byte adds to its character.
const SIX: u8 = 0x3F;

/// Writes the characters of valid UTF-8, which are no wider than units, as far as there are whole blocks of both.
/// Returns how many bytes were read, which are whole characters, and how many units were written.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(in crate::code_units) fn fill<U: CodeUnit>(text: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
    // Characters have at most two bytes of UTF-8 where units have one byte, three where they have two.
    let (read, written) = match size_of::<U>() {
        1 => in_blocks(text, units, |bytes: &[u8; 65], units| ones(bytes, units)),
        2 => in_blocks(text, units, |bytes: &[u8; 34], units| twos(bytes, units)),
        _ => in_blocks(text, units, |bytes: &[u8; 19], units| fours(bytes, units)),
    };
    let is_continuation = |&&byte: &&u8| byte as i8 <= LAST_CONTINUATION;
    (read + text[read..].iter().take_while(is_continuation).count(), written)
}

/// Runs `step` over blocks of `UNITS` bytes. It sees `SEEN` bytes: also those that complete the characters of a
/// block.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled with the features of the caller
fn in_blocks<U, const SEEN: usize, const UNITS: usize>(
    text: &[u8],
    units: &mut [MaybeUninit<U>],
    step: impl Fn(&[u8; SEEN], &mut [MaybeUninit<U>; UNITS]) -> u32,
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while let Some(bytes) = text.get(read..).and_then(<[u8]>::first_chunk)
        && let Some(units) = units.get_mut(written..).and_then(<[MaybeUninit<U>]>::first_chunk_mut)
    {
        written += step(bytes, units) as usize;
        read += UNITS;
    }
    (read, written)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn ones<U: CodeUnit>(bytes: &[u8; 65], units: &mut [MaybeUninit<U>; 64]) -> u32 {
    // SAFETY: each load reads 64 of the 65 bytes and needs no alignment.
    let (first, second) = unsafe {
        (_mm512_loadu_si512(bytes.as_ptr().cast()), _mm512_loadu_si512(bytes[1..].as_ptr().cast()))
    };
    let byte = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let begins = _mm512_cmpgt_epi8_mask(first, _mm512_set1_epi8(LAST_CONTINUATION));
    // Two bits, which stay within their lane.
    let high = _mm512_slli_epi16::<6>(_mm512_and_si512(first, byte(0x03)));
    let two = _mm512_or_si512(high, _mm512_and_si512(second, byte(SIX)));
    let characters = _mm512_mask_blend_epi8(_mm512_movepi8_mask(first), first, two);
    store(units, _mm512_maskz_compress_epi8(begins, characters));
    begins.count_ones()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn twos<U: CodeUnit>(bytes: &[u8; 34], units: &mut [MaybeUninit<U>; 32]) -> u32 {
    // SAFETY: each load reads 32 of the 34 bytes and needs no alignment.
    let [first, second, third] =
        [0, 1, 2].map(|from: usize| unsafe { _mm256_loadu_si256(bytes[from..].as_ptr().cast()) });
    let begins = _mm256_cmpgt_epi8_mask(first, _mm256_set1_epi8(LAST_CONTINUATION));
    let [first, second, third] = [first, second, third].map(|bytes| _mm512_cvtepu8_epi16(bytes));
    let number = |number: u16| _mm512_set1_epi16(number.cast_signed());
    let six = |byte: __m512i| _mm512_and_si512(byte, number(SIX.into()));
    let two = _mm512_slli_epi16::<6>(_mm512_and_si512(first, number(0x1F)));
    let two = _mm512_or_si512(two, six(second));
    // The shift drops the bits above the lowest four of the first byte.
    let three = _mm512_or_si512(_mm512_slli_epi16::<12>(first), _mm512_slli_epi16::<6>(six(second)));
    let three = _mm512_or_si512(three, six(third));
    let not_below = |limit: u16| _mm512_cmpge_epu16_mask(first, number(limit));
    let characters = _mm512_mask_blend_epi16(not_below(0x80), first, two);
    let characters = _mm512_mask_blend_epi16(not_below(0xE0), characters, three);
    store(units, _mm512_maskz_compress_epi16(begins, characters));
    begins.count_ones()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
fn fours<U: CodeUnit>(bytes: &[u8; 19], units: &mut [MaybeUninit<U>; 16]) -> u32 {
    // SAFETY: each load reads 16 of the 19 bytes and needs no alignment.
    let [first, second, third, fourth] =
        [0, 1, 2, 3].map(|from: usize| unsafe { _mm_loadu_si128(bytes[from..].as_ptr().cast()) });
    let begins = _mm_cmpgt_epi8_mask(first, _mm_set1_epi8(LAST_CONTINUATION));
    let [first, second, third, fourth] =
        [first, second, third, fourth].map(|bytes| _mm512_cvtepu8_epi32(bytes));
    let low = |byte: __m512i, bits: u32| _mm512_and_si512(byte, _mm512_set1_epi32(bits.cast_signed()));
    let six = |byte: __m512i| low(byte, SIX.into());
    let (second, third, fourth) = (six(second), six(third), six(fourth));
    let two = _mm512_or_si512(_mm512_slli_epi32::<6>(low(first, 0x1F)), second);
    let three = _mm512_or_si512(_mm512_slli_epi32::<12>(low(first, 0x0F)), _mm512_slli_epi32::<6>(second));
    let three = _mm512_or_si512(three, third);
    let four = _mm512_or_si512(_mm512_slli_epi32::<18>(low(first, 0x07)), _mm512_slli_epi32::<12>(second));
    let four = _mm512_or_si512(four, _mm512_or_si512(_mm512_slli_epi32::<6>(third), fourth));
    let not_below = |limit: i32| _mm512_cmpge_epu32_mask(first, _mm512_set1_epi32(limit));
    let characters = _mm512_mask_blend_epi32(not_below(0x80), first, two);
    let characters = _mm512_mask_blend_epi32(not_below(0xE0), characters, three);
    let characters = _mm512_mask_blend_epi32(not_below(0xF0), characters, four);
    store(units, _mm512_maskz_compress_epi32(begins, characters));
    begins.count_ones()
}

/// Writes a vector to units of its size.
#[inline]
#[target_feature(enable = "avx512f")]
fn store<U: CodeUnit, const UNITS: usize>(units: &mut [MaybeUninit<U>; UNITS], vector: __m512i) {
    // Known at compile time; other sizes occur only in match arms that are never taken.
    assert_eq!(size_of_val(units), 64, "a vector");
    // SAFETY: the store fills the 64 bytes of the array and needs no alignment; units are numbers, which any bytes are.
    unsafe { _mm512_storeu_si512(units.as_mut_ptr().cast(), vector) }
}

/// How many characters begin in these bytes, and the largest byte.
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(in crate::code_units) fn measure(bytes: &[u8]) -> (usize, u8) {
    let last_continuation = _mm512_set1_epi8(LAST_CONTINUATION);
    let (mut characters, mut largest) = (0, _mm512_setzero_si512());
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        // SAFETY: the load reads the 64 bytes of the array and needs no alignment.
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        characters += _mm512_cmpgt_epi8_mask(block, last_continuation).count_ones() as usize;
        largest = _mm512_max_epu8(largest, block);
    }
    let valid = (1 << rest.len()) - 1;
    // SAFETY: reads only the bytes of the rest, of which there are fewer than 64.
    let rest = unsafe { _mm512_maskz_loadu_epi8(valid, rest.as_ptr().cast()) };
    characters += _mm512_mask_cmpgt_epi8_mask(valid, rest, last_continuation).count_ones() as usize;
    let mut lanes = [0_u8; 64];
    // SAFETY: the store fills the 64 bytes of the array and needs no alignment.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), _mm512_max_epu8(largest, rest)) };
    (characters, lanes.into_iter().max().unwrap_or_default())
}
