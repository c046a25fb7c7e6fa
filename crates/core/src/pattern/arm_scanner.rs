//! Runs the arms of a pattern over a text: the leftmost match wins, and at one position the first arm that
//! matches, as in the regular expression from which the arms are made.
//!
//! In: arms, and then texts. Out: the matches and the gaps between them, which together tile a text.
//!
//! An arm either fails on its first few characters, or matches all but a few of the characters that it has read.
//! The exceptions are white space and case runs, which are read a bounded number of times. A scan therefore takes
//! linear time for any text.
use super::arms::{Arm, Case, Literals, Run, cuts, starts, within};
use super::atoms::{AtomSet, Atoms, MAX_ATOMS};
use super::fold::leaves_whole;
use super::partition::Partition;
use super::runs::{ReadRuns, WhiteSpace, is_at};
use crate::error::Result;
use crate::span::Span;

/// The arms of a pattern, indexed by the atoms with which they can start.
#[derive(Debug)]
pub(super) struct ArmScanner<A> {
    atoms: A,
    arms: Vec<Arm>,
    parts: Partition,
    /// The atoms of other parts than that of white space. Before them a run of white space ends as at the end of a
    /// text.
    white_ends: AtomSet,
    /// The atoms of all characters that may be in a match.
    matched: AtomSet,
    /// For each atom, the arms whose matches can start with it: bit n is arm n.
    first: [u32; MAX_ATOMS],
    /// For each atom, the atoms before which a text may be cut after it (see [`cuts()`]).
    cuts: [AtomSet; MAX_ATOMS],
}

/// The distance, in bytes, within which [`ArmScanner::safe_cut`] looks for a cut.
pub(super) const MAX_CUT_DISTANCE: usize = 64 * 1024;

impl<A: Atoms> ArmScanner<A> {
    /// There must be at most 32 arms.
    pub(super) fn new(atoms: A, arms: Vec<Arm>, parts: Partition) -> Self {
        let mut first = [0; MAX_ATOMS];
        for (i, arm) in arms.iter().enumerate() {
            let starts = starts(&atoms, arm);
            for (atom, arms) in first.iter_mut().enumerate() {
                if starts >> atom & 1 == 1 {
                    *arms |= 1 << i;
                }
            }
        }
        // Arms know nothing of parts, between which a text is always cut.
        let mut cuts = cuts(&atoms, &arms);
        for (cut, others) in cuts.iter_mut().zip(parts.others()) {
            *cut |= others;
        }
        let white_ends = parts.outside(atoms.sets().white);
        let matched = arms.iter().fold(0, |all, arm| all | within(&atoms, arm));
        Self { atoms, arms, parts, white_ends, matched, first, cuts }
    }

    pub(super) fn atoms(&self) -> &A {
        &self.atoms
    }

    pub(super) fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The arms whose matches can start with an atom: bit n is arm n.
    pub(super) fn arms_at(&self, atom: u8) -> u32 {
        self.first[usize::from(atom)]
    }

    /// The parts of the characters. A text is cut wherever the part changes.
    pub(super) fn parts(&self) -> &Partition {
        &self.parts
    }

    /// Does a run of white space before this atom end as at the end of a text?
    pub(super) fn ends_white(&self, atom: u8) -> bool {
        self.white_ends >> atom & 1 == 1
    }

    /// Is no character of this text ever in a match, and is it never cut?
    pub(super) fn ignores(&self, text: &str) -> bool {
        let mut atoms = text.chars().map(|c| self.atoms.of(u32::from(c)));
        let mut last = None;
        atoms.all(|atom| {
            let is_cut = last.replace(atom).is_some_and(|last| !self.parts.same_part(last, atom));
            self.matched >> atom & 1 == 0 && !is_cut
        })
    }

