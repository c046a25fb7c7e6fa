//! What the tokenizer classes of transformers 5.23 build in their own code, as data.
//!
//! Most classes take vocabulary, merges and added tokens from tokenizer.json and build the rest
//! themselves. A [`Recipe`] says what: stages are in the notation of tokenizer.json, so that they are
//! read as if the file had them.
mod byte_level;
mod languages;
mod marked;
mod pieces;
mod words;

use serde_json::Value;
use tokenmill_core::error::{Defect, Error, Result};

use super::settings::Settings;
use super::tokens::Token;
use crate::tokenizer_json::Kind;

/// What a class makes of a folder.
#[allow(clippy::struct_excessive_bools)] // in what else classes differ
pub(super) struct Recipe {
    /// Its name.
    pub(super) name: &'static str,
    /// The model it makes; `None` is that of the file.
    pub(super) model: Option<Kind>,
    /// The file of its vocabulary, where there is no tokenizer.json.
    pub(super) vocabulary: &'static str,
    /// Does it build stages itself? If not, they are those of a tokenizer.json or a SentencePiece
    /// model, and `build` is what it inherits for other files.
    pub(super) has_code: bool,
    /// Does it take a SentencePiece model only with the sort of pieces that it makes?
    pub(super) follows_model: bool,
    /// The pieces of a SentencePiece model as it has them.
    pub(super) arrange: Option<Arrange>,
    /// Are the pieces of a tokenizer.json arranged, too?
    pub(super) arranges_file: bool,
    /// The tokens of parts that the folder does not name.
    pub(super) roles: &'static [(&'static str, &'static str)],
    /// The mask of which only the literal is given.
    pub(super) mask: fn(String) -> Token,
    /// Builds the stages; without it those of the file are kept.
    pub(super) build: Option<fn(&Parts<'_>) -> Result<Stages>>,
    /// Does a [`Frame::BosEos`] have bos unless the folder says otherwise?
    pub(super) adds_bos: bool,
    /// What it puts around ids.
    pub(super) frame: fn(&Parts<'_>) -> Result<Frame>,
    /// Further special tokens, where the folder names none.
    pub(super) extra: fn(&Parts<'_>) -> Result<Vec<Token>>,
    /// Does it add its special tokens once more, and how?
    pub(super) again: Again,
}

/// Puts pieces and their scores in another order, or adds some.
pub(super) type Arrange = fn(&Settings, Vec<(String, f64)>) -> Result<Vec<(String, f64)>>;

/// How special tokens are added once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Not,
    /// As literals.
    Plainly,
    /// With their flags.
    WithFlags,
}

/// The recipe of a class that changes nothing.
const PLAIN: Recipe = Recipe {
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
pub(super) struct Parts<'a> {
    /// What the folder says.
    pub(super) settings: &'a Settings,
    /// The character map of the file's normalizer, in base64.
    pub(super) charsmap: Option<&'a str>,
    /// Does the file put something around ids?
    pub(super) has_frame: bool,
    /// The place of a piece in a vocabulary that is a list, and its score.
    pub(super) piece: &'a dyn Fn(&str) -> Option<(usize, f64)>,
}

impl Parts<'_> {
    fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.settings.flag(name)?.unwrap_or(default))
    }

    fn literal(&self, role: &str) -> Option<String> {
        self.settings.tokens.literal_of(role).map(str::to_owned)
    }

    /// Further special tokens under their former name; none where the folder names none.
    fn formerly_extra(&self) -> &[Token] {
        self.settings.formerly_extra.as_deref().unwrap_or_default()
    }

    /// A part that the class cannot do without.
    fn required(&self, role: &str) -> Result<String> {
        self.literal(role)
            .ok_or_else(|| Error::format(Defect::Missing, "is null, and its class needs it").at(role))
    }
}

/// The stages that a class builds, in the notation of tokenizer.json.
#[derive(Debug, Default)]
pub(super) struct Stages {
    pub(super) unk_token: Option<String>,
    pub(super) unk_id: Option<usize>,
    pub(super) continuing_prefix: Option<String>,
    pub(super) end_of_word_suffix: Option<String>,
    pub(super) fuse_unk: bool,
    pub(super) byte_fallback: bool,
    pub(super) normalizer: Value,
    pub(super) pre_tokenizer: Value,
    pub(super) decoder: Value,
}

/// What a class puts around ids.
///
/// A template is words: `A` and `B` are the sequences, `bos`, `eos`, `sep`, `cls` the tokens of
/// these parts, `'...'` a literal, `'...'+2` the token whose id is 2 more; `:1` behind a word is the
/// type of its ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
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
fn template(single: &str, pair: &str) -> Result<Frame> {
    Ok(Frame::Template(single.to_owned(), pair.to_owned()))
}

