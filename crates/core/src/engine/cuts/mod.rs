//! Places at which a text may be cut, so that the ids of its parts are those of the whole.
//!
//! In: a text, and the policy for special tokens. Out: the next such place, or the last one. A place must never be
//! given if what is on the one side of it can change the ids of the other side, whatever else is in the text: so what
//! is a cut of a text is a cut of each part of it that holds the characters beside it.
//!
//! Where nothing but a split looks at more than one pretoken, two characters tell. For others each stage is asked what
//! it makes of two characters (`pairs`), or of a space between two letters and of two ideographs (`text_cuts`).
mod pairs;
mod place;
mod text_cuts;

use std::ops::Range;

use crate::description::Alphabet;
use crate::model::Model;
use crate::pattern::Splitter;
pub(super) use pairs::Pairs;
pub(crate) use place::{Cut, CutStages};
pub(super) use text_cuts::TextCuts;

/// How far before the end of a text that grows a cut is looked for, in bytes.
const REACH: usize = 1 << 12;

/// What tells the cuts of a text.
#[derive(Clone, Copy)]
pub(crate) struct Cuts<'a> {
    kind: Kind<'a>,
    /// For added tokens that are looked for.
    pairs: Option<&'a Pairs>,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    Split(&'a Splitter),
    Stages(CutStages<'a>, &'a TextCuts),
}

impl<'a> Cuts<'a> {
    /// Where nothing but a split looks at more than a pretoken. `pairs` are for literals that are looked for.
    pub(super) fn of_split(splitter: &'a Splitter, pairs: Option<&'a Pairs>) -> Self {
        Self { kind: Kind::Split(splitter), pairs }
    }

    /// For all other tokenizers.
    pub(super) fn of_stages(stages: CutStages<'a>, text_cuts: &'a TextCuts, pairs: &'a Pairs) -> Self {
        Self { kind: Kind::Stages(stages, text_cuts), pairs: Some(pairs) }
    }
}

impl Cuts<'_> {
    /// The first one in a range of places of a text.
    pub(crate) fn next(&self, text: &str, range: Range<usize>) -> Option<Cut> {
        let start = (range.start.max(1)..range.end.min(text.len())).find(|&at| text.is_char_boundary(at))?;
        let places = text[start..].char_indices().map(|(at, _)| start + at);
        places.take_while(|&at| at < range.end).find_map(|at| self.at(text, at))
    }

    /// The last one in a range of places of a text.
    pub(crate) fn last(&self, text: &str, range: Range<usize>) -> Option<Cut> {
        let last = (range.start..range.end.min(text.len())).rev().find(|&at| text.is_char_boundary(at))?;
        let places = std::iter::once(last).chain(text[..last].char_indices().rev().map(|(at, _)| at));
        places.take_while(|&at| at >= range.start.max(1)).find_map(|at| self.at(text, at))
    }

    /// The last one near the end of a text.
    pub(crate) fn last_near_end(&self, text: &str) -> Option<Cut> {
        self.last(text, text.len().saturating_sub(REACH)..text.len())
    }

    /// Is a text one pretoken, character by character as it is normalized, whatever follows it? Then so many prefixes
    /// in a row, each a character longer, tell: if all have more than a number of ids, longer ones have, too.
    pub(crate) fn run_length(&self, text: &str) -> Option<usize> {
        let Kind::Stages(stages, _) = self.kind else { return None };
        let pairs = self.pairs?;
        let has_prefixes = match stages.model {
            Model::Unigram(_) => true,
            // Tokens of bytes may end inside characters.
            Model::Bpe(_) => stages.description.model.as_bpe().is_some_and(|bpe| {
                bpe.continuing_prefix.is_none() && bpe.alphabet == Alphabet::Chars { end_of_word: None }
            }),
            _ => false,
        };
        (has_prefixes && pairs.is_run(text, stages)).then(|| 2 * pairs.longest() + 2)
    }

    /// The most bytes that a number of ids can stand for, where each stands for bytes of the text.
    pub(crate) fn most_bytes(&self, ids: usize) -> Option<usize> {
        let Kind::Stages(stages, _) = self.kind else { return None };
        let is_known = stages.description.is_byte_level()
            && stages.normalizers.is_empty()
            && stages.description.model.as_bpe().is_some();
        let longest = self.pairs.filter(|_| is_known)?.longest_bytes();
        ids.checked_mul(longest)
    }

    /// Do both sides of a cut have ids as texts of their own? If not, what is behind it has those that it has
    /// together with the character before it.
    pub(crate) fn parts_are_texts(&self) -> bool {
        matches!(self.kind, Kind::Split(_))
    }

    /// The one at a place inside a text.
    #[inline]
    fn at(&self, text: &str, at: usize) -> Option<Cut> {
        let (left, right) = (text[..at].chars().next_back()?, text[at..].chars().next()?);
        let cut = Cut { at, before: at - left.len_utf8(), seen: at + right.len_utf8() };
        match &self.kind {
            Kind::Split(splitter) => {
                let is_cut = splitter.cuts_between(left, right)
                    && self.pairs.is_none_or(|pairs| !pairs.join_in_literals(left, right));
                is_cut.then_some(cut)
            }
            Kind::Stages(stages, text_cuts) => {
                let pairs = self.pairs.filter(|pairs| !pairs.ends_literal(left))?;
                text_cuts.at(text, at).or_else(|| {
                    let next = text[cut.seen..].chars().next();
                    let seen = cut.seen + next.map_or(0, char::len_utf8);
                    pairs.cut((left, right), next, *stages).then_some(Cut { seen, ..cut })
                })
            }
        }
    }
}
