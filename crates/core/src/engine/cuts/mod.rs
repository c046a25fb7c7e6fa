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
pub(super) use text_cuts::{TextCuts, looks_at_marks_at_most, only_char};

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
    /// The first cut of a text in a range of its bytes.
    pub(crate) fn next(&self, text: &str, range: Range<usize>) -> Option<Cut> {
        let start = (range.start.max(1)..range.end.min(text.len())).find(|&at| text.is_char_boundary(at))?;
        let places = text[start..].char_indices().map(|(at, _)| start + at);
        places.take_while(|&at| at < range.end).find_map(|at| self.at(text, at))
    }

    /// The last cut of a text in a range of its bytes.
    pub(crate) fn last(&self, text: &str, range: Range<usize>) -> Option<Cut> {
        let last = (range.start..range.end.min(text.len())).rev().find(|&at| text.is_char_boundary(at))?;
        let places = std::iter::once(last).chain(text[..last].char_indices().rev().map(|(at, _)| at));
        places.take_while(|&at| at >= range.start.max(1)).find_map(|at| self.at(text, at))
    }

    /// The last cut of a text, if it is near the end.
    pub(crate) fn last_near_end(&self, text: &str) -> Option<Cut> {
        self.last(text, text.len().saturating_sub(REACH)..text.len())
    }

    /// For a text that is one pretoken whatever follows it, with each character normalized on its own: a number of
    /// prefixes. If that many in a row, each a character longer than the one before, have more than some number of ids,
    /// then every longer one has, too. `None` for other texts.
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
        let is_known = stages.ids_are_bytes()
            && stages.normalizers.is_empty()
            && (stages.splitter.is_some() || stages.pre_tokenizers.keep_all());
        let longest = self.pairs.filter(|_| is_known)?.longest_bytes();
        ids.checked_mul(longest)
    }

    /// Has each side of a cut the ids that it has when it is encoded by itself? If not, the right side has those that
    /// it has when it is encoded together with the character before it.
    pub(crate) fn parts_are_texts(&self) -> bool {
        matches!(self.kind, Kind::Split(_))
    }

    /// The cut at a place inside a text, if it is one.
    #[inline]
    pub(crate) fn at(&self, text: &str, at: usize) -> Option<Cut> {
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
