//! Places at which a text may be cut, so that the ids of its parts are those of the whole.
//!
//! In: a text, and the policy for special tokens. Out: the next such place, or the last one. A place must never be
//! given if what is on the one side of it can change the ids of the other side, whatever else is in the text: so what
//! is a cut of a text is a cut of each part of it that holds the characters beside it.
//!
//! Where nothing but a split looks at more than one pretoken, two characters tell. For others each stage is asked what
//! it makes of two characters (`pairs`), or of a space between two letters and of two ideographs (`text_cuts`).
mod pairs;
mod text_cuts;

use std::ops::Range;

use super::Engine;
use super::input::Special;
use crate::description::Alphabet;
use crate::model::Model;
use crate::pattern::{Plan, Splitter};
pub(super) use pairs::Pairs;
pub(super) use text_cuts::TextCuts;

/// How far before the end of a text that grows a cut is looked for, in bytes.
const REACH: usize = 1 << 12;

/// A place at which a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    /// Where the character before it begins. A text that begins behind that character need not be cut there.
    pub(crate) before: usize,
    /// The end of the text that makes it such a place.
    pub(crate) seen: usize,
}

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
    Stages(&'a Engine, &'a TextCuts),
}

impl Engine {
    /// What tells the cuts of texts under this policy.
    pub(crate) fn cuts(&self, special: &Special) -> Cuts<'_> {
        match self.splitter() {
            Some(splitter) if self.may_be_cut() && splitter.plan() == Plan::Scanner => {
                let has_literals = *special != Special::Text || !self.stages.added_in_raw.has_only_special();
                Cuts { kind: Kind::Split(splitter), pairs: has_literals.then(|| self.pairs()) }
            }
            _ => Cuts { kind: Kind::Stages(self, self.text_cuts()), pairs: Some(self.pairs()) },
        }
    }

    fn text_cuts(&self) -> &TextCuts {
        self.text_cuts.get_or_make(|| TextCuts::new(&self.description, &self.stages))
    }

    fn pairs(&self) -> &Pairs {
        self.pairs.get_or_make(|| Pairs::new(&self.description, &self.stages))
    }

    /// Are there cuts that `Cuts` finds for texts that grow?
    pub(crate) fn has_text_cuts(&self) -> bool {
        self.text_cuts().has_any() || self.pairs().has_any()
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
        let Kind::Stages(engine, _) = self.kind else { return None };
        let pairs = self.pairs?;
        let has_prefixes = match &engine.stages.model {
            Model::Unigram(_) => true,
            // Tokens of bytes may end inside characters.
            Model::Bpe(_) => engine.description.model.as_bpe().is_some_and(|bpe| {
                bpe.continuing_prefix.is_none() && bpe.alphabet == Alphabet::Chars { end_of_word: None }
            }),
            _ => false,
        };
        (has_prefixes && pairs.is_run(text, &engine.stages)).then(|| 2 * pairs.longest() + 2)
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
            Kind::Stages(engine, text_cuts) => {
                let pairs = self.pairs.filter(|pairs| !pairs.ends_literal(left))?;
                text_cuts.at(text, at).or_else(|| {
                    let next = text[cut.seen..].chars().next();
                    let seen = cut.seen + next.map_or(0, char::len_utf8);
                    pairs.cut((left, right), next, &engine.stages).then_some(Cut { seen, ..cut })
                })
            }
        }
    }
}
