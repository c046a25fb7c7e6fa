//! Whole pretokens: each is a token or unknown.
//!
//! Comes in: one pretoken. Goes out: one id, that of the token with its bytes or the unknown one.
use crate::description::WordLevel as Description;
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::unknown::unknown_pretoken;
use crate::vocabulary::Vocabulary;

/// A compiled model of whole pretokens. Immutable.
#[derive(Debug)]
pub struct WordLevel {
    unk: Option<TokenId>,
}

impl WordLevel {
    /// Compiles the model of a valid description.
    pub fn new(description: &Description) -> Self {
        Self { unk: description.unk }
    }

    /// Puts the id of a pretoken behind `ids`, and where it ends behind `ends`.
    ///
    /// # Errors
    /// An unknown-token error that names the pretoken, where it is no token.
    #[inline]
    pub fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        ids: &mut Vec<TokenId>,
        ends: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        if pretoken.is_empty() {
            return Ok(());
        }
        let id = vocabulary.find_in_text(pretoken).or(self.unk);
        ids.push(id.ok_or_else(|| unknown_pretoken(pretoken))?);
        if let Some(ends) = ends {
            ends.push(to_u32(pretoken.len()));
        }
        Ok(())
    }
}
