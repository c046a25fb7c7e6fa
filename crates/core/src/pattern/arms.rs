//! Arms: the intermediate representation of a pattern.
//!
//! An arm is one alternative of a pattern. The arms of a pattern are an ordered list, and each has exactly the
//! meaning that the regular expression gives to its alternative. [Lowering](mod@super::lower) creates arms, and
//! the scanners run them. An arm never matches the empty text and never looks at the text before its start.
use super::atoms::{self, AtomSet, Atoms};

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
    pub(super) fn atoms(&self, atoms: &impl Atoms, index: usize) -> AtomSet {
        let chars = self.texts.iter().filter_map(|text| text.get(index));
        chars.fold(0, |set, choices| set | atoms.of_chars(choices))
    }
}
