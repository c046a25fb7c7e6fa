//! Runs the arms of a pattern over a text: the leftmost match wins, and at one position the first arm that
//! matches, as in the regular expression from which the arms are made.
//!
//! In: arms, and then texts. Out: the matches and the gaps between them, which together tile a text.
//!
//! An arm either fails on its first few characters, or matches all but a few of the characters that it has read.
//! The exceptions are white space and case runs, which are read a bounded number of times. A scan therefore takes
//! linear time for any text.
use tokenmill_kernels::end_of_repeat;

use super::arms::{Arm, Case, Literals, Run, cuts, within};
use super::atoms::{self, AtomSet, Atoms, MAX_ATOMS};
use crate::error::Result;
use crate::span::Span;

/// The arms of a pattern, indexed by the atoms with which they can start.
#[derive(Debug)]
pub(super) struct ArmScanner<A> {
    atoms: A,
    arms: Vec<Arm>,
    /// For each atom, the arms whose matches can start with it: bit n is arm n.
    first: [u32; MAX_ATOMS],
    /// For each atom, the atoms before which a text may be cut after it (see [`cuts()`]).
    cuts: [AtomSet; MAX_ATOMS],
}

/// The distance, in bytes, within which [`ArmScanner::safe_cut`] looks for a cut.
const MAX_CUT_DISTANCE: usize = 64 * 1024;

/// The last run of white space. It is stored so that it is read once, however many arms and positions need it.
#[derive(Debug, Default)]
pub(super) struct WhiteSpace {
    /// The end of the run.
    pub(super) end: usize,
    /// The end of its last line end, or 0 if it has no line end.
    pub(super) newline: usize,
    /// The start of its last character.
    pub(super) last: usize,
    /// The start of its last line feed, or 0 if it has no line feed.
    pub(super) line_feed: usize,
}

