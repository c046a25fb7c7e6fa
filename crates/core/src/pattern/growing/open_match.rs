//! A match that may still change: how far each arm has got from one place of a text that grows.
//!
//! In: the characters from the start of the match on, one at a time. Out: where the match ends if the text ends
//! here, and whether that can still change. It must always be what [`ArmScanner::match_at`] finds.
use crate::pattern::arm_scanner::ArmScanner;
use crate::pattern::arms::{Arm, Case, Literals, Run};
use crate::pattern::atoms::{AtomSet, Atoms};

/// The end of a match, and whether more text cannot change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    /// `None` if nothing matches.
    pub(super) end: Option<usize>,
    pub(super) is_final: bool,
}

impl Outcome {
    const NEVER: Self = Self { end: None, is_final: true };

    fn so_far(end: Option<usize>) -> Self {
        Self { end, is_final: false }
    }

    fn at_last(end: Option<usize>) -> Self {
        Self { end, is_final: true }
    }
}

/// A character of the text: its atom, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Char {
    pub(super) atom: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Char {
    fn is_in(self, set: AtomSet) -> bool {
        set >> self.atom & 1 == 1
    }
}

/// A match that begins at a place, and may still change.
#[derive(Debug, Default, Clone)]
pub(super) struct OpenMatch {
    pub(super) start: usize,
    /// The end of its first character, and the atom of that.
    pub(super) first_end: usize,
    pub(super) first_atom: u8,
    /// The arms that may match, in order.
    arms: Vec<(usize, Progress)>,
    white: White,
}

/// How far an arm has got.
#[derive(Debug, Clone, Copy)]
enum Progress {
    /// It never changes again.
    Done(Option<usize>),
    /// It is short, and read again each time.
    Short,
    Run(RunAt),
    /// From the end of the prefix, and from the start.
    Case([Letters; 2]),
    /// It depends on the run of white space alone.
    White,
}

#[derive(Debug, Clone, Copy)]
enum RunAt {
    /// After one character, which is a prefix if one of the body follows. Else it is of the body, if it may.
    Prefix {
        may_be_body: bool,
    },
    /// In the body, which may have some more characters.
    Body {
        left: usize,
    },
    Tail,
    /// The suffix would begin here.
    Suffix {
        at: usize,
    },
}

/// How far the letters of a case run have got.
#[derive(Debug, Clone, Copy)]
enum Letters {
    /// They begin with the next character.
    Next,
    /// In the run of upper letters; it would give characters back up to here.
    Upper {
        given_back: Option<usize>,
    },
    Lower {
        end: usize,
    },
    Done(Option<usize>),
}

/// The run of white space that a match begins with.
#[derive(Debug, Default, Clone, Copy)]
struct White {
    is_closed: bool,
    /// Is it closed by a character of another part?
    is_cut: bool,
    end: usize,
    /// The end of its last line end.
    newline: usize,
    /// The start of its last character.
    last: usize,
    /// The start of its last line feed.
    line_feed: usize,
}

impl OpenMatch {
    /// Begins with the first character of a match.
    pub(super) fn begin<A: Atoms>(&mut self, scanner: &ArmScanner<A>, bytes: &[u8], first: Char) {
        self.start = first.start;
        (self.first_end, self.first_atom) = (first.end, first.atom);
        self.white = White::default();
        self.arms.clear();
        let mut candidates = scanner.arms_at(first.atom);
        while candidates != 0 {
            let number = candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            let progress = match &scanner.arms()[number] {
                Arm::Literal(_) | Arm::Sequence(_) => Progress::Short,
                Arm::Run(run) => RunAt::begin(run, first).map_or(Progress::Done(None), Progress::Run),
                Arm::Case(case) => {
                    let after_prefix =
                        if first.is_in(case.prefix) { Letters::Next } else { Letters::Done(None) };
                    Progress::Case([after_prefix, Letters::Next.read(case, first)])
                }
                Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => Progress::White,
            };
            self.arms.push((number, progress));
        }
        self.white.read(scanner, first);
        self.settle(scanner, bytes, first.end);
    }

