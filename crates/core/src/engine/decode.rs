//! Ids to bytes: a slice of the arena for each, or their tokens through the steps of a decoder.
use std::borrow::Cow;

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
    /// U+FFFD; where tokens go through steps, a token of this text.
    Replace,
}

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Leave special tokens out.
    pub skip_special: bool,
    /// What an id that does not exist becomes.
    pub undefined: Undefined,
}

const REPLACEMENT: &str = "\u{fffd}";

impl Engine {
    /// The bytes that `ids` stand for; they need not be UTF-8 where each id stands for its own, and
    /// are the UTF-8 of the text where tokens go through steps.
    ///
    /// # Errors
    /// A vocabulary error naming the id and its position, under [`Undefined::Error`]; a pattern
    /// error where a step exceeds its limit.
    pub fn decode(&self, ids: &[TokenId], options: DecodeOptions, watch: &dyn Watch) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let mut ticker = Ticker::new(watch);
        let Some(chain) = &self.parts.chain else {
            for (slice, part) in ids.chunks(8192).enumerate() {
                for (i, &id) in part.iter().enumerate() {
                    self.append_bytes(id, slice * 8192 + i, options, &mut bytes)?;
                }
                ticker.spend(part.len())?;
            }
            return Ok(bytes);
        };
        let mut row = chain.start();
        for (position, &id) in ids.iter().enumerate() {
            if let Some(token) = self.token_to_decode(id, position, options)? {
                row.token(&token, &mut bytes, &mut ticker)?;
            }
        }
        row.finish(&mut bytes, &mut ticker)?;
        Ok(bytes)
    }

    /// The bytes of the id at a position go behind `bytes`.
    #[inline]
    pub(super) fn append_bytes(
        &self,
        id: TokenId,
        position: usize,
        options: DecodeOptions,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        match self.parts.vocabulary.decoded(id) {
            Some(_) if options.skip_special && self.parts.vocabulary.is_special(id) => {}
            Some(decoded) => bytes.extend_from_slice(decoded),
            None => match options.undefined {
                Undefined::Skip => {}
                Undefined::Replace => bytes.extend_from_slice(REPLACEMENT.as_bytes()),
                Undefined::Error => return Err(undefined(id, position)),
            },
        }
        Ok(())
    }

    /// The token that the id at a position puts into the row, if any.
    #[inline]
    pub(super) fn token_to_decode(
        &self,
        id: TokenId,
        position: usize,
        options: DecodeOptions,
    ) -> Result<Option<Cow<'_, str>>> {
        match self.parts.vocabulary.as_written(id) {
            Some(_) if options.skip_special && self.parts.vocabulary.is_special(id) => Ok(None),
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
