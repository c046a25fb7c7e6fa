//! What a tokenizer class of transformers builds in its own code, as data.
use serde_json::Value;
use tokenmill_core::description::Side;
use tokenmill_core::error::{Defect, Error, Result};

use super::super::settings::Settings;
use super::super::tokens::Token;
use crate::tokenizer_json::Kind;

/// How a class turns a folder into a tokenizer.
#[allow(clippy::struct_excessive_bools)] // in what else classes differ
pub(in super::super) struct Recipe {
    /// The name of the class.
    pub(in super::super) name: &'static str,
    /// The model that it builds; `None` keeps that of the file.
    pub(in super::super) model: Option<Kind>,
    /// The file of its vocabulary, if there is no tokenizer.json.
    pub(in super::super) vocabulary: &'static str,
    /// Does it build stages itself? If not, the stages come from a tokenizer.json or a
    /// SentencePiece model, and `build` is what it inherits for other files.
    pub(in super::super) has_code: bool,
    /// Does it accept only a SentencePiece model of the type that it builds?
    pub(in super::super) follows_model: bool,
    /// Rearranges the pieces of a SentencePiece model.
    pub(in super::super) arrange: Option<Arrange>,
    /// Does `arrange` also apply to the pieces of a tokenizer.json?
    pub(in super::super) arranges_file: bool,
    /// Default tokens of roles.
    pub(in super::super) roles: &'static [(&'static str, &'static str)],
    /// Builds the mask token if the folder has only its literal.
    pub(in super::super) mask: fn(String) -> Token,
    /// Builds the stages; `None` keeps those of the file.
    pub(in super::super) build: Option<fn(&Parts<'_>) -> Result<Stages>>,
    /// Does a [`Frame::BosEos`] include bos by default?
    pub(in super::super) adds_bos: bool,
    /// The tokens that it puts around ids.
    pub(in super::super) frame: fn(&Parts<'_>) -> Result<Frame>,
    /// Additional special tokens, if the folder names none.
    pub(in super::super) extra: fn(&Parts<'_>) -> Result<Vec<Token>>,
    /// Whether and how it adds its special tokens a second time.
    pub(in super::super) again: Again,
    /// The side that it pads, where no file names one.
    pub(in super::super) padding_side: Side,
}

/// Reorders pieces with their scores, or adds some.
pub(in super::super) type Arrange = fn(&Settings, Vec<(String, f64)>) -> Result<Vec<(String, f64)>>;

/// How special tokens are added a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Again {
    Not,
    /// As plain literals.
    Plainly,
    /// With their flags.
    WithFlags,
}

/// The recipe of a class without code of its own.
pub(super) const PLAIN: Recipe = Recipe {
    name: "TokenizersBackend",
    model: None,
    vocabulary: "tokenizer.model",
    has_code: false,
    follows_model: false,
    arrange: None,
    arranges_file: false,
    roles: &[],
    mask: Token::literal,
    build: None,
    adds_bos: false,
    frame: |_| Ok(Frame::Kept),
    extra: |parts| Ok(parts.formerly_extra().to_vec()),
    again: Again::Not,
    padding_side: Side::Right,
};

/// The input of a recipe.
pub(in super::super) struct Parts<'a> {
    /// The settings of the folder.
    pub(in super::super) settings: &'a Settings,
    /// The character map of the file's normalizer, in base64.
    pub(in super::super) charsmap: Option<&'a str>,
    /// Does the file put tokens around ids?
    pub(in super::super) has_frame: bool,
    /// The index and score of a piece in a vocabulary list.
    pub(in super::super) piece: &'a dyn Fn(&str) -> Option<(usize, f64)>,
}

impl Parts<'_> {
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.settings.flag(name)?.unwrap_or(default))
    }

    pub(super) fn literal(&self, role: &str) -> Option<String> {
        self.settings.tokens.literal_of(role).map(str::to_owned)
    }

    /// The additional special tokens under their legacy name; empty if the folder names none.
    pub(super) fn formerly_extra(&self) -> &[Token] {
        self.settings.formerly_extra.as_deref().unwrap_or_default()
    }

    /// The token of a role that the class requires.
    pub(super) fn required(&self, role: &str) -> Result<String> {
        self.literal(role)
            .ok_or_else(|| Error::format(Defect::Missing, "is null, and its class needs it").at(role))
    }
}

/// The stages that a class builds, in the notation of tokenizer.json.
#[derive(Debug, Default)]
pub(in super::super) struct Stages {
    pub(in super::super) unk_token: Option<String>,
    pub(in super::super) unk_id: Option<usize>,
    pub(in super::super) continuing_prefix: Option<String>,
    pub(in super::super) end_of_word_suffix: Option<String>,
    pub(in super::super) fuse_unk: bool,
    pub(in super::super) byte_fallback: bool,
    pub(in super::super) normalizer: Value,
    pub(in super::super) pre_tokenizer: Value,
    pub(in super::super) decoder: Value,
}

/// The tokens that a class puts around ids.
///
/// A template is a list of words: `A` and `B` are the sequences; `bos`, `eos`, `sep`, `cls` are the
/// tokens of these roles; `'...'` is a literal, and `'...'+2` the token whose id is larger by 2;
/// `:1` after a word is its type id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Frame {
    /// The frame of the file; or bos and eos, if the folder asks for them and has no tokenizer.json.
    Kept,
    /// No frame; or bos and eos, if the folder asks for them and has no tokenizer.json.
    BosEos,
    /// Templates for one sequence and for two.
    Template(String, String),
    /// Templates, unless the file has a frame or the folder asks for bos and eos.
    UnlessKept(String, String),
    /// As in RoBERTa, between the tokens of these roles.
    Roberta { cls: &'static str, sep: &'static str, trim_offsets: bool, add_prefix_space: bool },
    /// As in BERT, with these ids.
    Bert { cls: u32, sep: u32 },
}

#[allow(clippy::unnecessary_wraps)] // the last step of recipes
pub(super) fn template(single: &str, pair: &str) -> Result<Frame> {
    Ok(Frame::Template(single.to_owned(), pair.to_owned()))
}

pub(super) fn literals(contents: &[&str]) -> Vec<Token> {
    contents.iter().map(|content| Token::literal(*content)).collect()
}