    /// Reads the next character; `bytes` ends with it.
    pub(super) fn read<A: Atoms>(&mut self, scanner: &ArmScanner<A>, bytes: &[u8], next: Char) {
        self.white.read(scanner, next);
        for (number, progress) in &mut self.arms {
            match (progress, &scanner.arms()[*number]) {
                (Progress::Run(at), Arm::Run(run)) => at.read(run, self.start, next),
                (Progress::Case(letters), Arm::Case(case)) => {
                    for letters in letters {
                        *letters = letters.read(case, next);
                    }
                }
                _ => {}
            }
        }
        self.settle(scanner, bytes, next.end);
    }

    /// Marks arms that never change again.
    fn settle<A: Atoms>(&mut self, scanner: &ArmScanner<A>, bytes: &[u8], end: usize) {
        for at in 0..self.arms.len() {
            let (number, progress) = self.arms[at];
            if !matches!(progress, Progress::Done(_)) {
                let outcome = self.outcome_of(scanner, bytes, end, number, progress);
                if outcome.is_final {
                    self.arms[at].1 = Progress::Done(outcome.end);
                }
            }
        }
    }

    /// Where the match ends if the text ends at `end`, up to which it was read.
    pub(super) fn outcome<A: Atoms>(&self, scanner: &ArmScanner<A>, bytes: &[u8], end: usize) -> Outcome {
        let mut is_final = true;
        for &(number, progress) in &self.arms {
            let outcome = self.outcome_of(scanner, bytes, end, number, progress);
            is_final &= outcome.is_final;
            if outcome.end.is_some() {
                return Outcome { end: outcome.end, is_final };
            }
        }
        Outcome { end: None, is_final }
    }

    fn outcome_of<A: Atoms>(
        &self,
        scanner: &ArmScanner<A>,
        bytes: &[u8],
        end: usize,
        number: usize,
        progress: Progress,
    ) -> Outcome {
        let bytes = &bytes[..end];
        match (progress, &scanner.arms()[number]) {
            (Progress::Done(end), _) => Outcome::at_last(end),
            (Progress::Short, Arm::Literal(literals)) => literal(literals, bytes, self.start),
            (Progress::Short, Arm::Sequence(sets)) => sequence(scanner.atoms(), sets, bytes, self.start),
            (Progress::Run(at), Arm::Run(run)) => at.outcome(run, self.first_end, bytes),
            (Progress::Case([after_prefix, from_start]), Arm::Case(case)) => {
                let after_prefix = after_prefix.outcome();
                let first = from_start.outcome();
                let letters = match after_prefix.end {
                    Some(_) => after_prefix,
                    None => Outcome { is_final: after_prefix.is_final && first.is_final, ..first },
                };
                with_suffix(letters, case.suffix.as_ref(), bytes)
            }
            (Progress::White, arm) => self.white.outcome(arm, self.start),
            _ => Outcome::NEVER,
        }
    }
}

impl RunAt {
    fn begin(run: &Run, first: Char) -> Option<Self> {
        let may_be_body = !run.needs_prefix && first.is_in(run.body);
        if first.is_in(run.prefix) {
            Some(Self::Prefix { may_be_body })
        } else {
            may_be_body.then(|| Self::Body { left: run.max - 1 })
        }
    }

    fn read(&mut self, run: &Run, start: usize, next: Char) {
        match *self {
            Self::Prefix { .. } if next.is_in(run.body) => *self = Self::Body { left: run.max - 1 },
            Self::Prefix { may_be_body: true } => {
                *self = Self::Body { left: run.max - 1 };
                self.read(run, start, next);
            }
            // Nothing matches. A suffix before the end of the first character says so.
            Self::Prefix { may_be_body: false } => *self = Self::Suffix { at: start },
            Self::Body { left } if left > 0 && next.is_in(run.body) => {
                *self = Self::Body { left: if left == usize::MAX - 1 { left } else { left - 1 } };
            }
            Self::Body { .. } | Self::Tail if next.is_in(run.tail) => *self = Self::Tail,
            Self::Body { .. } | Self::Tail => *self = Self::Suffix { at: next.start },
            Self::Suffix { .. } => {}
        }
    }

