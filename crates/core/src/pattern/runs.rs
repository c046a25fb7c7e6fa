//! Reads runs of characters for the arms of a pattern.
//!
//! In: a text, and a place in it. Out: where a run of characters of one set ends, or what the run of white space there
//! is like. A run of white space is read once, however many arms and places ask for it.
use tokenmill_kernels::end_of_repeat;

use super::atoms::{self, AtomSet, Atoms};

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
pub(super) fn is_at(atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> bool {
    at < bytes.len() && set >> atoms.at(bytes, at).0 & 1 == 1
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
