//! Added tokens: vocabulary entries that are matched whole, before pre-tokenization.
use crate::ids::TokenId;
use tokenmill_kernels::sorting;

/// A token that is matched whole in the text, before pre-tokenization.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the flags of the field's formats
pub struct AddedToken {
    /// The token's id.
    pub id: TokenId,
    /// The literal that is searched for.
    pub content: String,
    /// A control entry: text produces it only if the caller allows that.
    pub is_special: bool,
    /// Matches only if no word character precedes or follows.
    pub single_word: bool,
    /// The match includes the white space before it.
    pub lstrip: bool,
    /// The match includes the white space after it.
    pub rstrip: bool,
    /// The literal is normalized and searched for in normalized text, after all tokens that are not.
    pub normalized: bool,
}

impl AddedToken {
    /// A special token without flags, matched in raw text.
    pub fn special(id: TokenId, content: impl Into<String>) -> Self {
        Self { id, content: content.into(), is_special: true, ..Self::default() }
    }

    /// Sorts tokens by their ids; those that share one keep their order.
    pub fn sort_by_id(tokens: &mut [Self]) {
        sorting::sort_by_key(tokens, |token| token.id);
    }
}
