//! What a tokenizer is, as plain data: everything that gives it its meaning and nothing that
//! makes it fast.
//!
//! Formats read into a [`Description`] and write from one, so that a new format costs one
//! reader and one writer. `compile` turns it into an engine. Construction does not check
//! anything; [`Description::validate`] does, once, whoever made it.
mod tokens;
mod validate;

pub use tokens::TokenList;

use std::sync::Arc;

use crate::ids::TokenId;

/// A tokenizer, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Tokens matched in the text before anything else happens to it, ascending by id.
    pub added_tokens: Vec<AddedToken>,
    /// How ordinary text is cut into pretokens.
    pub split: Split,
    /// How a pretoken becomes ids.
    pub model: Bpe,
    /// Which ids play which part.
    pub roles: Roles,
}

/// A token that is matched whole in the text, before pre-tokenization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id.
    pub id: TokenId,
    /// Its literal.
    pub content: String,
    /// Control entry: text produces it only where the caller says so.
    pub is_special: bool,
}

/// How ordinary text is cut into pretokens. Nothing is ever dropped: matches are pretokens and
/// so is the text between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// Not at all: the whole text is one pretoken.
    Whole,
    /// At the matches of this regular expression (the dialect is described in `pattern`).
    Pattern(String),
}

/// Byte-pair encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bpe {
    /// What a pretoken is broken into before merging.
    pub alphabet: Alphabet,
    /// Ordinary tokens: bytes per id, shared with the engine. Added tokens are not among them.
    pub tokens: Arc<TokenList>,
    /// Which neighbours merge, and in which order.
    pub merges: Merges,
    /// A pretoken that is a token as it stands becomes that token, whatever merging would give.
    pub whole_pretokens: bool,
    /// What stands for a symbol that is not in the alphabet; without one that is an error.
    pub unk: Option<TokenId>,
}

/// The symbols that merging starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alphabet {
    /// The bytes of the UTF-8 text.
    Bytes,
    /// Its characters, with a mark for the end of each pretoken where the vocabulary has one.
    Chars {
        /// The mark.
        end_of_word: Option<EndOfWord>,
    },
}

/// The mark for the end of a pretoken in classical BPE. It decodes to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndOfWord {
    /// How it is written, `</w>` by custom.
    pub symbol: String,
    /// Where it stands.
    pub form: EndOfWordForm,
}

/// Where an end-of-word mark stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWordForm {
    /// It is a symbol of its own after the last character.
    Separate,
    /// It is glued to the last character: `t</w>` is one symbol.
    Suffix,
}

/// Which neighbours merge, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merges {
    /// These, lowest index first; equal ones leftmost first.
    Listed(Vec<Merge>),
    /// Any two tokens whose joined bytes are a token, lowest id of the result first (the rule
    /// of tiktoken, and of an ordered token list).
    ById,
}

/// Two neighbours that become one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The left one.
    pub left: TokenId,
    /// The right one.
    pub right: TokenId,
    /// What they become.
    pub result: TokenId,
}

/// Which ids play which part; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Begin of sequence.
    pub bos: Option<TokenId>,
    /// End of sequence.
    pub eos: Option<TokenId>,
    /// Padding.
    pub pad: Option<TokenId>,
}
