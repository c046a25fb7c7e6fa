//! Untrusted ranges: the bytes of a text whose author must not be able to write certain tokens.
use std::cell::Cell;

use tokenmill_kernels::{sorting, try_alloc};

use super::input::Text;
use crate::error::Result;
use crate::span::Span;
use crate::watch::Watch;

/// Returns the untrusted ranges of a row of a batch, given its text. Called when the row is encoded.
pub type UntrustedOfRow<'a> = &'a (dyn Fn(usize, Text<'_>, &dyn Watch) -> Result<UntrustedRanges> + Sync);

/// Ranges of the bytes of one text: ascending, not touching, never empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UntrustedRanges {
    spans: Vec<Span>,
}

impl UntrustedRanges {
    /// No untrusted bytes.
    pub fn none() -> &'static Self {
        static NONE: UntrustedRanges = UntrustedRanges { spans: Vec::new() };
        &NONE
    }

    /// The ranges that cover these spans, which may come in any order, overlap and be empty.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Result<Self> {
        let spans = spans.into_iter();
        let (least, most) = spans.size_hint();
        let mut all: Vec<Span> = try_alloc::vec(most.unwrap_or(least))?;
        for span in spans {
            if !span.is_empty() {
                try_alloc::push(&mut all, span)?;
            }
        }
        if !all.is_sorted() {
            sorting::sort(&mut all);
        }
        all.dedup_by(|next, last| {
            let meets = next.start <= last.end;
            if meets {
                last.end = last.end.max(next.end);
            }
            meets
        });
        Ok(Self { spans: all })
    }

    /// Are all bytes trusted?
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Span> + '_ {
        self.spans.iter().copied()
    }

    /// The first range that ends after this byte.
    fn first_from(&self, byte: usize) -> Option<Span> {
        self.spans.get(self.spans.partition_point(|range| range.end <= byte)).copied()
    }

    /// Is one of the bytes of `span` untrusted?
    pub fn overlaps(&self, span: Span) -> bool {
        self.first_from(span.start).is_some_and(|range| range.start < span.end)
    }

    /// As [`Self::overlaps`], for spans whose starts do not decrease: `from` counts the ranges that end before them,
    /// and starts at [`Self::ranges_before`].
    #[inline]
    pub(super) fn overlaps_from(&self, from: &Cell<usize>, span: Span) -> bool {
        let mut at = from.get();
        while self.spans.get(at).is_some_and(|range| range.end <= span.start) {
            at += 1;
        }
        from.set(at);
        self.spans.get(at).is_some_and(|range| range.start < span.end)
    }

    /// The number of ranges that end at or before this byte.
    pub(super) fn ranges_before(&self, byte: usize) -> Cell<usize> {
        Cell::new(self.spans.partition_point(|range| range.end <= byte))
    }

    /// The first trusted byte at or after this one.
    pub fn next_trusted(&self, byte: usize) -> usize {
        self.first_from(byte).filter(|range| range.start <= byte).map_or(byte, |range| range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_say_what_a_mark_for_each_byte_says(
            spans in prop::collection::vec((0usize..40, 0usize..12), 0..12),
        ) {
            let spans = spans.into_iter().map(|(start, length)| Span::new(start, start + length));
            let mut marks = [false; 60];
            spans.clone().for_each(|span| marks[span.start..span.end].fill(true));
            let ranges = UntrustedRanges::new(spans).unwrap();
            prop_assert!(ranges.spans.windows(2).all(|two| two[0].end < two[1].start));
            prop_assert_eq!(ranges.is_empty(), !marks.contains(&true));
            let from = ranges.ranges_before(0);
            for start in 0..59 {
                let trusted = (start..60).find(|&byte| !marks[byte]);
                prop_assert_eq!(Some(ranges.next_trusted(start)), trusted);
                for end in start + 1..60 {
                    let span = Span::new(start, end);
                    prop_assert_eq!(ranges.overlaps(span), marks[start..end].contains(&true));
                    prop_assert_eq!(ranges.overlaps_from(&from, span), ranges.overlaps(span));
                    prop_assert_eq!(ranges.overlaps_from(&ranges.ranges_before(start), span), ranges.overlaps(span));
                }
            }
        }
    }
}
