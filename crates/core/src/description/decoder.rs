//! How ids become text.
use std::sync::Arc;

use super::{Pattern, PrependScheme};

/// The decoder of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoding {
    /// Each id decodes to its own bytes, independent of its neighbours; the bytes are joined.
    Bytes,
    /// The written forms of the tokens go through these steps and are joined.
    Steps(Vec<Decoder>),
    /// The written forms of the tokens, joined by spaces.
    Spaced,
}

/// A decoder step: maps rows of strings to rows of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoder {
    /// Strings in the byte alphabet become the text of their bytes.
    ByteLevel,
    /// Prefixes of continuing tokens are removed; other tokens get a space before them.
    WordPiece {
        /// The prefix.
        prefix: String,
        /// Removes spaces before punctuation.
        cleanup: bool,
    },
    /// Marks become spaces.
    Metaspace {
        /// The mark.
        replacement: char,
        /// Unless `Never`, the marks of the first token are removed.
        prepend: PrependScheme,
        /// Kept for saving; has no effect on decoding.
        split: bool,
    },
    /// End-of-word suffixes become spaces.
    Bpe {
        /// The suffix.
        suffix: String,
    },
    /// Repeats and padding of speech recognition (CTC) are removed.
    Ctc {
        /// The padding token.
        pad: String,
        /// The delimiter between words.
        delimiter: String,
        /// Removes spaces before punctuation.
        cleanup: bool,
    },
    /// Runs of `<0xNN>` become the text of their bytes.
    ByteFallback,
    /// All strings become one.
    Fuse,
    /// A character is removed from the ends of every string.
    Strip {
        /// The character.
        content: char,
        /// Maximum number removed at the start.
        start: usize,
        /// Maximum number removed at the end.
        stop: usize,
    },
    /// Every match becomes `content`.
    Replace {
        /// The pattern to search for.
        pattern: Pattern,
        /// The replacement.
        content: String,
    },
    /// Decodes as SentencePiece does.
    SentencePiece {
        /// The text of the unknown token.
        unk_surface: String,
        /// Encoding puts a space before the text.
        add_dummy_prefix: bool,
        /// Spaces at the start of the text are removed.
        remove_extra_whitespaces: bool,
        /// The mark of a word comes after it.
        treat_whitespace_as_suffix: bool,
    },
    /// Replaces the keys of a character map, longest key first.
    Denormalize {
        /// The map, as stored in a SentencePiece model.
        map: Arc<[u8]>,
    },
}
