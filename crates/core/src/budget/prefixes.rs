//! The encodings of all prefixes of one pretoken that grows at its end.
//!
//! In: the bytes of the pretoken, one after the other. Out: for any prefix how many ids it has, and which.
//!
//! For canonical merges the last token of each prefix is kept, with the number of tokens up to there: before the
//! last token stands the encoding of a shorter prefix. So a byte takes constant time, whatever the length. Other
//! models are asked again for each prefix.
use std::collections::BinaryHeap;

use tokenmill_kernels::{State, try_alloc};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::bpe::Matcher;
use crate::model::{Model, Scratch};
use crate::pattern::Splitter;
use crate::watch::Ticker;

use super::pretoken_model::{BLOCK, PairMemo, PretokenModel};

/// The prefixes of one pretoken.
#[derive(Debug, Default, Clone)]
pub(super) struct Prefixes {
    /// Where the pretoken begins in its text.
    pub(super) start: usize,
    state: State,
    /// By length, from 1 on: the last token of the prefix, and the number of its tokens.
    last: Vec<(u32, u32)>,
}

impl Prefixes {
    /// A pretoken that begins at a place of a text.
    pub(super) fn starting_at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    /// Begins a pretoken at a place of a text.
    pub(super) fn begin(&mut self, start: usize) {
        self.start = start;
        self.state = State::START;
        self.last.clear();
    }

    /// Removes prefixes of more than `length` bytes.
    pub(super) fn truncate(&mut self, matcher: &Matcher<'_>, text: &[u8], length: usize) {
        if length < self.last.len() {
            self.last.truncate(length);
            // A state knows no more than the bytes of the longest token.
            let end = self.start + length;
            let from = end.saturating_sub(matcher.longest_length()).max(self.start);
            self.state = text[from..end].iter().fold(State::START, |state, &byte| matcher.step(state, byte));
        }
    }

    /// By length, from 1 on: the last token of the prefix, and the number of its tokens.
    pub(super) fn last(&self) -> &[(u32, u32)] {
        &self.last
    }

    /// Reads the pretoken up to a place of its text.
    pub(super) fn extend(
        &mut self,
        (matcher, memo): (&Matcher<'_>, &mut PairMemo),
        text: &[u8],
        end: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let from = self.start + self.last.len();
        let Some(bytes) = text.get(from..end).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        try_alloc::reserve(&mut self.last, bytes.len())?;
        let pretoken = &text[self.start..end];
        let Self { state, last, .. } = self;
        for part in bytes.chunks(BLOCK) {
            ticker.spend(4 * part.len())?;
            memo.reserve()?;
            for &byte in part {
                *state = matcher.step(*state, byte);
                let length = last.len() + 1;
                let following = |token: u32| {
                    let Some(before) = (length - matcher.length(token)).checked_sub(1) else {
                        return Some((token, 1));
                    };
                    let (token_before, count) = last[before];
                    let border = &pretoken[before..before + 2];
                    let is_apart = matcher.bytes_stay_apart(border[0], border[1])
                        || memo.stays_apart(matcher, token_before, token);
                    is_apart.then_some((token, count + 1))
                };
                let Some(found) = matcher.endings(*state).find_map(following) else {
                    return Err(Error::internal("no token ends a prefix of a pretoken"));
                };
                last.push(found);
            }
        }
        Ok(())
    }
}

/// Answers questions about prefixes of pretokens of a text.
pub(super) struct PrefixReader<'a, 'w> {
    pub(super) engine: &'a Engine,
    pub(super) splitter: Option<&'a Splitter>,
    pub(super) model: PretokenModel<'a>,
    pub(super) memo: &'a mut PairMemo,
    pub(super) scratch: &'a mut Scratch,
    pub(super) ticker: &'a mut Ticker<'w>,
}

impl PrefixReader<'_, '_> {
    /// The number of ids of the pretoken `prefixes.start..end` of a text.
    pub(super) fn count(&mut self, prefixes: &mut Prefixes, text: &[u8], end: usize) -> Result<usize> {
        match self.model {
            PretokenModel::Tokens(matcher) => {
                prefixes.extend((&matcher, self.memo), text, end, self.ticker)?;
                let pretoken = &text[prefixes.start..end];
                if self.taken_whole(pretoken).is_some() {
                    return Ok(1);
                }
                Ok(prefixes.last.get(pretoken.len().wrapping_sub(1)).map_or(0, |&(_, count)| count as usize))
            }
            PretokenModel::Again => {
                self.encode(&text[prefixes.start..end])?;
                Ok(self.scratch.ids.len())
            }
        }
    }