    fn outcome(self, run: &Run, first_end: usize, bytes: &[u8]) -> Outcome {
        let end = bytes.len();
        match self {
            Self::Prefix { may_be_body } => Outcome::so_far(may_be_body.then_some(first_end)),
            Self::Body { left: 0 } if run.tail == 0 => {
                with_suffix(Outcome::at_last(Some(end)), run.suffix.as_ref(), bytes)
            }
            Self::Body { .. } | Self::Tail => Outcome::so_far(Some(end)),
            Self::Suffix { at } if at < first_end => Outcome::NEVER,
            Self::Suffix { at } => with_suffix(Outcome::at_last(Some(at)), run.suffix.as_ref(), bytes),
        }
    }
}

impl Letters {
    fn read(self, case: &Case, next: Char) -> Self {
        let (upper, lower) = (next.is_in(case.upper), next.is_in(case.lower));
        match self {
            Self::Next => Self::Upper { given_back: None }.read(case, next),
            Self::Upper { given_back } if upper => {
                Self::Upper { given_back: if lower { Some(next.end) } else { given_back } }
            }
            Self::Upper { .. } | Self::Lower { .. } if lower => Self::Lower { end: next.end },
            Self::Upper { given_back } => Self::Done(given_back),
            Self::Lower { end } => Self::Done(Some(end)),
            Self::Done(_) => self,
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Next => Outcome::so_far(None),
            Self::Upper { given_back } => Outcome::so_far(given_back),
            Self::Lower { end } => Outcome::so_far(Some(end)),
            Self::Done(end) => Outcome::at_last(end),
        }
    }
}

impl White {
    fn read<A: Atoms>(&mut self, scanner: &ArmScanner<A>, next: Char) {
        let sets = scanner.atoms().sets();
        if !self.is_closed && !next.is_in(sets.white) {
            (self.is_closed, self.is_cut) = (true, scanner.ends_white(next.atom));
        }
        if self.is_closed {
            return;
        }
        self.last = next.start;
        self.end = next.end;
        if next.is_in(sets.newlines) {
            self.newline = next.end;
        }
        if next.is_in(sets.line_feed) {
            self.line_feed = next.start;
        }
    }

    fn outcome(&self, arm: &Arm, start: usize) -> Outcome {
        let end = match arm {
            Arm::ThroughNewline => self.newline,
            _ if !self.is_closed || self.is_cut => self.end,
            Arm::BeforeText => self.last,
            Arm::BeforeLineEnd => self.line_feed,
            _ => 0,
        };
        Outcome { end: (end > start).then_some(end), is_final: self.is_closed }
    }
}

/// The first of some texts that matches at a place.
fn literal(literals: &Literals, bytes: &[u8], at: usize) -> Outcome {
    let mut is_final = true;
    for text in &literals.texts {
        if let Some(end) = Literals::end_of(text, bytes, at) {
            return Outcome { end: Some(end), is_final };
        }
        // Does all that is there of the text match?
        let matches = |count: usize| Literals::end_of(&text[..count], bytes, at);
        is_final &= (0..text.len()).rev().find_map(matches).is_some_and(|end| end < bytes.len());
    }
    Outcome { end: None, is_final }
}

fn sequence<A: Atoms>(atoms: &A, sets: &[AtomSet], bytes: &[u8], start: usize) -> Outcome {
    let mut at = start;
    for set in sets {
        if at >= bytes.len() {
            return Outcome::so_far(None);
        }
        let (atom, width) = atoms.at(bytes, at);
        if set >> atom & 1 == 0 {
            return Outcome::NEVER;
        }
        at += width;
    }
    Outcome::at_last(Some(at))
}

/// A match that ends where `of` says, and with a suffix after that, if there is one.
fn with_suffix(of: Outcome, suffix: Option<&Literals>, bytes: &[u8]) -> Outcome {
    let (Some(end), Some(suffix)) = (of.end, suffix) else { return of };
    let found = literal(suffix, bytes, end);
    Outcome { end: Some(found.end.unwrap_or(end)), is_final: of.is_final && found.is_final }
}
