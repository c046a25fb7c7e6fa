//! Text to ids, and how many ids: the entries of a call, which choose between one thread and several.
use tokenmill_kernels::{Prefetcher, ReorderBuffer};

use super::Engine;
use super::input::{Special, Text};
use super::pipeline::ById;
use super::recognizer::Recognizer;
use super::sink::{Counter, IdSink};
use crate::error::Result;
use crate::ids::TokenId;
use crate::threads;
use crate::watch::Watch;

impl Engine {
    /// Encodes a text and appends its ids.
    ///
    /// # Errors
    /// A special-token error under [`Special::Raise`], or for a literal in [`Special::Only`] that
    /// is no special token; an unknown-token error for what the vocabulary cannot spell; a
    /// pattern error when the split exceeds its limit; cancellation. Cost: n log n at worst.
    pub fn encode(
        &self,
        text: Text<'_>,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let recognizer = self.recognizer(special)?;
        let text = text.validated();
        let threads = threads::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let rows = ReorderBuffer::append_to(std::mem::take(ids));
            let (row, put) = (|| rows.spare(), |unit, row| rows.put(unit, row));
            let done = self.encode_on_threads(text, &recognizer, threads, watch, row, put);
            *ids = rows.finish()?;
            return done.map(drop);
        }
        self.encode_ids(text, &recognizer, Prefetcher::default(), watch, ids)
    }

    /// How many ids [`Self::encode`] gives; none are stored.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count(
        &self,
        text: Text<'_>,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let recognizer = self.recognizer(special)?;
        let text = text.validated();
        let threads = threads::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let count = |_, counter: Counter| counter.0;
            let counts =
                self.encode_on_threads(text, &recognizer, threads, watch, Counter::default, count)?;
            return Ok(counts.iter().sum());
        }
        let mut counter = Counter::default();
        self.encode_ids(text, &recognizer, Prefetcher::default(), watch, &mut counter)?;
        Ok(counter.0)
    }

    /// What finds the added tokens under a policy, for all texts of a call.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    pub fn recognizer(&self, special: &Special) -> Result<Recognizer<'_>> {
        let stages = &self.stages;
        Recognizer::new(
            (&stages.added_in_raw, &stages.added_in_normalized),
            &stages.special,
            &stages.vocabulary,
            special,
        )
    }

    /// Gives the ids of a text to a sink, on this thread; `next` is prefetched meanwhile.
    pub(super) fn encode_ids<S: IdSink>(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        next: Prefetcher,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        self.encode_into(text, recognizer, next, watch, &mut ById(sink))
    }
}
