//! Planes computed with words of 8 bytes. This is the twin of every vector routine, and runs on machines without
//! vectors.
use super::layout::{BATCH, BlockBits, PLANE_BITS, PLANES, PlaneBatch, Planes, WINDOW, positions_of_blocks};

pub(super) fn ascii(
    bytes: &[u8; 128],
    blocks: &[[u8; PLANE_BITS]],
    out: &mut PlaneBatch,
    first: usize,
) -> usize {
    for (at, block) in (first..BATCH).zip(blocks) {
        if !block.is_ascii() {
            return at - first;
        }
        let planes = planes_of(block, |byte| bytes[usize::from(byte & 0x7F)]);
        for (words, word) in out.iter_mut().zip(planes) {
            words[at] = word;
        }
    }
    blocks.len().min(BATCH.saturating_sub(first))
}

/// Writes eight positions at a time even if fewer remain. A branch for each would be mispredicted once per block.
#[inline]
pub(super) fn bit_positions(
    mut bits: u64,
    start: usize,
    offsets: &[u8; PLANE_BITS],
    out: &mut [usize; PLANE_BITS],
) {
    for eight in out.as_chunks_mut::<8>().0 {
        if bits == 0 {
            return;
        }
        for position in eight {
            *position = start + usize::from(offsets[bits.trailing_zeros() as usize & (PLANE_BITS - 1)]);
            bits &= bits.wrapping_sub(1);
        }
    }
}

#[inline]
pub(super) fn positions_of_blocks<'a>(
    blocks: impl Iterator<Item = BlockBits<'a>>,
    out: &mut [usize],
) -> usize {
    positions_of_blocks!(bit_positions, blocks, out)
}

pub(super) fn classes(classes: &[u8; PLANE_BITS]) -> Planes {
    planes_of(classes, |class| class)
}

#[inline]
fn planes_of(characters: &[u8; PLANE_BITS], class: impl Fn(u8) -> u8) -> Planes {
    let mut planes = [0; PLANES];
    for (at, eight) in characters.as_chunks::<8>().0.iter().enumerate() {
        // Assembled in a register, as it would be slow to load bytes as one word right after storing them.
        let rows = eight.iter().rev().fold(0, |rows, &byte| rows << 8 | u64::from(class(byte)));
        let columns = transposed(rows);
        for (plane, word) in planes.iter_mut().enumerate() {
            *word |= (columns >> (8 * plane) & 0xFF) << (8 * at);
        }
    }
    planes
}

/// The bytes that begin a character, that is, all but the continuation bytes.
pub(super) fn leads(window: &[u8; WINDOW]) -> u64 {
    let words = window[..PLANE_BITS].as_chunks::<8>().0;
    words.iter().rev().fold(0, |leads, eight| {
        let word = u64::from_le_bytes(*eight);
        let leading = (!word | word << 1) >> 7 & (u64::MAX / 255);
        // The multiplication moves the bit of byte `n` to bit `56 + n`.
        leads << 8 | leading.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// Transposes a matrix of 8 by 8 bits by swapping squares of 1, 2 and 4 bits.
fn transposed(rows: u64) -> u64 {
    let exchange = |rows: u64, distance: u32, mask: u64| {
        let differing = (rows ^ rows >> distance) & mask;
        rows ^ differing ^ differing << distance
    };
    let rows = exchange(rows, 7, 0x00AA_00AA_00AA_00AA);
    let rows = exchange(rows, 14, 0x0000_CCCC_0000_CCCC);
    exchange(rows, 28, 0x0000_0000_F0F0_F0F0)
}

/// Decodes the characters that begin at `leads`. It does not branch on the length of a character, which is hard to
/// predict in scripts of two-byte letters with ASCII between the words.
pub(super) fn code_points(window: &[u8; WINDOW], mut leads: u64, out: &mut [u32; PLANE_BITS]) {
    /// For the high half of a first byte: the shift and the mask that give the code point.
    const WIDTHS: [(u32, u32); 16] = {
        let mut widths = [(18, 0x7F); 16];
        widths[0xC] = (12, 0x7FF);
        widths[0xD] = (12, 0x7FF);
        widths[0xE] = (6, 0xFFFF);
        widths[0xF] = (0, 0x1F_FFFF);
        widths
    };
    for code_point in out.iter_mut().take(leads.count_ones() as usize) {
        // The starts of all characters are known, so none has to wait for the length of the previous one.
        let at = leads.trailing_zeros() as usize & (PLANE_BITS - 1);
        leads &= leads.wrapping_sub(1);
        let word = u32::from_be_bytes([window[at], window[at + 1], window[at + 2], window[at + 3]]);
        let (shift, mask) = WIDTHS[(word >> 28) as usize];
        let (second, third) = (word >> 4 & 0x3F << 12, word >> 2 & 0x3F << 6);
        *code_point = (word >> 24 << 18 | second | third | word & 0x3F) >> shift & mask;
    }
}
