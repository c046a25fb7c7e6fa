//! Computes the boundaries of blocks of 64 characters with arithmetic on words of bits.
//!
//! In: the planes of a batch of blocks. Out: a bit for each boundary and a bit for each doubt. Every boundary satisfies
//! the invariant of the [module](super).
//!
//! Bit `n` of a word is character `n`. So `x << 1`, with the last bit of the previous block shifted in, means "the
//! character before this one is in `x`". Runs of ones are found by addition: if the first bits of some runs are
//! added to the word of all runs, each carry ends at the bit after its run.
//!
//! The same code computes a single block, or eight side by side in vectors ([`Lanes`]). What a block has to know of the
//! one before it are the last bits of its words. Some of these depend on the block before that one, but only where a run
//! goes through a whole block. A batch with such a run, or with a long number, is computed block by block.
use tokenmill_kernels::cpu::Level;
use tokenmill_kernels::planes::PLANES;
use tokenmill_kernels::planes::lanes::{LANES, LaneCode, Lanes, load, with_lanes};

use super::blocks::BlockBatch;
use super::rules::{EXTRA, LEAD, LOWER, NEWLINE, OTHER, Rules, SPACE, UNMATCHED, UPPER, WHITE};

/// The boundaries after the last line end of a run of white space.
struct LineBoundaries {
    starts: u64,
    open: OpenBoundary,
    opened: u64,
}

/// Whether an open boundary turned out to be one. That depends on the character after the white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenBoundary {
    /// No boundary was open, or it still is.
    Undecided,
    /// It is a boundary.
    Holds,
    /// It is not a boundary.
    Fails,
}

/// What the next block has to know about this block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    words: Carried<u64>,
    /// Is a boundary still undecided? That is so if the block ends in white space after a line end.
    open: bool,
}

/// The words of a block, or of several, of which the block after each reads the highest bits.
#[derive(Debug, Clone, Copy, Default)]
struct Carried<L> {
    words: L,
    only_lower: L,
    both: L,
    other: L,
    numbers: L,
    number_starts: L,
    space: L,
    /// Characters that a word takes as its prefix if it follows them.
    before_word: L,
    tail: L,
    blank: L,
    blank_newline: L,
    extended: ExtendedCarried<L>,
}

/// Those that a pattern of the extended family needs.
#[derive(Debug, Clone, Copy, Default)]
struct ExtendedCarried<L> {
    foreign: L,
    unmatched: L,
    /// Other text that is not foreign.
    tailed: L,
    /// The prefixes of prefixed words.
    prefixes: L,
    /// Does the block end in the letters of a prefixed word? Its highest bit says so.
    in_letters: L,
}

impl<L: Lanes> Carried<L> {
    /// The words of one block of a batch.
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn of_block(self, at: usize) -> Carried<u64> {
        // Of most words the next block reads only the highest bit.
        let of = |words: L| u64::from(words.highest_bits() >> at & 1) << 63;
        let ExtendedCarried { foreign, unmatched, tailed, prefixes, in_letters } = self.extended;
        Carried {
            words: of(self.words),
            only_lower: of(self.only_lower),
            both: of(self.both),
            other: of(self.other),
            numbers: self.numbers.to_array()[at],
            number_starts: self.number_starts.to_array()[at],
            space: of(self.space),
            before_word: of(self.before_word),
            tail: of(self.tail),
            blank: of(self.blank),
            blank_newline: of(self.blank_newline),
            extended: ExtendedCarried {
                foreign: of(foreign),
                unmatched: of(unmatched),
                tailed: of(tailed),
                prefixes: of(prefixes),
                in_letters: of(in_letters),
            },
        }
    }
}

/// The boundaries of the blocks of a batch.
#[derive(Debug)]
pub(super) struct BatchBoundaries {
    /// Characters at which a match starts.
    pub(super) starts: [u64; LANES],
    /// Characters of matches that may not end at the next boundary.
    pub(super) doubts: [u64; LANES],
    /// Characters of possible contractions. They are in doubt unless a look at the bytes of the text settles them.
    pub(super) contractions: [u64; LANES],
    /// Is the boundary that an earlier batch left open one? No, if that is still undecided.
    pub(super) open_holds: bool,
    /// The block and the character whose boundary this batch leaves open. There is none in most batches.
    pub(super) opened: Option<(usize, u64)>,
}

impl BatchBoundaries {
    pub(super) const EMPTY: Self =
        Self { starts: [0; _], doubts: [0; _], contractions: [0; _], open_holds: false, opened: None };
}

