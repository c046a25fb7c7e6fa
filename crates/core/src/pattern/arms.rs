//! The intermediate representation: an ordered list of arms, one for each alternative of a
//! pattern, each with exactly the meaning the regular expression gives it.
//!
//! No arm ever matches the empty text, and none looks at text before its start.
use super::atoms::AtomSet;

/// What one alternative matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arm {
    /// One of these texts: `'s|'t`.
    Literal(Literals),
    /// `prefix? body{1,max} tail* suffix?`
    Run(Run),
    /// `prefix? upper* lower+ suffix?`, always followed by the arm
    /// `prefix? upper+ lower* suffix?`, without which a text of capitals would be looked
    /// through again from each of its characters.
    Case(Case),
    /// A character of each of these sets: `[0-9][0-9][0-9]`.
    Sequence(Vec<AtomSet>),
    /// `\s*[\r\n]+`: white space up to and with its last line end.
    ThroughNewline,
    /// `\s+(?!\S)`: white space without the last character, unless the text ends there.
    BeforeText,
    /// `\s+(?![^\n])`: white space up to its last line feed, or to the end of the text.
    BeforeLineEnd,
    /// `\s+$`: white space at the end of the text.
    AtEnd,
}

/// A run of one class with what may stand around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// At most one of these before the run; empty for none.
    pub(super) prefix: AtomSet,
    /// Then there is no match without one.
    pub(super) needs_prefix: bool,
    pub(super) body: AtomSet,
    /// At most so many characters of `body`.
    pub(super) max: usize,
    /// Any number of these behind the run; empty for none.
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

/// Short texts, the first that fits counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literals {
    /// For each text, for each of its characters, what fits there.
    pub(super) texts: Vec<Vec<Vec<char>>>,
    /// The ASCII character that all of them begin with, where there is one.
    pub(super) lead: Option<u8>,
}

impl Literals {
    /// `texts` holds no empty text.
    pub(super) fn new(texts: Vec<Vec<Vec<char>>>) -> Self {
        let mut leads = texts.iter().map(|text| match text[0][..] {
            [c] if c.is_ascii() => Some(c as u8),
            _ => None,
        });
        let lead = leads.next().flatten().filter(|&lead| leads.all(|other| other == Some(lead)));
        Self { texts, lead }
    }
}
