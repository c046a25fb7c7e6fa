//! What tells how the prefixes and suffixes of one pretoken are encoded.
//!
//! In: an engine. Out: its tables of tokens, where its merges are canonical, with a memory for the pairs of tokens
//! that were asked for.
use tokenmill_kernels::try_alloc;

use crate::engine::Engine;
use crate::error::Result;
use crate::model::bpe::Matcher;
use crate::watch::Ticker;

/// How many bytes are read between two looks at the watch and at the memory for pairs.
pub(super) const BLOCK: usize = 1 << 12;

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
    /// A pair and the answer in one word, at a place that depends on the pair. As many as a power of two.
    answers: Vec<u64>,
    /// How many pairs were not found since the memo was made or grew.
    misses: usize,
}

impl PairMemo {
    /// The number of answers at first, and at most: 32 kB and 256 kB.
    const SIZES: (usize, usize) = (1 << 12, 1 << 15);
    /// No pair: symbols have less than 32 bits each.
    const NOTHING: u64 = u64::MAX;

    /// Makes the memo, or lets it grow if it is too small for the pairs that are asked for.
    pub(super) fn reserve(&mut self) -> Result<()> {
        let size = self.answers.len();
        if size == 0 {
            self.answers = try_alloc::filled(Self::NOTHING, Self::SIZES.0)?;
        } else if size < Self::SIZES.1 && self.misses > 8 * size {
            self.misses = 0;
            let answers = try_alloc::filled(Self::NOTHING, Self::SIZES.1)?;
            let known = std::mem::replace(&mut self.answers, answers);
            for answer in known.into_iter().filter(|&answer| answer != Self::NOTHING) {
                let place = self.place(answer & !1);
                self.answers[place] = answer;
            }
        }
        Ok(())
    }

    #[inline]
    fn place(&self, pair: u64) -> usize {
        // The high bits of the product depend on all bits of the pair.
        let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & self.answers.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn stays_apart(&mut self, matcher: &Matcher<'_>, left: u32, right: u32) -> bool {
        let pair = u64::from(left) << 32 | u64::from(right) << 1;
        let place = self.place(pair);
        let Some(answer) = self.answers.get_mut(place) else {
            return matcher.stays_apart(left, right);
        };
        if *answer & !1 != pair {
            *answer = pair | u64::from(matcher.stays_apart(left, right));
            self.misses += 1;
        }
        *answer & 1 == 1
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        8 * self.answers.capacity()
    }
}
