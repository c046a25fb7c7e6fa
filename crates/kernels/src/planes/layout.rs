//! The types and sizes that all routines of this module share.

/// Characters in a block: one bit of each plane.
pub const PLANE_BITS: usize = 64;
/// Classes, one bit each in the class byte of a character.
pub const PLANES: usize = 8;

/// The planes of one block.
pub type Planes = [u64; PLANES];

/// For each plane and each low half of a byte, one bit for each high half.
pub(super) type Columns = [[u8; 16]; PLANES];

/// For each high half of an ASCII byte, its bit in a column.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) const ROWS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// The offsets of a block's characters where each is one byte.
pub const ASCII_OFFSETS: [u8; PLANE_BITS] = {
    let (mut offsets, mut at) = ([0; PLANE_BITS], 0);
    while at < PLANE_BITS {
        offsets[at] = at as u8;
        at += 1;
    }
    offsets
};

/// Bytes of a window of UTF-8: one block, and the rest of a character that begins at its last byte.
pub const WINDOW: usize = PLANE_BITS + 3;

/// Code points that the flat table of classes covers: the Basic Multilingual Plane, all characters of up to three
/// bytes.
pub(super) const BMP: usize = 1 << 16;
/// A gather loads four bytes where one is wanted, so the table has this many more.
pub(super) const GATHER_PADDING: usize = 3;

/// Characters that begin in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characters {
    /// The bytes at which they begin: all but the continuation bytes.
    pub leads: u64,
    /// The first of these, up to the limit of the call.
    pub taken: u64,
}
