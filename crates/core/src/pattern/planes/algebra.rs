//! Boundaries of 64 characters by arithmetic on words.
//!
//! Bit `n` of a word is character `n`, so that `x << 1` is "the character before is in `x`", with
//! the last bit of the block before shifted in; and adding the first bits of some runs to
//! all runs carries each of them to the bit behind its run.
use tokenmill_kernels::planes::Planes as Words;

use super::plane::{EXTRA, LEAD, LOWER, NEWLINE, OTHER, SPACE, UPPER, WHITE};
use super::rules::Rules;

/// Where pretokens start in a block, and where the arms are to be asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Characters at which a pretoken starts.
    pub(super) starts: u64,
    /// Characters in a pretoken that may end elsewhere.
    pub(super) doubts: u64,
    /// Characters that would be in doubt if a look at the text did not settle them: as [`Contractions`](super::Contractions) has them.
    pub(super) contractions: u64,
    /// What became of the boundary that the blocks before left open.
    pub(super) open: Open,
    /// The character whose boundary is left open here; none in most blocks.
    pub(super) opened: u64,
}

/// The boundaries behind the last line end of white space.
struct Lines {
    starts: u64,
    open: Open,
    opened: u64,
}

/// A boundary that depends on what follows white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// There was none, or it is still open.
    Waits,
    /// It is one.
    Holds,
    /// It is none.
    Fails,
}

/// What a block is told by the one before it: its words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    words: u64,
    only_lower: u64,
    both: u64,
    other: u64,
    numbers: u64,
    number_starts: u64,
    space: u64,
    /// What goes with a word behind it.
    before_word: u64,
    tail: u64,
    blank: u64,
    blank_newline: u64,
    /// A boundary is open: white space since a line end, up to the end of the block.
    open: bool,
}

/// A block as its planes and the characters that it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) planes: &'a Words,
    pub(super) valid: u64,
}

/// The characters before which there is one of `class`.
#[inline]
fn behind(class: u64, before: u64) -> u64 {
    class << 1 | before >> 63
}

/// The characters after which there is one of `class`, `distance` away.
#[inline]
fn ahead(class: u64, next: u64, distance: u32) -> u64 {
    class >> distance | next << (64 - distance)
}

impl Carry {
    /// The boundaries of `block`; `next` is the block behind it, whose first two characters count.
    #[inline]
    pub(super) fn boundaries(&mut self, rules: &Rules, block: Block<'_>, next: Block<'_>) -> Found {
        let planes = block.planes;
        let (upper, lower) = (planes[UPPER], planes[LOWER]);
        let (space, white, newline) = (planes[SPACE], planes[WHITE], planes[NEWLINE]);
        let words = upper | lower;
        let other = planes[OTHER] & !words;
        let text = block.valid & !white;
        let numbers = text & !(words | other);
        let next_words = next.planes[UPPER] | next.planes[LOWER];
        let next_text = next.valid & !next.planes[WHITE];

        let after_space = behind(space, self.space);
        let other_starts = other & !behind(other, self.other) & !(after_space & rules.space_before_other);
        let before_word = other_starts & rules.other_before_word
            | space & rules.space_before_word
            | white & !newline & rules.white_before_word;
        let word_starts = words & !behind(words, self.words) & !behind(before_word, self.before_word);
        let (only_upper, only_lower) = (upper & !lower, lower & !upper);
        let case_starts = only_upper & behind(only_lower, self.only_lower) & rules.case;
        let number_starts = self.number_starts(rules, numbers, after_space);

        // Line ends behind other text are its tail.
        let seeds = newline & (behind(other, self.other) | self.tail >> 63);
        let tail = newline & !newline.wrapping_add(seeds) & rules.tail;
        let blank = white & !tail;
        let last = blank & ahead(text, next_text, 1) & !(newline & rules.through_newline);
        let white_starts = blank & !behind(blank, self.blank) | last;
        let lines = self.lines(rules, blank, newline, text, next);

        let starts = word_starts | case_starts | other_starts | number_starts | white_starts | lines.starts;

        let leads = planes[LEAD];
        let both = upper & lower;
        let mut contractions = starts & leads & ahead(words, next_words, 1) & rules.literal;
        contractions |=
            words & ahead(leads, next.planes[LEAD], 1) & ahead(words, next_words, 2) & rules.suffix;
        let mut doubts = contractions & !rules.settled;
        contractions &= rules.settled;
        doubts |= only_upper & behind(both, self.both) & rules.case;
        let shared = planes[OTHER] & words;
        doubts |= other & ahead(shared, next.planes[OTHER] & next_words, 1);
        doubts |= tail & ahead(planes[EXTRA], next.planes[EXTRA], 1);

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
        Found { starts, doubts, contractions, open: lines.open, opened: lines.opened }
    }

    #[inline]
    fn number_starts(&self, rules: &Rules, numbers: u64, after_space: u64) -> u64 {
        let first = numbers & !behind(numbers, self.numbers);
        match rules.longest_number {
            0 => first & !(after_space & rules.space_before_number),
            1 => numbers,
            longest => {
                let longest = longest as u32;
                // The characters up to which so many in a row are numbers.
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

    /// White space since a line end starts a pretoken unless another line end follows in it, or
    /// the end of the text, for which the arms are asked.
    #[inline]
    fn lines(&mut self, rules: &Rules, blank: u64, newline: u64, text: u64, next: Block<'_>) -> Lines {
        let rest = blank & !newline;
        let begun = rest & behind(newline & blank, self.blank_newline) & rules.through_newline;
        let carried = u64::from(self.open);
        let mut starts = begun | carried;
        if starts == 0 {
            return Lines { starts, open: Open::Waits, opened: 0 };
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
            (0, 0) if self.open => Open::Fails,
            (0, _) => Open::Waits,
            _ => Open::Holds,
        };
        self.open = going_on != 0;
        Lines { starts: starts & !carried, open, opened: going_on & !carried }
    }
}

/// The highest bit of a word.
#[inline]
fn highest(word: u64) -> u64 {
    (1_u64 << 63).checked_shr(word.leading_zeros()).unwrap_or(0)
}
