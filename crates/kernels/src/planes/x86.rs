//! Planes computed with vectors of 256 and 512 bits. The caller of each function must check that the CPU has the
//! features of its `target_feature` attribute.
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi8, _mm_loadl_epi64, _mm_loadu_si128, _mm_set1_epi8, _mm_srli_si128,
    _mm_storeu_si128, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm256_add_epi8, _mm256_add_epi64,
    _mm256_and_si256, _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_cmpgt_epi32, _mm256_cvtepu8_epi32,
    _mm256_cvtepu8_epi64, _mm256_extracti128_si256, _mm256_i32gather_epi32, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srli_epi16,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512,
    _mm512_broadcast_i32x4, _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_cmpge_epu8_mask,
    _mm512_cmpgt_epi8_mask, _mm512_cvtepi32_epi8, _mm512_cvtepu8_epi16, _mm512_cvtepu8_epi64,
    _mm512_cvtepu16_epi32, _mm512_extracti32x4_epi32, _mm512_extracti64x4_epi64, _mm512_i32gather_epi32,
    _mm512_loadu_si512, _mm512_mask_blend_epi16, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi64, _mm512_shuffle_epi8,
    _mm512_slli_epi16, _mm512_srli_epi16, _mm512_storeu_si512, _mm512_test_epi8_mask, _pdep_u64,
};

use super::layout::{
    ASCII_OFFSETS, BATCH, BMP, BlockBits, Characters, Columns, GATHER_PADDING, PLANE_BITS, PLANES,
    PlaneBatch, Planes, ROWS, WINDOW, positions_of_blocks,
};
use crate::byte_compress::{compress, store8};
use crate::utf8::LAST_CONTINUATION;

#[inline]
fn load16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the load reads the 16 bytes of the array and needs no alignment. SSE2 is part of x86-64.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
fn load8(bytes: &[u8; 8]) -> __m128i {
    // SAFETY: the load reads the 8 bytes of the array and needs no alignment. SSE2 is part of x86-64.
    unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(block: &[u8; PLANE_BITS]) -> (__m256i, __m256i) {
    let start = block.as_ptr();
    // SAFETY: the loads read the first and the last 32 bytes of an array of 64, and need no alignment.
    unsafe { (_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast())) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn whole(block: &[u8; PLANE_BITS]) -> __m512i {
    // SAFETY: the load reads the 64 bytes of the array and needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// The sign bits of 64 bytes in one word.
#[inline]
#[target_feature(enable = "avx2")]
fn signs(low: __m256i, high: __m256i) -> u64 {
    let low = u64::from(_mm256_movemask_epi8(low).cast_unsigned());
    low | u64::from(_mm256_movemask_epi8(high).cast_unsigned()) << 32
}

#[target_feature(enable = "avx2")]
pub(super) fn ascii_avx2(
    columns: &Columns,
    blocks: &[[u8; PLANE_BITS]],
    out: &mut PlaneBatch,
    first: usize,
) -> usize {
    let columns = columns.each_ref().map(|column| _mm256_broadcastsi128_si256(load16(column)));
    let rows = _mm256_broadcastsi128_si256(load16(&ROWS));
    let nibble = _mm256_set1_epi8(15);
    for (at, block) in (first..BATCH).zip(blocks) {
        let (low, high) = halves(block);
        if _mm256_movemask_epi8(_mm256_or_si256(low, high)) != 0 {
            return at - first;
        }
        let low_row = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16::<4>(low), nibble));
        let high_row = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16::<4>(high), nibble));
        for (words, &column) in out.iter_mut().zip(&columns) {
            // In an ASCII byte the high bit is 0, so the shuffle uses only the low half of the byte.
            let in_low = _mm256_and_si256(_mm256_shuffle_epi8(column, low), low_row);
            let in_high = _mm256_and_si256(_mm256_shuffle_epi8(column, high), high_row);
            words[at] = signs(_mm256_cmpeq_epi8(in_low, low_row), _mm256_cmpeq_epi8(in_high, high_row));
        }
    }
    blocks.len().min(BATCH.saturating_sub(first))
}

