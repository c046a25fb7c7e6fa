//! The classes of characters that the algebra reads, one plane each, and the tables with the class byte of every
//! character. Bit `n` of a class byte says whether the character is in plane `n`.
use tokenmill_kernels::planes::characters::CharacterClasses;
use tokenmill_kernels::planes::{AsciiClasses, PLANES};

use crate::pattern::atoms::{AtomSet, Atoms, MAX_ATOMS};

// The planes. A character can be in several of them. A character of both words and other text counts as part of a
// word, because the arms of words come first.

/// If case matters, the characters that a word may have before its first lower letter; otherwise all characters of
/// words.
pub(super) const UPPER: usize = 0;
/// The characters that a word may have from its first lower letter on. Empty if case does not matter.
pub(super) const LOWER: usize = 1;
/// The characters of other text.
pub(super) const OTHER: usize = 2;
pub(super) const SPACE: usize = 3;
pub(super) const WHITE: usize = 4;
pub(super) const NEWLINE: usize = 5;
/// The first characters of contractions.
pub(super) const LEAD: usize = 6;
/// The characters other than line ends that may follow other text.
pub(super) const EXTRA: usize = 7;

/// The atoms of each plane.
pub(super) type Members = [AtomSet; PLANES];

/// The class byte of every character. A character that is in no plane is a number.
#[derive(Debug)]
pub(super) struct ClassTables {
    pub(super) ascii: AsciiClasses,
    pub(super) characters: CharacterClasses,
    /// The class byte of each atom. It has an entry for every value of a byte, so lookups need no bounds check.
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