    /// Have the last `window` prefixes of a pretoken, which may go on after the text, more than `limit` ids each?
    pub(super) fn are_over(
        &mut self,
        prefixes: &mut Prefixes,
        text: &[u8],
        limit: usize,
        window: usize,
    ) -> Result<bool> {
        let PretokenModel::Tokens(matcher) = self.model else { return Ok(false) };
        prefixes.extend((&matcher, self.memo), text, text.len(), self.ticker)?;
        let last = prefixes.last.len().checked_sub(window).map(|from| &prefixes.last[from..]);
        Ok(last.is_some_and(|last| last.iter().all(|&(_, count)| count as usize > limit)))
    }

    /// Appends the ids of the pretoken `prefixes.start..end` of a text.
    pub(super) fn ids(
        &mut self,
        prefixes: &mut Prefixes,
        text: &[u8],
        end: usize,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let PretokenModel::Tokens(matcher) = self.model else {
            self.encode(&text[prefixes.start..end])?;
            return Ok(try_alloc::extend(ids, &self.scratch.ids)?);
        };
        prefixes.extend((&matcher, self.memo), text, end, self.ticker)?;
        let pretoken = &text[prefixes.start..end];
        if let Some(id) = self.taken_whole(pretoken) {
            return Ok(try_alloc::push(ids, id)?);
        }
        let from = ids.len();
        let mut length = pretoken.len();
        while length > 0 {
            let (token, _) = prefixes.last[length - 1];
            try_alloc::push(ids, matcher.id(token))?;
            length -= matcher.length(token);
        }
        ids[from..].reverse();
        Ok(())
    }

    fn taken_whole(&self, pretoken: &[u8]) -> Option<TokenId> {
        self.engine.model().as_bpe()?.taken_whole(pretoken, self.engine.vocabulary())
    }

    fn encode(&mut self, pretoken: &[u8]) -> Result<()> {
        self.scratch.wants_ends = false;
        let model: &Model = self.engine.model();
        model.encode(pretoken, self.engine.vocabulary(), self.scratch, self.ticker)
    }
}

impl Prefixes {
    /// The length up to which nothing that is appended to the pretoken changes its tokens, and the number of tokens
    /// up to there: all encodings that a longer pretoken may go on from agree so far.
    ///
    /// A token that ends after the pretoken ends begins at one of its last places, no farther back than the longest
    /// token reaches. So a longer pretoken begins with the encoding of a prefix that ends at one of these places.
    /// Cost: that of walking back from all of them until they meet.
    pub(super) fn settled(&self, matcher: &Matcher<'_>) -> (usize, usize) {
        let length = self.last.len();
        let count = |place: usize| if place == 0 { 0 } else { self.last[place - 1].1 as usize };
        let first = (length + 1).saturating_sub(matcher.longest_length());
        // The places, the last one first; each walks back to the end of the encoding before its last token.
        let mut places: BinaryHeap<usize> = (first..=length).collect();
        while let Some(place) = places.pop() {
            while places.peek() == Some(&place) {
                places.pop();
            }
            if places.is_empty() || place == 0 {
                return (place, count(place));
            }
            places.push(place - matcher.length(self.last[place - 1].0));
        }
        (0, 0)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        8 * self.last.capacity()
    }
}
