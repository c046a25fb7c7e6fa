//! Divides a text into blocks of 64 characters and computes the planes of each.
//!
//! In: a text and the class tables. Out: blocks, in order and without gaps. In an ASCII block a character is
//! a byte, and vector routines compute the planes of several blocks at a time. In other blocks every character is
//! decoded and looked up, and its offset is stored.
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::planes::characters::take_characters;
use tokenmill_kernels::planes::{self, PLANE_BITS, PLANES, Planes, WINDOW};

use super::algebra::BlockPlanes;
use super::rules::ClassTables;
use crate::pattern::atoms::Atoms;

/// Decoding writes whole windows, so the arrays have space for a block and one more window.
const DECODE_CAPACITY: usize = 2 * PLANE_BITS;

/// The most ASCII blocks that are classified at a time.
pub(super) const ASCII_BATCH: usize = 8;

/// Up to 64 characters of a text; fewer only at its end.
#[derive(Debug)]
pub(super) struct Block {
    planes: Planes,
    /// A bit for each character that the block has.
    valid: u64,
    /// The bytes of the block in the text are `start..end`.
    start: usize,
    end: usize,
    is_ascii: bool,
    /// The offset of each character from `start`. Not used in an ASCII block.
    offsets: [u8; DECODE_CAPACITY],
}

impl Block {
    pub(super) const fn empty() -> Self {
        Self {
            planes: [0; PLANES],
            valid: 0,
            start: 0,
            end: 0,
            is_ascii: true,
            offsets: [0; DECODE_CAPACITY],
        }
    }

    /// Makes the block empty, at position `at`.
    fn clear(&mut self, at: usize) {
        (self.planes, self.valid, self.start, self.end, self.is_ascii) = ([0; PLANES], 0, at, at, true);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.valid == 0
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn end(&self) -> usize {
        self.end
    }

    #[inline]
    pub(super) fn planes(&self) -> BlockPlanes<'_> {
        BlockPlanes { planes: &self.planes, valid: self.valid }
    }

    /// The index of the character that begins at byte `at` of the text. The byte must be in the block.
    pub(super) fn character_at(&self, at: usize) -> usize {
        let offset = at - self.start;
        if self.is_ascii {
            return offset;
        }
        let characters = self.valid.count_ones() as usize;
        self.offsets[..characters].partition_point(|&begin| usize::from(begin) < offset)
    }

    /// Writes the positions in the text of the characters in `bits` to `out`, in order, and returns their number.
    /// The rest of `out` is unspecified.
    #[inline]
    pub(super) fn positions(&self, level: Level, bits: u64, out: &mut [usize; PLANE_BITS]) -> usize {
        let offsets = if self.is_ascii { &planes::ASCII_OFFSETS } else { first_block(&self.offsets) };
        planes::bit_positions(level, bits, self.start, offsets, out);
        bits.count_ones() as usize
    }
}

/// The blocks of a text, in order.
#[derive(Debug)]
pub(super) struct Blocks<'a, A> {
    classes: &'a ClassTables,
    atoms: &'a A,
    text: &'a [u8],
    level: Level,
    /// Where the next block starts.
    at: usize,
    /// The planes of the next ASCII blocks: `batch[taken..made]`, of which the first starts at `at`.
    batch: &'a mut [Planes; ASCII_BATCH],
    taken: usize,
    made: usize,
}

impl<'a, A: Atoms> Blocks<'a, A> {
    #[inline]
    pub(super) fn new(
        classes: &'a ClassTables,
        atoms: &'a A,
        text: &'a str,
        batch: &'a mut [Planes; ASCII_BATCH],
    ) -> Self {
        let text = text.as_bytes();
        Self { classes, atoms, text, level: cpu::level(), at: 0, batch, taken: 0, made: 0 }
    }

    /// The instruction set that the vector routines use for this text.
    #[inline]
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Writes the next block to `block`. The block is empty at the end of the text.
    #[inline]
    pub(super) fn next_into(&mut self, block: &mut Block) {
        if self.taken == self.made {
            let rest = &self.text[self.at..];
            let blocks = rest.as_chunks::<PLANE_BITS>().0;
            if blocks.is_empty() {
                return if rest.is_empty() { block.clear(self.at) } else { self.other_into(block) };
            }
            self.taken = 0;
            self.made = self.classes.ascii.planes(self.level, blocks, self.batch);
            if self.made == 0 {
                return self.other_into(block);
            }
        }
        block.planes = self.batch[self.taken];
        self.taken += 1;
        block.valid = u64::MAX;
        block.is_ascii = true;
        block.start = self.at;
        self.at += PLANE_BITS;
        block.end = self.at;
    }

    /// Writes a block that is not all ASCII, or the short block at the end of the text.
    fn other_into(&mut self, block: &mut Block) {
        let rest = &self.text[self.at..];
        block.start = self.at;
        if rest.len() < PLANE_BITS && rest.is_ascii() {
            self.at = self.text.len();
            block.valid = (1 << rest.len()) - 1;
            block.is_ascii = true;
            let mut padded = [0; PLANE_BITS];
            padded[..rest.len()].copy_from_slice(rest);
            self.classes.ascii.planes(self.level, &[padded], std::slice::from_mut(&mut block.planes));
        } else {
            let mut classes = [0; DECODE_CAPACITY];
            let count = self.decode(&mut classes, &mut block.offsets);
            block.valid = if count == PLANE_BITS { u64::MAX } else { (1 << count) - 1 };
            block.is_ascii = false;
            block.planes = planes::planes_from_classes(self.level, first_block(&classes));
        }
        block.planes.iter_mut().for_each(|plane| *plane &= block.valid);
        block.end = self.at;
    }

    /// Decodes up to 64 characters. Writes the class byte of each and its offset from the start of the block, and
    /// returns their number.
    fn decode(&mut self, classes: &mut [u8; DECODE_CAPACITY], offsets: &mut [u8; DECODE_CAPACITY]) -> usize {
        let start = self.at;
        let mut count = 0;
        while count < PLANE_BITS && self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let mut padded = [0; WINDOW];
            let window = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            let valid = if rest.len() < PLANE_BITS { (1 << rest.len()) - 1 } else { u64::MAX };
            let (Some(classes), Some(offsets)) =
                (classes[count..].first_chunk_mut(), offsets[count..].first_chunk_mut())
            else {
                break;
            };
            let from = (self.at - start) as u8;
            let found = take_characters(self.level, window, valid, PLANE_BITS - count, from, offsets);
            let supplementary = |code_point| self.classes.by_atom[usize::from(self.atoms.of(code_point))];
            self.classes.characters.classify(self.level, window, found.taken, supplementary, classes);
            count += found.taken.count_ones() as usize;
            // The last character of a full window may extend into the next window, which skips its continuation
            // bytes.
            let left = found.leads & !found.taken;
            self.at += if left == 0 { rest.len().min(PLANE_BITS) } else { left.trailing_zeros() as usize };
        }
        count
    }
}

fn first_block(bytes: &[u8; DECODE_CAPACITY]) -> &[u8; PLANE_BITS] {
    bytes.first_chunk().unwrap_or(&[0; PLANE_BITS])
}
