//! How normalized text is cut into pretokens.
use super::HookName;

/// A step of pre-tokenization: cuts every piece that it is given, and may rewrite it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreTokenizer {
    /// Cuts at the matches of a pattern.
    Split {
        /// What is looked for.
        pattern: Pattern,
        /// What becomes of the matches.
        behavior: Behavior,
        /// The text between matches is taken for the matches.
        invert: bool,
    },
    /// A space is put before every piece that does not start with one.
    PrefixSpace,
    /// Every byte becomes the character that stands for it in the byte alphabet. Where the model
    /// reads bytes this step is not needed.
    ByteAlphabet,
    /// White space is dropped, punctuation stands alone.
    Bert,
    /// Punctuation of ASCII and Unicode 8.
    Punctuation(Behavior),
    /// Keeps runs of word characters and runs of what is neither word nor white space.
    Whitespace,
    /// Cuts at white space and drops it.
    WhitespaceSplit,
    /// Cuts at numeric characters.
    Digits {
        /// Each alone, not runs of them.
        individual: bool,
    },
    /// Cuts at one character and drops it.
    CharDelimiter(char),
    /// Cuts every so many characters.
    FixedLength(usize),
    /// Cuts where the script changes.
    UnicodeScripts,
    /// Spaces become a visible mark, one is put in front, and each starts a piece.
    Metaspace {
        /// The mark, `▁` by custom.
        replacement: char,
        /// Where one is put in front.
        prepend: PrependScheme,
        /// Does each mark start a piece?
        split: bool,
    },
    /// A function of the caller's own says where to cut.
    Hook(HookName),
}

/// Where a mark is put in front of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrependScheme {
    /// Of the piece that starts the caller's text.
    First,
    /// Nowhere.
    Never,
    /// Of every piece.
    #[default]
    Always,
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// This text.
    Literal(String),
    /// A regular expression, in the dialect of `pattern`.
    Regex(String),
}

/// What becomes of the matches of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// They are dropped.
    Removed,
    /// Each is a piece.
    Isolated,
    /// Each is the end of the piece before it.
    MergedWithPrevious,
    /// Each is the start of the piece after it.
    MergedWithNext,
    /// Each run of them is a piece.
    Contiguous,
}

/// A split as callers give it: matches are pretokens and so is the text between them, so that
/// nothing is ever dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// Not at all: the whole text is one pretoken.
    Whole,
    /// At the matches of this regular expression (the dialect is described in `pattern`).
    Pattern(String),
}

impl Split {
    /// The steps that do this.
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

    /// The split that these steps are, if they are one.
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
