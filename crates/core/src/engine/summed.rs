//! A sink for cached words whose ids may depend on the words before them (see [`RunningSum`]).
//!
//! In: words as they are cached, in the order of the text. Out: their ids, into a sink of ids.
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::model::unigram::{RunningSum, SumScratch, Unigram, WordSums};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::sink::{IdSink, SinkResult};

/// A sink of cached words before a sink of ids. The lookup gives it whole words: a batch ends after one.
pub(super) struct SummedWords<'a, 's, S> {
    sum: RunningSum<'a>,
    sink: &'s mut S,
    /// What went wrong; the ids after that are dropped.
    failed: Option<Error>,
}

impl<'a, 's, S: IdSink> SummedWords<'a, 's, S> {
    /// At the start of a text.
    pub(super) fn new(
        (unigram, vocabulary, sums): (&'a Unigram, &'a Vocabulary, &'a WordSums),
        scratch: &'a mut SumScratch,
        sink: &'s mut S,
    ) -> Self {
        Self { sum: RunningSum::new((unigram, vocabulary, sums), scratch), sink, failed: None }
    }

    /// Encodes a word that is not cached.
    ///
    /// # Errors
    /// Those of the model and of the sink.
    pub(super) fn encode(&mut self, word: &[u8], ticker: &mut Ticker<'_>) -> Result<()> {
        Ok(self.sink.push_ids(self.sum.encode(word, ticker)?)?)
    }

    /// What went wrong so far.
    ///
    /// # Errors
    /// Those of the model and of the sink.
    pub(super) fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl<S: IdSink> IdSink for SummedWords<'_, '_, S> {
    fn push_ids(&mut self, words: &[TokenId]) -> SinkResult {
        if self.failed.is_none() {
            // Cached words are short, so nobody waits for them.
            let ticker = &mut Ticker::new(&Unwatched);
            let sink = &mut *self.sink;
            self.failed = self.sum.replay(words, ticker, &mut |ids| Ok(sink.push_ids(ids)?)).err();
        }
        Ok(())
    }
}
