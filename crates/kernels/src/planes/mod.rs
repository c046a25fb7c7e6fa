//! Bit planes: eight words for 64 characters, one for each of eight classes. Bit `n` of a word says whether
//! character `n` is in the class.
//!
//! In: blocks of text and the class byte of every character (bit `n` is class `n`). Out: planes, and the
//! positions of the bits that are set in a word. Every vector routine has a portable twin, and the level (the
//! instruction set, see [`Level`]) never changes a result.
//!
//! The classes of the 128 ASCII characters are a table with 16 columns for the low half of a byte and 8 rows for
//! the high half. For each class, a shuffle by the low half looks up the rows of that column which are in the
//! class. A test against the row of the byte then says whether the byte is in the class.
pub mod characters;
pub mod lanes;
mod layout;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use self::layout::Columns;
pub use self::layout::{
    ASCII_OFFSETS, BATCH, BlockBits, Characters, PLANE_BITS, PLANES, PlaneBatch, Planes, WINDOW,
};
use crate::cpu::Level;

/// The classes of each ASCII character.
#[derive(Debug)]
pub struct AsciiClasses {
    bytes: [u8; 128],
    // Portable code reads `bytes`.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
    columns: Columns,
}

impl AsciiClasses {
    /// `bytes` has the class byte of each character. Bit `n` says whether the character is in class `n`.
    pub fn new(bytes: [u8; 128]) -> Self {
        let mut columns = [[0; 16]; PLANES];
        for (character, &classes) in bytes.iter().enumerate() {
            for (plane, columns) in columns.iter_mut().enumerate() {
                columns[character & 15] |= (classes >> plane & 1) << (character >> 4);
            }
        }
        Self { bytes, columns }
    }

    /// Writes the planes of `blocks` to the words of `out` from block `first` on, up to the first block that is not all
    /// ASCII, or to the last word. Returns the number of blocks written. The words of later blocks are unspecified.
    ///
    /// Cost: about one instruction a byte with vectors of 256 bits, six in portable code.
    #[inline]
    pub fn planes(
        &self,
        level: Level,
        blocks: &[[u8; PLANE_BITS]],
        out: &mut PlaneBatch,
        first: usize,
    ) -> usize {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if Level::Avx512.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX-512
                // level, which include all that the function enables.
                unsafe { x86::ascii_avx512(&self.columns, blocks, out, first) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if Level::Avx2.is_available() => {
                // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX2 level,
                // which include all that the function enables.
                unsafe { x86::ascii_avx2(&self.columns, blocks, out, first) }
            }
            #[cfg(target_arch = "aarch64")]
            Level::Neon => neon::ascii(&self.columns, blocks, out, first),
            _ => portable::ascii(&self.bytes, blocks, out, first),
        }
    }
}

/// Computes the planes of 64 characters from their class bytes.
#[inline]
pub fn planes_from_classes(level: Level, classes: &[u8; PLANE_BITS]) -> Planes {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX-512 level,
            // which include all that the function enables.
            unsafe { x86::classes_avx512(classes) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX2 level,
            // which include all that the function enables.
            unsafe { x86::classes_avx2(classes) }
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::classes(classes),
        _ => portable::classes(classes),
    }
}

/// Writes `start + offsets[n]` to `out` for each bit `n` that is set in `bits`, in order. The rest of `out` is
/// unspecified.
#[inline]
pub fn bit_positions(
    level: Level,
    bits: u64,
    start: usize,
    offsets: &[u8; PLANE_BITS],
    out: &mut [usize; PLANE_BITS],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if crate::cpu::has_byte_compress(level) => {
            // SAFETY: `has_byte_compress` has checked that the CPU has the features of the AVX-512 level and
            // VBMI2, which include all that the function enables.
            unsafe { x86::bit_positions_avx512(bits, start, offsets, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if level.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
            unsafe { x86::bit_positions_avx2(bits, start, offsets, out) }
        }
        _ => portable::bit_positions(bits, start, offsets, out),
    }
}

/// As [`bit_positions`], for several blocks, each given by its bits, its start and its offsets. Returns how many bits are
/// set in all.
///
/// # Panics
/// If `out` has no space for 64 positions after those of the blocks before, for each block.
#[inline]
pub fn positions_of_blocks<'a>(
    level: Level,
    blocks: impl Iterator<Item = BlockBits<'a>>,
    out: &mut [usize],
) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if crate::cpu::has_byte_compress(level) => {
            // SAFETY: `has_byte_compress` has checked that the CPU has the features of the AVX-512 level and
            // VBMI2, which include all that the function enables.
            unsafe { x86::positions_of_blocks_avx512(blocks, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 if level.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the level.
            unsafe { x86::positions_of_blocks_avx2(blocks, out) }
        }
        _ => portable::positions_of_blocks(blocks, out),
    }
}

