//! Computes the boundaries of a batch of blocks by the [algebra](super::algebra), and those after line ends.
//!
//! In: the planes of a batch. Out: for each block a bit for each boundary and each doubt. Blocks are computed side by
//! side, or one by one where the level has no vectors for it, a batch has few, or one of them is unfinished.
#![expect(clippy::inline_always, reason = "what is done on lanes is compiled for the vectors of its caller")]
use tokenmill_kernels::cpu::Level;
use tokenmill_kernels::planes::PLANES;
use tokenmill_kernels::planes::lanes::{LANES, LaneCode, Lanes, load, with_lanes};

use super::algebra::{Carried, Classes, Found, after, contractions, overflow_of};
use super::blocks::BlockBatch;
use super::rules::Rules;

/// The boundaries of the blocks of a batch.
#[derive(Debug)]
pub(super) struct BatchBoundaries {
    /// Characters at which a match starts.
    pub(super) starts: [u64; LANES],
    /// Characters of matches that may not end at the next boundary.
    pub(super) doubts: [u64; LANES],
    /// Characters of possible contractions. They are in doubt unless a look at the bytes of the text settles them.
    pub(super) contractions: [u64; LANES],
    /// Does this batch decide that the boundary which an earlier one left open is one?
    pub(super) open_holds: bool,
    /// The block and the character whose boundary this batch leaves open. There is none in most batches, and never one
    /// where the blocks were computed side by side.
    pub(super) opened: Option<(usize, u64)>,
}

impl BatchBoundaries {
    pub(super) const EMPTY: Self =
        Self { starts: [0; _], doubts: [0; _], contractions: [0; _], open_holds: false, opened: None };
}

/// What the next block has to know about the last one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    last: Carried<u64>,
    /// Is a boundary still undecided? That is so if the block ends in white space after a line end.
    open: bool,
}

/// Fewer blocks are computed one by one.
const MIN_LANES: usize = 3;

/// The boundaries after the last line end of a run of white space.
struct LineBoundaries {
    starts: u64,
    open: OpenBoundary,
    opened: u64,
}

/// Whether an open boundary turned out to be one. That depends on the character after the white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBoundary {
    /// No boundary was open, or it still is.
    Undecided,
    /// It is a boundary.
    Holds,
    /// It is not a boundary.
    Fails,
}

impl Carry {
    /// Computes the boundaries of the blocks of a batch.
    #[inline]
    pub(super) fn boundaries(
        &mut self,
        level: Level,
        rules: &Rules,
        batch: &BlockBatch,
        found: &mut BatchBoundaries,
    ) {
        let is_done = batch.count() >= MIN_LANES
            && !self.open
            && with_lanes(level, SideBySide { carry: self, rules, batch, found }).unwrap_or(false);
        if !is_done {
            self.one_by_one(rules, batch, found);
        }
    }

    /// As [`Self::boundaries`], block by block: the plain twin of [`SideBySide`].
    fn one_by_one(&mut self, rules: &Rules, batch: &BlockBatch, found: &mut BatchBoundaries) {
        (found.open_holds, found.opened) = (false, None);
        for at in 0..batch.count() {
            let lines = if rules.extended {
                self.block::<true>(rules, batch, at, found)
            } else {
                self.block::<false>(rules, batch, at, found)
            };
            match (lines.open, found.opened) {
                (OpenBoundary::Holds, None) => found.open_holds = true,
                (OpenBoundary::Undecided, _) | (OpenBoundary::Fails, None) => {}
                (open, Some((block, character))) => {
                    found.starts[block] |= if open == OpenBoundary::Holds { character } else { 0 };
                    found.opened = None;
                }
            }
            if lines.opened != 0 {
                found.opened = Some((at, lines.opened));
            }
        }
    }

    /// Computes the boundaries of one block. `EXTENDED` must be [`Rules::extended`].
    ///
    /// Never inlined: a loop around it would keep more words than there are registers, and take 1.6 times as many
    /// instructions.
    #[inline(never)]
    fn block<const EXTENDED: bool>(
        &mut self,
        rules: &Rules,
        batch: &BlockBatch,
        at: usize,
        found: &mut BatchBoundaries,
    ) -> LineBoundaries {
        let block = Classes::new::<EXTENDED>(rules, &batch.planes_of(at), batch.valid[at]);
        let next = Classes::new::<EXTENDED>(rules, &batch.planes_of(at + 1), batch.valid[at + 1]);
        let Found { carried, starts, doubts, .. } = self.last.find::<u64, EXTENDED>(rules, &block, &next);
        let lines = self.lines(rules, carried.blank_newline, &block, &next);
        self.last = carried;
        let starts = starts | lines.starts;
        let contractions = contractions(rules, starts, &block, &next);
        found.starts[at] = starts;
        found.doubts[at] = doubts | contractions & !rules.settled;
        found.contractions[at] = contractions & rules.settled;
        lines
    }