/// Reads the runs of characters that arms ask for.
pub(super) trait ReadRuns {
    /// The end of the longest run of characters from `set` that starts at `at`.
    fn run(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> usize;

    /// As [`Self::run`], with the end of its last character that is in `noted`, too.
    fn run_noting(
        &mut self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        set: AtomSet,
        noted: AtomSet,
    ) -> (usize, Option<usize>);

    /// The run of white space that goes on at `at`, where there is some.
    fn white_space(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize) -> &WhiteSpace;
}

/// For matches from left to right: only runs of white space are asked for again.
impl ReadRuns for WhiteSpace {
    #[inline]
    fn run(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> usize {
        run(atoms, bytes, at, set)
    }

    #[inline]
    fn run_noting(
        &mut self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        set: AtomSet,
        noted: AtomSet,
    ) -> (usize, Option<usize>) {
        let (mut end, mut last) = (at, None);
        while end < bytes.len() {
            let (atom, width) = atoms.at(bytes, end);
            if set >> atom & 1 == 0 {
                break;
            }
            end += width;
            if noted >> atom & 1 == 1 {
                last = Some(end);
            }
        }
        (end, last)
    }

    #[inline]
    fn white_space(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize) -> &WhiteSpace {
        if at >= self.end {
            *self = Self::read(atoms, bytes, at);
        }
        self
    }
}

impl<A: Atoms> ArmScanner<A> {
    /// There must be at most 32 arms.
    pub(super) fn new(atoms: A, arms: Vec<Arm>) -> Self {
        let mut first = [0; MAX_ATOMS];
        for (i, arm) in arms.iter().enumerate() {
            let starts = starts(&atoms, arm);
            for (atom, arms) in first.iter_mut().enumerate() {
                if starts >> atom & 1 == 1 {
                    *arms |= 1 << i;
                }
            }
        }
        let cuts = cuts(&atoms, &arms);
        Self { atoms, arms, first, cuts }
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

    /// Is no character of this text ever in a match?
    pub(super) fn ignores(&self, text: &str) -> bool {
        let all = self.arms.iter().fold(0, |all, arm| all | within(&self.atoms, arm));
        text.chars().all(|c| all >> self.atoms.of(u32::from(c)) & 1 == 0)
    }

    /// Calls `emit` in order for every match and for every gap between two matches. The flag is true for a match.
    #[inline]
    pub(super) fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let bytes = text.as_bytes();
        let mut white = WhiteSpace::default();
        // The text before `done` has been emitted.
        let (mut at, mut done) = (0, 0);
        while at < bytes.len() {
            let (atom, width) = self.atoms.at(bytes, at);
            match self.match_at(bytes, at, atom, width, &mut white) {
                Some(end) => {
                    if done < at {
                        emit(Span::new(done, at), false)?;
                    }
                    emit(Span::new(at, end), true)?;
                    (at, done) = (end, end);
                }
                None => at += width,
            }
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

    /// The end of the match at `at`, or the end of the character at `at` if no arm matches. `at` must be a
    /// character boundary inside the text and must not decrease from call to call.
    pub(super) fn end_of_match(&self, bytes: &[u8], at: usize, white: &mut WhiteSpace) -> usize {
        let (atom, width) = self.atoms.at(bytes, at);
        self.match_at(bytes, at, atom, width, white).unwrap_or(at + width)
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
                    let end = if white.end == bytes.len() { white.end } else { white.line_feed };
                    (end > at).then_some(end)
                }
                Arm::ThroughNewline => {
                    let newline = runs.white_space(atoms, bytes, at).newline;
                    (newline > at).then_some(newline)
                }
                Arm::BeforeText => {
                    let white = runs.white_space(atoms, bytes, at);
                    let end = if white.end == bytes.len() { white.end } else { white.last };
                    (end > at).then_some(end)
                }
                Arm::AtEnd => {
                    let end = runs.white_space(atoms, bytes, at).end;
                    (end == bytes.len()).then_some(end)
                }
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }
}

impl WhiteSpace {
    /// The run of white space that starts at `at`.
    #[inline]
    fn read(atoms: &impl Atoms, bytes: &[u8], at: usize) -> Self {
        let sets = atoms.sets();
        let (mut end, mut last, mut newline, mut line_feed) = (at, at, 0, 0);
        while end < bytes.len() {
            let (atom, width) = atoms.at(bytes, end);
            if sets.white >> atom & 1 == 0 {
                break;
            }
            last = end;
            end += width;
            if width == 1 && bytes.get(end) == Some(&bytes[last]) {
                // Skip the rest of a run of one byte, such as indentation or empty lines.
                end = end_of_repeat(bytes, end, 1);
                last = end - 1;
            }
            if sets.newlines >> atom & 1 == 1 {
                newline = end;
            }
            if sets.line_feed >> atom & 1 == 1 {
                line_feed = last;
            }
        }
        Self { end, newline, last, line_feed }
    }
}

/// The end of the longest run of characters from `set` that starts at `at`.
#[inline]
fn run(atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> usize {
    let sets = atoms.sets();
    let in_ascii = set & sets.in_ascii;
    let at = if in_ascii == sets.cased {
        letters(bytes, at, 0x20)
    } else if in_ascii == sets.lower {
        letters(bytes, at, 0)
    } else {
        at
    };
    run_by_one(atoms, bytes, at, set)
}

/// The end of the ASCII letters from `at` on: letters of both cases if `case` is 0x20, lower case letters if it is
/// 0. It reads whole groups of 8 bytes, so it may stop before the last letters of the text. Most words fit into 8
/// bytes, so this avoids the branch that a loop over characters mispredicts at the end of each word.
#[inline]
fn letters(bytes: &[u8], mut at: usize, case: u8) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    while let Some(&word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(word);
        let folded = (word | (ONES * u64::from(case))) & !HIGH;
        // `from_a` has the high bit of each byte that is at least 'a', `after_z` of each byte above 'z'. The sums
        // never carry into the next byte.
        let from_a = folded + ONES * (0x80 - 0x61);
        let after_z = folded + ONES * (0x80 - 0x7B);
        let others = !(from_a & !after_z & !word) & HIGH;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at
}

#[inline]
fn run_by_one(atoms: &impl Atoms, bytes: &[u8], mut at: usize, set: AtomSet) -> usize {
    while let Some(&byte) = bytes.get(at) {
        if byte < 0x80 {
            if set >> atoms.ascii()[usize::from(byte)] & 1 == 0 {
                break;
            }
            at += 1;
        } else {
            let (code_point, width) = atoms::decode(bytes, at);
            if set >> atoms.of(code_point) & 1 == 0 {
                break;
            }
            at += width;
        }
    }
    at
}

/// Does a character of `set` start at `at`?
#[inline]
fn is_at(atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> bool {
    at < bytes.len() && set >> atoms.at(bytes, at).0 & 1 == 1
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

/// The atoms with which a match of `arm` can start.
fn starts(atoms: &impl Atoms, arm: &Arm) -> AtomSet {
    match arm {
        Arm::Literal(literals) => literals.atoms(atoms, 0),
        Arm::Run(run) if run.needs_prefix => run.prefix,
        Arm::Run(run) => run.prefix | run.body,
        Arm::Sequence(sets) => sets.first().copied().unwrap_or_default(),
        Arm::Case(case) => case.prefix | case.upper | case.lower,
        Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => atoms.sets().white,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_groups_are_those_one_by_one() {
        for case in [0, 0x20] {
            let is_letter = |byte: u8| byte.is_ascii_lowercase() || case != 0 && byte.is_ascii_uppercase();
            for byte in 0..=255 {
                for at in 0..19 {
                    for filler in [b'a', b'z'] {
                        let mut bytes = [filler; 19];
                        bytes[at] = byte;
                        let end = letters(&bytes, 0, case);
                        // The last three bytes do not fill a group.
                        let stop = if is_letter(byte) { 16 } else { at.min(16) };
                        assert_eq!(end, stop, "{byte} at {at}");
                    }
                }
            }
        }
        assert_eq!(letters(b"", 0, 0x20), 0);
        assert_eq!(letters(b"abc", 5, 0x20), 5);
    }
}
