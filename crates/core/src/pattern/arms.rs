//! The intermediate representation: an ordered list of arms, one for each alternative of a
//! pattern, each with exactly the meaning that the regular expression gives it.
//!
//! [Lowering](mod@super::lower) makes arms, and the scanners run them. No arm ever matches the empty text, and
//! none looks at text before its start.
use super::atoms::{self, AtomSet, Atoms};

/// What one alternative matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arm {
    /// One of these texts: `'s|'t`.
    Literal(Literals),
    /// `prefix? body{1,max} tail* suffix?`
    Run(Run),
    /// `prefix? upper* lower+ suffix?`, always followed by the arm
    /// `prefix? upper+ lower* suffix?`, without which a text of capitals would be scanned
    /// again from each of its characters.
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

/// A run of one class with what may surround it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// At most one of these before the run; empty for none.
    pub(super) prefix: AtomSet,
    /// Is there no match without a prefix?
    pub(super) needs_prefix: bool,
    pub(super) body: AtomSet,
    /// The most characters of `body`.
    pub(super) max: usize,
    /// Any number of these after the run; empty for none.
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

/// Short texts, of which the first that fits is the match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literals {
    /// For each text and each of its characters, the choices.
    pub(super) texts: Vec<Vec<Vec<char>>>,
    /// The ASCII character that all of them begin with, if there is one.
    pub(super) lead: Option<u8>,
}

impl Literals {
    /// No text is empty.
    pub(super) fn new(texts: Vec<Vec<Vec<char>>>) -> Self {
        let mut leads = texts.iter().map(|text| match text[0][..] {
            [c] if c.is_ascii() => Some(c as u8),
            _ => None,
        });
        let lead = leads.next().flatten().filter(|&lead| leads.all(|other| other == Some(lead)));
        Self { texts, lead }
    }

    /// Where the first text that begins at `at` ends, if there is one.
    #[inline]
    pub(super) fn match_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if let Some(lead) = self.lead
            && bytes.get(at) != Some(&lead)
        {
            return None;
        }
        self.texts.iter().find_map(|text| Self::end_of(text, bytes, at))
    }

    /// Where `text`, one of the texts, ends if it begins at `at`.
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

    /// The atoms of the characters at `index` of every text.
    pub(super) fn atoms(&self, atoms: &impl Atoms, index: usize) -> AtomSet {
        let chars = self.texts.iter().filter_map(|text| text.get(index));
        chars.fold(0, |set, choices| set | atoms.of_chars(choices))
    }
}