    /// Computes the boundaries after line ends, for patterns that match a run of white space up to its last line end.
    /// The white space after that line end starts another match, unless the text ends with it.
    /// At the end of the text the arms decide.
    #[inline]
    fn lines(
        &mut self,
        rules: &Rules,
        blank_newline: u64,
        block: &Classes<u64>,
        next: &Classes<u64>,
    ) -> LineBoundaries {
        let rest = block.white & !block.newline;
        let begun = rest & after(blank_newline, self.last.blank_newline) & rules.through_newline;
        let carried = u64::from(self.open);
        let mut starts = begun | carried;
        if starts == 0 {
            return LineBoundaries { starts, open: OpenBoundary::Undecided, opened: 0 };
        }
        let (ends, goes_on) = rest.overflowing_add(starts);
        starts = before_text(starts, ends & !rest & !block.text);
        let mut going_on = 0;
        if goes_on && next.text & 1 == 0 {
            let last = highest(starts);
            starts &= !last;
            if next.white & !next.newline & 1 == 1 {
                going_on = last;
            }
        }
        let open = match (starts & carried, going_on & carried) {
            (0, 0) if self.open => OpenBoundary::Fails,
            (0, _) => OpenBoundary::Undecided,
            _ => OpenBoundary::Holds,
        };
        self.open = going_on != 0;
        LineBoundaries { starts: starts & !carried, open, opened: going_on & !carried }
    }
}

/// Computes the boundaries of the blocks of a batch side by side. Returns whether that was done; if not, nothing has
/// changed, and they have to be computed one by one. No boundary may be open.
struct SideBySide<'a> {
    carry: &'a mut Carry,
    rules: &'a Rules,
    batch: &'a BlockBatch,
    found: &'a mut BatchBoundaries,
}

impl LaneCode for SideBySide<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        if self.rules.extended { self.compute::<L, true>() } else { self.compute::<L, false>() }
    }
}

impl SideBySide<'_> {
    #[inline(always)]
    fn compute<L: Lanes, const EXTENDED: bool>(self) -> bool {
        let Self { carry, rules, batch, found } = self;
        let (mut planes, mut next_planes) = ([L::splat(0); PLANES], [L::splat(0); PLANES]);
        for ((plane, next), words) in planes.iter_mut().zip(&mut next_planes).zip(&batch.planes) {
            (*plane, *next) = (load(words, 0), load(words, 1));
        }
        let block = Classes::new::<EXTENDED>(rules, &planes, load(&batch.valid, 0));
        let next = Classes::new::<EXTENDED>(rules, &next_planes, load(&batch.valid, 1));
        let Found { carried, starts, doubts, unfinished } =
            carry.last.find::<L, EXTENDED>(rules, &block, &next);
        let rest = block.white & !block.newline;
        let begun = rest & after(carried.blank_newline, carry.last.blank_newline) & rules.through_newline;
        // Where runs end at a line end, and whether the last one goes on in the next block.
        let at_line_end = rest.plus(begun) & !rest & !block.text;
        let goes_on = overflow_of(rest, begun) >> 63 & !next.text;
        let unsettled = (at_line_end | goes_on | unfinished).to_array();
        let next_rest = next.white & !next.newline;
        let mut removed = [0; LANES];
        for at in (0..batch.count()).filter(|&at| unsettled[at] != 0) {
            let [begun, at_line_end, goes_on, unfinished, next_rest, next_text] =
                [begun, at_line_end, goes_on, unfinished, next_rest, next.text]
                    .map(|lanes| lanes.to_array()[at]);
            if unfinished != 0 || next_rest == u64::MAX {
                return false;
            }
            let mut kept = before_text(begun, at_line_end);
            if goes_on != 0 && next_text >> next_rest.trailing_ones() & 1 == 0 {
                kept &= !highest(kept);
            }
            removed[at] = begun & !kept;
        }
        // No contraction begins with white space before a line end, so those that are removed make none.
        let starts = starts | begun;
        let contractions = contractions(rules, starts, &block, &next);
        found.starts = starts.to_array();
        for (starts, removed) in found.starts.iter_mut().zip(removed) {
            *starts &= !removed;
        }
        found.doubts = (doubts | contractions & !rules.settled).to_array();
        found.contractions = (contractions & rules.settled).to_array();
        (found.open_holds, found.opened) = (false, None);
        *carry = Carry { last: carried.of_block(batch.count() - 1), open: false };
        true
    }
}

/// The starts of white space after line ends, but for the runs that end at one of `line_ends`.
#[inline]
fn before_text(mut starts: u64, mut line_ends: u64) -> u64 {
    while line_ends != 0 {
        let end = line_ends & line_ends.wrapping_neg();
        starts &= !highest(starts & (end - 1));
        line_ends &= line_ends - 1;
    }
    starts
}

/// A word with only the highest bit of `word`.
#[inline]
fn highest(word: u64) -> u64 {
    (1_u64 << 63).checked_shr(word.leading_zeros()).unwrap_or(0)
}
