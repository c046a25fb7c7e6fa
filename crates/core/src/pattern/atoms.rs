//! Atoms: the small classes of characters from which the classes of split patterns are made.
//!
//! Every character has exactly one atom, and characters with the same atom are never told apart. In: a class
//! of a pattern. Out: the set of its atoms, one bit each, or `None` if the class contains a part of an atom
//! but not all of it (it cuts through the atom). A scanner looks up the atom of a character in a table and tests
//! one bit.
//!
//! The table is generated from the Unicode 16 data of the pinned regex-syntax, which both regex engines use. Each
//! space, line end, apostrophe, slash or underscore that a shipped pattern names has an atom of its own.
use regex_syntax::hir::ClassUnicode;
use tokenmill_kernels::MadeOnce;

use super::atom_table::{BLOCKS, COUNTS, INDEX};

/// A set of atoms: bit `n` is atom `n`.
pub(super) type AtomSet = u32;

/// The most atoms that a table can have, which is the number of bits of a set.
pub(super) const MAX_ATOMS: usize = AtomSet::BITS as usize;

/// The number of code points in one block of a two-level table.
pub(super) const TABLE_BLOCK: usize = 128;

/// The number of atoms in the shipped table. Atom 0 has the characters that no other atom has: control, format,
/// private use and unassigned.
pub(super) const ATOMS: usize = 18;

/// The atom of `\p{M}`.
pub(super) const MARK: u8 = 6;

const LOWER: AtomSet = 1 << 3;
/// The atoms of the ASCII letters.
const CASED: AtomSet = (1 << 1) | LOWER;
/// The atoms that occur in ASCII.
const IN_ASCII: AtomSet = in_ascii();

const SPACE: AtomSet = 1 << 9;
const NEWLINES: AtomSet = (1 << 10) | (1 << 11);
const LINE_FEED: AtomSet = 1 << 11;
/// The 25 characters of White_Space.
const WHITE: AtomSet = SPACE | NEWLINES | (1 << 12);

/// The atom of each ASCII character. The entries from 128 on are never read.
static ASCII: [u8; 256] = ascii();

const fn ascii() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = BLOCKS[INDEX[0] as usize * TABLE_BLOCK + byte];
        byte += 1;
    }
    table
}

const fn in_ascii() -> AtomSet {
    let (table, mut set, mut byte) = (ascii(), 0, 0);
    while byte < 128 {
        set |= 1 << table[byte];
        byte += 1;
    }
    set
}

/// The atom of a code point.
#[inline]
pub(super) fn of(code_point: u32) -> u8 {
    let (block, at) = (code_point as usize / TABLE_BLOCK, code_point as usize % TABLE_BLOCK);
    BLOCKS[usize::from(INDEX[block]) * TABLE_BLOCK + at]
}

/// Decodes the character that starts at `at`, and returns its length in bytes too. `bytes` must be valid UTF-8 and
/// `at` a character boundary before its end.
#[inline]
pub(super) fn decode(bytes: &[u8], at: usize) -> (u32, usize) {
    let continuation = |n: usize| u32::from(bytes[at + n] & 0x3F);
    let first = u32::from(bytes[at]);
    if first < 0x80 {
        (first, 1)
    } else if first < 0xE0 {
        (((first & 0x1F) << 6) | continuation(1), 2)
    } else if first < 0xF0 {
        (((first & 0x0F) << 12) | (continuation(1) << 6) | continuation(2), 3)
    } else {
        let high = ((first & 0x07) << 18) | (continuation(1) << 12);
        (high | (continuation(2) << 6) | continuation(3), 4)
    }
}

/// A table that gives every character its atom: the shipped one, or a finer one for the classes of one pattern.
pub(super) trait Atoms {
    /// The atom of each ASCII character. The entries from 128 on are never read.
    fn ascii(&self) -> &[u8; 256];
    /// The atom of a code point.
    fn of(&self, code_point: u32) -> u8;
    /// The sets that scanners and lowering use by name.
    fn sets(&self) -> Sets;
    /// The atoms that make up `class`, or `None` if the class cuts through an atom.
    fn set_of(&self, class: &ClassUnicode) -> Option<AtomSet>;

    /// The atom of the character that starts at `at`, and its length in bytes.
    #[inline]
    fn at(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        let first = bytes[at];
        if first < 0x80 {
            return (self.ascii()[usize::from(first)], 1);
        }
        let (code_point, width) = decode(bytes, at);
        (self.of(code_point), width)
    }

    /// The set of the atoms of these characters.
    fn of_chars(&self, chars: &[char]) -> AtomSet {
        chars.iter().fold(0, |set, &c| set | 1 << self.of(u32::from(c)))
    }
}

/// The sets that scanners and lowering use by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sets {
    pub(super) all: AtomSet,
    pub(super) white: AtomSet,
    pub(super) space: AtomSet,
    pub(super) newlines: AtomSet,
    pub(super) line_feed: AtomSet,
    /// The atoms that occur in ASCII.
    pub(super) in_ascii: AtomSet,
    /// The atoms of the ASCII letters. No other ASCII character has one of them.
    pub(super) cased: AtomSet,
    pub(super) lower: AtomSet,
}

/// The table of atoms that is part of the library.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShippedAtoms;

impl Atoms for ShippedAtoms {
    #[inline]
    fn ascii(&self) -> &[u8; 256] {
        &ASCII
    }

    #[inline]
    fn of(&self, code_point: u32) -> u8 {
        of(code_point)
    }

    #[inline]
    fn sets(&self) -> Sets {
        Sets {
            all: (1 << ATOMS) - 1,
            white: WHITE,
            space: SPACE,
            newlines: NEWLINES,
            line_feed: LINE_FEED,
            in_ascii: IN_ASCII,
            cased: CASED,
            lower: LOWER,
        }
    }