/// The classes of characters that the planes of a block say.
#[derive(Clone, Copy)]
struct Classes<L> {
    upper: L,
    lower: L,
    /// The letters of prefixed words, which are words whatever their case.
    prefixed: L,
    words: L,
    other: L,
    /// Characters of words that are of other text as well.
    shared: L,
    space: L,
    foreign: L,
    unmatched: L,
    white: L,
    newline: L,
    text: L,
    numbers: L,
    /// The text that white space gives up its last character to: that of its own part.
    own_text: L,
    leads: L,
    extra: L,
}

impl<L: Lanes> Classes<L> {
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn new<const EXTENDED: bool>(rules: &Rules, planes: &[L; PLANES], valid: L) -> Self {
        let (upper, white) = (planes[UPPER], planes[WHITE]);
        let prefixed = if_extended::<L, EXTENDED>(planes[LOWER] & rules.prefixed);
        let lower = planes[LOWER] ^ prefixed;
        let foreign = if_extended::<L, EXTENDED>(planes[SPACE] & !white);
        let unmatched = if_extended::<L, EXTENDED>(planes[UNMATCHED]);
        let words = upper | lower;
        let other = planes[OTHER] & !words;
        let text = valid & !white;
        let numbers = text & !(words | other | unmatched);
        Self {
            upper,
            lower,
            prefixed,
            words,
            other,
            shared: planes[OTHER] & words,
            space: planes[SPACE] ^ foreign,
            foreign,
            unmatched,
            white,
            newline: planes[NEWLINE],
            text,
            numbers,
            own_text: text & !if_extended::<L, EXTENDED>(foreign | numbers & rules.numbers_apart),
            leads: planes[LEAD],
            extra: planes[EXTRA],
        }
    }
}

/// What is found in a block, or in those of a batch, but for what goes beyond the next block.
struct Found<L> {
    words: Carried<L>,
    /// All boundaries but those after line ends.
    starts: L,
    /// All doubts but those of contractions.
    doubts: L,
    /// Not 0 where the block, or the one after it, cannot be computed side by side with others.
    unfinished: L,
}

/// The characters directly after a character of `class`. `carried` is the word of the block before.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn after<L: Lanes>(class: L, carried: u64) -> L {
    class << 1 | class.previous(carried) >> 63
}

/// The characters for which the character `distance` positions later is in `class`.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn before<L: Lanes>(class: L, next: L, distance: u32) -> L {
    class >> distance | next << (64 - distance)
}

/// Nothing, but for patterns of the extended family.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn if_extended<L: Lanes, const EXTENDED: bool>(words: L) -> L {
    if EXTENDED { words } else { L::splat(0) }
}

/// All ones for each block of which all characters are in `class`, otherwise 0.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn is_full<L: Lanes>(class: L) -> L {
    (!class).is_zero()
}

/// The line ends of runs that begin after other text.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn tail_of<L: Lanes>(rules: &Rules, newline: L, after_other: L) -> L {
    newline & !newline.plus(newline & after_other) & rules.tail
}

/// The highest bit of each word in which the sum of two words has a carry.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn carry_of<L: Lanes>(left: L, right: L) -> L {
    (left & right | (left | right) & !left.plus(right)) & 1 << 63
}

/// Fewer blocks are computed one by one.
const MIN_LANES: usize = 3;

/// A row of numbers is divided into parts of the longest length. Side by side, so many parts after the first are found; a
/// batch with more is computed block by block.
const ROUNDS: usize = 3;

