//! The types and sizes that the routines of this module share.

/// The number of characters in a block, each of which has one bit in every plane.
pub const PLANE_BITS: usize = 64;
/// The number of classes, each of which has one bit in a class byte.
pub const PLANES: usize = 8;

/// The planes of one block.
pub type Planes = [u64; PLANES];

/// The number of words that [`lanes`](super::lanes) have, one of each block.
pub const LANES: usize = 8;

/// The number of blocks in a batch: those of lanes, and one more.
pub const BATCH: usize = LANES + 1;

/// The planes of a batch of blocks: for each plane its words in these blocks.
pub type PlaneBatch = [[u64; BATCH]; PLANES];

/// For each plane and each low half of a byte, a byte with one bit for each high half.
pub(super) type Columns = [[u8; 16]; PLANES];

/// For each high half of an ASCII byte, its bit in [`Columns`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) const ROWS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// The offsets of the characters in a block in which every character is one byte.
pub const ASCII_OFFSETS: [u8; PLANE_BITS] = {
    let (mut offsets, mut at) = ([0; PLANE_BITS], 0);
    while at < PLANE_BITS {
        offsets[at] = at as u8;
        at += 1;
    }
    offsets
};

/// Bits of the characters of a block, where it starts, and the offset of each character from there.
pub type BlockBits<'a> = (u64, usize, &'a [u8; PLANE_BITS]);

/// The body of `positions_of_blocks` at each level: calls a function for one block after the other.
macro_rules! positions_of_blocks {
    ($bit_positions:ident, $blocks:ident, $out:ident) => {{
        let mut count = 0;
        for (bits, start, offsets) in $blocks {
            let out = $out[count..].first_chunk_mut().expect("there is space for all positions of a block");
            $bit_positions(bits, start, offsets, out);
            count += bits.count_ones() as usize;
        }
        count
    }};
}
pub(super) use positions_of_blocks;

/// The bytes of a window: one block, and the rest of a character that begins at the last byte of the block.
pub const WINDOW: usize = PLANE_BITS + 3;

/// The number of code points in the flat table of classes. These are the Basic Multilingual Plane: all characters
/// of up to three bytes.
pub(super) const BMP: usize = 1 << 16;
/// A gather loads four bytes to read one, so the table has three more bytes.
pub(super) const GATHER_PADDING: usize = 3;

/// The characters that begin in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characters {
    /// The bytes at which characters begin, that is, all but the continuation bytes.
    pub leads: u64,
    /// The first of `leads`, up to the limit of the call.
    pub taken: u64,
}
