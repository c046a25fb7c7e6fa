//! The first pretoken of a text that grows at its start.
//!
//! In: the text, with one more character at the front in each call. Out: the end of its first pretoken, which must
//! always be what the splitter finds.
//!
//! A match never looks back, so the pretokens after the first one are those of the text that starts where it ends.
//! Only the first is searched for, and the character runs that earlier calls read are remembered. So each character
//! is read once per character set, and the time is linear in the text.
use crate::pattern::arm_scanner::ArmScanner;
use crate::pattern::atoms::{AtomSet, Atoms};
use crate::pattern::runs::{ReadRuns, WhiteSpace};
use crate::pattern::{Engine, Splitter};

/// Runs remembered per set. An arm may need the same set at two places: at the start of the match, and after its
/// prefix or body.
const RUNS_OF_A_SET: usize = 2;

/// The first pretoken of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstPretoken {
    /// Where it ends.
    pub end: usize,
    /// True for a match of the pattern, false for a gap between matches.
    pub is_match: bool,
}

/// What earlier calls read of a text that grows at its start.
///
/// Positions are distances from the end of the text, so they stay valid when it grows.
#[derive(Debug, Default, Clone)]
pub struct BackwardSplit {
    /// The most recently used run is last.
    runs: Vec<KnownRun>,
    /// The run of white space nearest the start of the text.
    white: Option<KnownWhite>,
}

/// A run of characters from a set.
#[derive(Debug, Clone, Copy)]
struct KnownRun {
    set: AtomSet,
    noted: AtomSet,
    start: usize,
    end: usize,
    /// The end of its last character from `noted`.
    last: Option<usize>,
}

/// See [`WhiteSpace`].
#[derive(Debug, Clone, Copy)]
struct KnownWhite {
    start: usize,
    end: usize,
    newline: Option<usize>,
    last: usize,
    line_feed: Option<usize>,
}

impl BackwardSplit {
    /// Forgets everything beyond the last `length` bytes of the text.
    pub fn truncate(&mut self, length: usize) {
        self.runs.retain_mut(|run| {
            run.start = run.start.min(length);
            run.start > run.end
        });
        if let Some(white) = &mut self.white {
            white.start = white.start.min(length);
        }
        self.white = self.white.filter(|white| white.start > white.end);
    }

    fn known_at(&self, (set, noted): (AtomSet, AtomSet), place: usize) -> Option<usize> {
        let holds =
            |run: &KnownRun| run.set == set && run.noted == noted && (run.end..=run.start).contains(&place);
        self.runs.iter().rposition(holds)
    }

    fn keep(&mut self, run: KnownRun, joined: Option<usize>) {
        let is_same = |other: &KnownRun| other.set == run.set && other.noted == run.noted;
        let oldest = || {
            let mut same = self.runs.iter().enumerate().filter(|(_, other)| is_same(other));
            let first = same.next().map(|(number, _)| number);
            first.filter(|_| same.count() + 1 >= RUNS_OF_A_SET)
        };
        if let Some(replaced) = joined.or_else(oldest) {
            self.runs.remove(replaced);
        }
        self.runs.push(run);
    }
}

/// Reads runs of a text from right to left.
struct Backwards<'s> {
    split: &'s mut BackwardSplit,
    white: WhiteSpace,
}

