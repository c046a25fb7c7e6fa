//! How encodings are cut and padded, for callers who ask for it.
use crate::ids::TokenId;

/// A side of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    #[default]
    Right,
}

/// How an encoding is cut to a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Where it is cut.
    pub direction: Side,
    /// To how many ids.
    pub max_length: usize,
    /// Which of two sequences.
    pub strategy: TruncationStrategy,
    /// How many ids windows share.
    pub stride: usize,
}

/// Which of two sequences is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TruncationStrategy {
    /// The longer first.
    #[default]
    LongestFirst,
    /// The first.
    OnlyFirst,
    /// The second.
    OnlySecond,
}

/// How encodings are made equally long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// To which length.
    pub length: PaddingLength,
    /// Where.
    pub direction: Side,
    /// Lengths are multiples of this.
    pub multiple_of: Option<usize>,
    /// With which id.
    pub id: TokenId,
    /// Of which type.
    pub type_id: u32,
    /// How it is written.
    pub token: String,
}

/// The length that encodings are padded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaddingLength {
    /// That of the longest of the batch.
    Longest,
    /// This one.
    Fixed(usize),
}
