//! Computes the boundaries of a block of 64 characters with arithmetic on words of bits.
//!
//! In: the planes of a block and of the next block. Out: a bit for each boundary and a bit for each doubt.
//! Every boundary satisfies the invariant of the [module](super).
//!
//! Bit `n` of a word is character `n`. So `x << 1`, with the last bit of the previous block shifted in, means "the
//! character before this one is in `x`". Runs of ones are found by addition: if the first bits of some runs are
//! added to the word of all runs, each carry ends at the bit after its run.
use tokenmill_kernels::planes::Planes;

use super::rules::{EXTRA, LEAD, LOWER, NEWLINE, OTHER, Rules, SPACE, UNMATCHED, UPPER, WHITE};

/// The result for one block: where matches start, and where the arms have to decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundaries {
    /// Characters at which a match starts.
    pub(super) starts: u64,
    /// Characters of matches that may not end at the next boundary.
    pub(super) doubts: u64,
    /// Characters of possible contractions. They are in doubt unless a look at the bytes of the text settles them.
    pub(super) contractions: u64,
    /// What this block decides about the boundary that an earlier block left open.
    pub(super) open: OpenBoundary,
    /// The character whose boundary this block leaves open. There is none in most blocks.
    pub(super) opened: u64,
}

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

/// What the next block has to know about this block. Only the highest bits of each word are used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    words: u64,
    only_lower: u64,
    both: u64,
    other: u64,
    numbers: u64,
    number_starts: u64,
    space: u64,
    /// Characters that a word takes as its prefix if it follows them.
    before_word: u64,
    tail: u64,
    blank: u64,
    blank_newline: u64,
    /// Is a boundary still undecided? That is so if the block ends in white space after a line end.
    open: bool,
    extended: ExtendedCarry,
}

/// What the next block has to know for a pattern of the extended family.
#[derive(Debug, Clone, Copy, Default)]
struct ExtendedCarry {
    foreign: u64,
    unmatched: u64,
    /// Other text that is not foreign.
    tailed: u64,
    /// The prefixes of prefixed words.
    prefixes: u64,
    /// Does the block end in the letters of a prefixed word?
    in_letters: bool,
}

/// The planes of a block, and `valid` with a bit for each character that the block has.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlanes<'a> {
    pub(super) planes: &'a Planes,
    pub(super) valid: u64,
}

impl BlockPlanes<'_> {
    /// The lower case letters. The plane has the letters of prefixed words instead, if the pattern has such words.
    #[inline]
    fn lower(self, rules: &Rules) -> u64 {
        self.planes[LOWER] & !rules.prefixed
    }

    #[inline]
    fn foreign(self) -> u64 {
        self.planes[SPACE] & !self.planes[WHITE]
    }

    /// The text that is of one part with white space.
    #[inline]
    fn own_text(self, rules: &Rules) -> u64 {
        let text = self.valid & !self.planes[WHITE];
        let words = self.planes[UPPER] | self.lower(rules);
        let numbers = text & !(words | self.planes[OTHER] | self.planes[UNMATCHED]);
        text & !self.foreign() & !(numbers & rules.numbers_apart)
    }
}

/// The characters directly after a character of `class`.
#[inline]
fn after(class: u64, previous: u64) -> u64 {
    class << 1 | previous >> 63
}

/// The characters for which the character `distance` positions later is in `class`.
#[inline]
fn before(class: u64, next: u64, distance: u32) -> u64 {
    class >> distance | next << (64 - distance)
}

