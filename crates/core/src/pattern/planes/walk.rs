//! Walks over a text once: turns the boundaries of its blocks into positions and runs the arms where there is
//! doubt.
//!
//! In: a text and the tables of its pattern. Out: the ends of the matches, several at a time. The walk never
//! goes back, so it takes linear time.
use tokenmill_kernels::planes::lanes::LANES;
use tokenmill_kernels::planes::{self, PLANE_BITS};

use super::blocks::{Block, BlockBatch, Blocks};
use super::boundaries::{BatchBoundaries, Carry};
use super::contractions::Contractions;
use super::rules::{ClassTables, Rules};
use crate::error::Result;
use crate::pattern::arm_scanner::ArmScanner;
use crate::pattern::atoms::Atoms;
use crate::pattern::runs::WhiteSpace;

/// The walk takes another step as long as fewer ends wait to be returned.
const ENOUGH_ENDS: usize = PLANE_BITS;
/// The most ends that are returned at a time: a step finds at most one for each character of a batch, which also leaves
/// space for 64 after those of each block before, and one that was open.
const MAX_ENDS: usize = ENOUGH_ENDS + LANES * PLANE_BITS + 1;

/// The tables for running one pattern of the family with planes.
#[derive(Debug)]
pub(in crate::pattern) struct PlaneTables {
    pub(super) rules: Rules,
    pub(super) contractions: Option<Contractions>,
    pub(super) classes: ClassTables,
}

/// Emits the ends of all matches of `text`, and of the gaps between them, several at a time.
#[inline]
pub(in crate::pattern) fn for_each_ends<A, F>(
    tables: &PlaneTables,
    arms: &ArmScanner<A>,
    text: &str,
    scratch: &mut ScanScratch,
    emit: &mut F,
) -> Result<()>
where
    A: Atoms,
    F: FnMut(&[usize]) -> Result<()>,
{
    let mut walk = Walk::new(tables, arms, text, scratch);
    walk.begin();
    loop {
        let ends = walk.next_ends();
        if ends.is_empty() {
            return Ok(());
        }
        emit(ends)?;
    }
}

/// The buffers of a walk. They are reused for the next text, as clearing them takes as long as scanning a short
/// text.
#[derive(Debug)]
pub struct ScanScratch {
    batch: BlockBatch,
    found: BatchBoundaries,
    ends: [usize; MAX_ENDS],
}

impl Default for ScanScratch {
    fn default() -> Self {
        Self { batch: BlockBatch::EMPTY, found: BatchBoundaries::EMPTY, ends: [0; MAX_ENDS] }
    }
}

struct Walk<'a, A> {
    tables: &'a PlaneTables,
    arms: &'a ArmScanner<A>,
    text: &'a [u8],
    source: Blocks<'a, A>,
    /// The current batch and its boundaries. Block `at` is the current one.
    batch: &'a mut BlockBatch,
    found: &'a mut BatchBoundaries,
    at: usize,
    carry: Carry,
    /// The boundaries and doubts of the current block that are not done yet.
    starts: u64,
    doubts: u64,
    /// The last end that was found. The text before it is done.
    last: usize,
    /// Is the match that starts at `last` in doubt?
    is_in_doubt: bool,
    /// Are all blocks done?
    is_over: bool,
    /// The position of the boundary that the algebra left open in an earlier block.
    open: usize,
    white: WhiteSpace,
    ends: &'a mut [usize; MAX_ENDS],
    count: usize,
}

impl<'a, A: Atoms> Walk<'a, A> {
    #[inline]
    fn new(
        tables: &'a PlaneTables,
        arms: &'a ArmScanner<A>,
        text: &'a str,
        scratch: &'a mut ScanScratch,
    ) -> Self {
        let ScanScratch { batch, found, ends } = scratch;
        batch.clear();
        Self {
            tables,
            arms,
            text: text.as_bytes(),
            source: Blocks::new(&tables.classes, arms.atoms(), text),
            batch,
            found,
            at: 0,
            carry: Carry::default(),
            starts: 0,
            doubts: 0,
            last: 0,
            is_in_doubt: false,
            is_over: false,
            open: 0,
            white: WhiteSpace::default(),
            ends,
            count: 0,
        }
    }

    /// Makes the first block the current one.
    #[inline]
    fn begin(&mut self) {
        self.next_batch();
        // A boundary at the start of the text does not end a match.
        self.starts &= !1;
    }

