//! From the boundaries of blocks to positions in the text, with the arms where there is doubt.
use tokenmill_kernels::planes::{PLANE_BITS, PLANES, Planes as Words};

use super::Planes;
use super::algebra::{Carry, Open};
use super::blocks::{BATCH, Block, Blocks};
use crate::pattern::atoms::Atoms;
use crate::pattern::scanner::{Scanner, White};

/// Positions that are given out at a time, and those of one block more.
const ENDS: usize = PLANE_BITS + ROOM;
/// A step gives at most the characters of a block and a boundary that was open.
const ROOM: usize = PLANE_BITS + 1;

/// What a walk writes to. It is kept from one text to the next, as to clear it takes as long as to walk over a short
/// text.
#[derive(Debug)]
pub struct WalkRoom {
    pair: [Block; 2],
    batch: [Words; BATCH],
    ends: [usize; ENDS],
}

impl Default for WalkRoom {
    fn default() -> Self {
        Self { pair: [const { Block::empty() }; 2], batch: [[0; PLANES]; BATCH], ends: [0; ENDS] }
    }
}

/// A scan of one text.
pub(super) struct Walk<'a, A> {
    planes: &'a Planes,
    scanner: &'a Scanner<A>,
    text: &'a [u8],
    blocks: Blocks<'a, A>,
    /// The block that is walked and the one behind it, in turns: `turn` is the number of the first.
    pair: &'a mut [Block; 2],
    turn: usize,
    carry: Carry,
    /// What is left of the block: boundaries, and where they are in doubt.
    starts: u64,
    doubts: u64,
    /// The last position that was given out. Everything before it is done.
    last: usize,
    /// The arms are asked for what starts at `last`.
    is_asking: bool,
    /// All blocks are done.
    is_over: bool,
    /// The boundary that the algebra has left open, in an earlier block.
    open: usize,
    white: White,
    ends: &'a mut [usize; ENDS],
    count: usize,
}

impl<'a, A: Atoms> Walk<'a, A> {
    #[inline]
    pub(super) fn new(
        planes: &'a Planes,
        scanner: &'a Scanner<A>,
        text: &'a str,
        room: &'a mut WalkRoom,
    ) -> Self {
        let WalkRoom { pair, batch, ends } = room;
        let mut walk = Self {
            planes,
            scanner,
            text: text.as_bytes(),
            blocks: Blocks::new(planes, scanner.atoms(), text, batch),
            pair,
            turn: 1,
            carry: Carry::default(),
            starts: 0,
            doubts: 0,
            last: 0,
            is_asking: false,
            is_over: false,
            open: 0,
            white: White::default(),
            ends,
            count: 0,
        };
        walk.blocks.next_into(&mut walk.pair[0]);
        walk.advance();
        // The first boundary ends nothing.
        walk.starts &= !1;
        walk
    }

    /// The ends of the next pretokens; none at the end of the text.
    ///
    /// Never inlined: it is the same code for whatever is done with the pretokens.
    #[inline(never)]
    pub(super) fn next_ends(&mut self) -> &[usize] {
        self.count = 0;
        while self.count + ROOM <= ENDS {
            if self.is_over {
                // The end of the text may be what decides about its last pretoken.
                if self.last == self.text.len() {
                    break;
                }
                self.ask();
            } else if self.is_asking {
                if self.last < self.block().end() {
                    self.ask();
                } else {
                    self.advance();
                }
                self.meet();
            } else if self.doubts == 0 {
                self.put(self.starts);
                self.advance();
            } else {
                // The pretoken in doubt starts at the last boundary up to there.
                let up_to = self.doubts ^ (self.doubts - 1);
                self.put(self.starts & up_to);
                self.starts &= !up_to;
                self.is_asking = true;
            }
        }
        &self.ends[..self.count]
    }

    #[inline]
    fn block(&self) -> &Block {
        &self.pair[self.turn & 1]
    }

    /// Goes to the next block.
    #[inline]
    fn advance(&mut self) {
        let [first, second] = &mut *self.pair;
        self.turn ^= 1;
        let (block, next) = if self.turn == 0 { (first, second) } else { (second, first) };
        if block.is_empty() {
            self.is_over = true;
            return;
        }
        self.blocks.next_into(next);
        let mut found = self.carry.boundaries(&self.planes.rules, block.words(), next.words());
        if found.contractions != 0
            && let Some(contractions) = &self.planes.contractions
        {
            contractions.settle(self.text, block, self.blocks.level(), &mut found);
        }
        if found.open == Open::Holds && self.open > self.last {
            self.push(self.open);
        }
        if found.opened != 0 {
            let mut places = [0; PLANE_BITS];
            self.block().places(self.blocks.level(), found.opened, &mut places);
            self.open = places[0];
        }
        (self.starts, self.doubts) = (found.starts, found.doubts);
    }

    /// Gives out the positions of `starts`.
    #[inline]
    fn put(&mut self, starts: u64) {
        if let Some(room) = self.ends[self.count..].first_chunk_mut() {
            self.count += self.pair[self.turn & 1].places(self.blocks.level(), starts, room);
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

    /// Gives out the end of what the arms match at the last position.
    fn ask(&mut self) {
        let end = self.scanner.end_of_match(self.text, self.last, &mut self.white);
        self.push(end);
    }

    /// Is the last position a boundary of the block? Then what follows is taken from there again.
    fn meet(&mut self) {
        if self.last >= self.block().end() {
            (self.starts, self.doubts) = (0, 0);
        } else if self.last >= self.block().start() {
            let character = 1 << self.block().character_at(self.last);
            let from = !(character - 1);
            self.is_asking = self.starts & character == 0;
            self.starts &= from & !character;
            self.doubts &= from;
        }
    }
}
