//! Added tokens: entries of the vocabulary that are matched whole, before anything else.
use crate::ids::TokenId;

/// A token that is matched whole in the text, before pre-tokenization.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the flags of the field's formats
pub struct AddedToken {
    /// Its id.
    pub id: TokenId,
    /// Its literal.
    pub content: String,
    /// Control entry: text produces it only where the caller says so.
    pub is_special: bool,
    /// Matches only where neither neighbour is a word character.
    pub single_word: bool,
    /// Takes the white space before it into itself.
    pub lstrip: bool,
    /// Takes the white space after it into itself.
    pub rstrip: bool,
    /// Is normalized like the text and looked for in normalized text, after all tokens that are not.
    pub normalized: bool,
}

impl AddedToken {
    /// A special token that is matched as it stands.
    pub fn special(id: TokenId, content: impl Into<String>) -> Self {
        Self { id, content: content.into(), is_special: true, ..Self::default() }
    }
}
