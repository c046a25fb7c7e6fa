//! Ids to bytes: a slice of the arena for each.
use crate::error::{Kind, Result};
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
    /// U+FFFD.
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

impl Engine {
    /// The bytes that `ids` stand for; they need not be UTF-8.
    ///
    /// # Errors
    /// A vocabulary error naming the id and its position, under [`Undefined::Error`].
    pub fn decode(&self, ids: &[TokenId], options: DecodeOptions, watch: &dyn Watch) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let mut ticker = Ticker::new(watch);
        for (slice, part) in ids.chunks(8192).enumerate() {
            for (i, &id) in part.iter().enumerate() {
                match self.parts.vocabulary.decoded(id) {
                    Some(_) if options.skip_special && self.is_special(id) => {}
                    Some(decoded) => bytes.extend_from_slice(decoded),
                    None => match options.undefined {
                        Undefined::Skip => {}
                        Undefined::Replace => bytes.extend_from_slice("\u{fffd}".as_bytes()),
                        Undefined::Error => {
                            return Err(Kind::Vocabulary {
                                id: Some(id.into()),
                                position: Some(slice * 8192 + i),
                                reason: "does not exist in this vocabulary; pass undefined=\"skip\" or \
                                         \"replace\" to decode without it"
                                    .to_owned(),
                            }
                            .into());
                        }
                    },
                }
            }
            ticker.spend(part.len())?;
        }
        Ok(bytes)
    }

    fn is_special(&self, id: TokenId) -> bool {
        self.parts.vocabulary.added_by_id(id).is_some_and(|token| token.is_special)
    }
}