#[target_feature(enable = "avx2")]
pub(super) fn classes_avx2(classes: &[u8; PLANE_BITS]) -> Planes {
    let (mut low, mut high) = halves(classes);
    let mut planes = [0; PLANES];
    for plane in planes.iter_mut().rev() {
        *plane = signs(low, high);
        (low, high) = (_mm256_add_epi8(low, low), _mm256_add_epi8(high, high));
    }
    planes
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn ascii_avx512(
    columns: &Columns,
    blocks: &[[u8; PLANE_BITS]],
    out: &mut PlaneBatch,
    first: usize,
) -> usize {
    let columns = columns.each_ref().map(|column| _mm512_broadcast_i32x4(load16(column)));
    let rows = _mm512_broadcast_i32x4(load16(&ROWS));
    let nibble = _mm512_set1_epi8(15);
    for (at, block) in (first..BATCH).zip(blocks) {
        let bytes = whole(block);
        if _mm512_movepi8_mask(bytes) != 0 {
            return at - first;
        }
        let row = _mm512_shuffle_epi8(rows, _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), nibble));
        for (words, &column) in out.iter_mut().zip(&columns) {
            words[at] = _mm512_test_epi8_mask(_mm512_shuffle_epi8(column, bytes), row);
        }
    }
    blocks.len().min(BATCH.saturating_sub(first))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn classes_avx512(classes: &[u8; PLANE_BITS]) -> Planes {
    let mut bytes = whole(classes);
    let mut planes = [0; PLANES];
    for plane in planes.iter_mut().rev() {
        *plane = _mm512_movepi8_mask(bytes);
        bytes = _mm512_add_epi8(bytes, bytes);
    }
    planes
}

/// Compresses the offsets of the set bits to the front and widens them eight at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) fn bit_positions_avx512(
    bits: u64,
    start: usize,
    offsets: &[u8; PLANE_BITS],
    out: &mut [usize; PLANE_BITS],
) {
    let compressed = _mm512_maskz_compress_epi8(bits, whole(offsets));
    let start = _mm512_set1_epi64((start as u64).cast_signed());
    let mut eight = |offsets: __m128i, at: usize| {
        if let Some(out) = out.get_mut(at..at + 8) {
            let positions = _mm512_add_epi64(_mm512_cvtepu8_epi64(offsets), start);
            // SAFETY: the slice has eight numbers, which the store fills. It needs no alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), positions) }
        }
    };
    // Most blocks have nine to sixteen set bits, so the first sixteen are written without a branch on the count.
    let first = _mm512_castsi512_si128(compressed);
    eight(first, 0);
    eight(_mm_unpackhi_epi64(first, first), 8);
    let count = bits.count_ones();
    if count <= 16 {
        return;
    }
    let second = _mm512_extracti32x4_epi32::<1>(compressed);
    eight(second, 16);
    eight(_mm_unpackhi_epi64(second, second), 24);
    if count <= 32 {
        return;
    }
    let (third, fourth) =
        (_mm512_extracti32x4_epi32::<2>(compressed), _mm512_extracti32x4_epi32::<3>(compressed));
    eight(third, 32);
    eight(_mm_unpackhi_epi64(third, third), 40);
    eight(fourth, 48);
    eight(_mm_unpackhi_epi64(fourth, fourth), 56);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) fn positions_of_blocks_avx512<'a>(
    blocks: impl Iterator<Item = BlockBits<'a>>,
    out: &mut [usize],
) -> usize {
    positions_of_blocks!(bit_positions_avx512, blocks, out)
}

/// As [`bit_positions_avx512`], eight bits at a time, without a branch on their number.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn bit_positions_avx2(
    bits: u64,
    start: usize,
    offsets: &[u8; PLANE_BITS],
    out: &mut [usize; PLANE_BITS],
) {
    let start = _mm256_set1_epi64x((start as u64).cast_signed());
    let mut at = 0;
    for (kept, offsets) in bits.to_le_bytes().into_iter().zip(offsets.as_chunks::<8>().0) {
        let offsets = compress(load8(offsets), kept);
        let (low, high) = (_mm256_cvtepu8_epi64(offsets), _mm256_cvtepu8_epi64(_mm_srli_si128::<4>(offsets)));
        // No more than eight positions were written for each byte before.
        if let Some(out) = out.get_mut(at..at + 8) {
            // SAFETY: the slice has eight numbers, which the two stores fill. They need no alignment.
            unsafe {
                _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_add_epi64(low, start));
                _mm256_storeu_si256(out.as_mut_ptr().add(4).cast(), _mm256_add_epi64(high, start));
            }
        }
        at += kept.count_ones() as usize;
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn positions_of_blocks_avx2<'a>(
    blocks: impl Iterator<Item = BlockBits<'a>>,
    out: &mut [usize],
) -> usize {
    positions_of_blocks!(bit_positions_avx2, blocks, out)
}

