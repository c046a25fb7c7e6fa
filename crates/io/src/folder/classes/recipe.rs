//! What a tokenizer class of transformers builds in its own code, as data.
use serde_json::Value;
use tokenmill_core::error::{Defect, Error, Result};

use super::super::settings::Settings;
use super::super::tokens::Token;
use crate::tokenizer_json::Kind;

/// What a class makes of a folder.
#[allow(clippy::struct_excessive_bools)] // in what else classes differ
pub(in super::super) struct Recipe {
    /// Its name.
    pub(in super::super) name: &'static str,
    /// The model it makes; `None` is that of the file.
    pub(in super::super) model: Option<Kind>,
    /// The file of its vocabulary, where there is no tokenizer.json.
    pub(in super::super) vocabulary: &'static str,
    /// Does it build stages itself? If not, they are those of a tokenizer.json or a SentencePiece
    /// model, and `build` is what it inherits for other files.
    pub(in super::super) has_code: bool,
    /// Does it take a SentencePiece model only with the sort of pieces that it makes?
    pub(in super::super) follows_model: bool,
    /// The pieces of a SentencePiece model as it has them.
    pub(in super::super) arrange: Option<Arrange>,
    /// Are the pieces of a tokenizer.json arranged, too?
    pub(in super::super) arranges_file: bool,
    /// The tokens of parts that the folder does not name.
    pub(in super::super) roles: &'static [(&'static str, &'static str)],
    /// The mask of which only the literal is given.
    pub(in super::super) mask: fn(String) -> Token,
    /// Builds the stages; without it those of the file are kept.
    pub(in super::super) build: Option<fn(&Parts<'_>) -> Result<Stages>>,
    /// Does a [`Frame::BosEos`] have bos unless the folder says otherwise?
    pub(in super::super) adds_bos: bool,
    /// What it puts around ids.
    pub(in super::super) frame: fn(&Parts<'_>) -> Result<Frame>,
    /// Further special tokens, where the folder names none.
    pub(in super::super) extra: fn(&Parts<'_>) -> Result<Vec<Token>>,
    /// Does it add its special tokens once more, and how?
    pub(in super::super) again: Again,
}

/// Puts pieces and their scores in another order, or adds some.
pub(in super::super) type Arrange = fn(&Settings, Vec<(String, f64)>) -> Result<Vec<(String, f64)>>;

/// How special tokens are added once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Again {
    Not,
    /// As literals.
    Plainly,
    /// With their flags.
    WithFlags,
}

/// The recipe of a class that changes nothing.
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
};

/// What recipes are made with.
pub(in super::super) struct Parts<'a> {
    /// What the folder says.
    pub(in super::super) settings: &'a Settings,
    /// The character map of the file's normalizer, in base64.
    pub(in super::super) charsmap: Option<&'a str>,
    /// Does the file put something around ids?
    pub(in super::super) has_frame: bool,
    /// The place of a piece in a vocabulary that is a list, and its score.
    pub(in super::super) piece: &'a dyn Fn(&str) -> Option<(usize, f64)>,
}

impl Parts<'_> {
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.settings.flag(name)?.unwrap_or(default))
    }

    pub(super) fn literal(&self, role: &str) -> Option<String> {
        self.settings.tokens.literal_of(role).map(str::to_owned)
    }

    /// Further special tokens under their former name; none where the folder names none.
    pub(super) fn formerly_extra(&self) -> &[Token] {
        self.settings.formerly_extra.as_deref().unwrap_or_default()
    }

    /// A part that the class cannot do without.
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

/// What a class puts around ids.
///
/// A template is words: `A` and `B` are the sequences, `bos`, `eos`, `sep`, `cls` the tokens of
/// these parts, `'...'` a literal, `'...'+2` the token whose id is 2 more; `:1` behind a word is the
/// type of its ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Frame {
    /// What the file has; bos and eos instead where the folder asks for them and has no tokenizer.json.
    Kept,
    /// Nothing, or bos and eos where the folder asks for them and has no tokenizer.json.
    BosEos,
    /// Templates for one sequence and two.
    Template(String, String),
    /// Templates where the file has none and the folder does not ask for bos and eos.
    UnlessKept(String, String),
    /// As RoBERTa does it, between tokens of these parts.
    Roberta { cls: &'static str, sep: &'static str, trim_offsets: bool, add_prefix_space: bool },
    /// As BERT does it, with these ids.
    Bert { cls: u32, sep: u32 },
}

#[allow(clippy::unnecessary_wraps)] // the last step of recipes
pub(super) fn template(single: &str, pair: &str) -> Result<Frame> {
    Ok(Frame::Template(single.to_owned(), pair.to_owned()))
}

pub(super) fn literals(contents: &[&str]) -> Vec<Token> {
    contents.iter().map(|content| Token::literal(*content)).collect()
}
