//! The ids of a text that grows, word by word, for tokenizers whose stages look at more than a pretoken.
//!
//! In: the text, whenever it has grown. Out: the ids up to the last place where any text may be cut, and those of the
//! rest. Only the rest is encoded again.
use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::engine::{Engine, Special, Text, UntrustedRanges};
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
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    at: usize,
    /// Where the character before it begins.
    before: usize,
    /// The length of the text that makes it a cut.
    seen: usize,
    /// The number of ids before it.
    ids: usize,
}

impl Words {
    /// Reads the text from the last cut on.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        (engine, special): (&Engine, &Special),
        watch: &dyn Watch,
    ) -> Result<()> {
        let last = self.last();
        // Bytes that are no text are not cut, nor what is before them.
        let valid_from = match std::str::from_utf8(&text[last.at..]) {
            Ok(rest) => Some((rest, last.at)),
            Err(_) => None,
        };
        if let Some((rest, start)) = valid_from
            && let Some(cut) = engine.last_text_cut(rest)
        {
            let (at, before, seen) = (start + cut.at, start + cut.before, start + cut.seen);
            encode_part(text, last, at, (engine, special), watch, &mut self.ids)?;
            try_alloc::push(&mut self.cuts, Cut { at, before, seen, ids: self.ids.len() })?;
        }
        self.rest.clear();
        encode_part(text, self.last(), text.len(), (engine, special), watch, &mut self.rest)
    }

    fn last(&self) -> Cut {
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
        while self.cuts.last().is_some_and(|cut| cut.seen > length) {
            self.cuts.pop();
        }
        self.ids.truncate(self.stable().1);
        self.rest.clear();
    }

    /// A number of bytes and of ids that no further text changes.
    pub(super) fn stable(&self) -> (usize, usize) {
        (self.last().at, self.last().ids)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * (self.ids.capacity() + self.rest.capacity()) + size_of::<Cut>() * self.cuts.capacity()
    }
}

/// Appends the ids of the part of a text between two cuts, or from the last one on. The part is encoded behind the
/// character before it, so that nothing takes it for the start of a text, and the ids of that character are left out.
fn encode_part(
    text: &[u8],
    from: Cut,
    to: usize,
    (engine, special): (&Engine, &Special),
    watch: &dyn Watch,
    ids: &mut Vec<TokenId>,
) -> Result<()> {
    let recognizer = engine.recognizer(special)?;
    let encode = |part: &[u8], ids: &mut Vec<TokenId>| {
        let (part, trusted) = (Text::Bytes(part), UntrustedRanges::none());
        let done = engine.encode_ids(part, &recognizer, trusted, Prefetcher::default(), watch, ids);
        let placed = |place| if let Place::Byte(at) = place { Place::Byte(at + from.before) } else { place };
        done.map_err(|error| error.placed(placed))
    };
    let first = ids.len();
    encode(&text[from.before..to], ids)?;
    if from.before < from.at {
        let mut before = Vec::new();
        encode(&text[from.before..from.at], &mut before)?;
        if !ids[first..].starts_with(&before) {
            return Err(Error::internal("a text was cut where its ids go on"));
        }
        ids.drain(first..first + before.len());
    }
    Ok(())
}
