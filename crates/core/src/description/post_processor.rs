//! What is put around ids, and what is done to their offsets.
use crate::ids::TokenId;

/// A step after the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostProcessor {
    /// Special tokens and sequences by a template.
    Template(Template),
    /// `[CLS] A [SEP] B [SEP]`, type 1 for B and what follows it.
    Bert {
        /// What closes a sequence, with its id.
        sep: (String, TokenId),
        /// What opens the text, with its id.
        cls: (String, TokenId),
    },
    /// `<s> A </s> </s> B </s>`, type 0 throughout.
    Roberta {
        /// What closes a sequence, with its id.
        sep: (String, TokenId),
        /// What opens the text, with its id.
        cls: (String, TokenId),
        /// Offsets leave out white space at the ends of tokens.
        trim_offsets: bool,
        /// A single leading space was put there, and is no part of the text.
        add_prefix_space: bool,
    },
    /// Byte-level offsets.
    ByteLevel {
        /// Offsets leave out white space at the ends of tokens.
        trim_offsets: bool,
        /// A single leading space was put there, and is no part of the text.
        add_prefix_space: bool,
    },
}

/// Sequences and special tokens in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// For one sequence.
    pub single: Vec<TemplatePiece>,
    /// For two.
    pub pair: Vec<TemplatePiece>,
    /// What the names of special tokens stand for.
    pub special_tokens: Vec<TemplateToken>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    /// A sequence: the first, or the second where `second`.
    Sequence {
        /// The second one.
        second: bool,
        /// The type of its ids.
        type_id: u32,
    },
    /// A special token by its name.
    Special {
        /// The name.
        name: String,
        /// The type of its ids.
        type_id: u32,
    },
}

/// What a name in a template stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateToken {
    /// The name.
    pub name: String,
    /// The ids.
    pub ids: Vec<TokenId>,
    /// How each is written.
    pub tokens: Vec<String>,
}
