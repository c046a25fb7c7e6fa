//! Planes by words of 8 bytes: the twin of every vector routine, and the way of machines without.
use super::{BLOCK, PLANES, Planes};

pub(super) fn ascii(bytes: &[u8; 128], blocks: &[[u8; BLOCK]], out: &mut [Planes]) -> usize {
    for (done, (block, planes)) in blocks.iter().zip(out.iter_mut()).enumerate() {
        if !block.is_ascii() {
            return done;
        }
        *planes = classes(&block.map(|byte| bytes[usize::from(byte & 0x7F)]));
    }
    blocks.len().min(out.len())
}

pub(super) fn classes(classes: &[u8; BLOCK]) -> Planes {
    let mut bytes = [[0; 8]; PLANES];
    for (at, eight) in classes.as_chunks::<8>().0.iter().enumerate() {
        let planes = transposed(u64::from_le_bytes(*eight)).to_le_bytes();
        for (plane, bits) in bytes.iter_mut().zip(planes) {
            plane[at] = bits;
        }
    }
    bytes.map(u64::from_le_bytes)
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
