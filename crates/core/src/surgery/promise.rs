//! What a change promises, as data and in words.
use std::fmt;

use crate::ids::TokenId;

/// For which texts the new tokenizer gives the ids of the old one, mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The texts.
    pub condition: Condition,
    /// Old ids that were kept although nobody asked for them: kept tokens are made of them.
    pub also_kept: Vec<TokenId>,
}

/// A condition of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Every text.
    All,
    /// The texts whose old ids are all kept, and among which the unknown token is not.
    IdsKept {
        /// Pretokens have at most so many characters: beyond, SentencePiece rounds sums at places that depend on
        /// pieces which are not in the text. `None`: any number.
        longest: Option<usize>,
    },
    /// The texts that hold none of these, neither as they are written nor in a pretoken as the model sees it.
    Without(Vec<Vec<u8>>),
}

impl Promise {
    /// A promise for these texts.
    pub(super) fn of(condition: Condition) -> Self {
        Self { condition, also_kept: Vec::new() }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.condition {
            Condition::All => f.write_str("Every text has its old ids, mapped."),
            Condition::IdsKept { longest } => {
                f.write_str(
                    "Every text whose old ids are all kept, with no unknown token among them, has these ids, mapped",
                )?;
                match longest {
                    Some(longest) => write!(f, ", if no pretoken has more than {longest} characters."),
                    None => f.write_str("."),
                }
            }
            Condition::Without(texts) if texts.is_empty() => {
                f.write_str("Every text has its old ids, mapped.")
            }
            Condition::Without(texts) => write!(
                f,
                "Every text that does not hold the bytes of a new token has its old ids, mapped: none of {} byte strings \
                 may be in it, neither as it is written nor in a pretoken as the model sees it.",
                texts.len()
            ),
        }
    }
}
