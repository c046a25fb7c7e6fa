//! The ids of a text that grows, word by word, for tokenizers whose stages look at more than a pretoken.
//!
//! In: the text, whenever it has grown. Out: the ids up to the last place where any text may be cut, and those of the
//! rest. Only the rest is encoded again.
use tokenmill_kernels::try_alloc;

use crate::engine::{Cut, Engine, Special, Text};
use crate::error::Result;
use crate::ids::TokenId;
use crate::watch::Watch;

use super::parts::PartEncoder;

/// The words of a text that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// The ids up to the last cut.
    ids: Vec<TokenId>,
    /// Where it was cut, and the number of ids before each.
    cuts: Vec<(Cut, usize)>,
    /// The ids of the rest.
    rest: Vec<TokenId>,
}

impl Words {
    /// Reads the text from the last cut on.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        (engine, special): (&Engine, &Special),
        watch: &dyn Watch,
    ) -> Result<()> {
        let (last, _) = self.last();
        let recognizer = &engine.recognizer(special)?;
        let encoder = PartEncoder { engine, recognizer, watch };
        // Bytes that are no text are not cut, nor what is before them.
        if let Ok(rest) = std::str::from_utf8(&text[last.at..])
            && let Some(cut) = engine.cuts(special).last_near_end(rest)
        {
            let start = last.at;
            let cut = Cut { at: start + cut.at, before: start + cut.before, seen: start + cut.seen };
            encoder.append(Text::Bytes(text), last, cut.at, &mut self.ids)?;
            try_alloc::push(&mut self.cuts, (cut, self.ids.len()))?;
        }
        self.rest.clear();
        encoder.append(Text::Bytes(text), self.last().0, text.len(), &mut self.rest)
    }

    fn last(&self) -> (Cut, usize) {
        self.cuts.last().copied().unwrap_or_default()
    }

    /// The number of ids, if the text ends here.
    pub(super) fn count(&self) -> usize {
        self.ids.len() + self.rest.len()
    }

    /// Appends the ids, if the text ends here.
    pub(super) fn append_ids(&self, ids: &mut Vec<TokenId>) -> Result<()> {
        try_alloc::extend(ids, &self.ids)?;
        Ok(try_alloc::extend(ids, &self.rest)?)
    }

    /// Forgets what followed a text, which must be read again.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.cuts.last().is_some_and(|(cut, _)| cut.seen > length) {
            self.cuts.pop();
        }
        self.ids.truncate(self.stable().1);
        self.rest.clear();
    }

    /// A number of bytes and of ids that no further text changes.
    pub(super) fn stable(&self) -> (usize, usize) {
        let (cut, ids) = self.last();
        (cut.at, ids)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * (self.ids.capacity() + self.rest.capacity()) + size_of::<(Cut, usize)>() * self.cuts.capacity()
    }
}
