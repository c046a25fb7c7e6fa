//! Whole pretokens: each is a token or unknown.
//!
//! In: one pretoken. Out: one id, that of the token with its bytes or of the unknown token. A pretoken must never
//! be divided.
use crate::description::WordLevelDescription;
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::output::Output;
use crate::model::unknown::unknown_pretoken;
use crate::vocabulary::Vocabulary;

/// A compiled model of whole pretokens. Immutable.
#[derive(Debug)]
pub struct WordLevel {
    unk: Option<TokenId>,
}

impl WordLevel {
    /// Compiles the model of a valid description.
    pub fn new(description: &WordLevelDescription) -> Self {
        Self { unk: description.unk }
    }

    /// Writes the id of a pretoken.
    ///
    /// # Errors
    /// An unknown-token error that names the pretoken, if it is no token and there is no unknown token.
    #[inline]
    pub(super) fn encode(
        &self,
        pretoken: &[u8],
        vocabulary: &Vocabulary,
        mut output: Output<'_>,
    ) -> Result<()> {
        if pretoken.is_empty() {
            return Ok(());
        }
        let id = vocabulary.find_in_text(pretoken).or(self.unk);
        let id = id.ok_or_else(|| unknown_pretoken(pretoken))?;
        Ok(output.push(id, to_u32(pretoken.len()))?)
    }
}
