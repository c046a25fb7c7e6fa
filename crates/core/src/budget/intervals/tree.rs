//! Ranges of a text that is one pretoken.
//!
//! In: the bytes of the text, once; then ranges. Out: the number of tokens that merging leaves of each.
//!
//! The last token of every prefix makes a tree: before it stands the encoding of a shorter prefix, its parent. A range
//! is encoded from its start on until its last token is the one of the whole text there, and the end of the range is
//! below that place in the tree. From there on both have the same tokens, as a row of tokens is what merging leaves
//! if every two neighbours stay apart.
use std::ops::Range;

use tokenmill_kernels::try_alloc;

use crate::budget::prefixes::Prefixes;
use crate::budget::pretoken_model::PairMemo;
use crate::error::Result;
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

/// So many bytes are read between two looks at the tree.
const STEP: usize = 8;

/// The encodings of all prefixes of a text.
#[derive(Debug)]
pub(super) struct PrefixTree {
    /// By length, from 0 on.
    prefixes: Vec<Prefix>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Prefix {
    /// The last token, and the number of tokens.
    token: u32,
    count: u32,
    /// The prefixes below this one, itself among them, have numbers in this range.
    first: u32,
    end: u32,
}

impl PrefixTree {
    pub(super) fn new(text: &[u8], matcher: &Matcher<'_>, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut read = Prefixes::starting_at(0);
        let mut memo = PairMemo::default();
        memo.reserve()?;
        read.extend((matcher, &mut memo), text, text.len(), ticker)?;
        let mut prefixes: Vec<Prefix> = try_alloc::filled(Prefix::default(), text.len() + 1)?;
        prefixes[0].end = 1;
        for (prefix, &(token, count)) in prefixes[1..].iter_mut().zip(read.last()) {
            *prefix = Prefix { token, count, first: 0, end: 1 };
        }
        let parent = |length: usize, token: u32| length - matcher.length(token);
        // `end` is the size of the part below first, and then where the next child begins.
        for length in (1..prefixes.len()).rev() {
            let Prefix { token, end, .. } = prefixes[length];
            prefixes[parent(length, token)].end += end;
        }
        let mut next: Vec<u32> = try_alloc::filled(1, text.len() + 1)?;
        for length in 1..prefixes.len() {
            let Prefix { token, end: size, .. } = prefixes[length];
            let parent = parent(length, token);
            let first = next[parent];
            next[parent] += size;
            next[length] = first + 1;
            (prefixes[length].first, prefixes[length].end) = (first, first + size);
        }
        Ok(Self { prefixes })
    }

    /// The number of tokens of a range.
    pub(super) fn count(
        &self,
        text: &[u8],
        range: Range<usize>,
        (matcher, memo): (&Matcher<'_>, &mut PairMemo),
        ticker: &mut Ticker<'_>,
    ) -> Result<usize> {
        let of_end = self.prefixes[range.end];
        if range.start == 0 || range.is_empty() {
            return Ok(if range.is_empty() { 0 } else { of_end.count as usize });
        }
        let mut read = Prefixes::starting_at(range.start);
        let mut at = range.start;
        loop {
            let before = at;
            at = range.end.min(at + STEP);
            read.extend((matcher, memo), text, at, ticker)?;
            for place in before + 1..=at {
                let (token, count) = read.last()[place - range.start - 1];
                let known = self.prefixes[place];
                if known.token == token && (known.first..known.end).contains(&of_end.first) {
                    return Ok((count + of_end.count - known.count) as usize);
                }
            }
            if at == range.end {
                let (_, count) = read.last()[range.len() - 1];
                return Ok(count as usize);
            }
        }
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Prefix>() * self.prefixes.capacity()
    }
}
