//! Arms: the intermediate representation of a pattern, and where it allows a text to be cut.
//!
//! An arm is one alternative of a pattern. The arms of a pattern are an ordered list, and each has exactly the
//! meaning that the regular expression gives to its alternative. [Lowering](mod@super::lower) creates arms, and
//! the scanners run them. An arm never matches the empty text and never looks at the text before its start.
use super::atoms::{self, AtomSet, Atoms, MAX_ATOMS};

/// What one alternative matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arm {
    /// The first of these texts that matches: `'s|'t`.
    Literal(Literals),
    /// `prefix? body{1,max} tail* suffix?`
    Run(Run),
    /// `prefix? upper* lower+ suffix?`. The next arm is always `prefix? upper+ lower* suffix?`: without it, a text
    /// of capital letters would match no arm and be read again from each of its characters.
    Case(Case),
    /// One character from each of these sets, in order: `[0-9][0-9][0-9]`.
    Sequence(Vec<AtomSet>),
    /// `\s*[\r\n]+`: white space up to the end of its last line end.
    ThroughNewline,
    /// `\s+(?!\S)`: white space without its last character, or all of it at the end of the text.
    BeforeText,
    /// `\s+(?![^\n])`: white space before its last line feed, or all of it at the end of the text.
    BeforeLineEnd,
    /// `\s+$`: white space at the end of the text.
    AtEnd,
}

/// A run of characters from one class, with an optional prefix, tail and suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The match may start with one character of this set before the run. Empty for no prefix.
    pub(super) prefix: AtomSet,
    /// Must the match start with a prefix?
    pub(super) needs_prefix: bool,
    pub(super) body: AtomSet,
    /// The most characters from `body`.
    pub(super) max: usize,
    /// Any number of characters from this set may follow the run. Empty for no tail.
    pub(super) tail: AtomSet,
    pub(super) suffix: Option<Literals>,
}

/// A word that changes from upper to lower case at most once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) prefix: AtomSet,
    pub(super) upper: AtomSet,
    pub(super) lower: AtomSet,
    pub(super) suffix: Option<Literals>,
}

/// Short texts in order of preference. The first one that matches is the match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literals {
    /// For each text, for each of its characters, the characters that match there.
    pub(super) texts: Vec<Vec<Vec<char>>>,
    /// The ASCII character that all texts begin with, if there is one.
    pub(super) lead: Option<u8>,
}

impl Literals {
    /// None of the texts may be empty.
    pub(super) fn new(texts: Vec<Vec<Vec<char>>>) -> Self {
        let mut leads = texts.iter().map(|text| match text[0][..] {
            [c] if c.is_ascii() => Some(c as u8),
            _ => None,
        });
        let lead = leads.next().flatten().filter(|&lead| leads.all(|other| other == Some(lead)));
        Self { texts, lead }
    }

    /// The end of the first text that matches at `at`.
    #[inline]
    pub(super) fn match_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if let Some(lead) = self.lead
            && bytes.get(at) != Some(&lead)
        {
            return None;
        }
        self.texts.iter().find_map(|text| Self::end_of(text, bytes, at))
    }

    /// The end of `text`, which is one of the texts, if it matches at `at`.
    #[inline]
    pub(super) fn end_of(text: &[Vec<char>], bytes: &[u8], at: usize) -> Option<usize> {
        text.iter().try_fold(at, |at, choices| {
            if at >= bytes.len() {
                return None;
            }
            let (code_point, width) = atoms::decode(bytes, at);
            choices.iter().any(|&c| u32::from(c) == code_point).then_some(at + width)
        })
    }

    /// The atoms of the characters that match at `index` in any of the texts.
    pub(super) fn atoms(&self, atoms: &(impl Atoms + ?Sized), index: usize) -> AtomSet {
        let chars = self.texts.iter().filter_map(|text| text.get(index));
        chars.fold(0, |set, choices| set | atoms.of_chars(choices))
    }
}

