//! Walks over a text once: turns the boundaries of its blocks into positions and runs the arms where there is
//! doubt.
//!
//! In: a text and the tables of its pattern. Out: the ends of the matches, several at a time. The walk never
//! goes back, so it takes linear time.
use tokenmill_kernels::planes::{PLANE_BITS, PLANES, Planes};

use super::algebra::{Carry, OpenBoundary};
use super::blocks::{ASCII_BATCH, Block, Blocks};
use super::contractions::Contractions;
use super::rules::{ClassTables, Rules};
use crate::error::Result;
use crate::pattern::arm_scanner::ArmScanner;
use crate::pattern::atoms::Atoms;
use crate::pattern::runs::WhiteSpace;

/// The most ends that one step of the walk finds: one for each character of a block, and one that was open before.
const STEP_ENDS: usize = PLANE_BITS + 1;
/// The most ends that are returned at a time. The walk takes another step as long as all ends of a step would fit.
const MAX_ENDS: usize = PLANE_BITS + STEP_ENDS;

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
    blocks: [Block; 2],
    batch: [Planes; ASCII_BATCH],
    ends: [usize; MAX_ENDS],
}

impl Default for ScanScratch {
    fn default() -> Self {
        Self { blocks: [const { Block::empty() }; 2], batch: [[0; PLANES]; ASCII_BATCH], ends: [0; MAX_ENDS] }
    }
}

struct Walk<'a, A> {
    tables: &'a PlaneTables,
    arms: &'a ArmScanner<A>,
    text: &'a [u8],
    source: Blocks<'a, A>,
    /// The current block and the next one. The lowest bit of `current` is the index of the current block.
    blocks: &'a mut [Block; 2],
    current: usize,
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
        let ScanScratch { blocks, batch, ends } = scratch;
        let mut walk = Self {
            tables,
            arms,
            text: text.as_bytes(),
            source: Blocks::new(&tables.classes, arms.atoms(), text, batch),
            blocks,
            current: 1,
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
        };
        walk.source.next_into(&mut walk.blocks[0]);
        walk.advance();
        // A boundary at the start of the text does not end a match.
        walk.starts &= !1;
        walk
    }

    /// The ends of the next matches. Empty at the end of the text.
    ///
    /// Never inlined, so that there is one copy of this code whatever the caller does with the matches.
    #[inline(never)]
    fn next_ends(&mut self) -> &[usize] {
        self.count = 0;
        while self.count + STEP_ENDS <= MAX_ENDS {
            if self.is_over {
                // The last match may depend on where the text ends, which the algebra does not know.
                if self.last == self.text.len() {
                    break;
                }
                self.match_by_arms();
            } else if self.is_in_doubt {
                if self.last < self.block().end() {
                    self.match_by_arms();
                } else {
                    self.advance();
                }
                self.resume();
            } else if self.doubts == 0 {
                self.push_positions(self.starts);
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
        &self.blocks[self.current & 1]
    }

    /// Makes the next block the current one and computes its boundaries.
    #[inline]
    fn advance(&mut self) {
        let [first, second] = &mut *self.blocks;
        self.current ^= 1;
        let (block, next) = if self.current == 0 { (first, second) } else { (second, first) };
        if block.is_empty() {
            self.is_over = true;
            return;
        }
        self.source.next_into(next);
        let rules = &self.tables.rules;
        let mut found = if rules.extended {
            self.carry.boundaries::<true>(rules, block.planes(), next.planes())
        } else {
            self.carry.boundaries::<false>(rules, block.planes(), next.planes())
        };
        if found.contractions != 0
            && let Some(contractions) = &self.tables.contractions
        {
            contractions.settle(self.text, block, self.source.level(), &mut found);
        }
        if found.open == OpenBoundary::Holds && self.open > self.last {
            self.push(self.open);
        }
        if found.opened != 0 {
            let mut positions = [0; PLANE_BITS];
            self.block().positions(self.source.level(), found.opened, &mut positions);
            self.open = positions[0];
        }
        (self.starts, self.doubts) = (found.starts, found.doubts);
    }

    /// Adds the positions of the characters in `starts` to the ends.
    #[inline]
    fn push_positions(&mut self, starts: u64) {
        if let Some(out) = self.ends[self.count..].first_chunk_mut() {
            self.count += self.blocks[self.current & 1].positions(self.source.level(), starts, out);
            if starts != 0 {
                self.last = self.ends[self.count - 1];
            }
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
        if self.last >= self.block().end() {
            (self.starts, self.doubts) = (0, 0);
        } else if self.last >= self.block().start() {
            let character = 1 << self.block().character_at(self.last);
            let from = !(character - 1);
            self.is_in_doubt = self.starts & character == 0;
            self.starts &= from & !character;
            self.doubts &= from;
        }
    }
}
