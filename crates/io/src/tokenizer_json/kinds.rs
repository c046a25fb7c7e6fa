//! Which kind a component is: the one that it names, or in some rooms the one that its fields fit.
//!
//! The reference reads a component that names no kind, or one that it does not know, as the first
//! whose fields are there; and it asks the fields of a post-processor first, whatever that is named.
use serde_json::Value;
use tokenmill_core::error::Result;

use super::fields::Fields;
use super::known_keys::known;

/// A room of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Normalizer,
    PreTokenizer,
    PostProcessor,
    Decoder,
}

/// A kind, and the fields that make a component one.
type Fit = (&'static str, &'static [&'static str]);

const NORMALIZERS: [Fit; 5] = [
    ("BertNormalizer", &["clean_text", "handle_chinese_chars", "lowercase"]),
    ("Strip", &["strip_left", "strip_right"]),
    ("Sequence", &["normalizers"]),
    ("Replace", &["pattern", "content"]),
    ("Prepend", &["prepend"]),
];

const DECODERS: [Fit; 5] = [
    ("BPEDecoder", &["suffix"]),
    ("WordPiece", &["prefix", "cleanup"]),
    ("CTC", &["pad_token", "word_delimiter_token", "cleanup"]),
    ("Replace", &["pattern", "content"]),
    ("Strip", &["content", "start", "stop"]),
];

/// These come before what a post-processor is named.
const PROCESSORS_BY_FIELDS: [Fit; 2] = [
    ("RobertaProcessing", &["sep", "cls", "trim_offsets", "add_prefix_space"]),
    ("BertProcessing", &["sep", "cls"]),
];

const PROCESSORS: [Fit; 1] = [("TemplateProcessing", &["single", "pair", "special_tokens"])];

impl Component {
    /// The kind of a component of this room.
    ///
    /// # Errors
    /// A format error at `type` where it names none, and its fields fit none.
    pub(super) fn kind_of<'a>(self, fields: &Fields<'a>) -> Result<&'a str> {
        let fitting = |fits: &'static [Fit]| {
            let has_all = |names: &[&str]| names.iter().all(|name| fields.value(name).is_ok());
            fits.iter().find(|(_, names)| has_all(names)).map(|(kind, _)| *kind)
        };
        let fits: &[Fit] = match self {
            Self::Normalizer => &NORMALIZERS,
            Self::PreTokenizer => &[],
            Self::PostProcessor => &PROCESSORS,
            Self::Decoder => &DECODERS,
        };
        if self == Self::PostProcessor
            && let Some(kind) = fitting(&PROCESSORS_BY_FIELDS)
        {
            return Ok(kind);
        }
        let named = fields.value("type").ok().and_then(Value::as_str);
        match named.filter(|named| known(named).is_some()).or_else(|| fitting(fits)) {
            Some(kind) => Ok(kind),
            None => fields.string("type"),
        }
    }
}