impl Carried<u64> {
    /// `EXTENDED` must be [`Rules::extended`]. Of the next block only the first two characters are used.
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn find<L: Lanes, const EXTENDED: bool>(
        &self,
        rules: &Rules,
        block: &Classes<L>,
        next: &Classes<L>,
    ) -> Found<L> {
        let Classes { upper, lower, words, other, space, white, newline, foreign, unmatched, .. } = *block;
        let (numbers, leads, none) = (block.numbers, block.leads, L::splat(0));
        let carried = &self.extended;
        // Characters whose part is not that of the character before them.
        let change = if_extended::<L, EXTENDED>(foreign ^ after(foreign, carried.foreign));
        let after_space = after(space, self.space);
        let other_starts =
            other & (!(after(other, self.other) | after_space & rules.space_before_other) | change);
        let letter_follows = before(block.prefixed, next.prefixed, 1);
        let prefixes = if_extended::<L, EXTENDED>(other_starts & leads & letter_follows);
        let (prefixed_ends, in_letters) =
            if EXTENDED { self.ends_of_prefixed(block.prefixed, prefixes) } else { (none, none) };
        let before_word = other_starts & rules.other_before_word
            | space & rules.space_before_word
            | white & !newline & rules.white_before_word
            | if_extended::<L, EXTENDED>(prefixes | unmatched & rules.unmatched_before_word);
        let word_starts = words
            & (!(after(words, self.words) | after(before_word, self.before_word))
                | if_extended::<L, EXTENDED>(change | prefixed_ends));
        let (only_upper, only_lower, both) = (upper & !lower, lower & !upper, upper & lower);
        let case_starts = only_upper & after(only_lower, self.only_lower) & rules.case;
        let (number_starts, more_numbers) = self.number_starts(rules, numbers, after_space);
        let unmatched_starts =
            if EXTENDED { self.unmatched_starts(rules, block, next, change) } else { none };

        // Line ends directly after other text are its tail.
        let tailed = if_extended::<L, EXTENDED>(other & !foreign);
        let after_other = if EXTENDED { after(tailed, carried.tailed) } else { after(other, self.other) };
        // In a batch, first those of each block alone: only a tail that goes through a whole block differs.
        let own_tail = if L::IS_SINGLE { none } else { tail_of(rules, newline, after_other) };
        let tail = tail_of(rules, newline, after_other | own_tail.previous(self.tail) >> 63);
        let blank = white & !tail;
        let last = blank & before(block.own_text, next.own_text, 1) & !(newline & rules.through_newline);
        let white_starts = blank & !after(blank, self.blank) | last;

        let mut doubts = only_upper & after(both, self.both) & rules.case;
        doubts = doubts | other & before(block.shared, next.shared, 1);
        if !EXTENDED {
            doubts = doubts | tail & before(block.extra, next.extra, 1);
        }
        let unfinished = if L::IS_SINGLE {
            none
        } else {
            more_numbers | is_full(newline) | is_full(numbers) | is_full(block.prefixed)
        };
        let starts =
            word_starts | case_starts | other_starts | number_starts | white_starts | unmatched_starts;
        let extended = ExtendedCarried { foreign, unmatched, tailed, prefixes, in_letters };
        let words = Carried {
            words,
            only_lower,
            both,
            other,
            numbers,
            number_starts,
            space,
            before_word,
            tail,
            blank,
            blank_newline: newline & blank,
            extended,
        };
        Found { words, starts, doubts, unfinished }
    }

    /// The characters directly after prefixed words, and the highest bit if such a word goes on in the next block.
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn ends_of_prefixed<L: Lanes>(&self, letters: L, prefixes: L) -> (L, L) {
        let after_prefix = after(prefixes, self.extended.prefixes);
        let own = if L::IS_SINGLE { L::splat(0) } else { carry_of(letters, after_prefix & letters) };
        let first = after_prefix | own.previous(self.extended.in_letters) >> 63;
        let ends = (letters.plus(first & letters) | first) & !letters;
        (ends, carry_of(letters, first & letters))
    }

    /// Unmatched characters. One that a word of its part follows is the prefix of that word; others make a gap with
    /// their neighbours.
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn unmatched_starts<L: Lanes>(
        &self,
        rules: &Rules,
        block: &Classes<L>,
        next: &Classes<L>,
        change: L,
    ) -> L {
        let Classes { unmatched, foreign, words, .. } = *block;
        let own = before(words & !foreign, next.words & !next.foreign, 1) & !foreign;
        let theirs = before(words & foreign, next.words & next.foreign, 1) & foreign;
        let prefixes = (own | theirs) & rules.unmatched_before_word;
        unmatched & (!after(unmatched, self.extended.unmatched) | change | prefixes)
    }

    /// The starts of numbers. The second result is not 0 where that of a batch has more.
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn number_starts<L: Lanes>(&self, rules: &Rules, numbers: L, after_space: L) -> (L, L) {
        let (first, none) = (numbers & !after(numbers, self.numbers), L::splat(0));
        match rules.longest_number {
            0 => (first & !(after_space & rules.space_before_number), none),
            1 => (numbers, none),
            longest => {
                let longest = longest as u32;
                // The characters that are preceded by `longest - 1` numbers and are numbers themselves.
                let mut full = numbers;
                for distance in 1..longest {
                    full = full & (numbers << distance | numbers.previous(self.numbers) >> (64 - distance));
                }
                // In a batch, first those of each block alone.
                let (own, more_own) = if L::IS_SINGLE {
                    (first, none)
                } else {
                    add_starts(first, first << longest, full, longest)
                };
                let going_on = own.previous(self.number_starts) >> (64 - longest);
                let of_own = if L::IS_SINGLE { own << longest } else { none };
                let (starts, more) = add_starts(own, of_own | going_on, full, longest);
                (starts, more | more_own)
            }
        }
    }
}