    fn set_of(&self, class: &ClassUnicode) -> Option<AtomSet> {
        set_of(class, runs(), &COUNTS)
    }
}

/// The atoms that make up `class`, or `None` if the class cuts through an atom. `runs` lists all code points as
/// runs `(start, end, atom)` in order, and `counts` has the number of characters of each atom.
pub(super) fn set_of(class: &ClassUnicode, runs: &[(u32, u32, u8)], counts: &[u32]) -> Option<AtomSet> {
    let mut held = vec![0_u32; counts.len()];
    let mut runs = runs.iter().copied().peekable();
    for range in class.ranges() {
        let (first, last) = (u32::from(range.start()), u32::from(range.end()));
        while let Some(&(start, end, atom)) = runs.peek() {
            if start > last {
                break;
            }
            let (from, to) = (start.max(first), end.min(last + 1));
            if from < to {
                held[usize::from(atom)] += to - from - surrogates(from, to);
            }
            if end > last + 1 {
                break;
            }
            runs.next();
        }
    }
    let mut set = 0;
    for (atom, (&held, &all)) in held.iter().zip(counts).enumerate() {
        if held == all {
            set |= 1 << atom;
        } else if held != 0 {
            return None;
        }
    }
    Some(set)
}

/// The number of surrogates among the code points `from..to`. Surrogates are not characters.
pub(super) fn surrogates(from: u32, to: u32) -> u32 {
    to.min(0xE000).saturating_sub(from.max(0xD800))
}

/// The shipped table as runs `(start, end, atom)`, computed when the first pattern is compiled.
pub(super) fn runs() -> &'static [(u32, u32, u8)] {
    static RUNS: MadeOnce<Vec<(u32, u32, u8)>> = MadeOnce::new();
    RUNS.get_or_make(|| {
        let mut runs: Vec<(u32, u32, u8)> = Vec::new();
        // The number of the previous block, if the whole block has one atom. Most blocks equal the previous one.
        let mut previous = None;
        for (start, &block) in (0..).step_by(TABLE_BLOCK).zip(&INDEX) {
            if previous == Some(block)
                && let Some((_, end, _)) = runs.last_mut()
            {
                *end = start + TABLE_BLOCK as u32;
                continue;
            }
            for code_point in start..start + TABLE_BLOCK as u32 {
                let atom = of(code_point);
                match runs.last_mut() {
                    Some((_, end, last)) if *last == atom => *end = code_point + 1,
                    _ => runs.push((code_point, code_point + 1, atom)),
                }
            }
            previous = runs.last().is_some_and(|&(first, ..)| first <= start).then_some(block);
        }
        runs
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::classes::class;

    fn set_of(class: &ClassUnicode) -> Option<AtomSet> {
        ShippedAtoms.set_of(class)
    }

    #[test]
    fn runs_are_the_table() {
        let runs = runs();
        assert!(runs.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].2 != pair[1].2));
        let code_points = runs.iter().flat_map(|&(start, end, atom)| (start..end).map(move |at| (at, atom)));
        assert!(code_points.eq((0..0x11_0000).map(|at| (at, of(at)))));
    }

    fn members(class: &ClassUnicode) -> Vec<bool> {
        let mut all = vec![false; 0x11_0000];
        for range in class.ranges() {
            all[u32::from(range.start()) as usize..=u32::from(range.end()) as usize].fill(true);
        }
        all
    }

    #[test]
    fn every_code_point_has_the_atom_that_the_classes_of_regex_syntax_give_it() {
        let expected = [
            (0, r"[^\p{L}\p{M}\p{N}\p{P}\p{S}\s]"),
            (1, r"\p{Lu}"),
            (2, r"\p{Lt}"),
            (3, r"\p{Ll}"),
            (4, r"\p{Lm}"),
            (5, r"\p{Lo}"),
            (6, r"\p{M}"),
            (7, r"\p{Nd}"),
            (8, r"[\p{Nl}\p{No}]"),
            (9, "[ ]"),
            (10, r"[\r]"),
            (11, r"[\n]"),
            (12, r"[\s--[ \r\n]]"),
            (13, "[']"),
            (14, "[/]"),
            (15, r"[\p{P}--['/_]]"),
            (16, r"\p{S}"),
            (17, "[_]"),
        ];
        assert_eq!(expected.len(), ATOMS);
        for (atom, text) in expected {
            let class = class(text);
            let members = members(&class);
            for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
                let member = members[u32::from(c) as usize];
                assert_eq!(of(u32::from(c)) == atom, member, "{c:?} and atom {atom}");
            }
            assert_eq!(set_of(&class), Some(1 << atom), "{text}");
        }
    }

    #[test]
    fn a_class_is_a_set_of_atoms_or_refused() {
        assert_eq!(set_of(&class(r"\s")), Some(WHITE));
        assert_eq!(set_of(&class(r"[\r\n]")), Some(NEWLINES));
        assert_eq!(set_of(&class(r"[\s\S]")), Some((1 << ATOMS) - 1));
        assert_eq!(set_of(&class(r"\S")), Some(((1 << ATOMS) - 1) & !WHITE));
        for text in ["[a-z]", r"\w", r"\p{Han}", r"[\p{L}--a]", r"[^\t]", "[\u{10FFFF}]"] {
            assert_eq!(set_of(&class(text)), None, "{text}");
        }
    }

    #[test]
    fn decoding_agrees_with_char() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let text = c.encode_utf8(&mut buffer);
            assert_eq!(decode(text.as_bytes(), 0), (u32::from(c), c.len_utf8()));
        }
    }
}
