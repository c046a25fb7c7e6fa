//! The structure of the file, as serde reads it. Unescaped tokens of an object are borrowed from
//! the text of the file.
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use tokenmill_core::error::{Defect, Error};
use tokenmill_core::ids::TokenId;

use super::numbers::Score;
use crate::texts::Texts;

/// Declares an object with these fields; a field that is not read stays absent. As in the
/// reference, the last of a repeated key counts. The names of repeated keys and of null ones are
/// recorded. `$other` reads unknown keys, and the fields in `$needed` are required.
macro_rules! object {
    ($name:ident as $expected:literal { $($key:literal => $field:ident),* $(,)? } needs $needed:expr, |$self:ident, $map:ident, $unknown:ident| $other:expr) => {
        impl<'de> Deserialize<'de> for $name<'de> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Object;
                impl<'de> Visitor<'de> for Object {
                    type Value = $name<'de>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut $map: A) -> Result<$name<'de>, A::Error> {
                        let mut $self = $name::default();
                        let mut met = BTreeSet::new();
                        while let Some(key) = $map.next_key::<String>()? {
                            match key.as_str() {
                                $($key => {
                                    if !met.insert($key) {
                                        $self.repeated.push($key);
                                    }
                                    $self.$field = $map.next_value()?;
                                    if $self.$field.is_null() {
                                        $self.nulls.push($key);
                                    }
                                })*
                                $unknown => $other,
                            }
                        }
                        let needed: &[&'static str] = &$needed;
                        match needed.iter().find(|key| !met.contains(*key)) {
                            Some(key) => Err(serde::de::Error::missing_field(key)),
                            None => Ok($self),
                        }
                    }
                }
                deserializer.deserialize_map(Object)
            }
        }
    };
}

/// Tells whether a value is null.
trait IsNull {
    fn is_null(&self) -> bool;
}

impl<T> IsNull for Option<T> {
    fn is_null(&self) -> bool {
        self.is_none()
    }
}

/// Types that cannot be null.
macro_rules! never_null {
    ($($name:ty),*) => {$(
        impl IsNull for $name {
            fn is_null(&self) -> bool {
                false
            }
        }
    )*};
}

never_null!(Vec<AddedTokenEntry>, Model<'_>);

/// The whole file. Unknown keys at this level are an error, as in the reference. Small parts are
/// read as JSON values; the model may be large and is read directly into its structure.
#[derive(Default)]
pub(crate) struct File<'a> {
    pub(crate) version: Option<String>,
    pub(crate) truncation: Option<Value>,
    pub(crate) padding: Option<Value>,
    pub(crate) added_tokens: Vec<AddedTokenEntry>,
    pub(crate) normalizer: Option<Value>,
    pub(crate) pre_tokenizer: Option<Value>,
    pub(crate) post_processor: Option<Value>,
    pub(crate) decoder: Option<Value>,
    pub(crate) model: Model<'a>,
    /// Repeated keys.
    pub(crate) repeated: Vec<&'static str>,
    /// Keys whose value is null.
    pub(crate) nulls: Vec<&'static str>,
    /// Indices of added tokens without an id.
    pub(crate) without_id: Vec<usize>,
}

const KEYS: [&str; 9] = [
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
];

object!(File as "a tokenizer.json, which is an object" {
    "version" => version,
    "truncation" => truncation,
    "padding" => padding,
    "added_tokens" => added_tokens,
    "normalizer" => normalizer,
    "pre_tokenizer" => pre_tokenizer,
    "post_processor" => post_processor,
    "decoder" => decoder,
    "model" => model,
} needs ["model"], |file, map, unknown| return Err(serde::de::Error::unknown_field(unknown, &KEYS)));

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the file's own flags
pub(crate) struct AddedTokenEntry {
    /// The reference reads the id, and assigns another if it does not fit.
    pub(crate) id: Option<TokenId>,
    pub(crate) content: String,
    pub(crate) single_word: bool,
    pub(crate) lstrip: bool,
    pub(crate) rstrip: bool,
    pub(crate) normalized: bool,
    pub(crate) special: bool,
}

