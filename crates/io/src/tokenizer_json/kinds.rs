//! The kind of a component: its type name or, in some stages, the kind whose fields it has.
//!
//! The reference reads a component without a known type name as the first kind whose fields are all
//! present. For a post-processor it checks the fields before the name.
use serde_json::Value;
use tokenmill_core::error::Result;

use super::fields::Fields;
use super::known_keys::known;

/// The stage that a component belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Normalizer,
    PreTokenizer,
    PostProcessor,
    Decoder,
}

/// A kind, and the fields that identify it.
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

/// Checked before the type name of a post-processor.
const PROCESSORS_BY_FIELDS: [Fit; 2] = [
    ("RobertaProcessing", &["sep", "cls", "trim_offsets", "add_prefix_space"]),
    ("BertProcessing", &["sep", "cls"]),
];

const PROCESSORS: [Fit; 1] = [("TemplateProcessing", &["single", "pair", "special_tokens"])];

impl Component {
    /// The kind of a component of this stage.
    ///
    /// # Errors
    /// A format error at `type` if neither the name nor the fields identify a kind.
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
