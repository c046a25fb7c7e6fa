//! The kinds of defects in a file.

/// The kinds of defects in a file; their words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// The file ends too early.
    Truncated,
    /// The file is empty.
    Empty,
    /// It is not UTF-8.
    Encoding,
    /// It is another kind of file.
    WrongKind,
    /// The file is not JSON.
    Json,
    /// The file is not a protobuf message.
    Protobuf,
    /// Something occurs twice.
    Duplicate,
    /// An unknown version.
    Version,
    /// Something is missing.
    Missing,
    /// A value of the wrong type.
    Type,
    /// A number that is out of range.
    Range,
    /// An impossible merge.
    Merge,
    /// Two parts contradict each other.
    Inconsistent,
    /// A line that cannot be read.
    Line,
    /// Not base64.
    Base64,
    /// A regular expression that is invalid, or whose meaning cannot be reproduced.
    Pattern,
    /// A character map of a SentencePiece normalizer that cannot be walked safely.
    Charsmap,
    /// A limit was exceeded.
    Limit,
    /// A setting that this version cannot reproduce.
    Unsupported,
    /// The format cannot hold what is to be saved.
    CannotHold,
    /// Information that the format lacks and the caller must give.
    Unknown,
    /// A setting that has no effect.
    Ignored,
}

impl Defect {
    /// All of them.
    const ALL: [Self; 22] = [
        Self::Truncated,
        Self::Empty,
        Self::Encoding,
        Self::WrongKind,
        Self::Json,
        Self::Protobuf,
        Self::Duplicate,
        Self::Version,
        Self::Missing,
        Self::Type,
        Self::Range,
        Self::Merge,
        Self::Inconsistent,
        Self::Line,
        Self::Base64,
        Self::Pattern,
        Self::Charsmap,
        Self::Limit,
        Self::Unsupported,
        Self::CannotHold,
        Self::Unknown,
        Self::Ignored,
    ];

    /// The one with this word.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|defect| defect.as_str() == name)
    }

    /// The word for it in `FormatError.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::Encoding => "encoding",
            Self::WrongKind => "wrong-kind",
            Self::Json => "json",
            Self::Protobuf => "protobuf",
            Self::Duplicate => "duplicate",
            Self::Version => "version",
            Self::Missing => "missing",
            Self::Type => "type",
            Self::Range => "range",
            Self::Merge => "merge",
            Self::Inconsistent => "inconsistent",
            Self::Line => "line",
            Self::Base64 => "base64",
            Self::Pattern => "pattern",
            Self::Charsmap => "charsmap",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
            Self::CannotHold => "cannot-hold",
            Self::Unknown => "unknown",
            Self::Ignored => "ignored",
        }
    }
}