/// The fields of all models; the type determines which are required.
#[derive(Default)]
#[allow(clippy::zero_sized_map_values)] // the values of keys that no model has are not kept
pub(crate) struct Model<'a> {
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
    pub(crate) vocab: Option<VocabEntries<'a>>,
    pub(crate) merges: Option<MergeEntries>,
    /// Unknown keys.
    pub(crate) others: BTreeSet<String>,
    /// Repeated keys.
    pub(crate) repeated: Vec<&'static str>,
    /// Keys whose value is null.
    pub(crate) nulls: Vec<&'static str>,
}

object!(Model as "a model, which is an object" {
    "type" => name,
    "dropout" => dropout,
    "unk_token" => unk_token,
    "continuing_subword_prefix" => continuing_subword_prefix,
    "end_of_word_suffix" => end_of_word_suffix,
    "fuse_unk" => fuse_unk,
    "byte_fallback" => byte_fallback,
    "ignore_merges" => ignore_merges,
    "max_input_chars_per_word" => max_input_chars_per_word,
    "unk_id" => unk_id,
    "vocab" => vocab,
    "merges" => merges,
} needs [], |model, map, unknown| {
    // Read as a value, not skipped: too deep nesting is an error, as in the reference.
    map.next_value::<Value>()?;
    model.others.insert(unknown.to_owned());
});

/// A `vocab`: the entries of an object in the order of the file, including repeated keys, or a list
/// of pieces and scores.
pub(crate) enum VocabEntries<'a> {
    Object(Vec<(Cow<'a, str>, TokenId)>),
    List(Vec<(String, f64)>),
}

impl<'de> Deserialize<'de> for VocabEntries<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = VocabEntries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of ids by token, or a list of tokens and scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(token), id)) = map.next_entry()? {
                    entries.push((token, id));
                }
                Ok(VocabEntries::Object(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((token, Score(score))) = list.next_element()? {
                    entries.push((token, score));
                }
                Ok(VocabEntries::List(entries))
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

/// The list of merges.
#[derive(Default)]
pub(crate) struct MergeEntries {
    /// Two parts per merge.
    parts: Texts,
    /// Indices of entries that are the header of a merges.txt, which old files have in their list.
    versions: Vec<usize>,
}

impl MergeEntries {
    pub(crate) fn push(&mut self, left: &str, right: &str) {
        self.parts.push(left);
        self.parts.push(right);
    }

    /// Number of merges.
    pub(crate) fn len(&self) -> usize {
        self.parts.len() / 2
    }

    /// The merges with their indices in the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        let mut versions = self.versions.iter().copied().peekable();
        let mut next = 0;
        (0..self.len()).map(move |at| {
            while versions.next_if_eq(&next).is_some() {
                next += 1;
            }
            next += 1;
            (next - 1, &self.parts[2 * at], &self.parts[2 * at + 1])
        })
    }
}

impl<'de> Deserialize<'de> for MergeEntries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = MergeEntries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut entries = MergeEntries::default();
                while let Some(entry) = list.next_element()? {
                    match entry {
                        MergeEntry::Pair(left, right) => entries.push(&left, &right),
                        MergeEntry::Version => entries.versions.push(entries.len() + entries.versions.len()),
                    }
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// A merge: `"a b"` or `["a", "b"]`.
enum MergeEntry<'a> {
    Pair(Cow<'a, str>, Cow<'a, str>),
    Version,
}

impl<'de> Deserialize<'de> for MergeEntry<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = MergeEntry<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge: \"a b\" or [\"a\", \"b\"]")
            }

            fn visit_borrowed_str<E: serde::de::Error>(self, merge: &'de str) -> Result<Self::Value, E> {
                Ok(parts(merge)?.map_or(MergeEntry::Version, |(left, right)| {
                    MergeEntry::Pair(Cow::Borrowed(left), Cow::Borrowed(right))
                }))
            }

            fn visit_str<E: serde::de::Error>(self, merge: &str) -> Result<Self::Value, E> {
                Ok(parts(merge)?.map_or(MergeEntry::Version, |(left, right)| {
                    MergeEntry::Pair(Cow::Owned(left.to_owned()), Cow::Owned(right.to_owned()))
                }))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let missing = || serde::de::Error::custom("expected two tokens, found fewer");
                let Text(left) = parts.next_element()?.ok_or_else(missing)?;
                let Text(right) = parts.next_element()?.ok_or_else(missing)?;
                if parts.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(serde::de::Error::custom("expected two tokens, found more"));
                }
                Ok(MergeEntry::Pair(left, right))
            }
        }
        deserializer.deserialize_any(Parts)
    }
}

