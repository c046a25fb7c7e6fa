//! The scanner: by bit planes where it can be, 64 characters at a time, else arm by arm.
//!
//! In come the arms of a pattern, and then texts; out go the matches in order, the same as those of the
//! [`ArmScanner`] alone, which is the fallback for short texts, other patterns, and where the planes are in doubt.
//!
//! Most published patterns are one family: words, numbers and other text, each perhaps after a
//! character that goes with it, and rules for white space. [`rules`] tells from the arms of a
//! pattern whether it is one of them. Then [`blocks`] turns the text into classes of characters, one
//! word of bits for each class, [`algebra`] computes from them a word of boundaries, and [`walk`] turns these into
//! positions.
//!
//! What surprises: the algebra may be in doubt. Every boundary that it gives has this property:
//! a match that starts there ends at its next boundary, unless a doubt is marked in between. If one is,
//! the arms are run from the boundary before it, match by match, until one ends at a boundary of
//! the algebra, from which the property holds again. So only what is rare and hard to express in
//! words of bits (some contractions and changes of case) costs time, and nothing is approximate.
mod algebra;
mod blocks;
mod classes;
mod contractions;
mod rules;
mod walk;

use self::classes::{ClassTables, LOWER, UPPER};
use self::contractions::Contractions;
use self::walk::PlaneTables;
pub use self::walk::ScanScratch;
use super::arm_scanner::ArmScanner;
use super::arms::Arm;
use super::atoms::Atoms;
use crate::error::Result;
use crate::span::Span;

/// A pattern, ready to be run over texts.
#[derive(Debug)]
pub(super) struct PlaneScanner<A> {
    arms: ArmScanner<A>,
    /// `None` if the pattern is not of the family.
    tables: Option<PlaneTables>,
}

/// Shorter texts are scanned arm by arm: a walk takes 70 ns more before its first block.
const MIN_BYTES: usize = 24;

impl<A: Atoms> PlaneScanner<A> {
    /// `arms` are at most 32.
    pub(super) fn new(atoms: A, arms: Vec<Arm>) -> Self {
        let tables = plane_tables(&atoms, &arms);
        Self { arms: ArmScanner::new(atoms, arms), tables }
    }

    /// Is the pattern of the family?
    #[cfg(test)]
    pub(super) fn has_planes(&self) -> bool {
        self.tables.is_some()
    }

    /// The fallback.
    #[cfg(test)]
    pub(super) fn arms(&self) -> &ArmScanner<A> {
        &self.arms
    }

    /// By planes even if the text is short.
    #[cfg(test)]
    pub(super) fn for_each_by_planes<F>(&self, text: &str, emit: F) -> Result<()>
    where
        F: FnMut(Span) -> Result<()>,
    {
        self.tables.as_ref().map_or(Ok(()), |tables| tables.for_each(&self.arms, text, emit))
    }

    /// Calls `emit` for every match and for every gap between two, in order, and says which it is.
    #[inline]
    pub(super) fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        match &self.tables {
            Some(tables) if text.len() >= MIN_BYTES => {
                tables.for_each(&self.arms, text, |span| emit(span, true))
            }
            _ => self.arms.for_each_match(text, emit),
        }
    }

    /// The ends of all matches, which leave no gaps, several at a time. `None` if planes do not find them.
    #[inline]
    pub(super) fn for_each_ends<F>(
        &self,
        text: &str,
        scratch: &mut ScanScratch,
        emit: &mut F,
    ) -> Option<Result<()>>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        let tables = self.tables.as_ref().filter(|_| text.len() >= MIN_BYTES)?;
        Some(tables.for_each_ends(&self.arms, text, scratch, emit))
    }

    /// As [`ArmScanner::safe_cut`].
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        self.arms.safe_cut(text, from)
    }
}

/// `None` if the arms are not of the family.
fn plane_tables(atoms: &impl Atoms, arms: &[Arm]) -> Option<PlaneTables> {
    let (mut rules, members) = rules::of(atoms, arms)?;
    let contractions = Contractions::new(atoms, arms, members[UPPER] | members[LOWER]);
    rules.settled = rules::mask(contractions.is_some());
    Some(PlaneTables { rules, contractions, classes: ClassTables::new(atoms, &members) })
}
