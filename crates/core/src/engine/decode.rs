//! Ids to bytes: a slice of the arena for each, or their tokens through the steps of a decoder.
use std::borrow::Cow;

use tokenmill_kernels::{pages, try_alloc};

use crate::decoded::DecodedSize;
use crate::error::{Error, Kind, Result};
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};

use super::Engine;

/// What an id that does not exist becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// An error.
    #[default]
    Error,
    /// Nothing.
    Skip,
    /// U+FFFD; if the tokenizer decodes by steps, a token with this text.
    Replace,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Leave special tokens out.
    pub skip_special: bool,
    /// The text for an id that does not exist, under [`Undefined`].
    pub undefined: Undefined,
}

const REPLACEMENT: &str = "\u{fffd}";

impl DecodeOptions {
    /// The text for an id that does not exist, under [`Undefined`].
    #[cold]
    fn undefined_at(self, slice_of_ids: &[TokenId], slice: usize, position: usize) -> Result<&'static str> {
        match self.undefined {
            Undefined::Skip => Ok(""),
            Undefined::Replace => Ok(REPLACEMENT),
            Undefined::Error => Err(undefined(slice_of_ids[position], slice * SLICE + position)),
        }
    }
}

/// The number of ids that are decoded between two polls of the watch.
const SLICE: usize = 8192;

impl Engine {
    /// The bytes that `ids` stand for. If each id stands for its own bytes, they need not be UTF-8; if tokens go
    /// through steps, they are the UTF-8 of the text.
    ///
    /// # Errors
    /// A vocabulary error naming the id and its position, under [`Undefined::Error`]; a pattern
    /// error where a step exceeds its limit.
    pub fn decode(&self, ids: &[TokenId], options: DecodeOptions, watch: &dyn Watch) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.decode_counted(ids, options, &mut Ticker::new(watch), &mut bytes)?;
        Ok(bytes)
    }

    /// As [`Self::decode`], appended to `bytes`, with the work counted by the caller's ticker.
    pub(super) fn decode_counted(
        &self,
        ids: &[TokenId],
        options: DecodeOptions,
        ticker: &mut Ticker<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(size) = self.measure_decoded(ids, options, ticker)? {
            let start = bytes.len();
            pages::extend_zeros(bytes, size.bytes)?;
            return self.copy_decoded(ids, options, ticker, &mut bytes[start..]);
        }
        let Some(chain) = &self.stages.chain else {
            return Err(Error::internal("ids with neither a size nor steps"));
        };
        let mut row = chain.start();
        for (position, &id) in ids.iter().enumerate() {
            if let Some(token) = self.token_to_decode(id, position, options)? {
                row.token(&token, bytes, ticker)?;
            }
        }
        row.finish(bytes, ticker)
    }

    /// The length of the token of each id, in bytes: that of [`Vocabulary::decoded`](crate::vocabulary::Vocabulary).
    ///
    /// # Errors
    /// A vocabulary error for an id that does not exist; errors of the watch; out of memory.
    pub fn token_lengths(&self, ids: &[TokenId], watch: &dyn Watch) -> Result<Vec<i64>> {
        let (vocabulary, mut ticker) = (&self.stages.vocabulary, Ticker::new(watch));
        let mut lengths = try_alloc::vec(ids.len())?;
        for (position, &id) in ids.iter().enumerate() {
            let Some(bytes) = vocabulary.decoded(id) else {
                let reason = "does not exist in this vocabulary, and has no length".to_owned();
                return Err(Kind::Vocabulary { id: Some(id.into()), position: Some(position), reason }.into());
            };
            lengths.push(bytes.len() as i64);
            ticker.spend(1)?;
        }
        Ok(lengths)
    }

    /// How many bytes [`Self::decode`] gives; `None` where tokens go through steps, and only decoding
    /// can tell.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decoded_size(
        &self,
        ids: &[TokenId],
        options: DecodeOptions,
        watch: &dyn Watch,
    ) -> Result<Option<DecodedSize>> {
        self.measure_decoded(ids, options, &mut Ticker::new(watch))
    }

    fn measure_decoded(
        &self,
        ids: &[TokenId],
        options: DecodeOptions,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<DecodedSize>> {
        if self.stages.chain.is_some() {
            return Ok(None);
        }
        let mut all = DecodedSize { bytes: 0, is_ascii: true };
        for (slice, part) in ids.chunks(SLICE).enumerate() {
            let undefined = |position| options.undefined_at(part, slice, position);
            let size =
                self.stages.vocabulary.decoded_tokens().measure(part, options.skip_special, undefined)?;
            all.bytes += size.bytes;
            all.is_ascii &= size.is_ascii;
            ticker.spend(part.len())?;
        }
        Ok(Some(all))
    }

    /// Writes what [`Self::decode`] gives to `bytes`, which are as many as [`Self::decoded_size`] says.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_to(
        &self,
        ids: &[TokenId],
        options: DecodeOptions,
        watch: &dyn Watch,
        bytes: &mut [u8],
    ) -> Result<()> {
        self.copy_decoded(ids, options, &mut Ticker::new(watch), bytes)
    }

    fn copy_decoded(
        &self,
        ids: &[TokenId],
        options: DecodeOptions,
        ticker: &mut Ticker<'_>,
        bytes: &mut [u8],
    ) -> Result<()> {
        let mut rest = bytes;
        for (slice, part) in ids.chunks(SLICE).enumerate() {
            let undefined = |position| options.undefined_at(part, slice, position);
            let tokens = self.stages.vocabulary.decoded_tokens();
            let written = tokens.copy(part, options.skip_special, undefined, rest)?;
            rest = &mut rest[written..];
            ticker.spend(part.len())?;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Error::internal("decoded bytes are fewer than was measured"))
        }
    }

    /// Appends the bytes of the id at a position.
    #[inline]
    pub(super) fn append_bytes(
        &self,
        id: TokenId,
        position: usize,
        options: DecodeOptions,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        match self.stages.vocabulary.decoded(id) {
            Some(_) if options.skip_special && self.stages.vocabulary.is_special(id) => {}
            Some(decoded) => try_alloc::extend(bytes, decoded)?,
            None => match options.undefined {
                Undefined::Skip => {}
                Undefined::Replace => try_alloc::extend(bytes, REPLACEMENT.as_bytes())?,
                Undefined::Error => return Err(undefined(id, position)),
            },
        }
        Ok(())
    }

    /// The token of the id at a position that goes into the steps, if any.
    #[inline]
    pub(super) fn token_to_decode(
        &self,
        id: TokenId,
        position: usize,
        options: DecodeOptions,
    ) -> Result<Option<Cow<'_, str>>> {
        match self.stages.vocabulary.as_written(id) {
            Some(_) if options.skip_special && self.stages.vocabulary.is_special(id) => Ok(None),
            Some(token) => Ok(Some(token)),
            None => match options.undefined {
                Undefined::Skip => Ok(None),
                Undefined::Replace => Ok(Some(Cow::Borrowed(REPLACEMENT))),
                Undefined::Error => Err(undefined(id, position)),
            },
        }
    }
}

#[cold]
pub(super) fn undefined(id: TokenId, position: usize) -> Error {
    Kind::Vocabulary {
        id: Some(id.into()),
        position: Some(position),
        reason: "does not exist in this vocabulary; pass undefined=\"skip\" or \"replace\" to decode \
                 without it"
            .to_owned(),
    }
    .into()
}
