//! The scanner of a pattern: 64 characters at a time with bit planes where possible, otherwise arm by arm.
//!
//! In: the arms of a pattern, and then texts. Out: the matches in order. They are always the same as those
//! of the [`ArmScanner`] alone. The arm scanner is the fallback for short texts, for other patterns, and for
//! matches on which the planes cannot decide.
//!
//! A plane is a word of bits that belongs to one class of characters: bit `n` says whether character `n` of a
//! block of 64 is in the class. Most published patterns belong to one family: words, numbers and other text, each
//! with an optional character before it, and rules for white space. [`rules`] decides whether the arms of a
//! pattern belong to the family. If they do, [`blocks`] turns a text into planes, [`algebra`] computes from the
//! planes a word with a bit for each boundary, [`boundaries`] does so for several blocks at a time, and [`walk`] turns
//! these bits into positions.
//!
//! The algebra marks a doubt where it cannot decide. The invariant is: a match that starts at a boundary of the
//! algebra ends at the next boundary, unless a doubt is marked between the two. If one is, the walk runs the arms
//! from the boundary before the doubt, match by match, until a match ends at a boundary of the algebra. From there
//! the invariant holds again. The result is exact, and only the rare cases that are hard to express in words of
//! bits (some contractions and changes of case) take extra time.
mod algebra;
mod blocks;
mod boundaries;
mod contractions;
mod foreign;
mod rules;
pub(super) mod walk;

use self::contractions::Contractions;
use self::rules::ClassTables;
use self::walk::PlaneTables;
pub use self::walk::ScanScratch;
use super::arm_scanner::ArmScanner;
use super::arms::{Arm, starts};
use super::atoms::Atoms;
use super::partition::Partition;
use crate::error::Result;
use crate::span::Span;

/// The scanner of one pattern.
#[derive(Debug)]
pub(super) struct PlaneScanner<A> {
    /// The fallback.
    pub(super) arms: ArmScanner<A>,
    /// `None` if the pattern does not belong to the family.
    pub(super) tables: Option<PlaneTables>,
}

/// Shorter texts are scanned arm by arm: a walk spends 70 ns more before its first block.
const MIN_BYTES: usize = 24;

impl<A: Atoms> PlaneScanner<A> {
    /// There must be at most 32 arms.
    pub(super) fn new(atoms: A, arms: Vec<Arm>, parts: Partition) -> Self {
        let tables = plane_tables(&atoms, &arms, &parts);
        Self { arms: ArmScanner::new(atoms, arms, parts), tables }
    }

    /// Calls `emit` in order for every match and for every gap between two matches. The flag is true for a match.
    #[inline]
    pub(super) fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        // Planes do not tell matches from gaps.
        match &self.tables {
            Some(tables) if !tables.rules.has_gaps => self.for_each(text, |span| emit(span, true)),
            _ => self.arms.for_each_match(text, emit),
        }
    }

    /// As [`Self::for_each_match`], without the flag.
    #[inline]
    pub(super) fn for_each<F: FnMut(Span) -> Result<()>>(&self, text: &str, mut emit: F) -> Result<()> {
        let Some(tables) = self.tables_for(text) else {
            return self.arms.for_each_match(text, |span, _| emit(span));
        };
        let mut start = 0;
        walk::for_each_ends(tables, &self.arms, text, &mut ScanScratch::default(), &mut |ends: &[usize]| {
            for &end in ends {
                emit(Span::new(start, end))?;
                start = end;
            }
            Ok(())
        })
    }

    /// Emits the ends of all matches and gaps, several at a time. `None` if planes cannot be used.
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
        Some(walk::for_each_ends(self.tables_for(text)?, &self.arms, text, scratch, emit))
    }

    /// The tables, if the pattern has any and the text is not too short for them.
    #[inline]
    fn tables_for(&self, text: &str) -> Option<&PlaneTables> {
        self.tables.as_ref().filter(|_| text.len() >= MIN_BYTES)
    }

    /// As [`ArmScanner::safe_cut`].
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        self.arms.safe_cut(text, from)
    }
}

/// `None` if the arms do not belong to the family.
fn plane_tables(atoms: &impl Atoms, arms: &[Arm], parts: &Partition) -> Option<PlaneTables> {
    let outside = parts.outside(atoms.sets().white);
    let (own, others): (Vec<Arm>, Vec<Arm>) =
        arms.iter().cloned().partition(|arm| starts(atoms, arm) & outside == 0);
    let (mut rules, members, words) = rules::of(atoms, &own, &others, parts)?;
    let contractions = Contractions::new(atoms, &own, words);
    rules.settled = rules::mask(contractions.is_some());
    Some(PlaneTables { rules, contractions, classes: ClassTables::new(atoms, &members) })
}
