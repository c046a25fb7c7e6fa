//! Planes computed with vectors of 128 bits, which every 64-bit ARM processor has.
use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vcgtq_s8, vdupq_n_s8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vmaxvq_u8, vorrq_u8,
    vpaddq_u8, vqtbl1q_u8, vreinterpretq_s8_u8, vreinterpretq_u64_u8, vshlq_n_u8, vshrq_n_u8, vtstq_u8,
};

use super::layout::{BATCH, Columns, PLANE_BITS, PLANES, PlaneBatch, Planes, ROWS, WINDOW};
use crate::utf8::LAST_CONTINUATION;

/// The bit of each byte in the word of its plane. Eight bytes become one byte of the word.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

#[inline]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the load reads the 16 bytes of the array. Every aarch64 machine has NEON.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
fn quarters(block: &[u8; PLANE_BITS]) -> [uint8x16_t; 4] {
    let quarters = block.as_chunks::<16>().0;
    std::array::from_fn(|i| load(&quarters[i]))
}

/// One bit for each of 64 bytes that are all ones or all zeros. Adjacent bytes are added, three times.
#[inline]
fn word(masks: [uint8x16_t; 4]) -> u64 {
    let bits = load(&BITS);
    // SAFETY: arithmetic on values only. Every aarch64 machine has NEON.
    unsafe {
        let [a, b, c, d] = masks.map(|mask| vandq_u8(mask, bits));
        let eights = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(eights, eights)))
    }
}

pub(super) fn ascii(
    columns: &Columns,
    blocks: &[[u8; PLANE_BITS]],
    out: &mut PlaneBatch,
    first: usize,
) -> usize {
    let columns = columns.each_ref().map(load);
    let rows = load(&ROWS);
    for (at, block) in (first..BATCH).zip(blocks) {
        let bytes = quarters(block);
        // SAFETY: arithmetic on values only. Every aarch64 machine has NEON.
        unsafe {
            let [a, b, c, d] = bytes;
            if vmaxvq_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d))) >= 0x80 {
                return at - first;
            }
            let low = bytes.map(|bytes| vandq_u8(bytes, vdupq_n_u8(15)));
            let row = bytes.map(|bytes| vqtbl1q_u8(rows, vshrq_n_u8::<4>(bytes)));
            for (words, &column) in out.iter_mut().zip(&columns) {
                words[at] = word(std::array::from_fn(|i| vtstq_u8(vqtbl1q_u8(column, low[i]), row[i])));
            }
        }
    }
    blocks.len().min(BATCH.saturating_sub(first))
}

pub(super) fn classes(classes: &[u8; PLANE_BITS]) -> Planes {
    let mut bytes = quarters(classes);
    let mut planes = [0; PLANES];
    for plane in planes.iter_mut().rev() {
        // SAFETY: arithmetic on values only. Every aarch64 machine has NEON.
        unsafe {
            *plane = word(bytes.map(|bytes| vtstq_u8(bytes, vdupq_n_u8(0x80))));
            bytes = bytes.map(|bytes| vshlq_n_u8::<1>(bytes));
        }
    }
    planes
}

pub(super) fn leads(window: &[u8; WINDOW]) -> u64 {
    let block = window.first_chunk().unwrap_or(&[0; PLANE_BITS]);
    // SAFETY: arithmetic on values only. Every aarch64 machine has NEON.
    unsafe {
        let last = vdupq_n_s8(LAST_CONTINUATION);
        word(quarters(block).map(|bytes| vcgtq_s8(vreinterpretq_s8_u8(bytes), last)))
    }
}