/// Adds the starts `more` and those that follow them at a distance of `longest`, as far as they are in `full`. The second
/// result is not 0 where a block of a batch has more.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn add_starts<L: Lanes>(mut starts: L, more: L, full: L, longest: u32) -> (L, L) {
    let (mut more, mut rounds) = (more & full, 0);
    while if L::IS_SINGLE { more.to_array()[0] != 0 } else { rounds < ROUNDS } {
        starts = starts | more;
        more = more << longest & full;
        rounds += 1;
    }
    (starts, more)
}

/// The contractions of a block whose boundaries are `starts`.
#[expect(clippy::inline_always, reason = "as all that is done on lanes")]
#[inline(always)]
fn contractions<L: Lanes>(rules: &Rules, starts: L, block: &Classes<L>, next: &Classes<L>) -> L {
    let Classes { leads, words, foreign, .. } = *block;
    let literals = starts & leads & before(words, next.words, 1) & rules.literal;
    let (lead_follows, word_follows) = (before(leads, next.leads, 1), before(words, next.words, 2));
    literals | words & !foreign & lead_follows & word_follows & rules.suffix
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

    /// As [`Self::boundaries`], block by block. This is the plain twin of the code that takes all together.
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
        let Found { words, starts, doubts, .. } = self.words.find::<u64, EXTENDED>(rules, &block, &next);
        let lines = self.lines(rules, words.blank_newline, &block, &next);
        self.words = words;
        let starts = starts | lines.starts;
        let contractions = contractions(rules, starts, &block, &next);
        found.starts[at] = starts;
        found.doubts[at] = doubts | contractions & !rules.settled;
        found.contractions[at] = contractions & rules.settled;
        lines
    }

    /// Computes the boundaries after line ends, for patterns in which white space matches up to its last line end.
    /// The white space after a line end starts a match, unless another line end follows it or the text ends there.
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
        let begun = rest & after(blank_newline, self.words.blank_newline) & rules.through_newline;
        let carried = u64::from(self.open);
        let mut starts = begun | carried;
        if starts == 0 {
            return LineBoundaries { starts, open: OpenBoundary::Undecided, opened: 0 };
        }
        let (ends, reaches_end) = rest.overflowing_add(starts);
        starts = before_text(starts, ends & !rest & !block.text);
        let mut going_on = 0;
        if reaches_end && next.text & 1 == 0 {
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

    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        if self.rules.extended { self.compute::<L, true>() } else { self.compute::<L, false>() }
    }
}

impl SideBySide<'_> {
    #[expect(clippy::inline_always, reason = "as all that is done on lanes")]
    #[inline(always)]
    fn compute<L: Lanes, const EXTENDED: bool>(self) -> bool {
        let Self { carry, rules, batch, found } = self;
        let (mut planes, mut next_planes) = ([L::splat(0); PLANES], [L::splat(0); PLANES]);
        for ((plane, next), words) in planes.iter_mut().zip(&mut next_planes).zip(&batch.planes) {
            (*plane, *next) = (load(words, 0), load(words, 1));
        }
        let block = Classes::new::<EXTENDED>(rules, &planes, load(&batch.valid, 0));
        let next = Classes::new::<EXTENDED>(rules, &next_planes, load(&batch.valid, 1));
        let Found { words, starts, doubts, unfinished } =
            carry.words.find::<L, EXTENDED>(rules, &block, &next);
        let rest = block.white & !block.newline;
        let begun = rest & after(words.blank_newline, carry.words.blank_newline) & rules.through_newline;
        // The runs that do not end at text in their own block.
        let wrong = rest.plus(begun) & !rest & !block.text;
        let reaches_end = carry_of(rest, begun) >> 63 & !next.text;
        let mut removed = [0; LANES];
        let (unsettled, unfinished) = ((wrong | reaches_end | unfinished).to_array(), unfinished.to_array());
        for at in (0..batch.count()).filter(|&at| unsettled[at] != 0) {
            let next_rest = (next.white & !next.newline).to_array()[at];
            if unfinished[at] != 0 || next_rest == u64::MAX {
                return false;
            }
            let all = begun.to_array()[at];
            let mut kept = before_text(all, wrong.to_array()[at]);
            let run = next_rest.trailing_ones();
            if reaches_end.to_array()[at] != 0 && next.text.to_array()[at] >> run & 1 == 0 {
                kept &= !highest(kept);
            }
            removed[at] = all & !kept;
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
        *carry = Carry { words: words.of_block(batch.count() - 1), open: false };
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