#[inline]
fn block(window: &[u8; WINDOW]) -> &[u8; PLANE_BITS] {
    window.first_chunk().unwrap_or(&[0; PLANE_BITS])
}

#[target_feature(enable = "avx2")]
pub(super) fn leads_avx2(window: &[u8; WINDOW]) -> u64 {
    let (low, high) = halves(block(window));
    let last = _mm256_set1_epi8(LAST_CONTINUATION);
    signs(_mm256_cmpgt_epi8(low, last), _mm256_cmpgt_epi8(high, last))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn leads_avx512(window: &[u8; WINDOW]) -> u64 {
    _mm512_cmpgt_epi8_mask(whole(block(window)), _mm512_set1_epi8(LAST_CONTINUATION))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2,popcnt")]
pub(super) fn take_characters_avx512(
    window: &[u8; WINDOW],
    valid: u64,
    limit: usize,
    base: u8,
    out: &mut [u8; PLANE_BITS],
) -> Characters {
    let leads = leads_avx512(window) & valid;
    let taken = if limit < PLANE_BITS { _pdep_u64((1 << limit) - 1, leads) } else { leads };
    let offsets = _mm512_add_epi8(whole(&ASCII_OFFSETS), _mm512_set1_epi8(base.cast_signed()));
    let offsets = _mm512_maskz_compress_epi8(taken, offsets);
    // SAFETY: the store fills the 64 bytes of the array and needs no alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), offsets) }
    Characters { leads, taken }
}

/// The offsets of the set bits plus `base`, in order. The rest of `out` is unspecified.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn offsets_avx2(bits: u64, base: u8, out: &mut [u8; PLANE_BITS]) {
    let base = _mm_set1_epi8(base.cast_signed());
    let mut at = 0;
    for (kept, offsets) in bits.to_le_bytes().into_iter().zip(ASCII_OFFSETS.as_chunks::<8>().0) {
        let offsets = _mm_add_epi8(load8(offsets), base);
        // No more than eight offsets were written for each byte before.
        if let Some(out) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            store8(compress(offsets, kept), out);
        }
        at += kept.count_ones() as usize;
    }
}

#[inline]
#[target_feature(enable = "avx2,lzcnt,popcnt")]
pub(super) fn take_characters_avx2(
    window: &[u8; WINDOW],
    valid: u64,
    limit: usize,
    base: u8,
    out: &mut [u8; PLANE_BITS],
) -> Characters {
    let leads = leads_avx2(window) & valid;
    let mut taken = leads;
    for _ in limit..leads.count_ones() as usize {
        taken ^= 1 << taken.ilog2();
    }
    offsets_avx2(taken, base, out);
    Characters { leads, taken }
}

/// As [`classify_avx512`]. The bytes of eight characters are gathered, and then their classes.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn classify_avx2(
    bmp: &[u8],
    window: &[u8; WINDOW],
    leads: u64,
    out: &mut [u8; PLANE_BITS],
) -> u64 {
    assert!(bmp.len() == BMP + GATHER_PADDING);
    let mut offsets = [0; PLANE_BITS];
    offsets_avx2(leads, 0, &mut offsets);
    let groups = offsets.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0);
    let mut four_bytes = 0;
    for (at, (offsets, out)) in groups.enumerate().take((leads.count_ones() as usize).div_ceil(8)) {
        // In the last group there may be fewer than eight offsets; the other bytes can be anything.
        let offsets = _mm256_and_si256(_mm256_cvtepu8_epi32(load8(offsets)), _mm256_set1_epi32(63));
        // SAFETY: the gather reads four bytes at each offset. Offsets are below 64, and a window has three bytes more.
        let bytes = unsafe { _mm256_i32gather_epi32::<1>(window.as_ptr().cast(), offsets) };
        let bits = |bytes: __m256i, mask: i32| _mm256_and_si256(bytes, _mm256_set1_epi32(mask));
        let first = bits(bytes, 0xFF);
        let second = bits(_mm256_srli_epi32::<8>(bytes), 0x3F);
        let third = bits(_mm256_srli_epi32::<16>(bytes), 0x3F);
        let two = _mm256_or_si256(_mm256_slli_epi32::<6>(bits(first, 0x1F)), second);
        let three =
            _mm256_or_si256(_mm256_slli_epi32::<12>(bits(first, 0x0F)), _mm256_slli_epi32::<6>(second));
        let three = _mm256_or_si256(three, third);
        let above = |limit: i32| _mm256_cmpgt_epi32(first, _mm256_set1_epi32(limit));
        let code_points = _mm256_blendv_epi8(first, two, above(0x7F));
        let code_points = _mm256_blendv_epi8(code_points, three, above(0xDF));
        let is_four = _mm256_movemask_ps(_mm256_castsi256_ps(above(0xEF))).cast_unsigned();
        four_bytes |= u64::from(is_four) << (8 * at);
        // SAFETY: the gather reads four bytes at each code point. Code points are below 2^16 here, and the table has
        // `BMP + GATHER_PADDING` bytes, which the assertion above checks.
        let classes = unsafe { _mm256_i32gather_epi32::<1>(bmp.as_ptr().cast(), code_points) };
        let lowest = _mm256_setr_epi32(0x0C08_0400, 0, 0, 0, 0x0C08_0400, 0, 0, 0);
        let classes = _mm256_shuffle_epi8(classes, lowest);
        let (low, high) = (_mm256_castsi256_si128(classes), _mm256_extracti128_si256::<1>(classes));
        store8(_mm_unpacklo_epi32(low, high), out);
    }
    // Only characters count.
    four_bytes & 1_u64.checked_shl(leads.count_ones()).unwrap_or(0).wrapping_sub(1)
}

