//! The tokenizer classes of transformers 5.23, as data.
//!
//! Most classes take vocabulary, merges and added tokens from tokenizer.json and build the rest in
//! code. A [`Recipe`] describes that code: its stages are in the notation of tokenizer.json, so
//! they are read as if they were in the file.
mod byte_level;
mod languages;
mod marked;
mod pieces;
mod recipe;
mod words;

use self::recipe::PLAIN;
pub(super) use self::recipe::{Again, Frame, Parts, Recipe, Stages};

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
    ("Phi3Tokenizer", "LlamaTokenizer"),
    ("PreTrainedTokenizer", "TokenizersBackend"),
    ("PythonBackend", "TokenizersBackend"),
    ("SqueezeBertTokenizer", "BertTokenizer"),
];

/// Classes that need more than stages, or another library. Their folders must not be read as plain ones.
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

/// The result of a lookup by class name.
pub(super) enum Class {
    /// A class with a recipe.
    Known(&'static Recipe),
    /// A class of transformers that is not supported.
    Other,
    /// Not a class of transformers.
    Unknown,
}

/// Looks up a class by any form of its name.
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

/// The class without code of its own.
pub(super) fn plain() -> &'static Recipe {
    &PLAIN
}
