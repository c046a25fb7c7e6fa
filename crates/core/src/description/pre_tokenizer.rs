//! How normalized text is cut into pretokens.
use super::HookName;

/// A pre-tokenization step: cuts every piece of its input, and may rewrite it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreTokenizer {
    /// Cuts at the matches of a pattern.
    Split {
        /// The pattern to search for.
        pattern: Pattern,
        /// What happens to the matches.
        behavior: Behavior,
        /// Swaps matches and the text between them.
        invert: bool,
    },
    /// Puts a space before every piece that does not start with one.
    PrefixSpace,
    /// Writes every byte as its character in the byte alphabet. Not needed if the model works on bytes.
    ByteAlphabet,
    /// Removes white space and isolates punctuation.
    Bert,
    /// Cuts at punctuation, as of ASCII and Unicode 8.
    Punctuation(Behavior),
    /// Keeps runs of word characters, and runs of characters that are neither word characters nor
    /// white space.
    Whitespace,
    /// Cuts at white space and drops it.
    WhitespaceSplit,
    /// Cuts at numeric characters.
    Digits {
        /// Cuts at each character, not at runs.
        individual: bool,
    },
    /// Cuts at one character and drops it.
    CharDelimiter(char),
    /// Cuts after every `n` characters.
    FixedLength(usize),
    /// Cuts where the script changes.
    UnicodeScripts,
    /// Writes spaces as a visible mark, prepends one, and starts a piece at each.
    Metaspace {
        /// The mark, usually `▁`.
        replacement: char,
        /// Where a mark is prepended.
        prepend: PrependScheme,
        /// Does each mark start a piece?
        split: bool,
    },
    /// A function of the caller returns the cuts.
    Hook(HookName),
}

/// The pieces that a mark is prepended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrependScheme {
    /// The piece at the start of the caller's text.
    First,
    /// No piece.
    Never,
    /// Every piece.
    #[default]
    Always,
}

/// A pattern to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A literal text.
    Literal(String),
    /// A regular expression, in the dialect of `pattern`.
    Regex(String),
}

/// What happens to the matches of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// They are removed.
    Removed,
    /// Each is a piece of its own.
    Isolated,
    /// Each is appended to the piece before it.
    MergedWithPrevious,
    /// Each is prepended to the piece after it.
    MergedWithNext,
    /// Each run of matches is one piece.
    Contiguous,
}

/// A split as callers specify it. Matches and the text between them are both pretokens, so nothing
/// is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// No split: the whole text is one pretoken.
    Whole,
    /// Splits at the matches of a regular expression (its dialect is described in `pattern`).
    Pattern(String),
}

impl Split {
    /// The equivalent pre-tokenization steps.
    pub fn stages(&self) -> Vec<PreTokenizer> {
        match self {
            Self::Whole => Vec::new(),
            Self::Pattern(regex) => vec![PreTokenizer::Split {
                pattern: Pattern::Regex(regex.clone()),
                behavior: Behavior::Isolated,
                invert: false,
            }],
        }
    }

    /// The split that is equivalent to these steps, if there is one.
    pub fn of_stages(stages: &[PreTokenizer]) -> Option<Self> {
        match stages {
            [] => Some(Self::Whole),
            [PreTokenizer::Split { pattern: Pattern::Regex(regex), behavior: Behavior::Isolated, .. }] => {
                Some(Self::Pattern(regex.clone()))
            }
            _ => None,
        }
    }
}
