//! Finds the cuts of one text, and remembers a part without any, so that it is not searched again.
use std::ops::Range;

use crate::engine::{Cut, Cuts};

/// A part without cuts is remembered if it has more bytes than this.
pub(super) const FAR: usize = 1 << 8;

/// Finds the cuts of one text.
pub(super) struct FoundCuts<'a> {
    text: &'a str,
    pub(super) rules: Cuts<'a>,
    /// A range of the text in which there are no cuts.
    without_cuts: Range<usize>,
}

impl<'a> FoundCuts<'a> {
    pub(super) fn new(text: &'a str, rules: Cuts<'a>) -> Self {
        Self { text, rules, without_cuts: 0..0 }
    }

    /// The first cut in a range.
    pub(super) fn next(&mut self, mut range: Range<usize>) -> Option<Cut> {
        if self.without_cuts.contains(&range.start) {
            range.start = self.without_cuts.end;
        }
        let cut = self.rules.next(self.text, range.clone());
        self.note_gap(range.start..cut.map_or(range.end, |cut| cut.at));
        cut
    }

    /// The last cut in a range.
    pub(super) fn last(&mut self, mut range: Range<usize>) -> Option<Cut> {
        if self.without_cuts.start < range.end && range.end <= self.without_cuts.end {
            range.end = self.without_cuts.start;
        }
        let cut = self.rules.last(self.text, range.clone());
        self.note_gap(cut.map_or(range.start, |cut| cut.at + 1)..range.end);
        cut
    }

    fn note_gap(&mut self, gap: Range<usize>) {
        let known = &self.without_cuts;
        if gap.len() > FAR {
            let joins = gap.start <= known.end && known.start <= gap.end;
            let (start, end) = (gap.start.min(known.start), gap.end.max(known.end));
            self.without_cuts = if joins { start..end } else { gap };
        }
    }
}
