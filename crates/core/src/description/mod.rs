//! What a tokenizer is, as plain data: everything that determines its results, and nothing that
//! makes it fast.
//!
//! Readers produce a [`Description`] and writers take one, so a new format costs one reader and one
//! writer. `compile` turns it into an engine. Constructing a description checks nothing;
//! [`Description::validate`] does, for every source.
mod added;
mod additions;
mod chat;
mod decoder;
mod hook;
mod hook_name;
mod idle_parts;
mod limits;
mod merge_list;
mod merge_parts;
mod model;
mod normalizer;
mod post_processor;
mod pre_tokenizer;
mod roles;
mod special_tokens;
mod tables;
mod tokens;
mod validate;

pub use added::AddedToken;
pub use additions::Additions;
pub use chat::ChatTemplates;
pub use decoder::{Decoder, Decoding};
pub use hook_name::HookName;
pub use limits::{CallLimits, Padding, PaddingLength, Side, Truncation, TruncationStrategy};
pub use merge_list::{Merge, MergeList};
pub(crate) use merge_parts::Lengths;
pub use merge_parts::MergeParts;
pub use model::{
    Alphabet, BpeDescription, EndOfWord, EndOfWordForm, Merges, ModelDescription, PieceKind,
    UnigramDescription, WordLevelDescription, WordPieceDescription,
};
pub use normalizer::{Normalizer, SentencePieceRules, UnicodeTables};
pub use post_processor::{PostProcessor, Template, TemplatePiece, TemplateToken};
pub use pre_tokenizer::{Behavior, Pattern, PreTokenizer, PrependScheme, Split};
pub use roles::{Role, Roles};
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
    /// How conversations become text. They have no effect on ids.
    pub chat_templates: ChatTemplates,
}

impl Description {
    /// Byte-pair encoding alone: text is split, pretokens are merged, and ids decode to their bytes.
    pub fn of_bpe(split: &Split, model: BpeDescription) -> Self {
        Self { pre_tokenizer: split.stages(), ..Self::of_model(ModelDescription::Bpe(model)) }
    }

    /// A model without any step around it: ids decode to their bytes.
    pub fn of_model(model: ModelDescription) -> Self {
        Self {
            added_tokens: Vec::new(),
            normalizer: Vec::new(),
            pre_tokenizer: Vec::new(),
            model,
            post_processor: Vec::new(),
            decoding: Decoding::Bytes,
            truncation: None,
            padding: None,
            roles: Roles::default(),
            defaults: CallDefaults::default(),
            chat_templates: ChatTemplates::default(),
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

    /// The padding token: the one with that role. If no token has any role, because the format has none,
    /// it is a special token that is written like padding.
    pub fn pad(&self) -> Option<TokenId> {
        if self.roles != Roles::default() || self.defaults.limits.is_some() {
            return self.roles.pad;
        }
        let special = |name| self.added_tokens.iter().find(|token| token.is_special && token.content == name);
        PADDING.into_iter().find_map(special).map(|token| token.id)
    }

    /// The side that is padded.
    pub fn padding_side(&self) -> Side {
        let filed = || self.padding.as_ref().map(|padding| padding.direction).unwrap_or_default();
        self.defaults.limits.map_or_else(filed, |limits| limits.padding_side)
    }

    /// The side that is cut.
    pub fn truncation_side(&self) -> Side {
        let filed = || self.truncation.map(|truncation| truncation.direction).unwrap_or_default();
        self.defaults.limits.map_or_else(filed, |limits| limits.truncation_side)
    }

    /// The limits of a call, from the settings of a folder or from the description's own truncation and padding.
    pub fn call_limits(&self) -> CallLimits {
        self.defaults.limits.unwrap_or_else(|| CallLimits {
            padding_side: self.padding_side(),
            truncation_side: self.truncation_side(),
            max_length: self.truncation.map(|truncation| truncation.max_length),
        })
    }

    /// Sets the limits of a call. Settings name roles in full, so a padding token that was known only by its
    /// written form is given the role.
    pub fn set_call_limits(&mut self, limits: CallLimits) {
        self.roles.pad = self.pad();
        self.defaults.limits = Some(limits);
    }
}

/// How files write a padding token to which they give no role.
const PADDING: [&str; 5] = ["[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>"];

/// Defaults for options that a call does not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallDefaults {
    /// Literals of special tokens are plain text, even in calls that recognise them by default.
    pub special_as_text: bool,
    /// Decoding removes spaces before punctuation and English contractions.
    pub clean_up_spaces: bool,
    /// Truncation and padding as the settings of a folder have them; `None` if the description's own hold.
    pub limits: Option<CallLimits>,
}
