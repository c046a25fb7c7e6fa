//! The encodings of all suffixes of one pretoken that grows at its start.
//!
//! In: the bytes of the pretoken, from the last to the first. Out: the number of ids of any suffix.
//!
//! For canonical merges, the first token of each suffix and its number of tokens are kept: after the first token
//! comes the encoding of a shorter suffix. So a byte takes constant time, whatever the length of the pretoken.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tokenmill_kernels::try_alloc;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

use super::pretoken_model::{BLOCK, PairMemo};

/// The suffixes of one pretoken.
#[derive(Debug, Default, Clone)]
pub(super) struct Suffixes {
    /// By length, from 1 on: the first token of the suffix, and the number of its tokens.
    first: Vec<(u32, u32)>,
}

impl Suffixes {
    /// Starts a new pretoken.
    pub(super) fn clear(&mut self) {
        self.first.clear();
    }

    /// Removes suffixes of more than `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.first.truncate(length);
    }

    /// By length, from 1 on: the first token of the suffix, and the number of its tokens.
    pub(super) fn first(&self) -> &[(u32, u32)] {
        &self.first
    }

    /// Reads what was prepended to the pretoken.
    pub(super) fn extend(
        &mut self,
        (matcher, memo): (&Matcher<'_>, &mut PairMemo),
        pretoken: &[u8],
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let Some(new) = pretoken.len().checked_sub(self.first.len()) else { return Ok(()) };
        try_alloc::reserve(&mut self.first, new)?;
        for at in (0..new).rev() {
            if at % BLOCK == 0 || at + 1 == new {
                ticker.spend(8 * BLOCK.min(new))?;
                memo.reserve()?;
            }
            let suffix = &pretoken[at..];
            let mut token = matcher.longest_at_start(suffix);
            let found = loop {
                let Some(candidate) = token else {
                    return Err(Error::internal("no token begins a suffix of a pretoken"));
                };
                let Some(rest) = (suffix.len() - matcher.length(candidate)).checked_sub(1) else {
                    break (candidate, 1);
                };
                let (next, count) = self.first[rest];
                let border = matcher.length(candidate);
                if matcher.bytes_stay_apart(suffix[border - 1], suffix[border])
                    || memo.stays_apart(matcher, candidate, next)
                {
                    break (candidate, count + 1);
                }
                token = matcher.shorter_at_start(candidate);
            };
            self.first.push(found);
        }
        Ok(())
    }

    /// The number of bytes at the end of the pretoken whose tokens nothing that is prepended changes, and the number
    /// of these tokens: all encodings that a longer pretoken can end with agree there.
    ///
    /// A token that starts before the pretoken ends within the length of the longest token. So a longer pretoken ends
    /// with the encoding of a suffix that starts at one of these positions. Cost: following the tokens from all of
    /// them until they meet.
    pub(super) fn settled(&self, matcher: &Matcher<'_>) -> (usize, usize) {
        let length = self.first.len();
        let count = |left: usize| if left == 0 { 0 } else { self.first[left - 1].1 as usize };
        let last = (length + 1).saturating_sub(matcher.longest_length());
        // Positions, the leftmost first.
        let mut places: BinaryHeap<Reverse<usize>> =
            (last..=length).map(|left| Reverse(length - left)).collect();
        while let Some(Reverse(place)) = places.pop() {
            while places.peek() == Some(&Reverse(place)) {
                places.pop();
            }
            let left = length - place;
            if places.is_empty() || left == 0 {
                return (left, count(left));
            }
            places.push(Reverse(place + matcher.length(self.first[left - 1].0)));
        }
        (0, 0)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        8 * self.first.capacity()
    }
}

/// Answers questions about suffixes of pretokens.
pub(super) struct SuffixReader<'a, 'w> {
    pub(super) engine: &'a Engine,
    pub(super) matcher: Matcher<'a>,
    pub(super) memo: &'a mut PairMemo,
    pub(super) ticker: &'a mut Ticker<'w>,
}

impl SuffixReader<'_, '_> {
    /// The number of ids of a pretoken, given the suffixes read so far.
    pub(super) fn count(&mut self, suffixes: &mut Suffixes, pretoken: &[u8]) -> Result<usize> {
        suffixes.extend((&self.matcher, self.memo), pretoken, self.ticker)?;
        let whole = self.engine.model().as_bpe();
        if whole.and_then(|bpe| bpe.taken_whole(pretoken, self.engine.vocabulary())).is_some() {
            return Ok(1);
        }
        let first = suffixes.first.get(pretoken.len().wrapping_sub(1));
        Ok(first.map_or(0, |&(_, count)| count as usize))
    }
}
