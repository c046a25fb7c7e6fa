//! Counts of ranges of a text that is a single pretoken.
//!
//! In: the bytes of the text, once; then ranges. Out: the number of tokens of each range.
//!
//! The prefixes form a tree: the parent of a prefix is the shorter prefix that remains without its last token.
//! Likewise, each suffix without its first token is a shorter suffix. A sequence of tokens is a valid encoding if
//! every two neighbours stay apart (`docs/merging.md`). So if the encodings of the suffix from `i` and of the prefix
//! up to `j` share a token, the range `[i, j)` has the tokens of the suffix up to and including it, and those of the
//! prefix after it. Ranges without a shared token, mostly short ones, are encoded.
use std::ops::Range;

use tokenmill_kernels::{prefetch, try_alloc};

use crate::budget::prefixes::Prefixes;
use crate::budget::pretoken_model::PairMemo;
use crate::budget::suffixes::Suffixes;
use crate::error::Result;
use crate::ids::to_u32;
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

/// How many tokens of a suffix are tried as the shared one.
const STEPS: usize = 64;

/// The encodings of all prefixes and suffixes of a text.
#[derive(Debug)]
pub(super) struct PrefixTree {
    /// By length, from 0 on.
    prefixes: Vec<Prefix>,
    /// By start.
    suffixes: Vec<Suffix>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Prefix {
    /// The start of its last token.
    parent: u32,
    /// The number of its tokens.
    count: u32,
    /// Preorder numbers: this subtree has the numbers `first..end`.
    first: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Suffix {
    /// The end of its first token.
    next: u32,
    /// The number of its tokens.
    count: u32,
}

/// Scratch for ranges that are encoded.
#[derive(Debug, Default, Clone)]
pub(super) struct TreeScratch {
    pub(super) memo: PairMemo,
    prefixes: Prefixes,
}

impl PrefixTree {
    pub(super) fn new(text: &[u8], matcher: &Matcher<'_>, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut memo = PairMemo::default();
        memo.reserve()?;
        let mut read = Prefixes::starting_at(0);
        read.extend((matcher, &mut memo), text, text.len(), ticker)?;
        let mut prefixes: Vec<Prefix> = try_alloc::filled(Prefix::default(), text.len() + 1)?;
        prefixes[0].end = 1;
        for (length, &(token, count)) in (1..).zip(read.last()) {
            let parent = to_u32(length - matcher.length(token));
            prefixes[length] = Prefix { parent, count, first: 0, end: 1 };
        }
        // Until the numbers are assigned, `end` holds the size of the subtree.
        for length in (1..prefixes.len()).rev() {
            let Prefix { parent, end, .. } = prefixes[length];
            prefixes[parent as usize].end += end;
        }
        let mut next: Vec<u32> = try_alloc::filled(1, text.len() + 1)?;
        for length in 1..prefixes.len() {
            let Prefix { parent, end: size, .. } = prefixes[length];
            let first = next[parent as usize];
            next[parent as usize] += size;
            next[length] = first + 1;
            (prefixes[length].first, prefixes[length].end) = (first, first + size);
        }
        drop((read, next));
        let mut read = Suffixes::default();
        read.extend((matcher, &mut memo), text, ticker)?;
        let mut suffixes: Vec<Suffix> = try_alloc::filled(Suffix::default(), text.len() + 1)?;
        for (length, &(token, count)) in (1..).zip(read.first()) {
            let place = text.len() - length;
            suffixes[place] = Suffix { next: to_u32(place + matcher.length(token)), count };
        }
        Ok(Self { prefixes, suffixes })
    }

    /// Prefetches the entries at both ends of a range.
    pub(super) fn prefetch(&self, start: usize, end: usize) {
        prefetch(&self.suffixes, start);
        prefetch(&self.prefixes, end);
        // About where the first token of the suffix ends.
        prefetch(&self.prefixes, start.saturating_add(4));
    }

    /// The number of tokens of a range.
    pub(super) fn count(
        &self,
        text: &[u8],
        range: Range<usize>,
        matcher: &Matcher<'_>,
        scratch: &mut TreeScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<usize> {
        if range.is_empty() {
            return Ok(0);
        }
        let of_end = self.prefixes[range.end];
        if range.start == 0 {
            return Ok(of_end.count as usize);
        }
        let of_start = self.suffixes[range.start];
        if let Some(shared) = self.shared(range.start, range.end) {
            let (to, from) = (self.suffixes[shared].count, self.prefixes[shared].count);
            return Ok((of_start.count - to + of_end.count - from) as usize);
        }
        let TreeScratch { memo, prefixes } = scratch;
        prefixes.begin(range.start);
        prefixes.extend((matcher, memo), text, range.end, ticker)?;
        Ok(prefixes.last().last().map_or(0, |&(_, count)| count as usize))
    }

    /// The end of the first token that the encodings of the suffix from `start` and of the prefix up to `end` share, or
    /// `end` if a token of the suffix ends there.
    fn shared(&self, start: usize, end: usize) -> Option<usize> {
        let number = self.prefixes[end].first;
        let mut at = start;
        for _ in 0..STEPS {
            let next = self.suffixes.get(at)?.next as usize;
            if next > end || next <= at {
                return None;
            }
            // Tokens of a suffix up to `end` are a valid encoding of the range.
            if next == end {
                return Some(next);
            }
            let prefix = self.prefixes[next];
            if (prefix.first..prefix.end).contains(&number) && prefix.parent as usize == at {
                return Some(next);
            }
            at = next;
        }
        None
    }

    /// The end of the longest range from `start` on that has at most `limit` tokens. It may be inside a character.
    /// `None` if only encoding tells.
    ///
    /// Each prefix has one token more than its parent, which is shorter by at most the longest token. So the minimum
    /// count over a window of that many prefixes never decreases from one window to the next, and binary search finds
    /// the last window with a prefix that fits.
    pub(super) fn farthest(&self, start: usize, limit: usize, longest: usize) -> Option<usize> {
        let length = self.prefixes.len() - 1;
        let (shared, more) = if start == 0 {
            (0, limit)
        } else {
            let shared = self.shared(start, length)?;
            let to_shared = self.suffixes[start].count - self.suffixes[shared].count;
            (shared, (limit + self.prefixes[shared].count as usize).checked_sub(to_shared as usize)?)
        };
        let fits = |place: &usize| self.prefixes[*place].count as usize <= more;
        let row = |from: usize| from..length.min(from + longest - 1) + 1;
        let (mut low, mut high) = (shared, length);
        // Find the last window with a prefix that fits.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if row(middle).any(|place| fits(&place)) { low = middle } else { high = middle - 1 }
        }
        let found = row(low).rev().find(fits)?;
        // If every prefix of one window is below the shared token, so are all later ones.
        let below = self.prefixes[shared];
        let first = found.checked_sub(longest)?;
        let is_settled = start == 0
            || (first >= shared
                && (first..=found)
                    .all(|place| (below.first..below.end).contains(&self.prefixes[place].first)));
        is_settled.then_some(found)
    }

    /// As [`Self::farthest`], by encoding. It stops after a whole window of prefixes that do not fit.
    pub(super) fn read_farthest(
        text: &[u8],
        start: usize,
        limit: usize,
        matcher: &Matcher<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<usize> {
        let TreeScratch { mut memo, mut prefixes } = TreeScratch::default();
        prefixes.begin(start);
        let (mut found, mut at) = (start, start);
        while at < text.len() && at < found + matcher.longest_length() {
            at += 1;
            prefixes.extend((matcher, &mut memo), text, at, ticker)?;
            if prefixes.last().last().is_some_and(|&(_, count)| count as usize <= limit) {
                found = at;
            }
        }
        Ok(found)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Prefix>() * self.prefixes.capacity() + size_of::<Suffix>() * self.suffixes.capacity()
    }
}
