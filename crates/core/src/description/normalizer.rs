//! What is done to text before it is split.
use std::sync::Arc;

use super::{HookName, Pattern};

/// A step of normalization. Each maps a text to a text and knows, for every byte of the result,
/// which bytes of the caller's text it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalizer {
    /// Canonical composition.
    Nfc(UnicodeTables),
    /// Canonical decomposition.
    Nfd(UnicodeTables),
    /// Compatibility composition.
    Nfkc(UnicodeTables),
    /// Compatibility decomposition.
    Nfkd(UnicodeTables),
    /// Every character in its full lower-case mapping, without context.
    Lowercase,
    /// White space at the ends is dropped.
    Strip {
        /// At the start.
        left: bool,
        /// At the end.
        right: bool,
    },
    /// Combining marks are dropped; nothing is decomposed.
    StripAccents,
    /// Every match becomes `content`.
    Replace {
        /// What is replaced.
        pattern: Pattern,
        /// What stands there instead.
        content: String,
    },
    /// Put before the text, unless that is empty.
    Prepend(String),
    /// Every byte becomes the character that stands for it in the byte alphabet.
    ByteLevel,
    /// The clean-up of machine-translation corpora: controls dropped, odd blanks made spaces.
    Nmt,
    /// The clean-up of BERT.
    Bert {
        /// Controls dropped, white space made spaces.
        clean_text: bool,
        /// Spaces put around ideographs.
        handle_chinese_chars: bool,
        /// Decompose and drop non-spacing marks; `None`: as `lowercase`.
        strip_accents: Option<bool>,
        /// Lower-case at the end.
        lowercase: bool,
    },
    /// A precompiled map of SentencePiece as the tokenizers library reads it: by grapheme clusters,
    /// shortest prefix first. The blob as it stands in the file.
    Precompiled(Arc<[u8]>),
    /// Normalization as SentencePiece does it.
    SentencePiece(SentencePieceRules),
    /// A function of the caller's own.
    Hook(HookName),
}

/// Which edition of the Unicode data a normal form goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnicodeTables {
    /// That of the tokenizers library (about Unicode 9).
    #[default]
    Reference,
    /// The current one of this library, for tokenizers trained by it.
    Current,
}

/// Normalization as SentencePiece does it, in one pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the flags of the format
pub struct SentencePieceRules {
    /// The map, as it stands in the file; empty: none.
    pub charsmap: Arc<[u8]>,
    /// Literals that are kept as they are.
    pub user_defined: Vec<String>,
    /// A space is put before the text (after it, where white space is a suffix).
    pub add_dummy_prefix: bool,
    /// Spaces at the ends go, runs of spaces become one.
    pub remove_extra_whitespaces: bool,
    /// Spaces are written `▁`.
    pub escape_whitespaces: bool,
    /// The mark of a word stands behind it.
    pub treat_whitespace_as_suffix: bool,
}
