//! The report of a training run.
use std::time::Duration;

use super::pretokens::CorpusFigures;

/// The report of a training run. Counts are exact; durations are wall time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrainingReport {
    /// Documents counted.
    pub documents: u64,
    /// Bytes of these documents, special tokens included.
    pub bytes: u64,
    /// Documents left out because they are not UTF-8; set by the reader of the corpus.
    pub skipped_documents: u64,
    /// Documents in which U+FFFD replaces invalid UTF-8; set by the reader of the corpus.
    pub replaced_documents: u64,
    /// Pretokens counted.
    pub pretokens: u64,
    /// Distinct pretokens.
    pub distinct_pretokens: u64,
    /// The count of each merge when it was chosen, parallel to the merges of the description.
    /// Overlapping occurrences count, so for equal parts it may exceed the number of replacements.
    pub merge_counts: Vec<u64>,
    /// The parts of each merge of WordPiece, as they are written: its description does not keep them.
    pub wordpiece_merges: Vec<(String, String)>,
    /// Why there are fewer merges than requested.
    pub stopped_early: Option<StopReason>,
    /// Time per phase, in order: `count` (unless pretokens were counted before), `sort`, and what the model does: `pairs`
    /// and `merge`, or `prune`.
    pub phases: Vec<(&'static str, Duration)>,
}

impl TrainingReport {
    /// A report that says what was read.
    pub(super) fn of(figures: &CorpusFigures) -> Self {
        Self {
            documents: figures.documents,
            bytes: figures.bytes,
            skipped_documents: figures.skipped_documents,
            replaced_documents: figures.replaced_documents,
            pretokens: figures.pretokens,
            ..Self::default()
        }
    }
}

/// Why training stopped before its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every pretoken is one token, so there is no pair left.
    NoPairLeft,
    /// The text has no more substrings that are worth a piece.
    NoPieceLeft,
    /// All remaining pairs are rarer than `min_frequency`.
    MinFrequency,
    /// All remaining pairs would make tokens longer than `max_token_length`, or tokens with the
    /// end-of-word symbol inside a word.
    MaxTokenLength,
    /// Some of the remaining pairs would make tokens that are not allowed, and the others are too rare or too long.
    NotAllowed,
}

impl StopReason {
    /// A stable word for the reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoPairLeft => "no-pair-left",
            Self::NoPieceLeft => "no-piece-left",
            Self::MinFrequency => "min-frequency",
            Self::MaxTokenLength => "max-token-length",
            Self::NotAllowed => "not-allowed",
        }
    }
}
