//! The ids of a text that grows, word by word, for tokenizers whose stages look at more than a pretoken.
//!
//! In: the text, whenever it has grown. Out: the ids up to the last place where any text may be cut, and those of the
//! rest. Only the rest is encoded again.
use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::engine::{Engine, Special, Text, UntrustedRanges, last_word_cut};
use crate::error::{Error, Place, Result};
use crate::ids::TokenId;
use crate::watch::Watch;

/// The words of a text that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// The ids up to the last cut.
    ids: Vec<TokenId>,
    cuts: Vec<Cut>,
    /// The ids of the rest.
    rest: Vec<TokenId>,
}

/// A place where the text may be cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    at: usize,
    /// The number of ids before it.
    ids: usize,
}

/// The characters after a cut that make it one: a space and a letter.
const SEEN: usize = 2;

impl Words {
    /// Reads the text from the last cut on.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        (engine, special): (&Engine, &Special),
        watch: &dyn Watch,
    ) -> Result<()> {
        let from = self.stable().0;
        if let Some(at) = last_word_cut(text, from + 1) {
            encode_part(text, (from, at), (engine, special), watch, &mut self.ids)?;
            try_alloc::push(&mut self.cuts, Cut { at, ids: self.ids.len() })?;
        }
        self.rest.clear();
        encode_part(text, (self.stable().0, text.len()), (engine, special), watch, &mut self.rest)
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
        while self.cuts.last().is_some_and(|cut| cut.at + SEEN > length) {
            self.cuts.pop();
        }
        self.ids.truncate(self.stable().1);
        self.rest.clear();
    }

    /// A number of bytes and of ids that no further text changes.
    pub(super) fn stable(&self) -> (usize, usize) {
        self.cuts.last().map_or((0, 0), |cut| (cut.at, cut.ids))
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * (self.ids.capacity() + self.rest.capacity()) + size_of::<Cut>() * self.cuts.capacity()
    }
}

/// Appends the ids of the part of a text between two cuts, or from the last one on. The part is encoded behind the
/// letter before it, so that nothing takes it for the start of a text, and the ids of that letter are left out.
fn encode_part(
    text: &[u8],
    (from, to): (usize, usize),
    (engine, special): (&Engine, &Special),
    watch: &dyn Watch,
    ids: &mut Vec<TokenId>,
) -> Result<()> {
    let start = from.saturating_sub(1);
    let recognizer = engine.recognizer(special)?;
    let encode = |part: &[u8], ids: &mut Vec<TokenId>| {
        let (part, trusted) = (Text::Bytes(part), UntrustedRanges::none());
        let done = engine.encode_ids(part, &recognizer, trusted, Prefetcher::default(), watch, ids);
        done.map_err(|error| {
            error.placed(|place| if let Place::Byte(at) = place { Place::Byte(at + start) } else { place })
        })
    };
    let first = ids.len();
    encode(&text[start..to], ids)?;
    if start < from {
        let mut letter = Vec::new();
        encode(&text[start..from], &mut letter)?;
        if ids[first..].starts_with(&letter) {
            ids.drain(first..first + letter.len());
        } else {
            return Err(Error::internal("a text was cut where its ids go on"));
        }
    }
    Ok(())
}
