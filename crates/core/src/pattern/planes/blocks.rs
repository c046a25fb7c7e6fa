//! Divides a text into blocks of 64 characters and computes the planes of each, several blocks at a time.
//!
//! In: a text and the class tables. Out: batches of blocks, in order and without gaps. In an ASCII block a character is
//! a byte, and vector routines compute the planes of several blocks at a time. In other blocks every character is
//! decoded and looked up, and its offset is stored.
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::planes::characters::take_characters;
use tokenmill_kernels::planes::{self, BATCH, PLANE_BITS, PLANES, PlaneBatch, Planes, WINDOW};

use super::rules::ClassTables;
use crate::pattern::atoms::Atoms;

/// Decoding writes whole windows, so the arrays have space for a block and one more window.
const DECODE_CAPACITY: usize = 2 * PLANE_BITS;

/// Up to 64 characters of a text; fewer only at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The bytes of the block in the text are `start..end`.
    pub(super) start: usize,
    pub(super) end: usize,
    is_ascii: bool,
    /// The offset of each character from `start`. Not used in an ASCII block.
    offsets: [u8; DECODE_CAPACITY],
}

impl Block {
    const EMPTY: Self = Self { start: 0, end: 0, is_ascii: true, offsets: [0; _] };

    /// The index of the character that begins at byte `at` of the text. The byte must be in the block, of which `valid`
    /// has a bit for each character.
    pub(super) fn character_at(&self, at: usize, valid: u64) -> usize {
        let offset = at - self.start;
        if self.is_ascii {
            return offset;
        }
        let characters = valid.count_ones() as usize;
        self.offsets[..characters].partition_point(|&begin| usize::from(begin) < offset)
    }

    /// The offset of each character from the start of the block.
    #[inline]
    pub(super) fn offsets(&self) -> &[u8; PLANE_BITS] {
        if self.is_ascii { &planes::ASCII_OFFSETS } else { first_block(&self.offsets) }
    }

    /// Writes the positions in the text of the characters in `bits` to `out`, in order. The rest of `out` is
    /// unspecified.
    #[inline]
    pub(super) fn positions(&self, level: Level, bits: u64, out: &mut [usize; PLANE_BITS]) {
        planes::bit_positions(level, bits, self.start, self.offsets(), out);
    }
}

/// Blocks in a row: those whose boundaries are computed together, and one more, unless the text ends with them.
#[derive(Debug)]
pub(super) struct BlockBatch {
    pub(super) planes: PlaneBatch,
    /// By block: a bit for each character that it has.
    pub(super) valid: [u64; BATCH],
    pub(super) blocks: [Block; BATCH],
    count: usize,
}

impl BlockBatch {
    pub(super) const EMPTY: Self =
        Self { planes: [[0; _]; _], valid: [0; _], blocks: [Block::EMPTY; _], count: 0 };

    /// The number of blocks whose boundaries can be computed: those that a block follows, or all at the end of a text.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.min(BATCH - 1)
    }

    /// Makes it empty, for another text.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// The planes of one block.
    #[inline]
    pub(super) fn planes_of(&self, at: usize) -> Planes {
        // One check of bounds instead of eight.
        let (at, mut planes) = (at.min(BATCH - 1), [0; PLANES]);
        for (plane, words) in planes.iter_mut().zip(&self.planes) {
            *plane = words[at];
        }
        planes
    }

    #[inline]
    fn set_planes(&mut self, at: usize, planes: &Planes, valid: u64) {
        let at = at.min(BATCH - 1);
        for (words, plane) in self.planes.iter_mut().zip(planes) {
            words[at] = plane & valid;
        }
        self.valid[at] = valid;
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
}

impl<'a, A: Atoms> Blocks<'a, A> {
    #[inline]
    pub(super) fn new(classes: &'a ClassTables, atoms: &'a A, text: &'a str) -> Self {
        Self { classes, atoms, text: text.as_bytes(), level: cpu::level(), at: 0 }
    }

    /// The instruction set that the vector routines use for this text.
    #[inline]
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Fills a batch that is empty, or whose blocks are all done but for the one after them. It is empty again at the
    /// end of the text.
    #[inline]
    pub(super) fn fill(&mut self, batch: &mut BlockBatch) {
        let mut count = 0;
        if batch.count == BATCH {
            let planes = batch.planes_of(BATCH - 1);
            batch.set_planes(0, &planes, batch.valid[BATCH - 1]);
            batch.blocks[0] = batch.blocks[BATCH - 1];
            count = 1;
        }
        while count < BATCH && self.at < self.text.len() {
            let whole = self.text[self.at..].as_chunks::<PLANE_BITS>().0;
            let ascii = match whole {
                [] => 0,
                _ => self.classes.ascii.planes(self.level, whole, &mut batch.planes, count),
            };
            let blocks = batch.blocks.iter_mut().zip(&mut batch.valid);
            for (block, valid) in blocks.skip(count).take(ascii) {
                (block.start, block.end, block.is_ascii) = (self.at, self.at + PLANE_BITS, true);
                *valid = u64::MAX;
                self.at += PLANE_BITS;
            }
            count += ascii;
            if count < BATCH && self.at < self.text.len() {
                self.read_other(batch, count);
                count += 1;
            }
        }
        if count < BATCH {
            batch.set_planes(count, &[0; PLANES], 0);
        }
        batch.count = count;
    }

    /// Reads the next block into block `to` of a batch. It is not all ASCII, or it is the short one at the end of the
    /// text.
    fn read_other(&mut self, batch: &mut BlockBatch, to: usize) {
        let rest = &self.text[self.at..];
        let block = &mut batch.blocks[to];
        block.start = self.at;
        block.is_ascii = rest.len() < PLANE_BITS && rest.is_ascii();
        if block.is_ascii {
            self.at = self.text.len();
            block.end = self.at;
            let mut padded = [0; PLANE_BITS];
            padded[..rest.len()].copy_from_slice(rest);
            self.classes.ascii.planes(self.level, &[padded], &mut batch.planes, to);
            let planes = batch.planes_of(to);
            batch.set_planes(to, &planes, (1 << rest.len()) - 1);
        } else {
            let mut classes = [0; DECODE_CAPACITY];
            let count = self.decode(&mut classes, &mut block.offsets);
            block.end = self.at;
            let valid = if count == PLANE_BITS { u64::MAX } else { (1 << count) - 1 };
            let planes = planes::planes_from_classes(self.level, first_block(&classes));
            batch.set_planes(to, &planes, valid);
        }
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
