//! What a training run did.
use std::time::Duration;

/// What a training run did. Counts are exact; durations are wall time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrainingReport {
    /// Documents counted.
    pub documents: u64,
    /// Their bytes, special tokens included.
    pub bytes: u64,
    /// Documents left out because they are not UTF-8; the reader of the corpus fills it in.
    pub skipped_documents: u64,
    /// Documents in which U+FFFD stands for what is not UTF-8; filled in likewise.
    pub replaced_documents: u64,
    /// Pretokens counted.
    pub pretokens: u64,
    /// Different ones among them.
    pub distinct_pretokens: u64,
    /// The count of each merge when it was chosen, beside the merges of the description.
    /// Overlapping occurrences count, so with equal parts it may pass the replacements.
    pub merge_counts: Vec<u64>,
    /// Why there are fewer merges than were asked for.
    pub stopped_early: Option<StopReason>,
    /// Time per phase, in order: `count`, `sort`, `pairs`, `merge`.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Why training stopped before its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every pretoken is one token: there is no pair left.
    NoPairLeft,
    /// All pairs left are rarer than `min_frequency`.
    MinFrequency,
    /// All pairs left would make tokens longer than `max_token_length`, or tokens that spell
    /// the end-of-word symbol inside a word.
    MaxTokenLength,
}

impl StopReason {
    /// The word for it, stable.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoPairLeft => "no-pair-left",
            Self::MinFrequency => "min-frequency",
            Self::MaxTokenLength => "max-token-length",
        }
    }
}
