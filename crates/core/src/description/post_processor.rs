//! The steps that add tokens around the ids and adjust offsets.
use crate::ids::TokenId;
use tokenmill_kernels::sorting;

/// A step after the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostProcessor {
    /// Adds special tokens by a template.
    Template(Template),
    /// `[CLS] A [SEP] B [SEP]`, type 1 for B and its `[SEP]`.
    Bert {
        /// The separator token and its id.
        sep: (String, TokenId),
        /// The first token and its id.
        cls: (String, TokenId),
    },
    /// `<s> A </s> </s> B </s>`, type 0 throughout.
    Roberta {
        /// The separator token and its id.
        sep: (String, TokenId),
        /// The first token and its id.
        cls: (String, TokenId),
        /// Offsets exclude white space at the ends of tokens.
        trim_offsets: bool,
        /// A single leading space was added by the pre-tokenizer and is not part of the text.
        add_prefix_space: bool,
    },
    /// Adjusts the offsets of byte-level tokens.
    ByteLevel {
        /// Offsets exclude white space at the ends of tokens.
        trim_offsets: bool,
        /// A single leading space was added by the pre-tokenizer and is not part of the text.
        add_prefix_space: bool,
    },
}

/// A template: sequences and special tokens in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// The template for one sequence.
    pub single: Vec<TemplatePiece>,
    /// The template for two sequences.
    pub pair: Vec<TemplatePiece>,
    /// The ids of the special tokens that the templates name.
    pub special_tokens: Vec<TemplateToken>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    /// A sequence of ids.
    Sequence {
        /// The second sequence, not the first.
        second: bool,
        /// The type id of its ids.
        type_id: u32,
    },
    /// A special token by its name.
    Special {
        /// The name.
        name: String,
        /// The type id of its ids.
        type_id: u32,
    },
}

/// The ids of a special token in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateToken {
    /// The name.
    pub name: String,
    /// The ids.
    pub ids: Vec<TokenId>,
    /// The written form of each id.
    pub tokens: Vec<String>,
}

impl TemplateToken {
    /// Sorts tokens by their names, the order in which a template keeps them.
    pub fn sort_by_name(tokens: &mut [Self]) {
        sorting::sort_by(tokens, |a, b| a.name.cmp(&b.name));
    }
}