    /// The ends of the next matches. Empty at the end of the text.
    ///
    /// Never inlined, so that there is one copy of this code whatever the caller does with the matches.
    #[inline(never)]
    fn next_ends(&mut self) -> &[usize] {
        self.count = 0;
        while self.count <= ENOUGH_ENDS {
            if self.is_over {
                // The last match may depend on where the text ends, which the algebra does not know.
                if self.last == self.text.len() {
                    break;
                }
                self.match_by_arms();
            } else if self.is_in_doubt {
                if self.last < self.block().end {
                    self.match_by_arms();
                } else {
                    self.advance();
                }
                self.resume();
            } else if self.doubts == 0 {
                self.push_certain();
                self.advance();
            } else {
                // The lowest doubt is inside the match that starts at the last boundary at or before it. The
                // boundaries up to there are certain. From there on the arms decide.
                let up_to = self.doubts ^ (self.doubts - 1);
                self.push_positions(self.starts & up_to);
                self.starts &= !up_to;
                self.is_in_doubt = true;
            }
        }
        &self.ends[..self.count]
    }

    #[inline]
    fn block(&self) -> &Block {
        &self.batch.blocks[self.at]
    }

    /// Makes the next block the current one.
    #[inline]
    fn advance(&mut self) {
        self.at += 1;
        if self.at < self.batch.count() {
            (self.starts, self.doubts) = (self.found.starts[self.at], self.found.doubts[self.at]);
        } else {
            self.next_batch();
        }
    }

    /// Computes the boundaries of the next batch, and makes its first block the current one.
    #[inline]
    fn next_batch(&mut self) {
        let Self { source, batch, found, tables, .. } = self;
        source.fill(batch);
        self.at = 0;
        if batch.count() == 0 {
            self.is_over = true;
            return;
        }
        let level = source.level();
        self.carry.boundaries(level, &tables.rules, batch, found);
        if let Some(contractions) = &tables.contractions {
            for at in 0..batch.count() {
                if found.contractions[at] != 0 {
                    contractions.settle(self.text, (batch, at), level, found);
                }
            }
        }
        (self.starts, self.doubts) = (found.starts[0], found.doubts[0]);
        let (holds, opened) = (found.open_holds, found.opened);
        if holds && self.open > self.last {
            self.push(self.open);
        }
        if let Some((block, character)) = opened {
            let mut positions = [0; PLANE_BITS];
            self.batch.blocks[block].positions(level, character, &mut positions);
            self.open = positions[0];
        }
    }

    /// Adds the ends of the current block, which has no doubt, and of the blocks after it up to the first doubt. The
    /// last of them becomes the current block.
    #[inline]
    fn push_certain(&mut self) {
        let (first, count) = (self.at, self.batch.count());
        // What is done of the current block is not taken again.
        self.found.starts[first] = self.starts;
        let after = (first + 1..count).find(|&at| self.found.doubts[at] != 0).unwrap_or(count);
        let blocks = self.batch.blocks[first..after].iter().zip(&self.found.starts[first..after]);
        let blocks = blocks.map(|(block, &starts)| (starts, block.start, block.offsets()));
        self.at = after - 1;
        let found = planes::positions_of_blocks(self.source.level(), blocks, &mut self.ends[self.count..]);
        if found > 0 {
            self.count += found;
            self.last = self.ends[self.count - 1];
        }
    }

    /// Adds the positions of characters of the current block to the ends.
    #[inline]
    fn push_positions(&mut self, starts: u64) {
        if starts != 0
            && let Some(out) = self.ends[self.count..].first_chunk_mut()
        {
            self.batch.blocks[self.at].positions(self.source.level(), starts, out);
            self.count += starts.count_ones() as usize;
            self.last = self.ends[self.count - 1];
        }
    }

    fn push(&mut self, end: usize) {
        self.ends[self.count] = end;
        self.count += 1;
        self.last = end;
    }

    /// Adds the end of the match, or of the gap, that starts at the last end. The arms decide.
    fn match_by_arms(&mut self) {
        let end = self.arms.end_of_match(self.text, self.last, &mut self.white);
        self.push(end);
    }

    /// If the last end is a boundary of the current block, the doubt is over: the later boundaries of the block
    /// hold again.
    fn resume(&mut self) {
        let block = &self.batch.blocks[self.at];
        if self.last >= block.end {
            (self.starts, self.doubts) = (0, 0);
        } else if self.last >= block.start {
            let character = 1 << block.character_at(self.last, self.batch.valid[self.at]);
            let from = !(character - 1);
            self.is_in_doubt = self.starts & character == 0;
            self.starts &= from & !character;
            self.doubts &= from;
        }
    }
}
