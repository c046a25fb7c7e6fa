//! The classes that the algebra reads, one plane each, and the tables that give every character its class byte.
use tokenmill_kernels::planes::characters::CharacterClasses;
use tokenmill_kernels::planes::{AsciiClasses, PLANES};

use crate::pattern::atoms::{AtomSet, Atoms, MAX_ATOMS};

// The planes. A character may be in several: the arms of words come first, so what they hold belongs to words.

/// What a word holds before its first lower letter, if case matters; else all of a word.
pub(super) const UPPER: usize = 0;
/// What a word holds from its first lower letter on; empty if case does not matter.
pub(super) const LOWER: usize = 1;
/// What other text holds.
pub(super) const OTHER: usize = 2;
pub(super) const SPACE: usize = 3;
pub(super) const WHITE: usize = 4;
pub(super) const NEWLINE: usize = 5;
/// What contractions begin with.
pub(super) const LEAD: usize = 6;
/// What may follow other text, apart from line ends.
pub(super) const EXTRA: usize = 7;

/// The atoms of each plane.
pub(super) type Members = [AtomSet; PLANES];

/// Class bytes by character. Characters without a class are numbers.
#[derive(Debug)]
pub(super) struct ClassTables {
    pub(super) ascii: AsciiClasses,
    pub(super) characters: CharacterClasses,
    /// The class byte of each atom; one for every value of a byte, so that lookups need no check.
    pub(super) by_atom: [u8; 256],
}

impl ClassTables {
    pub(super) fn new(atoms: &impl Atoms, members: &Members) -> Self {
        let mut by_atom = [0; 256];
        for (atom, classes) in by_atom.iter_mut().enumerate().take(MAX_ATOMS) {
            let within = members.iter().enumerate().filter(|(_, set)| *set >> atom & 1 == 1);
            *classes = within.fold(0, |classes, (plane, _)| classes | 1 << plane);
        }
        let ascii = std::array::from_fn(|byte| by_atom[usize::from(atoms.ascii()[byte])]);
        let ascii = AsciiClasses::new(ascii);
        let characters = CharacterClasses::new(|code_point| by_atom[usize::from(atoms.of(code_point))]);
        Self { ascii, characters, by_atom }
    }
}
