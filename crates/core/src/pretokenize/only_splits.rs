//! Recognizes steps that only cut: one splitter then runs in place of the steps.
//!
//! In: the description of the steps. Out: the splits, or `None`.
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::characters::{numeric, punctuation};
use crate::description::{Behavior, Pattern, PreTokenizer};
use crate::pattern::SplitStep;

/// The splits that these steps are. `None` if a step drops or changes text, or joins a match to the text beside it.
pub(crate) fn only_splits(steps: &[PreTokenizer]) -> Option<Vec<SplitStep>> {
    steps.iter().map(only_split).collect()
}

fn only_split(step: &PreTokenizer) -> Option<SplitStep> {
    match step {
        // Matches and the text between them both become pieces, so `invert` makes no difference.
        PreTokenizer::Split { pattern, behavior: Behavior::Isolated, .. } => match pattern {
            Pattern::Regex(regex) => Some(SplitStep::Pattern(regex.clone())),
            Pattern::Literal(literal) => {
                let mut chars = literal.chars();
                let only = chars.next().filter(|_| chars.next().is_none())?;
                let class = ClassUnicode::new([ClassUnicodeRange::new(only, only)]);
                Some(SplitStep::Class { class, in_runs: false })
            }
        },
        PreTokenizer::Punctuation(behavior) => {
            Some(SplitStep::Class { class: punctuation(), in_runs: in_runs(*behavior)? })
        }
        PreTokenizer::Digits { individual } => {
            Some(SplitStep::Class { class: numeric(), in_runs: !individual })
        }
        _ => None,
    }
}

fn in_runs(behavior: Behavior) -> Option<bool> {
    match behavior {
        Behavior::Isolated => Some(false),
        Behavior::Contiguous => Some(true),
        _ => None,
    }
}