fn literals(contents: &[&str]) -> Vec<Token> {
    contents.iter().map(|content| Token::literal(*content)).collect()
}

/// Other names of classes.
const ALIASES: &[(&str, &str)] = &[
    ("BartTokenizer", "RobertaTokenizer"),
    ("BloomTokenizer", "TokenizersBackend"),
    ("DPRContextEncoderTokenizer", "BertTokenizer"),
    ("DPRQuestionEncoderTokenizer", "BertTokenizer"),
    ("DistilBertTokenizer", "BertTokenizer"),
    ("ElectraTokenizer", "BertTokenizer"),
    ("LEDTokenizer", "RobertaTokenizer"),
    ("LayoutLMTokenizer", "BertTokenizer"),
    ("LongformerTokenizer", "RobertaTokenizer"),
    ("LxmertTokenizer", "BertTokenizer"),
    ("MobileBertTokenizer", "BertTokenizer"),
    ("MvpTokenizer", "RobertaTokenizer"),
    ("PreTrainedTokenizer", "TokenizersBackend"),
    ("PythonBackend", "TokenizersBackend"),
    ("SqueezeBertTokenizer", "BertTokenizer"),
];

/// Classes whose code is more than stages, or another library: no folder of theirs is read as if
/// it were plain.
const OTHERS: &[&str] = &[
    "AutoTokenizer",
    "BartphoTokenizer",
    "BasicTokenizer",
    "BertGenerationTokenizer",
    "BertJapaneseTokenizer",
    "BertTokenizerLegacy",
    "BertweetTokenizer",
    "BioGptTokenizer",
    "BlenderbotSmallTokenizer",
    "ByT5Tokenizer",
    "CTRLTokenizer",
    "CanineTokenizer",
    "CharacterTokenizer",
    "ClvpTokenizer",
    "CpmAntTokenizer",
    "CpmTokenizer",
    "DPRReaderTokenizer",
    "DiaTokenizer",
    "EsmTokenizer",
    "EsmcTokenizer",
    "FSMTTokenizer",
    "FastSpeech2ConformerTokenizer",
    "FlaubertTokenizer",
    "GPTNeoXJapaneseTokenizer",
    "GPTSw3Tokenizer",
    "LasrTokenizer",
    "LayoutLMv2Tokenizer",
    "LayoutLMv3Tokenizer",
    "LayoutXLMTokenizer",
    "LukeTokenizer",
    "M2M100Tokenizer",
    "MLukeTokenizer",
    "MarianTokenizer",
    "MarkupLMTokenizer",
    "MecabTokenizer",
    "MgpstrTokenizer",
    "MistralCommonBackend",
    "MyT5Tokenizer",
    "NougatTokenizer",
    "PLBartTokenizer",
    "ParakeetTokenizer",
    "PerceiverTokenizer",
    "PhobertTokenizer",
    "Pop2PianoTokenizer",
    "ProphetNetTokenizer",
    "RagTokenizer",
    "RoCBertTokenizer",
    "RoFormerTokenizer",
    "SeamlessM4TTokenizer",
    "SentencePieceBackend",
    "Siglip2Tokenizer",
    "SiglipTokenizer",
    "Speech2TextTokenizer",
    "SpeechT5Tokenizer",
    "TapasTokenizer",
    "Tipsv2Tokenizer",
    "UdopTokenizer",
    "VideoPrismTokenizer",
    "VitsTokenizer",
    "Wav2Vec2CTCTokenizer",
    "Wav2Vec2PhonemeCTCTokenizer",
    "WordpieceTokenizer",
    "XLMTokenizer",
];

/// What a name stands for.
pub(super) enum Class {
    /// A class with a recipe.
    Known(&'static Recipe),
    /// One of transformers that is not reproduced.
    Other,
    /// None of transformers.
    Unknown,
}

/// The class of a name, in any of its forms.
pub(super) fn find(name: &str) -> Class {
    let name = name.strip_suffix("Fast").unwrap_or(name);
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, of)| of);
    if name == PLAIN.name {
        return Class::Known(&PLAIN);
    }
    let mut recipes =
        byte_level::RECIPES.iter().chain(words::RECIPES).chain(marked::RECIPES).chain(pieces::RECIPES);
    match recipes.find(|recipe| recipe.name == name) {
        Some(recipe) => Class::Known(recipe),
        None if OTHERS.contains(&name) => Class::Other,
        None => Class::Unknown,
    }
}

/// The class that changes nothing.
pub(super) fn plain() -> &'static Recipe {
    &PLAIN
}
