//! The shape of the file, as serde reads it.
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use tokenmill_core::error::{Defect, Error};
use tokenmill_core::ids::TokenId;

/// The whole file. Unknown keys at this level are refused, as the reference refuses them. What is
/// small is read as it stands; the model may be large and goes straight into its shape.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) version: Option<String>,
    pub(crate) truncation: Option<Value>,
    pub(crate) padding: Option<Value>,
    #[serde(default)]
    pub(crate) added_tokens: Vec<AddedTokenEntry>,
    pub(crate) normalizer: Option<Value>,
    pub(crate) pre_tokenizer: Option<Value>,
    pub(crate) post_processor: Option<Value>,
    pub(crate) decoder: Option<Value>,
    pub(crate) model: Model,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the file's own flags
pub(crate) struct AddedTokenEntry {
    /// The reference reads it and gives another where that does not fit.
    pub(crate) id: Option<TokenId>,
    pub(crate) content: String,
    pub(crate) single_word: bool,
    pub(crate) lstrip: bool,
    pub(crate) rstrip: bool,
    pub(crate) normalized: bool,
    pub(crate) special: bool,
}

/// The fields of all models; which of them must be there depends on the type.
#[derive(Deserialize)]
#[allow(clippy::zero_sized_map_values)] // the values of keys that no model has are not kept
pub(crate) struct Model {
    #[serde(rename = "type")]
    pub(crate) name: Option<String>,
    pub(crate) dropout: Option<f32>,
    pub(crate) unk_token: Option<String>,
    pub(crate) continuing_subword_prefix: Option<String>,
    pub(crate) end_of_word_suffix: Option<String>,
    pub(crate) fuse_unk: Option<bool>,
    pub(crate) byte_fallback: Option<bool>,
    pub(crate) ignore_merges: Option<bool>,
    pub(crate) max_input_chars_per_word: Option<usize>,
    pub(crate) unk_id: Option<usize>,
    pub(crate) vocab: Option<VocabEntries>,
    pub(crate) merges: Option<Vec<MergeEntry>>,
    /// What no model has.
    #[serde(flatten)]
    pub(crate) others: BTreeMap<String, IgnoredAny>,
}

/// A `vocab`: the entries of an object in the order of the file, repeated keys included, or a list
/// of pieces and scores.
pub(crate) enum VocabEntries {
    Object(Vec<(String, TokenId)>),
    List(Vec<(String, f64)>),
}

impl<'de> Deserialize<'de> for VocabEntries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = VocabEntries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of ids by token, or a list of tokens and scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(VocabEntries::Object(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    entries.push(entry);
                }
                Ok(VocabEntries::List(entries))
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

/// A merge: `"a b"` or `["a", "b"]`.
pub(crate) struct MergeEntry {
    pub(crate) left: String,
    pub(crate) right: String,
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