/// The two parts of a merge in one string; `None` for a header.
fn parts<E: serde::de::Error>(merge: &str) -> Result<Option<(&str, &str)>, E> {
    match merge.split_once(' ') {
        _ if merge.starts_with("#version") => Ok(None),
        Some((left, right)) if !right.contains(' ') => Ok(Some((left, right))),
        _ => Err(E::custom(format!("expected two tokens with a blank between them, found {merge:?}"))),
    }
}

/// A string, borrowed if possible.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Str;
        impl<'de> Visitor<'de> for Str {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Str)
    }
}

/// Converts an error of serde; its path becomes the field.
pub(crate) fn json_error(error: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().to_string();
    let inner = error.into_inner();
    let text = inner.to_string();
    // A question mark in the path means an incomplete value.
    let path = if path == "." || path == "?" { "" } else { path.strip_suffix(".?").unwrap_or(&path) };
    let at = |error: Error, path: &str| if path.is_empty() { error } else { error.at(path) };
    // serde_json stops at this depth, and only its message says so.
    if text.starts_with("recursion limit exceeded") {
        let outermost = path.split('[').next().unwrap_or_default();
        return at(Error::limit(format!("nested too deeply: {inner}"), 128), outermost);
    }
    let place = place_of(&inner);
    let path_or_place = if path.is_empty() { &place } else { path };
    match inner.classify() {
        Category::Eof => {
            Error::format(Defect::Truncated, format!("the file ends too early: {inner}")).at(path_or_place)
        }
        Category::Syntax | Category::Io => Error::format(Defect::Json, text).at(path_or_place),
        Category::Data => {
            let named = |before: &str| text.strip_prefix(before).and_then(|rest| rest.split('`').next());
            if let Some(field) = named("missing field `") {
                at(Error::format(Defect::Missing, &text).at(field), path)
            } else if let Some(field) = named("unknown field `") {
                // The path includes the key for a derived reader, but not for a visitor.
                let outside = path.strip_suffix(field).unwrap_or(path).trim_end_matches('.');
                at(Error::format(Defect::Unsupported, &text).at(field), outside)
            } else {
                at(Error::format(defect_of_data(&text, path), text), path)
            }
        }
    }
}

/// Converts an error of serde about text after the end of the document.
pub(crate) fn trailing_text(error: &serde_json::Error) -> Error {
    Error::format(Defect::Json, format!("more text after the end: {error}")).at(place_of(error))
}

fn place_of(error: &serde_json::Error) -> String {
    format!("line {} column {}", error.line(), error.column())
}

/// The defect of a value that is valid JSON but not valid in the format.
fn defect_of_data(text: &str, path: &str) -> Defect {
    if path.contains("merges") {
        Defect::Merge
    } else if text.contains("expected u32")
        && (text.contains(": integer") || text.contains(": floating point"))
    {
        Defect::Range
    } else {
        Defect::Type
    }
}