impl Carry {
    /// Computes the boundaries of `block`. Only the first two characters of `next` are used. `EXTENDED` must be
    /// [`Rules::extended`].
    #[inline]
    pub(super) fn boundaries<const EXTENDED: bool>(
        &mut self,
        rules: &Rules,
        block: BlockPlanes<'_>,
        next: BlockPlanes<'_>,
    ) -> Boundaries {
        let planes = block.planes;
        let (white, newline) = (planes[WHITE], planes[NEWLINE]);
        let lower = if EXTENDED { planes[LOWER] & !rules.prefixed } else { planes[LOWER] };
        let (space, foreign) =
            if EXTENDED { (planes[SPACE] & white, planes[SPACE] & !white) } else { (planes[SPACE], 0) };
        let unmatched = if EXTENDED { planes[UNMATCHED] } else { 0 };
        let upper = planes[UPPER];
        let words = upper | lower;
        let other = planes[OTHER] & !words;
        let text = block.valid & !white;
        let numbers = text & !(words | other | unmatched);
        let next_words = next.planes[UPPER] | if EXTENDED { next.lower(rules) } else { next.planes[LOWER] };
        let next_text = next.valid & !next.planes[WHITE];
        // Characters whose part is not that of the character before them.
        let change = if EXTENDED { foreign ^ after(foreign, self.extended.foreign) } else { 0 };

        let after_space = after(space, self.space);
        let mut other_starts = other & !after(other, self.other) & !(after_space & rules.space_before_other);
        if EXTENDED {
            other_starts |= other & change;
        }
        let mut before_word = other_starts & rules.other_before_word
            | space & rules.space_before_word
            | white & !newline & rules.white_before_word;
        let mut prefixed_ends = 0;
        if EXTENDED {
            let letter_follows = before(planes[LOWER], next.planes[LOWER], 1);
            let prefixes = other_starts & planes[LEAD] & letter_follows & rules.prefixed;
            prefixed_ends = self.prefixed_ends(planes[LOWER] & rules.prefixed, prefixes);
            before_word |= prefixes | unmatched & rules.unmatched_before_word;
        }
        let mut word_starts = words & !after(words, self.words) & !after(before_word, self.before_word);
        if EXTENDED {
            word_starts |= words & (change | prefixed_ends);
        }
        let (only_upper, only_lower) = (upper & !lower, lower & !upper);
        let case_starts = only_upper & after(only_lower, self.only_lower) & rules.case;
        let number_starts = self.number_starts(rules, numbers, after_space);
        let unmatched_starts =
            if EXTENDED { self.unmatched_starts(rules, unmatched, foreign, change, words, next) } else { 0 };

        // Line ends directly after other text are its tail.
        let after_other =
            if EXTENDED { after(other & !foreign, self.extended.tailed) } else { after(other, self.other) };
        let seeds = newline & (after_other | self.tail >> 63);
        let tail = newline & !newline.wrapping_add(seeds) & rules.tail;
        let blank = white & !tail;
        // The text that white space gives up its last character to: that of its own part.
        let (own_text, next_own_text) = if EXTENDED {
            (text & !foreign & !(numbers & rules.numbers_apart), next.own_text(rules))
        } else {
            (text, next_text)
        };
        let last = blank & before(own_text, next_own_text, 1) & !(newline & rules.through_newline);
        let white_starts = blank & !after(blank, self.blank) | last;
        let lines = self.lines(rules, blank, newline, text, next);

        let starts = word_starts
            | case_starts
            | other_starts
            | number_starts
            | white_starts
            | unmatched_starts
            | lines.starts;

        let leads = planes[LEAD];
        let both = upper & lower;
        let mut contractions = starts & leads & before(words, next_words, 1) & rules.literal;
        contractions |= words
            & !foreign
            & before(leads, next.planes[LEAD], 1)
            & before(words, next_words, 2)
            & rules.suffix;
        let mut doubts = contractions & !rules.settled;
        contractions &= rules.settled;
        doubts |= only_upper & after(both, self.both) & rules.case;
        let shared = planes[OTHER] & words;
        doubts |= other & before(shared, next.planes[OTHER] & next_words, 1);
        if !EXTENDED {
            doubts |= tail & before(planes[EXTRA], next.planes[EXTRA], 1);
        }

        self.words = words;
        self.only_lower = only_lower;
        self.both = both;
        self.other = other;
        self.numbers = numbers;
        self.number_starts = number_starts;
        self.space = space;
        self.before_word = before_word;
        self.tail = tail;
        self.blank = blank;
        self.blank_newline = newline & blank;
        if EXTENDED {
            self.extended = ExtendedCarry { foreign, unmatched, tailed: other & !foreign, ..self.extended };
        }
        Boundaries { starts, doubts, contractions, open: lines.open, opened: lines.opened }
    }

