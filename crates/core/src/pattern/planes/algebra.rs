//! The algebra: finds boundaries in blocks of 64 characters with arithmetic on words of bits.
//!
//! In: the planes of a block and of the next block. Out: a bit for each boundary and a bit for each doubt, and what the
//! next block has to know. Every boundary satisfies the invariant of the [module](super).
//!
//! Bit `n` of a word is character `n`. So `x << 1`, with the last bit of the previous block shifted in, means "the
//! character before this one is in `x`". Runs of ones are found by addition: if the first bits of some runs are
//! added to the word of all runs, each carry ends at the bit after its run.
//!
//! The same code computes a single block, or eight side by side in vectors ([`Lanes`]). What a block has to know of
//! the one before it are the last bits of its words. Some of these depend on the block before that one, but only where
//! a run goes through a whole block, or a number is long: these blocks are marked as unfinished.
#![expect(clippy::inline_always, reason = "what is done on lanes is compiled for the vectors of its caller")]
use tokenmill_kernels::planes::PLANES;
use tokenmill_kernels::planes::lanes::Lanes;

use super::rules::{EXTRA, LEAD, LOWER, NEWLINE, OTHER, Rules, SPACE, UNMATCHED, UPPER, WHITE};

/// The words of a block, or of several, that the block after each has to know: of `numbers` and `number_starts` some of
/// the highest bits, of the others the highest one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried<L> {
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
    pub(super) blank_newline: L,
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
    #[inline(always)]
    pub(super) fn of_block(self, at: usize) -> Carried<u64> {
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

/// The classes of characters that the planes of a block say.
#[derive(Clone, Copy)]
pub(super) struct Classes<L> {
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
    pub(super) white: L,
    pub(super) newline: L,
    pub(super) text: L,
    numbers: L,
    /// The text that white space gives up its last character to: that of its own part.
    own_text: L,
    leads: L,
    extra: L,
}

impl<L: Lanes> Classes<L> {
    #[inline(always)]
    pub(super) fn new<const EXTENDED: bool>(rules: &Rules, planes: &[L; PLANES], valid: L) -> Self {
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
pub(super) struct Found<L> {
    pub(super) carried: Carried<L>,
    /// All boundaries but those after line ends.
    pub(super) starts: L,
    /// All doubts but those of contractions.
    pub(super) doubts: L,
    /// Not 0 where the block, or the one after it, cannot be computed side by side with others.
    pub(super) unfinished: L,
}

/// The characters that directly follow one of `class`. `carried` is the word of `class` in the block before.
#[inline(always)]
pub(super) fn after<L: Lanes>(class: L, carried: u64) -> L {
    class << 1 | class.previous(carried) >> 63
}

/// The characters for which the character `distance` positions later is in `class`.
#[inline(always)]
fn before<L: Lanes>(class: L, next: L, distance: u32) -> L {
    class >> distance | next << (64 - distance)
}

/// Nothing, but for patterns of the extended family.
#[inline(always)]
fn if_extended<L: Lanes, const EXTENDED: bool>(words: L) -> L {
    if EXTENDED { words } else { L::splat(0) }
}

/// All ones for each block of which all characters are in `class`, otherwise 0.
#[inline(always)]
fn is_full<L: Lanes>(class: L) -> L {
    (!class).is_zero()
}

/// The line ends of runs that begin after other text.
#[inline(always)]
fn tail_of<L: Lanes>(rules: &Rules, newline: L, after_other: L) -> L {
    newline & !newline.plus(newline & after_other) & rules.tail
}

/// The highest bit of each word whose addition overflows, otherwise 0.
#[inline(always)]
pub(super) fn overflow_of<L: Lanes>(left: L, right: L) -> L {
    (left & right | (left | right) & !left.plus(right)) & 1 << 63
}

/// A row of numbers is divided into parts of the longest length. Side by side, this many are found in a block after the
/// first one, and as many that go on from the block before; with more, the block is unfinished.
const ROUNDS: usize = 3;

impl Carried<u64> {
    /// `EXTENDED` must be [`Rules::extended`]. Of the next block only the first two characters are used.
    #[inline(always)]
    pub(super) fn find<L: Lanes, const EXTENDED: bool>(
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
        let carried = Carried {
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
        Found { carried, starts, doubts, unfinished }
    }

    /// The characters directly after prefixed words, and the highest bit if such a word goes on in the next block.
    #[inline(always)]
    fn ends_of_prefixed<L: Lanes>(&self, letters: L, prefixes: L) -> (L, L) {
        let after_prefix = after(prefixes, self.extended.prefixes);
        let own = if L::IS_SINGLE { L::splat(0) } else { overflow_of(letters, after_prefix & letters) };
        let first = after_prefix | own.previous(self.extended.in_letters) >> 63;
        let ends = (letters.plus(first & letters) | first) & !letters;
        (ends, overflow_of(letters, first & letters))
    }

    /// Unmatched characters. One that a word of its part follows is the prefix of that word; others make a gap with
    /// their neighbours.
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
                // In a batch, `own` has its own successors already.
                let of_own = if L::IS_SINGLE { own << longest } else { none };
                let (starts, more) = add_starts(own, of_own | going_on, full, longest);
                (starts, more | more_own)
            }
        }
    }
}

/// Adds the starts `more`, and those that follow them at a distance of `longest`, as far as they are in `full`. The
/// second result is not 0 where a block of a batch has more.
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
#[inline(always)]
pub(super) fn contractions<L: Lanes>(rules: &Rules, starts: L, block: &Classes<L>, next: &Classes<L>) -> L {
    let Classes { leads, words, foreign, .. } = *block;
    let literals = starts & leads & before(words, next.words, 1) & rules.literal;
    let (lead_follows, word_follows) = (before(leads, next.leads, 1), before(words, next.words, 2));
    literals | words & !foreign & lead_follows & word_follows & rules.suffix
}
