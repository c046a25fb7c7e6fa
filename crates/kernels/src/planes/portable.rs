//! Planes by words of 8 bytes: the twin of every vector routine, and the way of machines without.
use super::{BLOCK, PLANES, Planes};

pub(super) fn ascii(bytes: &[u8; 128], blocks: &[[u8; BLOCK]], out: &mut [Planes]) -> usize {
    for (done, (block, planes)) in blocks.iter().zip(out.iter_mut()).enumerate() {
        if !block.is_ascii() {
            return done;
        }
        *planes = planes_of(block, |byte| bytes[usize::from(byte & 0x7F)]);
    }
    blocks.len().min(out.len())
}

pub(super) fn classes(classes: &[u8; BLOCK]) -> Planes {
    planes_of(classes, |class| class)
}

#[inline]
fn planes_of(characters: &[u8; BLOCK], class: impl Fn(u8) -> u8) -> Planes {
    let mut planes = [0; PLANES];
    for (at, eight) in characters.as_chunks::<8>().0.iter().enumerate() {
        // Put together in a register: bytes that were just stored are slow to load as a word.
        let rows = eight.iter().rev().fold(0, |rows, &byte| rows << 8 | u64::from(class(byte)));
        let columns = transposed(rows);
        for (plane, word) in planes.iter_mut().enumerate() {
            *word |= (columns >> (8 * plane) & 0xFF) << (8 * at);
        }
    }
    planes
}

/// The bytes that are no continuation bytes of UTF-8.
pub(super) fn leads(block: &[u8; BLOCK]) -> u64 {
    let words = block.as_chunks::<8>().0;
    words.iter().rev().fold(0, |leads, eight| {
        let word = u64::from_le_bytes(*eight);
        let leading = (!word | word << 1) >> 7 & (u64::MAX / 255);
        // Byte n of the word comes to bit 56 + n of the product.
        leads << 8 | leading.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// A matrix of 8 by 8 bits, rows for columns: three exchanges of ever larger squares.
fn transposed(rows: u64) -> u64 {
    let exchange = |rows: u64, distance: u32, mask: u64| {
        let differing = (rows ^ rows >> distance) & mask;
        rows ^ differing ^ differing << distance
    };
    let rows = exchange(rows, 7, 0x00AA_00AA_00AA_00AA);
    let rows = exchange(rows, 14, 0x0000_CCCC_0000_CCCC);
    exchange(rows, 28, 0x0000_0000_F0F0_F0F0)
}
