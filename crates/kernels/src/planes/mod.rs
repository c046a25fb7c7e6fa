//! Bit planes: for 64 characters, one word for each of eight classes, in which bit `n` says
//! whether character `n` is in the class.
//!
//! Any assignment of classes to the 128 ASCII characters is a table of 16 columns (the low half of
//! a byte) by 8 rows (the high half): for each class a shuffle by the low half finds which rows
//! of that column are in it, and a test against the row of the byte says whether this one is.
pub mod characters;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::cpu::Level;

/// Characters in a block.
pub const BLOCK: usize = 64;
/// Classes, one bit each in the class byte of a character.
pub const PLANES: usize = 8;

/// The planes of one block.
pub type Planes = [u64; PLANES];

/// For each plane, for the low half of a byte, a bit for each high half.
type Columns = [[u8; 16]; PLANES];

/// Which classes the ASCII characters are in.
#[derive(Debug, Clone)]
pub struct AsciiClasses {
    bytes: [u8; 128],
    // Portable code asks `bytes`.
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
    columns: Columns,
}

impl AsciiClasses {
    /// `bytes` has the class byte of each character: bit `n` says whether it is in class `n`.
    pub fn new(bytes: [u8; 128]) -> Self {
        let mut columns = [[0; 16]; PLANES];
        for (character, &classes) in bytes.iter().enumerate() {
            for (plane, columns) in columns.iter_mut().enumerate() {
                columns[character & 15] |= (classes >> plane & 1) << (character >> 4);
            }
        }
        Self { bytes, columns }
    }

    /// The planes of `blocks`, up to the first one that is not all ASCII or to the end of `out`;
    /// says how many it were. What stands in `out` behind those means nothing.
    ///
    /// Cost: about one instruction a byte with 256 bits, six in portable code.
    #[inline]
    pub fn planes(&self, level: Level, blocks: &[[u8; BLOCK]], out: &mut [Planes]) -> usize {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if Level::Avx512.is_available() => {
                // SAFETY: the features of the level were found to be there in this very arm.
                unsafe { x86::ascii_avx512(&self.columns, blocks, out) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if Level::Avx2.is_available() => {
                // SAFETY: the feature of the level was found to be there in this very arm.
                unsafe { x86::ascii_avx2(&self.columns, blocks, out) }
            }
            #[cfg(target_arch = "aarch64")]
            Level::Neon => neon::ascii(&self.columns, blocks, out),
            _ => portable::ascii(&self.bytes, blocks, out),
        }
    }
}

/// The planes of 64 characters from their class bytes.
#[inline]
pub fn planes_of_classes(level: Level, classes: &[u8; BLOCK]) -> Planes {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the features of the level were found to be there in this very arm.
            unsafe { x86::classes_avx512(classes) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the feature of the level was found to be there in this very arm.
            unsafe { x86::classes_avx2(classes) }
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => neon::classes(classes),
        _ => portable::classes(classes),
    }
}

/// The offsets of a block's characters where each is a byte.
pub const IN_ORDER: [u8; BLOCK] = {
    let (mut offsets, mut at) = ([0; BLOCK], 0);
    while at < BLOCK {
        offsets[at] = at as u8;
        at += 1;
    }
    offsets
};

/// Puts the offset of each character of `bits`, behind `start`, into `out`, in order. What stands behind as many as
/// there are bits means nothing.
#[inline]
pub fn places(level: Level, bits: u64, start: usize, offsets: &[u8; BLOCK], out: &mut [usize; BLOCK]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        _ if crate::cpu::moves_bytes(level) => {
            // SAFETY: the features of the level, and the one beyond it, were found to be there in this very arm.
            unsafe { x86::places_avx512(bits, start, offsets, out) }
        }
        _ => portable::places(bits, start, offsets, out),
    }
}

/// A block of UTF-8 and what its last character may go on with.
pub const WINDOW: usize = BLOCK + 3;

/// The bytes of a block at which a character of UTF-8 begins: all but the continuation bytes.
#[inline]
fn leads(level: Level, window: &[u8; WINDOW]) -> u64 {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if Level::Avx512.is_available() => {
            // SAFETY: the features of the level were found to be there in this very arm.
            unsafe { x86::leads_avx512(window) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the features of the level were found to be there in this very arm.
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

    /// One bit at a time.
    fn plain(classes: &[u8; BLOCK]) -> Planes {
        let mut planes = [0; PLANES];
        for (place, class) in classes.iter().enumerate() {
            for (plane, word) in planes.iter_mut().enumerate() {
                *word |= u64::from(class >> plane & 1) << place;
            }
        }
        planes
    }

    fn check(table: &[u8; 128], blocks: &[[u8; BLOCK]]) {
        let classes = AsciiClasses::new(*table);
        let ascii = blocks.iter().take_while(|block| block.is_ascii()).count();
        for level in cpu::available() {
            for room in [0, 1, blocks.len(), blocks.len() + 1] {
                let mut out = vec![[7; PLANES]; room];
                let done = classes.planes(level, blocks, &mut out);
                assert_eq!(done, ascii.min(room), "{level}");
                for (block, planes) in blocks.iter().zip(&out[..done]) {
                    let expected = plain(&block.map(|byte| table[usize::from(byte)]));
                    assert_eq!(*planes, expected, "{level} on {block:?}");
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_has_its_classes_at_every_level() {
        let table: [u8; 128] = std::array::from_fn(|byte| (byte as u8).wrapping_mul(201).rotate_left(3));
        for byte in 0..=255 {
            for place in 0..BLOCK {
                let mut block = [b'x'; BLOCK];
                block[place] = byte;
                check(&table, &[[b' '; BLOCK], block, [b'0'; BLOCK]]);
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_have_the_same_planes_at_every_level(
            table: [u8; 128],
            mut blocks in prop::collection::vec(any::<[u8; BLOCK]>(), 0..5),
            foreign in prop::option::of((0..5_usize, 0..BLOCK)),
        ) {
            for block in &mut blocks {
                for byte in block.iter_mut() {
                    *byte &= 0x7F;
                }
            }
            if let Some((block, place)) = foreign && let Some(block) = blocks.get_mut(block) {
                block[place] |= 0x80;
            }
            check(&table, &blocks);
        }

        #[test]
        fn places_are_found_at_every_level(bits: u64, sparse: bool, few: u64, start in 0..usize::MAX >> 1, offsets: [u8; BLOCK]) {
            let bits = if sparse { bits & few } else { bits };
            let plain = (0..BLOCK).filter(|at| bits >> at & 1 == 1).map(|at| start + usize::from(offsets[at]));
            let plain: Vec<usize> = plain.collect();
            for level in cpu::available() {
                let mut found = [0; BLOCK];
                places(level, bits, start, &offsets, &mut found);
                prop_assert_eq!(&found[..plain.len()], &plain, "{}", level);
            }
        }

        #[test]
        fn leads_are_found_at_every_level(block: [u8; BLOCK]) {
            let mut window = [0x80; WINDOW];
            window[..BLOCK].copy_from_slice(&block);
            let plain = (0..BLOCK).fold(0, |leads, at| leads | u64::from(block[at] & 0xC0 != 0x80) << at);
            for level in cpu::available() {
                prop_assert_eq!(leads(level, &window), plain, "{}", level);
            }
        }

        #[test]
        fn class_bytes_have_the_same_planes_at_every_level(classes: [u8; BLOCK]) {
            for level in cpu::available() {
                prop_assert_eq!(planes_of_classes(level, &classes), plain(&classes), "{}", level);
            }
        }
    }
}