    /// The characters directly after prefixed words. `prefixes` has the prefixes of those that begin in this block.
    #[inline]
    fn prefixed_ends(&mut self, letters: u64, prefixes: u64) -> u64 {
        let first = after(prefixes, self.extended.prefixes) | u64::from(self.extended.in_letters);
        let (ends, in_letters) = letters.overflowing_add(first & letters);
        (self.extended.prefixes, self.extended.in_letters) = (prefixes, in_letters);
        (ends | first) & !letters
    }

    /// Unmatched characters. One that a word of its part follows is the prefix of that word; others make a gap with
    /// their neighbours.
    #[inline]
    fn unmatched_starts(
        &self,
        rules: &Rules,
        unmatched: u64,
        foreign: u64,
        change: u64,
        words: u64,
        next: BlockPlanes<'_>,
    ) -> u64 {
        let (next_words, next_foreign) = (next.planes[UPPER] | next.lower(rules), next.foreign());
        let own = before(words & !foreign, next_words & !next_foreign, 1) & !foreign;
        let theirs = before(words & foreign, next_words & next_foreign, 1) & foreign;
        unmatched
            & (!after(unmatched, self.extended.unmatched)
                | change
                | (own | theirs) & rules.unmatched_before_word)
    }

    #[inline]
    fn number_starts(&self, rules: &Rules, numbers: u64, after_space: u64) -> u64 {
        let first = numbers & !after(numbers, self.numbers);
        match rules.longest_number {
            0 => first & !(after_space & rules.space_before_number),
            1 => numbers,
            longest => {
                let longest = longest as u32;
                // The characters that are preceded by `longest - 1` numbers and are numbers themselves.
                let mut full = numbers;
                for distance in 1..longest {
                    full &= numbers << distance | self.numbers >> (64 - distance);
                }
                let mut starts = first;
                let mut more = (starts << longest | self.number_starts >> (64 - longest)) & full;
                while more != 0 {
                    starts |= more;
                    more = more << longest & full;
                }
                starts
            }
        }
    }

    /// Computes the boundaries after line ends, for patterns in which white space matches up to its last line end.
    /// The white space after a line end starts a match, unless another line end follows it or the text ends there.
    /// At the end of the text the arms decide.
    #[inline]
    fn lines(
        &mut self,
        rules: &Rules,
        blank: u64,
        newline: u64,
        text: u64,
        next: BlockPlanes<'_>,
    ) -> LineBoundaries {
        let rest = blank & !newline;
        let begun = rest & after(newline & blank, self.blank_newline) & rules.through_newline;
        let carried = u64::from(self.open);
        let mut starts = begun | carried;
        if starts == 0 {
            return LineBoundaries { starts, open: OpenBoundary::Undecided, opened: 0 };
        }
        let (ends, reaches_end) = rest.overflowing_add(starts);
        let mut wrong = ends & !rest & !text;
        while wrong != 0 {
            let end = wrong & wrong.wrapping_neg();
            starts &= !highest(starts & (end - 1));
            wrong &= wrong - 1;
        }
        let mut going_on = 0;
        if reaches_end && next.valid & !next.planes[WHITE] & 1 == 0 {
            let last = highest(starts);
            starts &= !last;
            if next.planes[WHITE] & !next.planes[NEWLINE] & 1 == 1 {
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

/// A word with only the highest bit of `word`.
#[inline]
fn highest(word: u64) -> u64 {
    (1_u64 << 63).checked_shr(word.leading_zeros()).unwrap_or(0)
}
