//! What tells how the prefixes and suffixes of one pretoken are encoded.
//!
//! In: an engine. Out: its tables of tokens, where its merges are canonical, with a memory for the pairs of tokens
//! that were asked for.
use tokenmill_kernels::try_alloc;

use crate::engine::Engine;
use crate::error::Result;
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

/// What tells the encodings of the prefixes and suffixes of a pretoken.
#[derive(Debug, Clone, Copy)]
pub(super) enum PretokenModel<'a> {
    /// Canonical merges.
    Tokens(Matcher<'a>),
    /// Each is encoded anew.
    Again,
}

impl<'a> PretokenModel<'a> {
    /// For the model of an engine.
    ///
    /// # Errors
    /// Those of the watch.
    pub(super) fn of(engine: &'a Engine, ticker: &mut Ticker<'_>) -> Result<Self> {
        match engine.model().as_bpe().and_then(|model| model.canonical()) {
            Some(canonical) => Ok(Self::Tokens(canonical.matcher(engine.vocabulary(), ticker)?)),
            None => Ok(Self::Again),
        }
    }
}

/// Remembers for pairs of tokens whether they stay apart: a text asks for the same ones again and again.
#[derive(Debug, Default, Clone)]
pub(super) struct PairMemo {
    /// A pair and the answer in one word, at a place that depends on the pair.
    answers: Vec<u64>,
}

impl PairMemo {
    const BITS: u32 = 12;
    /// No pair: symbols have less than 32 bits each.
    const NOTHING: u64 = u64::MAX;

    pub(super) fn reserve(&mut self) -> Result<()> {
        if self.answers.is_empty() {
            self.answers = try_alloc::filled(Self::NOTHING, 1 << Self::BITS)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn stays_apart(&mut self, matcher: &Matcher<'_>, left: u32, right: u32) -> bool {
        let pair = u64::from(left) << 32 | u64::from(right) << 1;
        let place = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS);
        let Some(answer) = self.answers.get_mut(place as usize) else {
            return matcher.stays_apart(left, right);
        };
        if *answer & !1 != pair {
            *answer = pair | u64::from(matcher.stays_apart(left, right));
        }
        *answer & 1 == 1
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        8 * self.answers.capacity()
    }
}
