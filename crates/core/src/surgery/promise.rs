//! What a change promises, as data and in words.
use std::fmt;

use crate::byte_alphabet::byte_token;
use crate::description::{Alphabet, BpeDescription, ModelDescription};
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
        /// Pretokens have at most this many characters: beyond, SentencePiece rounds sums at places that depend on
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

/// What a text holds that becomes a token: its bytes without the marks of words, or the byte that it stands for.
pub(super) fn in_texts(model: &ModelDescription, token: &[u8]) -> Vec<Vec<u8>> {
    let (prefix, suffix) = match model {
        ModelDescription::WordPiece(model) => (Some(&model.continuing_prefix), None),
        ModelDescription::Bpe(BpeDescription { alphabet, continuing_prefix, .. }) => {
            let end = match alphabet {
                Alphabet::Chars { end_of_word } => end_of_word.as_ref().map(|mark| &mark.symbol),
                Alphabet::Bytes => None,
            };
            (continuing_prefix.as_ref(), end)
        }
        ModelDescription::WordLevel(_) | ModelDescription::Unigram(_) => (None, None),
    };
    let bare = prefix.and_then(|mark| token.strip_prefix(mark.as_bytes())).unwrap_or(token);
    let bare = suffix.and_then(|mark| bare.strip_suffix(mark.as_bytes())).unwrap_or(bare);
    let byte = byte_token(token);
    let has_fallback = model.as_bpe().is_some_and(|model| model.byte_fallback);
    let byte = byte.filter(|_| has_fallback).map(|byte| vec![byte]);
    [Some(bare.to_vec()), byte].into_iter().flatten().filter(|bytes| !bytes.is_empty()).collect()
}
