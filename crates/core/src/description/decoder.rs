//! How ids become text.
use std::sync::Arc;

use super::{Pattern, PrependScheme};

/// How ids become text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoding {
    /// Each id stands for its own bytes, whatever is beside it; they are joined.
    Bytes,
    /// The tokens as they are written go through these steps and are joined.
    Steps(Vec<Decoder>),
    /// The tokens as they are written, joined by spaces.
    Spaced,
}

/// A step of decoding: rows of strings to rows of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoder {
    /// Strings in the byte alphabet become the text of their bytes.
    ByteLevel,
    /// Prefixes of continuing tokens go, other tokens get a space in front.
    WordPiece {
        /// The prefix.
        prefix: String,
        /// Spaces before punctuation go.
        cleanup: bool,
    },
    /// Marks become spaces.
    Metaspace {
        /// The mark.
        replacement: char,
        /// Unless never, those of the first token go.
        prepend: PrependScheme,
        /// Kept for the file; says nothing in decoding.
        split: bool,
    },
    /// End-of-word suffixes become spaces.
    Bpe {
        /// The suffix.
        suffix: String,
    },
    /// Repeats and padding of speech recognisers go.
    Ctc {
        /// The padding.
        pad: String,
        /// What stands between words.
        delimiter: String,
        /// Spaces before punctuation go.
        cleanup: bool,
    },
    /// Runs of `<0xNN>` become the text of their bytes.
    ByteFallback,
    /// All strings become one.
    Fuse,
    /// A character goes from the ends of every string.
    Strip {
        /// The character.
        content: char,
        /// How many at the start.
        start: usize,
        /// How many at the end.
        stop: usize,
    },
    /// Every match becomes `content`.
    Replace {
        /// What is replaced.
        pattern: Pattern,
        /// What stands there instead.
        content: String,
    },
    /// As SentencePiece decodes.
    SentencePiece {
        /// What the unknown token becomes.
        unk_surface: String,
        /// A space was put before the text.
        add_dummy_prefix: bool,
        /// Spaces at the start of the text go.
        remove_extra_whitespaces: bool,
        /// The mark of a word stands behind it.
        treat_whitespace_as_suffix: bool,
    },
    /// What a map has a key for becomes what it says, the longest key first.
    Denormalize {
        /// The map, as a SentencePiece model holds it.
        map: Arc<[u8]>,
    },
}
