//! The arms of the parts without white space: numbers, if they are a part of their own, and the foreign part.
//!
//! In: those arms, and the partition. Out: the numbers if they are a part of their own, and the characters of one more
//! part; or `None` where the algebra would not be exact.
use crate::pattern::arms::{Arm, Run};
use crate::pattern::atoms::{AtomSet, Atoms};
use crate::pattern::partition::Partition;

/// What the arms of the parts without white space say.
#[derive(Default)]
pub(super) struct Foreign<'a> {
    /// The arm of the numbers, if they are a part of their own.
    pub(super) numbers: Option<&'a Run>,
    /// The characters of the foreign part.
    pub(super) all: AtomSet,
    /// Those that its first arm matches. The algebra treats them as words, whatever they are.
    pub(super) words: AtomSet,
    /// Those that its second arm matches, which are other text to the algebra.
    pub(super) other: AtomSet,
    /// Its characters that no arm matches, except as the prefix of a word.
    pub(super) unmatched: AtomSet,
    /// May a word start with an unmatched character?
    pub(super) unmatched_before_word: bool,
    /// May a word start with other text? `None` if the part has no words or no other text.
    pub(super) other_before_word: Option<bool>,
}

impl<'a> Foreign<'a> {
    /// `None` if the algebra would not be exact for these arms.
    pub(super) fn new(atoms: &impl Atoms, arms: &'a [Arm], parts: &Partition) -> Option<Self> {
        let runs = arms.iter().map(|arm| match arm {
            Arm::Run(run) if !run.needs_prefix && run.tail == 0 && run.suffix.is_none() => Some(run),
            _ => None,
        });
        let mut runs: Vec<&Run> = runs.collect::<Option<_>>()?;
        let mut all = parts.outside(atoms.sets().white) & atoms.sets().all;
        let mut foreign = Self::default();
        if let Some(number) = runs.iter().position(|run| run.max != usize::MAX) {
            let numbers = runs.remove(number);
            let part = atoms.sets().all & !parts.outside(numbers.body);
            if numbers.prefix != 0 || part != numbers.body || runs.iter().any(|run| run.body & part != 0) {
                return None;
            }
            foreign.numbers = Some(numbers);
            all &= !part;
        }
        if all == 0 {
            return runs.is_empty().then_some(foreign);
        }
        let (words, other) = match runs[..] {
            [] => (0, 0),
            [words] => (words.body, 0),
            [words, other] if other.prefix == 0 && words.body & other.body == 0 => (words.body, other.body),
            _ => return None,
        };
        let prefix = runs.first().map_or(0, |words| words.prefix & !words.body);
        let unmatched = all & !(words | other);
        let is_exact = |set: AtomSet| prefix & set == 0 || prefix & set == set;
        let is_unlimited = runs.iter().all(|run| run.max == usize::MAX);
        if !is_unlimited || !parts.in_one_part(all) || !is_exact(unmatched) || !is_exact(other) {
            return None;
        }
        (foreign.all, foreign.words, foreign.other, foreign.unmatched) = (all, words, other, unmatched);
        foreign.unmatched_before_word = prefix & unmatched != 0;
        foreign.other_before_word = (words != 0 && other != 0).then_some(prefix & other != 0);
        Some(foreign)
    }
}