/// The bytes of a window that begin a character, that is, all but the continuation bytes.
#[inline]
pub(crate) fn leads(level: Level, window: &[u8; WINDOW]) -> u64 {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX-512 level,
            // which include all that the function enables.
            unsafe { x86::leads_avx512(window) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the guard of this match arm has checked that the CPU has the features of the AVX2 level,
            // which include all that the function enables.
            unsafe { x86::leads_avx2(window) }
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::leads(window),
        _ => portable::leads(window),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cpu;

    /// The reference: one bit at a time.
    fn plain(classes: &[u8; PLANE_BITS]) -> Planes {
        let mut planes = [0; PLANES];
        for (at, class) in classes.iter().enumerate() {
            for (plane, word) in planes.iter_mut().enumerate() {
                *word |= u64::from(class >> plane & 1) << at;
            }
        }
        planes
    }

    fn check(table: &[u8; 128], blocks: &[[u8; PLANE_BITS]]) {
        let classes = AsciiClasses::new(*table);
        let ascii = blocks.iter().take_while(|block| block.is_ascii()).count();
        for level in cpu::available() {
            for first in [0, 1, BATCH - 1, BATCH] {
                let mut out = [[7; BATCH]; PLANES];
                let done = classes.planes(level, blocks, &mut out, first);
                assert_eq!(done, ascii.min(BATCH - first), "{level}");
                for (at, block) in blocks.iter().enumerate().take(done) {
                    let expected = plain(&block.map(|byte| table[usize::from(byte)]));
                    assert_eq!(out.map(|row| row[first + at]), expected, "{level} on {block:?}");
                }
                assert!(out.iter().all(|row| row[..first] == [7; BATCH][..first]), "{level}");
            }
        }
    }

    #[test]
    fn every_byte_at_every_position_has_its_classes_at_every_level() {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte as u8).wrapping_mul(201).rotate_left(3));
        for byte in 0..=255 {
            for at in 0..PLANE_BITS {
                let mut block = [b'x'; PLANE_BITS];
                block[at] = byte;
                check(&table, &[[b' '; PLANE_BITS], block, [b'0'; PLANE_BITS]]);
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_have_the_same_planes_at_every_level(
            table: [u8; 128],
            mut blocks in prop::collection::vec(any::<[u8; PLANE_BITS]>(), 0..5),
            foreign in prop::option::of((0..5_usize, 0..PLANE_BITS)),
        ) {
            for block in &mut blocks {
                for byte in block.iter_mut() {
                    *byte &= 0x7F;
                }
            }
            if let Some((block, at)) = foreign && let Some(block) = blocks.get_mut(block) {
                block[at] |= 0x80;
            }
            check(&table, &blocks);
        }

        #[test]
        fn bit_positions_are_found_at_every_level(bits: u64, sparse: bool, few: u64, start in 0..usize::MAX >> 1, offsets: [u8; PLANE_BITS]) {
            let bits = if sparse { bits & few } else { bits };
            let plain = (0..PLANE_BITS).filter(|at| bits >> at & 1 == 1).map(|at| start + usize::from(offsets[at]));
            let plain: Vec<usize> = plain.collect();
            for level in cpu::available() {
                let mut found = [0; PLANE_BITS];
                bit_positions(level, bits, start, &offsets, &mut found);
                prop_assert_eq!(&found[..plain.len()], &plain, "{}", level);
            }
        }

        #[test]
        fn leads_are_found_at_every_level(block: [u8; PLANE_BITS]) {
            let mut window = [0x80; WINDOW];
            window[..PLANE_BITS].copy_from_slice(&block);
            let plain = (0..PLANE_BITS).fold(0, |leads, at| leads | u64::from(block[at] & 0xC0 != 0x80) << at);
            for level in cpu::available() {
                prop_assert_eq!(leads(level, &window), plain, "{}", level);
            }
        }

        #[test]
        fn class_bytes_have_the_same_planes_at_every_level(classes: [u8; PLANE_BITS]) {
            for level in cpu::available() {
                prop_assert_eq!(planes_from_classes(level, &classes), plain(&classes), "{}", level);
            }
        }
    }
}