    /// Is every text that has no other characters than this one certainly one match, or one gap?
    pub(super) fn leaves_whole(&self, text: &str) -> bool {
        let set = text.chars().fold(0, |set, c| set | 1 << self.atoms.of(u32::from(c)));
        leaves_whole(&self.arms, &self.parts, &self.atoms, set, usize::MAX)
    }

    /// Calls `emit` in order for every match and for every gap between two matches. The flag is true for a match.
    #[inline]
    pub(super) fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let bytes = text.as_bytes();
        let mut white = WhiteSpace::default();
        // The text before `done` has been emitted. `before` is the atom of the last character of a gap.
        let (mut at, mut done, mut before) = (0, 0, 0);
        while at < bytes.len() {
            let (atom, width) = self.atoms.at(bytes, at);
            if let Some(end) = self.match_at(bytes, at, atom, width, &mut white) {
                if done < at {
                    emit(Span::new(done, at), false)?;
                }
                emit(Span::new(at, end), true)?;
                (at, done) = (end, end);
                continue;
            }
            if done < at && !self.parts.same_part(before, atom) {
                emit(Span::new(done, at), false)?;
                done = at;
            }
            (at, before) = (at + width, atom);
        }
        if done < at { emit(Span::new(done, at), false) } else { Ok(()) }
    }

    /// Is a text cut between these two characters, whatever surrounds them?
    #[inline]
    pub(super) fn cuts_between(&self, left: char, right: char) -> bool {
        let (left, right) = (self.atoms.of(u32::from(left)), self.atoms.of(u32::from(right)));
        self.cuts[usize::from(left)] >> right & 1 == 1
    }

    /// The first position from `from` on at which a cut does not change the pretokens of the text. It is inside
    /// the text and less than [`MAX_CUT_DISTANCE`] bytes away.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = from.max(1);
        while at < bytes.len() && !text.is_char_boundary(at) {
            at += 1;
        }
        if at >= bytes.len() {
            return None;
        }
        let before = text[..at].chars().next_back()?;
        let mut last = self.atoms.of(u32::from(before));
        let end = bytes.len().min(from.saturating_add(MAX_CUT_DISTANCE));
        while at < end {
            let (atom, width) = self.atoms.at(bytes, at);
            if self.cuts[usize::from(last)] >> atom & 1 == 1 {
                return Some(at);
            }
            last = atom;
            at += width;
        }
        None
    }

    /// The end of the match at `at`, or of the gap there if no arm matches. `at` must be a character boundary inside
    /// the text and must not decrease from call to call.
    pub(super) fn end_of_match(&self, bytes: &[u8], at: usize, white: &mut WhiteSpace) -> usize {
        let (first, width) = self.atoms.at(bytes, at);
        if let Some(end) = self.match_at(bytes, at, first, width, white) {
            return end;
        }
        let mut end = at + width;
        while end < bytes.len() {
            let (atom, width) = self.atoms.at(bytes, end);
            let is_gap =
                self.parts.same_part(first, atom) && self.match_at(bytes, end, atom, width, white).is_none();
            if !is_gap {
                break;
            }
            end += width;
        }
        end
    }

    /// Does the run of white space that ends here end as at the end of a text?
    #[inline]
    fn is_white_end(&self, bytes: &[u8], at: usize) -> bool {
        at == bytes.len() || self.white_ends != 0 && is_at(&self.atoms, bytes, at, self.white_ends)
    }

    /// The end of the match that starts at `at`, with this atom of this width; `None` if no arm matches.
    #[inline]
    pub(super) fn match_at(
        &self,
        bytes: &[u8],
        at: usize,
        atom: u8,
        width: usize,
        runs: &mut impl ReadRuns,
    ) -> Option<usize> {
        let atoms = &self.atoms;
        let mut candidates = self.first[usize::from(atom)];
        while candidates != 0 {
            let arm = &self.arms[candidates.trailing_zeros() as usize];
            candidates &= candidates - 1;
            let end = match arm {
                Arm::Run(run) => run.match_at(atoms, bytes, at, atom, width, runs),
                Arm::Case(case) => case.match_at(atoms, bytes, at, atom, width, runs),
                Arm::Literal(literals) => literals.match_at(bytes, at),
                Arm::Sequence(sets) => sequence_at(atoms, sets, bytes, at),
                Arm::BeforeLineEnd => {
                    let white = runs.white_space(atoms, bytes, at);
                    let (end, before) = (white.end, white.line_feed);
                    let end = if self.is_white_end(bytes, end) { end } else { before };
                    (end > at).then_some(end)
                }
                Arm::ThroughNewline => {
                    let newline = runs.white_space(atoms, bytes, at).newline;
                    (newline > at).then_some(newline)
                }
                Arm::BeforeText => {
                    let white = runs.white_space(atoms, bytes, at);
                    let (end, before) = (white.end, white.last);
                    let end = if self.is_white_end(bytes, end) { end } else { before };
                    (end > at).then_some(end)
                }
                Arm::AtEnd => {
                    let end = runs.white_space(atoms, bytes, at).end;
                    self.is_white_end(bytes, end).then_some(end)
                }
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }
}

/// The end of a match that has one character from each of these sets, in order.
fn sequence_at(atoms: &impl Atoms, sets: &[AtomSet], bytes: &[u8], at: usize) -> Option<usize> {
    sets.iter().try_fold(at, |at, set| {
        let (atom, width) = if at < bytes.len() { atoms.at(bytes, at) } else { return None };
        (set >> atom & 1 == 1).then_some(at + width)
    })
}

fn with_suffix(suffix: Option<&Literals>, bytes: &[u8], at: usize) -> usize {
    suffix.and_then(|suffix| suffix.match_at(bytes, at)).unwrap_or(at)
}

impl Run {
    #[inline]
    fn match_at(
        &self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        atom: u8,
        width: usize,
        runs: &mut impl ReadRuns,
    ) -> Option<usize> {
        let start = if self.prefix >> atom & 1 == 1 && is_at(atoms, bytes, at + width, self.body) {
            at + width
        } else if !self.needs_prefix && self.body >> atom & 1 == 1 {
            at
        } else {
            return None;
        };
        let mut end = if self.max == usize::MAX {
            runs.run(atoms, bytes, start, self.body)
        } else {
            let (mut end, mut left) = (start, self.max);
            while left > 0 && end < bytes.len() {
                let (atom, width) = atoms.at(bytes, end);
                if self.body >> atom & 1 == 0 {
                    break;
                }
                end += width;
                left -= 1;
            }
            end
        };
        if self.tail != 0 {
            end = runs.run(atoms, bytes, end, self.tail);
        }
        Some(with_suffix(self.suffix.as_ref(), bytes, end))
    }
}

impl Case {
    #[inline]
    fn match_at(
        &self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        atom: u8,
        width: usize,
        runs: &mut impl ReadRuns,
    ) -> Option<usize> {
        let mut end = None;
        if self.prefix >> atom & 1 == 1 {
            end = self.letters(atoms, bytes, at + width, runs);
        }
        if end.is_none() && (self.upper | self.lower) >> atom & 1 == 1 {
            end = self.letters(atoms, bytes, at, runs);
        }
        end.map(|end| with_suffix(self.suffix.as_ref(), bytes, end))
    }

    /// Matches `upper* lower+`. The upper run takes as many characters as it can and then gives characters back
    /// until it reaches one that is in `lower` too. The characters given back after that one are not in `lower`,
    /// so the lower run is that single character.
    #[inline]
    fn letters(
        &self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        runs: &mut impl ReadRuns,
    ) -> Option<usize> {
        let (end, given_back) = runs.run_noting(atoms, bytes, at, self.upper, self.lower);
        if is_at(atoms, bytes, end, self.lower) {
            Some(runs.run(atoms, bytes, end, self.lower))
        } else {
            given_back
        }
    }
}