/// The atoms of all characters that may be in a match of an arm.
pub(super) fn within(atoms: &impl Atoms, arm: &Arm) -> AtomSet {
    let of_literals = |literals: &Literals| {
        let chars = literals.texts.iter().flatten();
        chars.fold(0, |set, choices| set | atoms.of_chars(choices))
    };
    let of_suffix = |suffix: &Option<Literals>| suffix.as_ref().map_or(0, of_literals);
    match arm {
        Arm::Literal(literals) => of_literals(literals),
        Arm::Run(run) => run.prefix | run.body | run.tail | of_suffix(&run.suffix),
        Arm::Case(case) => case.prefix | case.upper | case.lower | of_suffix(&case.suffix),
        Arm::Sequence(sets) => sets.iter().fold(0, |all, set| all | set),
        Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => atoms.sets().white,
    }
}

/// For each atom, the atoms before which a text may be cut after it.
///
/// A cut between the characters `x` and `y` is safe, whatever surrounds them, if
/// - no arm can match both in a row, so that no match contains both;
/// - a match starts at every `y` that the scan reaches, so that no gap between two matches contains both. The scan
///   reaches this `y`, as no match runs across the cut;
/// - the arms decide the same before the cut if the text ends there. An arm looks beyond its match in two cases
///   only: after white space, but `x` is not white space, and for a character that could continue the match after
///   `x`, but `y` cannot.
///
/// The text before the cut cannot influence the matches after it, as no arm looks back.
pub(super) fn cuts(atoms: &impl Atoms, arms: &[Arm]) -> [AtomSet; MAX_ATOMS] {
    let white = atoms.sets().white;
    let mut joined = [0; MAX_ATOMS];
    let mut join = |left: AtomSet, right: AtomSet| {
        for (atom, followers) in joined.iter_mut().enumerate() {
            if left >> atom & 1 == 1 {
                *followers |= right;
            }
        }
    };
    // The atoms at which some arm matches, whatever follows.
    let mut sure = 0;
    for arm in arms {
        let (left, suffix) = match arm {
            Arm::Literal(literals) => (0, Some(literals)),
            Arm::Run(run) => {
                sure |= if run.needs_prefix { 0 } else { run.body };
                join(run.prefix, run.body);
                if run.max > 1 {
                    join(run.body, run.body);
                }
                join(run.body | run.tail, run.tail);
                (run.body | run.tail, run.suffix.as_ref())
            }
            Arm::Case(case) => {
                sure |= case.lower;
                join(case.prefix | case.upper | case.lower, case.upper | case.lower);
                (case.upper | case.lower, case.suffix.as_ref())
            }
            Arm::Sequence(sets) => {
                sets.windows(2).for_each(|pair| join(pair[0], pair[1]));
                (0, None)
            }
            Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => {
                join(white, white);
                (0, None)
            }
        };
        if let Some(literals) = suffix {
            join(left, literals.atoms(atoms, 0));
            for text in &literals.texts {
                for pair in text.windows(2) {
                    join(atoms.of_chars(&pair[0]), atoms.of_chars(&pair[1]));
                }
            }
        }
    }
    let mut cuts = [0; MAX_ATOMS];
    for (atom, (cut, joined)) in cuts.iter_mut().zip(joined).enumerate() {
        if white >> atom & 1 == 0 {
            *cut = sure & !joined;
        }
    }
    cuts
}

/// The atoms with which a match of `arm` can start.
pub(super) fn starts(atoms: &(impl Atoms + ?Sized), arm: &Arm) -> AtomSet {
    match arm {
        Arm::Literal(literals) => literals.atoms(atoms, 0),
        Arm::Run(run) if run.needs_prefix => run.prefix,
        Arm::Run(run) => run.prefix | run.body,
        Arm::Sequence(sets) => sets.first().copied().unwrap_or_default(),
        Arm::Case(case) => case.prefix | case.upper | case.lower,
        Arm::ThroughNewline | Arm::BeforeText | Arm::BeforeLineEnd | Arm::AtEnd => atoms.sets().white,
    }
}
