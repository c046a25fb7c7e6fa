//! The shape of the file, as serde reads it.
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use tokenmill_core::error::{Defect, Error};
use tokenmill_core::ids::TokenId;

/// The whole file. Unknown keys at this level are refused, as the reference refuses them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(super) version: Option<String>,
    pub(super) truncation: Option<serde_json::Value>,
    pub(super) padding: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedTokenEntry>,
    pub(super) normalizer: Option<serde_json::Value>,
    pub(super) pre_tokenizer: Option<PreTokenizer>,
    pub(super) post_processor: Option<PostProcessor>,
    pub(super) decoder: Option<Decoder>,
    pub(super) model: Model,
}

#[derive(Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the file's own flags
pub(super) struct AddedTokenEntry {
    pub(super) content: String,
    pub(super) single_word: bool,
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    pub(super) normalized: bool,
    pub(super) special: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum PreTokenizer {
    Sequence {
        pretokenizers: Vec<PreTokenizer>,
    },
    Split {
        pattern: Pattern,
        behavior: String,
        invert: bool,
    },
    ByteLevel(ByteLevel),
    #[serde(untagged)]
    Other(OtherStage),
}

/// `trim_offsets` of a pre-tokenizer or decoder has no effect, there or here.
#[derive(Deserialize)]
pub(super) struct ByteLevel {
    pub(super) add_prefix_space: bool,
    #[serde(default = "yes")]
    pub(super) use_regex: bool,
}

#[derive(Deserialize)]
pub(super) enum Pattern {
    String(String),
    Regex(String),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum PostProcessor {
    ByteLevel {
        trim_offsets: bool,
    },
    #[serde(untagged)]
    Other(OtherStage),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Decoder {
    ByteLevel {},
    Sequence {
        decoders: Vec<Decoder>,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    Fuse {},
    #[serde(untagged)]
    Other(OtherStage),
}

/// A stage that is not known; only its name is of interest.
#[derive(Deserialize)]
pub(super) struct OtherStage {
    #[serde(rename = "type")]
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Model {
    #[serde(rename = "type")]
    pub(super) name: Option<String>,
    pub(super) dropout: Option<f64>,
    pub(super) unk_token: Option<String>,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) end_of_word_suffix: Option<String>,
    pub(super) fuse_unk: Option<bool>,
    pub(super) byte_fallback: Option<bool>,
    pub(super) ignore_merges: Option<bool>,
    pub(super) vocab: Option<VocabEntries>,
    pub(super) merges: Option<Vec<MergeEntry>>,
}

fn yes() -> bool {
    true
}

/// A `vocab`: the entries of an object in the order of the file, repeated keys included, or a list,
/// which only other models have.
pub(crate) enum VocabEntries {
    Object(Vec<(String, TokenId)>),
    List,
}

impl<'de> Deserialize<'de> for VocabEntries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = VocabEntries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of ids by token")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(VocabEntries::Object(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(VocabEntries::List)
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

/// A merge: `"a b"` or `["a", "b"]`.
pub(super) struct MergeEntry {
    pub(super) left: String,
    pub(super) right: String,
}

impl<'de> Deserialize<'de> for MergeEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = MergeEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge: \"a b\" or [\"a\", \"b\"]")
            }

            fn visit_str<E: serde::de::Error>(self, merge: &str) -> Result<Self::Value, E> {
                match merge.split_once(' ') {
                    Some((left, right)) if !right.contains(' ') => {
                        Ok(MergeEntry { left: left.to_owned(), right: right.to_owned() })
                    }
                    _ => Err(E::custom(format!(
                        "expected two tokens with a blank between them, found {merge:?}"
                    ))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let missing = || serde::de::Error::custom("expected two tokens, found fewer");
                let left = parts.next_element()?.ok_or_else(missing)?;
                let right = parts.next_element()?.ok_or_else(missing)?;
                if parts.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(serde::de::Error::custom("expected two tokens, found more"));
                }
                Ok(MergeEntry { left, right })
            }
        }
        deserializer.deserialize_any(Parts)
    }
}

/// An error of serde with its path as the field.
pub(crate) fn json_error(error: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().to_string();
    let inner = error.into_inner();
    // serde_json stops at this depth and has no other sign of it.
    if inner.to_string().starts_with("recursion limit exceeded") {
        let error = Error::limit(format!("nested too deeply: {inner}"), 128);
        return if path == "." { error } else { error.at(path) };
    }
    let defect = match inner.classify() {
        serde_json::error::Category::Eof => Defect::Truncated,
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => Defect::Json,
        serde_json::error::Category::Data => {
            let text = inner.to_string();
            if text.starts_with("missing field") {
                Defect::Missing
            } else if path.contains("merges") {
                Defect::Merge
            } else {
                Defect::Type
            }
        }
    };
    let reason = match defect {
        Defect::Truncated => format!("the file ends too early: {inner}"),
        _ => inner.to_string(),
    };
    let error = Error::format(defect, reason);
    if path == "." { error } else { error.at(path) }
}
