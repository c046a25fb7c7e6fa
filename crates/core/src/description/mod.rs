//! What a tokenizer is, as plain data: everything that determines its results, and nothing that
//! makes it fast.
//!
//! Readers produce a [`Description`] and writers take one, so a new format costs one reader and one
//! writer. `compile` turns it into an engine. Constructing a description checks nothing;
//! [`Description::validate`] does, for every source.
mod added;
mod decoder;
mod hook;
mod hook_name;
mod limits;
mod merge_parts;
mod model;
mod normalizer;
mod post_processor;
mod pre_tokenizer;
mod special_tokens;
mod tokens;
mod validate;

pub use added::AddedToken;
pub use decoder::{Decoder, Decoding};
pub use hook_name::HookName;
pub use limits::{Padding, PaddingLength, Side, Truncation, TruncationStrategy};
pub(crate) use merge_parts::Lengths;
pub use merge_parts::MergeParts;
pub use model::{
    Alphabet, BpeDescription, EndOfWord, EndOfWordForm, Merge, Merges, ModelDescription, PieceKind,
    UnigramDescription, WordLevelDescription, WordPieceDescription,
};
pub use normalizer::{Normalizer, SentencePieceRules, UnicodeTables};
pub use post_processor::{PostProcessor, Template, TemplatePiece, TemplateToken};
pub use pre_tokenizer::{Behavior, Pattern, PreTokenizer, PrependScheme, Split};
pub use tokens::TokenList;

use crate::ids::TokenId;

/// The plain-data form of a tokenizer.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Tokens that are matched before anything else, ascending by id.
    pub added_tokens: Vec<AddedToken>,
    /// The steps that rewrite ordinary text, in order.
    pub normalizer: Vec<Normalizer>,
    /// The steps that cut normalized text into pretokens, in order; each refines the output of the
    /// one before.
    pub pre_tokenizer: Vec<PreTokenizer>,
    /// The model that turns a pretoken into ids.
    pub model: ModelDescription,
    /// The steps that add tokens around the ids and adjust offsets, in order.
    pub post_processor: Vec<PostProcessor>,
    /// How ids become text.
    pub decoding: Decoding,
    /// Truncation, for callers who ask for it.
    pub truncation: Option<Truncation>,
    /// Padding, for callers who ask for it.
    pub padding: Option<Padding>,
    /// The ids with a role, such as padding.
    pub roles: Roles,
    /// Defaults for options that a call does not set.
    pub defaults: CallDefaults,
}

impl Description {
    /// Byte-pair encoding alone: text is split, pretokens are merged, and ids decode to their bytes.
    pub fn of_bpe(split: &Split, model: BpeDescription) -> Self {
        Self {
            added_tokens: Vec::new(),
            normalizer: Vec::new(),
            pre_tokenizer: split.stages(),
            model: ModelDescription::Bpe(model),
            post_processor: Vec::new(),
            decoding: Decoding::Bytes,
            truncation: None,
            padding: None,
            roles: Roles::default(),
            defaults: CallDefaults::default(),
        }
    }

    /// The split, if splitting is the only step before the model.
    pub fn split(&self) -> Option<Split> {
        if self.normalizer.is_empty() { Split::of_stages(&self.pre_tokenizer) } else { None }
    }

    /// Does the model see the bytes of the text as letters of the byte alphabet?
    pub fn writes_letters(&self) -> bool {
        self.normalizer.contains(&Normalizer::ByteLevel)
            || self.pre_tokenizer.contains(&PreTokenizer::ByteAlphabet)
    }

    /// Does the model work on the bytes of the text, so that it can spell text that is not UTF-8?
    pub fn is_byte_level(&self) -> bool {
        self.model.alphabet() == Some(&Alphabet::Bytes)
    }
}

/// The ids with a role; `None` if no token has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Begin of sequence.
    pub bos: Option<TokenId>,
    /// End of sequence.
    pub eos: Option<TokenId>,
    /// The unknown token, which may differ from the model's.
    pub unk: Option<TokenId>,
    /// Separator between two sequences, and after the last.
    pub sep: Option<TokenId>,
    /// Padding.
    pub pad: Option<TokenId>,
    /// Represents a whole text.
    pub cls: Option<TokenId>,
    /// Represents a token to be predicted.
    pub mask: Option<TokenId>,
}

impl Roles {
    /// Every role with its name.
    pub fn named(&self) -> [(&'static str, Option<TokenId>); 7] {
        let Self { bos, eos, unk, sep, pad, cls, mask } = *self;
        [("bos", bos), ("eos", eos), ("unk", unk), ("sep", sep), ("pad", pad), ("cls", cls), ("mask", mask)]
    }
}

/// Defaults for options that a call does not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallDefaults {
    /// Literals of special tokens are plain text, even in calls that recognise them by default.
    pub special_as_text: bool,
    /// Decoding removes spaces before punctuation and English contractions.
    pub clean_up_spaces: bool,
}
