//! What a tokenizer is, as plain data: everything that gives it its meaning and nothing that
//! makes it fast.
//!
//! Formats read into a [`Description`] and write from one, so that a new format costs one
//! reader and one writer. `compile` turns it into an engine. Construction does not check
//! anything; [`Description::validate`] does, once, whoever made it.
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

/// A tokenizer, described.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Tokens matched in the text before anything else happens to it, ascending by id.
    pub added_tokens: Vec<AddedToken>,
    /// What is done to ordinary text first, in order.
    pub normalizer: Vec<Normalizer>,
    /// How normalized text is cut into pretokens, in order: each refines what the one before left.
    pub pre_tokenizer: Vec<PreTokenizer>,
    /// How a pretoken becomes ids.
    pub model: ModelDescription,
    /// What is put around the ids, and what is done to their offsets, in order.
    pub post_processor: Vec<PostProcessor>,
    /// How ids become text.
    pub decoding: Decoding,
    /// How a caller who asks for it has encodings cut.
    pub truncation: Option<Truncation>,
    /// How a caller who asks for it has encodings padded.
    pub padding: Option<Padding>,
    /// Which ids play which part.
    pub roles: Roles,
    /// What holds for callers who do not say otherwise.
    pub defaults: CallDefaults,
}

impl Description {
    /// Byte-pair encoding and nothing around it: text is split, pretokens are merged, and ids
    /// decode to their bytes.
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

    /// The split, where splitting is all that happens to text before the model.
    pub fn split(&self) -> Option<Split> {
        if self.normalizer.is_empty() { Split::of_stages(&self.pre_tokenizer) } else { None }
    }

    /// Does the model read the bytes of the text, so that it can spell what is no text at all?
    pub fn is_byte_level(&self) -> bool {
        self.model.alphabet() == Some(&Alphabet::Bytes)
    }
}

/// Which ids play which part; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    /// Begin of sequence.
    pub bos: Option<TokenId>,
    /// End of sequence.
    pub eos: Option<TokenId>,
    /// What stands for what the vocabulary cannot spell, where more than the model names it.
    pub unk: Option<TokenId>,
    /// Between two sequences, and behind the last.
    pub sep: Option<TokenId>,
    /// Padding.
    pub pad: Option<TokenId>,
    /// What stands for a whole text.
    pub cls: Option<TokenId>,
    /// What stands for a token to be guessed.
    pub mask: Option<TokenId>,
}

impl Roles {
    /// Every part with its name.
    pub fn named(&self) -> [(&'static str, Option<TokenId>); 7] {
        let Self { bos, eos, unk, sep, pad, cls, mask } = *self;
        [("bos", bos), ("eos", eos), ("unk", unk), ("sep", sep), ("pad", pad), ("cls", cls), ("mask", mask)]
    }
}

/// What holds for callers who do not say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallDefaults {
    /// Literals of special tokens are plain text even in calls that else recognise them.
    pub special_as_text: bool,
    /// Decoded text loses its spaces before punctuation and English contractions.
    pub clean_up_spaces: bool,
}
