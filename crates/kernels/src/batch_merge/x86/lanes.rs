//! Divides an input into groups of sixteen positions, which are one vector of 512 bits or two of 256 bits.
use crate::batch_merge::merge_loop::{narrow, wide, widest};

/// The number of positions in a group.
pub(super) const GROUP: usize = 16;

/// The bytes at the sixteen positions of a group, and for each the byte after it.
pub(super) struct BytePairGroup {
    pub(super) lefts: [u8; GROUP],
    pub(super) rights: [u8; GROUP],
}

/// An input that has `N` groups.
pub(super) trait Groups<const N: usize> {
    fn groups(&self) -> [BytePairGroup; N];
}

impl Groups<1> for narrow::Input {
    #[inline]
    fn groups(&self) -> [BytePairGroup; 1] {
        [BytePairGroup { lefts: self.to_le_bytes(), rights: (self >> 8).to_le_bytes() }]
    }
}

impl Groups<2> for wide::Input {
    #[inline]
    fn groups(&self) -> [BytePairGroup; 2] {
        groups_of(self)
    }
}

impl Groups<4> for widest::Input {
    #[inline]
    fn groups(&self) -> [BytePairGroup; 4] {
        groups_of(&self.0)
    }
}

/// The byte after the last position is 0.
#[inline]
fn groups_of<const N: usize>(bytes: &[u8]) -> [BytePairGroup; N] {
    let at = |from: usize| bytes[from..].first_chunk().copied();
    let last = |from: usize| std::array::from_fn(|i| bytes.get(from + i).copied().unwrap_or_default());
    std::array::from_fn(|group| {
        let from = GROUP * group;
        BytePairGroup {
            lefts: at(from).unwrap_or_default(),
            rights: at(from + 1).unwrap_or_else(|| last(from + 1)),
        }
    })
}

/// The symbols of the group that starts with byte `from`, whose position is `from + 1`.
#[inline]
pub(super) fn group_symbols(symbols: &mut [u32], from: usize) -> &mut [u32; GROUP] {
    symbols[1 + from..].first_chunk_mut().expect("there are more positions than bytes")
}

/// Inputs with more groups than this keep their candidates in memory. There are too few registers for the vectors
/// of [`widest::Input`], and the compiler would move all of them for each change. If several inputs are merged
/// side by side, a store has completed before its vector is loaded again; a single input has to wait for it.
pub(super) const IN_REGISTERS: usize = 2;

/// Sets the candidate of a position, whose lane is one less. The last two lanes have no byte. Whatever is stored
/// in them, for the positions before and after all bytes, is at least `NO_CANDIDATE`.
#[inline]
pub(super) fn set_in_memory<const N: usize>(
    candidates: &mut [[u32; GROUP]; N],
    position: u32,
    candidate: u32,
) {
    candidates.as_flattened_mut()[position.wrapping_sub(1) as usize % (GROUP * N)] = candidate;
}
