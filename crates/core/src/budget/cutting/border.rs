//! The kinds of borders.

/// Where a text may be cut by choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Between two characters.
    Character,
    /// Between two characters as a reader sees them.
    Grapheme,
    /// Between words, spaces and marks.
    Word,
    /// Between sentences.
    Sentence,
    /// Behind a line end.
    Line,
}

impl Border {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Character, "character"),
        (Self::Grapheme, "grapheme"),
        (Self::Word, "word"),
        (Self::Sentence, "sentence"),
        (Self::Line, "line"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(border, _)| *border == self).map_or("", |(_, name)| name)
    }

    /// The next kind that cuts a text into smaller parts.
    pub(super) fn finer(self) -> Option<Self> {
        match self {
            Self::Character => None,
            Self::Grapheme => Some(Self::Character),
            Self::Word => Some(Self::Grapheme),
            Self::Sentence => Some(Self::Word),
            Self::Line => Some(Self::Sentence),
        }
    }

    /// How far before a place, in bytes, there mostly is a border.
    pub(super) fn reach(self) -> usize {
        match self {
            Self::Sentence => 256,
            _ => 32,
        }
    }
}
