//! The scanner by bit planes: boundaries of 64 characters at a time, by arithmetic on words.
//!
//! Most published patterns are one family: words, numbers and other text, each perhaps behind a
//! character that goes with it, and rules for white space. [`rules`] tells from the arms of a
//! pattern whether it is one of them. Then [`blocks`] gives the text as classes of characters, one
//! word for each class, [`algebra`] makes of them a word of the boundaries, and [`walk`] gives out
//! the positions.
//!
//! What surprises: the algebra may be in doubt. Every boundary that it gives has this property:
//! a match that starts there ends at its next boundary, unless a doubt is marked in between. Where one is,
//! the arms are run from the boundary before it, match by match, until one ends at a boundary of
//! the algebra, from which the property holds again. So only what is rare and hard to say in
//! words of bits (some contractions and changes of case) costs time, and nothing is approximate.
mod algebra;
mod blocks;
mod contractions;
mod rules;
mod walk;

use tokenmill_kernels::planes::AsciiClasses;
use tokenmill_kernels::planes::characters::CharacterClasses;

use self::contractions::Contractions;
use self::rules::Rules;
use self::walk::Walk;
pub use self::walk::WalkRoom;
use super::arms::Arm;
use super::atoms::Atoms;
use super::own_atoms::MAX_ATOMS;
use super::scanner::Scanner;
use crate::error::Result;
use crate::span::Span;

/// The classes that the algebra asks for, as places of their planes. A character may be in
/// several: the word arms come first, so what they hold is theirs.
pub(super) mod plane {
    /// What a word holds before its first lower letter, where case matters; else all of a word.
    pub(in super::super) const UPPER: usize = 0;
    /// What a word holds from there on; empty where case does not matter.
    pub(in super::super) const LOWER: usize = 1;
    /// What other text holds.
    pub(in super::super) const OTHER: usize = 2;
    pub(in super::super) const SPACE: usize = 3;
    pub(in super::super) const WHITE: usize = 4;
    pub(in super::super) const NEWLINE: usize = 5;
    /// What contractions begin with.
    pub(in super::super) const LEAD: usize = 6;
    /// What may stand behind other text apart from line ends.
    pub(in super::super) const EXTRA: usize = 7;
}

/// What a pattern of the family needs for running by planes. Characters of no class are numbers.
#[derive(Debug)]
pub(super) struct Planes {
    rules: Rules,
    contractions: Option<Contractions>,
    ascii: AsciiClasses,
    characters: CharacterClasses,
    /// The class byte of each atom; as many as a byte has values, so that none needs a check.
    classes: [u8; 256],
}

/// Shorter texts are scanned one pretoken at a time: a walk takes 70 ns more before its first block.
const SHORT: usize = 24;

impl Planes {
    /// `None` where the arms are not of the family.
    pub(super) fn new(atoms: &impl Atoms, arms: &[Arm]) -> Option<Self> {
        let (mut rules, members) = rules::of(atoms, arms)?;
        let contractions = rules::contractions(atoms, arms, members[plane::UPPER] | members[plane::LOWER]);
        rules.settled = rules::mask(contractions.is_some());
        let mut classes = [0; 256];
        for (atom, classes) in classes.iter_mut().enumerate().take(MAX_ATOMS) {
            let within = members.iter().enumerate().filter(|(_, set)| *set >> atom & 1 == 1);
            *classes = within.fold(0, |classes, (plane, _)| classes | 1 << plane);
        }
        let ascii = std::array::from_fn(|byte| classes[usize::from(atoms.ascii()[byte])]);
        let ascii = AsciiClasses::new(ascii);
        let characters = CharacterClasses::new(|code_point| classes[usize::from(atoms.of(code_point))]);
        Some(Self { rules, contractions, ascii, characters, classes })
    }

    /// Is `text` long enough?
    #[inline]
    pub(super) fn pays(text: &str) -> bool {
        text.len() >= SHORT
    }

    /// Every pretoken of `text`, in order. All of them are matches, as the arms of the family leave no
    /// character out.
    #[inline]
    pub(super) fn for_each<A, F>(&self, scanner: &Scanner<A>, text: &str, mut emit: F) -> Result<()>
    where
        A: Atoms,
        F: FnMut(Span) -> Result<()>,
    {
        let mut start = 0;
        self.for_each_ends(scanner, text, &mut WalkRoom::default(), &mut |ends: &[usize]| {
            for &end in ends {
                emit(Span::new(start, end))?;
                start = end;
            }
            Ok(())
        })
    }

    /// As [`Self::for_each`], several at a time: where the next pretokens end.
    #[inline]
    pub(super) fn for_each_ends<A, F>(
        &self,
        scanner: &Scanner<A>,
        text: &str,
        room: &mut WalkRoom,
        emit: &mut F,
    ) -> Result<()>
    where
        A: Atoms,
        F: FnMut(&[usize]) -> Result<()>,
    {
        let mut walk = Walk::new(self, scanner, text, room);
        loop {
            let ends = walk.next_ends();
            if ends.is_empty() {
                return Ok(());
            }
            emit(ends)?;
        }
    }
}
