//! The decoder of a model: the bytes of each of its tokens, in one buffer addressed by offsets.
//!
//! Tokens are numbered in the order of their ids: such a number is a *symbol*. The model knows symbols alone.
use tokenmill_kernels::{U32Array, try_alloc};

use crate::engine::{DecodeOptions, Engine};
use crate::error::{Defect, Error, Result};
use crate::ids::TokenId;
use crate::watch::Ticker;

/// U+FFFD, which a decoder puts in place of a part of a character.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The ids and bytes of symbols.
#[derive(Debug, Clone)]
pub(super) struct TokenBytes {
    /// The id of each symbol, ascending.
    pub(super) ids: U32Array,
    /// Where the bytes of each symbol begin, and the end of the last.
    pub(super) offsets: U32Array,
    /// The bytes, four in a number, the first in its lowest bits.
    pub(super) packed: U32Array,
}

impl TokenBytes {
    /// Asks an engine for the bytes of ids, which are ascending. `before` has for each an id that stands before it in
    /// the corpus: a decoder may write a token otherwise at the start of a text.
    ///
    /// # Errors
    /// A vocabulary error for an id that does not exist; as [`Engine::decode`].
    pub(super) fn new(
        engine: &Engine,
        ids: Vec<TokenId>,
        before: &[TokenId],
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let (options, watch) = (DecodeOptions::default(), ticker.watch());
        let has_steps = engine.decoded_size(&[], options, watch)?.is_none();
        let (mut offsets, mut bytes) = (try_alloc::vec(ids.len() + 1)?, Vec::new());
        offsets.push(0);
        for (&id, &before) in ids.iter().zip(before) {
            let Some(own) = engine.vocabulary().decoded(id) else {
                let reason = "does not exist in this vocabulary; give the tokenizer that made the ids";
                return Err(Error::vocabulary(Some(id.into()), reason));
            };
            if has_steps {
                let (alone, both) = (
                    engine.decode(&[before], options, watch)?,
                    engine.decode(&[before, id], options, watch)?,
                );
                let after = both.strip_prefix(alone.as_slice()).unwrap_or(&both);
                let is_broken = after.windows(REPLACEMENT.len()).any(|part| part == REPLACEMENT);
                // A part of a character has its bytes, so that the character can be put together.
                try_alloc::extend(&mut bytes, if is_broken { own } else { after })?;
            } else {
                try_alloc::extend(&mut bytes, own)?;
            }
            let Ok(end) = u32::try_from(bytes.len()) else {
                return Err(Error::training(
                    "the tokens of the corpus have more than 2^32 bytes; train on less",
                ));
            };
            offsets.push(end);
            ticker.spend(own.len() + 16)?;
        }
        let padded = bytes.len().next_multiple_of(4);
        try_alloc::resize(&mut bytes, padded, 0)?;
        Ok(Self { ids: ids.into(), offsets: offsets.into(), packed: U32Array::from_bytes(&bytes)? })
    }

    /// The number of symbols.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The symbol of an id.
    pub(super) fn symbol(&self, id: TokenId) -> Option<u32> {
        let (mut from, mut to) = (0, self.ids.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.ids.get(middle)? < id { from = middle + 1 } else { to = middle }
        }
        (self.ids.get(from)? == id).then_some(from as u32)
    }

    /// The id of a symbol.
    ///
    /// # Errors
    /// A format error for a symbol that does not exist: the model is damaged.
    pub(super) fn id(&self, symbol: u32) -> Result<TokenId> {
        self.ids.get(symbol as usize).ok_or_else(|| {
            let reason = format!("token {symbol} does not exist among {}; the model is damaged", self.len());
            Error::format(Defect::Inconsistent, reason).at("successors")
        })
    }

    /// Appends the bytes of a symbol.
    ///
    /// # Errors
    /// A format error for bytes that do not exist: the model is damaged.
    pub(super) fn append(&self, symbol: u32, to: &mut Vec<u8>) -> Result<()> {
        let at = symbol as usize;
        let bounds = self.offsets.get(at).zip(self.offsets.get(at + 1));
        let Some((start, end)) = bounds.map(|(start, end)| (start as usize, end as usize)) else {
            self.id(symbol)?;
            return Err(damaged_token(at));
        };
        if start > end || end > 4 * self.packed.len() {
            return Err(damaged_token(at));
        }
        try_alloc::reserve(to, end - start)?;
        for place in start..end {
            let word = self.packed.get(place / 4).ok_or_else(|| damaged_token(at))?;
            to.push(word.to_le_bytes()[place % 4]);
        }
        Ok(())
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.ids.memory() + self.offsets.memory() + self.packed.memory()
    }
}

fn damaged_token(index: usize) -> Error {
    let reason = "these are no bytes of the decoder; the model is damaged";
    Error::format(Defect::Inconsistent, reason).at_index(index).at("token_offsets")
}