impl ReadRuns for Backwards<'_> {
    fn run(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize, set: AtomSet) -> usize {
        self.run_noting(atoms, bytes, at, set, 0).0
    }

    fn run_noting(
        &mut self,
        atoms: &impl Atoms,
        bytes: &[u8],
        at: usize,
        set: AtomSet,
        noted: AtomSet,
    ) -> (usize, Option<usize>) {
        let (mut end, mut last) = (at, None);
        let mut joined = None;
        while end < bytes.len() {
            joined = self.split.known_at((set, noted), bytes.len() - end);
            if let Some(known) = joined {
                let known = self.split.runs[known];
                // Only if it lies in the part that was asked for.
                let next = known.last.filter(|&last| last < bytes.len() - end);
                (end, last) = (bytes.len() - known.end, next.map(|last| bytes.len() - last).or(last));
                break;
            }
            let (atom, width) = atoms.at(bytes, end);
            if set >> atom & 1 == 0 {
                break;
            }
            end += width;
            if noted >> atom & 1 == 1 {
                last = Some(end);
            }
        }
        if end > at {
            let place = |at: usize| bytes.len() - at;
            let run = KnownRun { set, noted, start: place(at), end: place(end), last: last.map(place) };
            // Never shorten a run that is known to start earlier.
            let start = joined.map_or(0, |known| self.split.runs[known].start);
            if start < run.start {
                self.split.keep(run, joined);
            }
        }
        (end, last)
    }

    fn white_space(&mut self, atoms: &impl Atoms, bytes: &[u8], at: usize) -> &WhiteSpace {
        let place = |at: usize| bytes.len() - at;
        let sets = atoms.sets();
        let mut read =
            KnownWhite { start: place(at), end: place(at), newline: None, last: place(at), line_feed: None };
        let mut end = at;
        while end < bytes.len() {
            if let Some(known) = self.split.white
                && (known.end..known.start + 1).contains(&place(end))
            {
                read = KnownWhite {
                    start: read.start.max(known.start),
                    // Only if they lie in the part that was asked for.
                    newline: known.newline.filter(|&newline| newline < place(end)).or(read.newline),
                    line_feed: known.line_feed.filter(|&start| start <= place(end)).or(read.line_feed),
                    ..known
                };
                break;
            }
            let (atom, width) = atoms.at(bytes, end);
            if sets.white >> atom & 1 == 0 {
                break;
            }
            read.last = place(end);
            if sets.line_feed >> atom & 1 == 1 {
                read.line_feed = Some(place(end));
            }
            end += width;
            read.end = place(end);
            if sets.newlines >> atom & 1 == 1 {
                read.newline = Some(place(end));
            }
        }
        let absolute = |place: Option<usize>| place.map_or(0, |place| bytes.len() - place);
        self.white = WhiteSpace {
            end: bytes.len() - read.end,
            newline: absolute(read.newline),
            last: bytes.len() - read.last,
            line_feed: absolute(read.line_feed),
        };
        if self.split.white.is_none_or(|known| known.end != read.end || known.start < read.start) {
            self.split.white = Some(read);
        }
        &self.white
    }
}

impl Splitter {
    /// The first pretoken of a nonempty UTF-8 text. `next` is the first pretoken of the text without its first
    /// character, if that is not empty. `split` must be new, or come from calls for suffixes of this text; after
    /// removing text from the front, [truncate](BackwardSplit::truncate) it.
    ///
    /// Only for a split that [grows](Self::grows).
    pub fn first_pretoken(
        &self,
        split: &mut BackwardSplit,
        text: &[u8],
        next: Option<FirstPretoken>,
    ) -> FirstPretoken {
        match &self.engine {
            Engine::Scanner(scanner) => first_pretoken(&scanner.arms, split, text, next),
            Engine::CustomScanner(scanner) => first_pretoken(&scanner.arms, split, text, next),
            _ => FirstPretoken { end: text.len(), is_match: false },
        }
    }
}

fn first_pretoken<A: Atoms>(
    scanner: &ArmScanner<A>,
    split: &mut BackwardSplit,
    text: &[u8],
    next: Option<FirstPretoken>,
) -> FirstPretoken {
    let (atom, width) = scanner.atoms().at(text, 0);
    let mut runs = Backwards { split, white: WhiteSpace::default() };
    if let Some(end) = scanner.match_at(text, 0, atom, width, &mut runs) {
        return FirstPretoken { end, is_match: true };
    }
    // Adjacent gaps of one part are one pretoken.
    let joins = || scanner.parts().same_part(atom, scanner.atoms().at(text, width).0);
    let gap = next.filter(|next| !next.is_match && joins()).map_or(0, |next| next.end);
    FirstPretoken { end: width + gap, is_match: false }
}