/// Writes the class bytes of the characters that begin at `leads`. Returns a bit for each of them that has four
/// bytes. The caller has to look up the classes of these.
///
/// The first bytes of all characters are compressed into one vector, their second and third bytes into two others.
/// If a character has fewer bytes, these vectors have bytes of the next characters in its lane, which are masked
/// out.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
pub(super) fn classify_avx512(
    bmp: &[u8],
    window: &[u8; WINDOW],
    leads: u64,
    out: &mut [u8; PLANE_BITS],
) -> u64 {
    assert!(bmp.len() == BMP + GATHER_PADDING);
    let [second, third] = [1, 2].map(|distance| window[distance..].first_chunk().unwrap_or(&[0; PLANE_BITS]));
    let first = _mm512_maskz_compress_epi8(leads, whole(block(window)));
    let second = _mm512_maskz_compress_epi8(leads, whole(second));
    let third = _mm512_maskz_compress_epi8(leads, whole(third));
    let is_wide = _mm512_cmpge_epu8_mask(first, _mm512_set1_epi8(0xC0_u8.cast_signed()));
    let is_three = _mm512_cmpge_epu8_mask(first, _mm512_set1_epi8(0xE0_u8.cast_signed()));
    let is_four = _mm512_cmpge_epu8_mask(first, _mm512_set1_epi8(0xF0_u8.cast_signed()));
    let own = _mm512_set1_epi16(0x3F);
    let count = leads.count_ones() as usize;
    for half in 0..count.div_ceil(32) {
        let part = |bytes: __m512i| {
            let bytes =
                if half == 0 { _mm512_castsi512_si256(bytes) } else { _mm512_extracti64x4_epi64::<1>(bytes) };
            _mm512_cvtepu8_epi16(bytes)
        };
        let (first, second, third) = (part(first), part(second), part(third));
        let second = _mm512_and_si512(second, own);
        let two = _mm512_and_si512(_mm512_slli_epi16::<6>(first), _mm512_set1_epi16(0x7C0));
        let two = _mm512_or_si512(two, second);
        let three = _mm512_or_si512(_mm512_slli_epi16::<12>(first), _mm512_slli_epi16::<6>(second));
        let three = _mm512_or_si512(three, _mm512_and_si512(third, own));
        let (is_wide, is_three) = ((is_wide >> (32 * half)) as u32, (is_three >> (32 * half)) as u32);
        let code_points = _mm512_mask_blend_epi16(is_wide, first, two);
        let code_points = _mm512_mask_blend_epi16(is_three, code_points, three);
        for (quarter, out) in out[32 * half..].as_chunks_mut::<16>().0.iter_mut().take(2).enumerate() {
            if 32 * half + 16 * quarter >= count {
                break;
            }
            let code_points = if quarter == 0 {
                _mm512_castsi512_si256(code_points)
            } else {
                _mm512_extracti64x4_epi64::<1>(code_points)
            };
            let code_points = _mm512_cvtepu16_epi32(code_points);
            // SAFETY: the gather reads four bytes at each code point. Code points are below 2^16 here, and the
            // table has `BMP + GATHER_PADDING` bytes, which the assertion above checks.
            let classes = unsafe { _mm512_i32gather_epi32::<1>(code_points, bmp.as_ptr().cast()) };
            // SAFETY: the store fills the sixteen bytes of the array and needs no alignment.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(classes)) }
        }
    }
    is_four
}
