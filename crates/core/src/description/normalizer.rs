//! The steps that rewrite text before it is split.
use std::sync::Arc;

use super::{HookName, Pattern};

/// A normalization step. It maps a text to a text and records, for every byte of the result, the
/// bytes of the caller's text that it came from.
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
    /// Full lower-case mapping of every character, independent of context.
    Lowercase,
    /// Removes white space at the ends.
    Strip {
        /// At the start.
        left: bool,
        /// At the end.
        right: bool,
    },
    /// Removes combining marks, without decomposing.
    StripAccents,
    /// Every match becomes `content`.
    Replace {
        /// The pattern to search for.
        pattern: Pattern,
        /// The replacement.
        content: String,
    },
    /// Prepends this to the text, unless the text is empty.
    Prepend(String),
    /// Writes every byte as its character in the byte alphabet.
    ByteLevel,
    /// The clean-up of machine-translation corpora: removes controls, turns odd blanks into spaces.
    Nmt,
    /// The clean-up of BERT.
    Bert {
        /// Removes controls, turns white space into spaces.
        clean_text: bool,
        /// Puts spaces around ideographs.
        handle_chinese_chars: bool,
        /// Decomposes and removes non-spacing marks; `None`: the value of `lowercase`.
        strip_accents: Option<bool>,
        /// Lower-cases the result.
        lowercase: bool,
    },
    /// A precompiled SentencePiece map, applied as the tokenizers library does: by grapheme
    /// clusters, shortest prefix first. The blob is unchanged from the file.
    Precompiled(Arc<[u8]>),
    /// Normalization as in SentencePiece.
    SentencePiece(SentencePieceRules),
    /// A function of the caller.
    Hook(HookName),
}

/// The edition of Unicode data for a normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnicodeTables {
    /// The edition of the tokenizers library (about Unicode 9).
    #[default]
    Reference,
    /// The current edition of this library, for tokenizers that it trained.
    Current,
}

/// Normalization as in SentencePiece, in one pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // the flags of the format
pub struct SentencePieceRules {
    /// The character map, unchanged from the file; empty for none.
    pub charsmap: Arc<[u8]>,
    /// Literals that are not rewritten.
    pub user_defined: Vec<String>,
    /// Puts a space before the text (after it, if white space is a suffix).
    pub add_dummy_prefix: bool,
    /// Removes spaces at the ends and collapses runs of spaces.
    pub remove_extra_whitespaces: bool,
    /// Writes spaces as `▁`.
    pub escape_whitespaces: bool,
    /// The mark of a word comes after it.
    pub treat_whitespace_as_suffix: bool,
}
