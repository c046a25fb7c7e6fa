//! Truncation and padding, as stored in a description. Applied only on request.
use crate::ids::TokenId;

/// The settings of a folder of transformers, where they differ from what its tokenizer.json says alone.
/// With them a call truncates and pads as that library does; [`Truncation`] and [`Padding`] count for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallLimits {
    /// The side that is padded.
    pub padding_side: Side,
    /// The side that is cut.
    pub truncation_side: Side,
    /// The maximum length for calls that truncate or pad and give none.
    pub max_length: Option<usize>,
}

/// The side of a text on which it is cut or padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    #[default]
    Right,
}

/// How an encoding is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The side that is cut.
    pub direction: Side,
    /// Maximum number of ids.
    pub max_length: usize,
    /// Which of two sequences is cut.
    pub strategy: TruncationStrategy,
    /// Number of ids that neighbouring windows share.
    pub stride: usize,
}

/// Which of two sequences is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TruncationStrategy {
    /// The longer one first.
    #[default]
    LongestFirst,
    /// Only the first.
    OnlyFirst,
    /// Only the second.
    OnlySecond,
}

/// How the encodings of a batch are padded to one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// The target length.
    pub length: PaddingLength,
    /// The side that is padded.
    pub direction: Side,
    /// Lengths are rounded up to a multiple of this.
    pub multiple_of: Option<usize>,
    /// The padding id.
    pub id: TokenId,
    /// The type id of padding.
    pub type_id: u32,
    /// The written form of the padding token.
    pub token: String,
}

/// The length that encodings are padded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaddingLength {
    /// The length of the longest encoding in the batch.
    Longest,
    /// A fixed length.
    Fixed(usize),
}
