//! What a manifest says of a tokenizer, found out of an engine; as text, and compared with an engine.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokenmill_core::description::{
    ChatTemplates, Decoder, Decoding, Description, Normalizer, Pattern, PreTokenizer, Split,
};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::{Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::pattern::{UNICODE_EDITION, named_splits};
use tokenmill_core::{normalize, watch::Watch};

use super::annotations::{Annotations, PaddedSide, refused};
use super::entries::Entries;
use super::golden::{Vector, stops, vectors};
use super::samples::questions;
use crate::fingerprint::Digests;
use crate::known_files::sha256;

/// How published chat formats write the end of a train of thought.
const THINK_ENDS: [&str; 4] = ["</think>", "[/THINK]", "<|END_THINKING|>", "◁/think▷"];

/// What a manifest says besides files, with the field names of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    vocab_size: usize,
    bos_token_id: Option<TokenId>,
    eos_token_id: Option<TokenId>,
    think_end_id: Option<TokenId>,
    padding_side_train: Option<PaddedSide>,
    padding_side_generate: Option<PaddedSide>,
    /// Of the default template.
    chat_template_sha256: Option<String>,
    fingerprint: String,
    digests: WrittenDigests,
    split: Option<String>,
    unicode_edition: UnicodeEdition,
    special_tokens: BTreeMap<String, TokenId>,
    corpus: Option<Value>,
    training: Option<Value>,
    golden: Vec<Vector>,
}

/// The digests of [`Digests`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WrittenDigests {
    encode: String,
    decode: String,
    template: String,
    chat: String,
}

/// The editions of Unicode that results depend on; `None` for what the tokenizer has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UnicodeEdition {
    normal_forms: Option<String>,
    patterns: Option<String>,
}

/// All of a manifest but its vectors, in the order of the file.
#[derive(Serialize)]
struct Head<'a> {
    manifest_version: u32,
    tokenizer_sha256: &'a str,
    vocab_size: usize,
    bos_token_id: Option<TokenId>,
    eos_token_id: Option<TokenId>,
    think_end_id: Option<TokenId>,
    padding_side_train: Option<PaddedSide>,
    padding_side_generate: Option<PaddedSide>,
    chat_template_sha256: &'a Option<String>,
    files: &'a Entries,
    ignored: &'a Entries,
    fingerprint: &'a str,
    digests: &'a WrittenDigests,
    split: &'a Option<String>,
    unicode_edition: &'a UnicodeEdition,
    special_tokens: &'a BTreeMap<String, TokenId>,
    corpus: &'a Option<Value>,
    training: &'a Option<Value>,
}

/// A field of a manifest that is not what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The field.
    pub field: String,
    /// The content according to the manifest.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Mismatch {
    pub(super) fn new(field: String, expected: String, found: String) -> Self {
        Self { field, expected, found }
    }
}

/// The size of the vocabulary and the special tokens: what manifests have had from the first version on.
pub(super) fn first_facts(engine: &Engine) -> (usize, BTreeMap<String, TokenId>) {
    let special = engine.vocabulary().added().iter().filter(|token| token.is_special);
    (engine.vocabulary().len(), special.map(|token| (token.content.clone(), token.id)).collect())
}

/// The id that ends a train of thought, if one of the known literals is a token and no other is.
fn think_end_of(description: &Description) -> Option<TokenId> {
    let mut found = description.added_tokens.iter().filter(|token| THINK_ENDS.contains(&&*token.content));
    let first = found.next()?;
    found.next().is_none().then_some(first.id)
}

fn edition((major, minor, update): (u64, u64, u64)) -> String {
    format!("{major}.{minor}.{update}")
}

impl UnicodeEdition {
    fn of(description: &Description) -> Self {
        let form = description.normalizer.iter().find_map(|step| match step {
            Normalizer::Nfc(tables)
            | Normalizer::Nfd(tables)
            | Normalizer::Nfkc(tables)
            | Normalizer::Nfkd(tables) => Some(*tables),
            _ => None,
        });
        let is_regex = |pattern: &Pattern| matches!(pattern, Pattern::Regex(_));
        let of_text = description
            .normalizer
            .iter()
            .any(|step| matches!(step, Normalizer::Replace { pattern, .. } if is_regex(pattern)));
        let of_split = description
            .pre_tokenizer
            .iter()
            .any(|step| matches!(step, PreTokenizer::Split { pattern, .. } if is_regex(pattern)));
        let of_ids = match &description.decoding {
            Decoding::Steps(steps) => {
                steps.iter().any(|step| matches!(step, Decoder::Replace { pattern, .. } if is_regex(pattern)))
            }
            _ => false,
        };
        let has_pattern = of_text || of_split || of_ids;
        Self {
            normal_forms: form.map(|tables| edition(normalize::edition(tables))),
            patterns: has_pattern.then(|| edition(UNICODE_EDITION)),
        }
    }
}

impl Facts {
    /// What there is to say of an engine. `split_name` is the name that its split was asked for by. The texts of
    /// the golden vectors are encoded, so hooks are called. Cost: proportional to the vocabulary.
    ///
    /// # Errors
    /// A format error for a hook without a name; a manifest error for an annotated id that the vocabulary does not
    /// have; errors of the watch.
    pub(crate) fn of(
        engine: &Engine,
        annotations: &Annotations,
        split_name: Option<&'static str>,
        watch: &dyn Watch,
    ) -> Result<Self> {
        if let Some(id) = annotations.think_end_id
            && !engine.vocabulary().contains(id)
        {
            let expected = "an id of the vocabulary".to_owned();
            return Err(refused("think_end_id", expected, format!("{id}, which is none")));
        }
        let (mut facts, plain) = Self::without_vectors(engine, annotations, split_name)?;
        watch.poll()?;
        facts.golden = vectors(questions(engine, &plain), engine, watch)?;
        Ok(facts)
    }

    fn without_vectors(
        engine: &Engine,
        annotations: &Annotations,
        split_name: Option<&'static str>,
    ) -> Result<(Self, Description)> {
        let (digests, plain) = Digests::with_description(engine)?;
        let description = engine.description();
        let (vocab_size, special_tokens) = first_facts(engine);
        let Annotations { think_end_id, padding_side_train, padding_side_generate, corpus, training } =
            annotations.clone();
        let template = description.chat_templates.iter().find(|(name, _)| *name == ChatTemplates::DEFAULT);
        // A pattern as every file gives it back, in whatever dialect it was asked for.
        let split = Split::of_stages(&plain.pre_tokenizer);
        let fingerprint = digests.fingerprint();
        let Digests { encode, decode, template: around, chat } = digests;
        let facts = Self {
            vocab_size,
            bos_token_id: description.roles.bos,
            eos_token_id: description.roles.eos,
            think_end_id: think_end_id.or_else(|| think_end_of(description)),
            padding_side_train,
            padding_side_generate,
            chat_template_sha256: template.map(|(_, source)| sha256(source.as_bytes())),
            fingerprint,
            digests: WrittenDigests { encode, decode, template: around, chat },
            split: split.map(|split| named_splits::shown(split, split_name)),
            unicode_edition: UnicodeEdition::of(&plain),
            special_tokens,
            corpus,
            training,
            golden: Vec::new(),
        };
        Ok((facts, plain))
    }

    /// What has no effect on the tokenizer. An id that its literal tells is not kept: another tokenizer that is made
    /// from this one may have another.
    pub(super) fn annotations(&self) -> Annotations {
        let is_told = |id: &TokenId| {
            let mut known = THINK_ENDS.iter().filter_map(|literal| self.special_tokens.get(*literal));
            known.any(|other| other == id)
        };
        Annotations {
            think_end_id: self.think_end_id.filter(|id| !is_told(id)),
            padding_side_train: self.padding_side_train,
            padding_side_generate: self.padding_side_generate,
            corpus: self.corpus.clone(),
            training: self.training.clone(),
        }
    }

    /// The names of their fields.
    pub(super) fn fields(&self) -> Result<impl Iterator<Item = String>> {
        let Value::Object(fields) = as_json(self)? else {
            return Err(Error::internal("manifest: no object"));
        };
        Ok(fields.into_iter().map(|(name, _)| name))
    }

    /// The split, by its name or pattern.
    pub(super) fn split(&self) -> Option<&str> {
        self.split.as_deref()
    }

    /// The text of a manifest: a line for each field, and one for each vector.
    pub(super) fn write(
        &self,
        version: u32,
        tokenizer_sha256: &str,
        files: &Entries,
        ignored: &Entries,
    ) -> Result<Vec<u8>> {
        let head = Head {
            manifest_version: version,
            tokenizer_sha256,
            vocab_size: self.vocab_size,
            bos_token_id: self.bos_token_id,
            eos_token_id: self.eos_token_id,
            think_end_id: self.think_end_id,
            padding_side_train: self.padding_side_train,
            padding_side_generate: self.padding_side_generate,
            chat_template_sha256: &self.chat_template_sha256,
            files,
            ignored,
            fingerprint: &self.fingerprint,
            digests: &self.digests,
            split: &self.split,
            unicode_edition: &self.unicode_edition,
            special_tokens: &self.special_tokens,
            corpus: &self.corpus,
            training: &self.training,
        };
        let mut text = serde_json::to_vec_pretty(&head).map_err(|error| unwritten(&error))?;
        // The end of the object: it goes on with the vectors.
        text.truncate(text.len() - "\n}".len());
        text.extend_from_slice(b",\n  \"golden\": [");
        for (i, vector) in self.golden.iter().enumerate() {
            text.extend_from_slice(if i == 0 { b"\n    " } else { b",\n    " });
            serde_json::to_writer(&mut text, vector).map_err(|error| unwritten(&error))?;
        }
        text.extend_from_slice(if self.golden.is_empty() { b"]\n}\n" } else { b"\n  ]\n}\n" });
        Ok(text)
    }

    /// The differences between these facts and those of an engine, in the order of the file, and how many vectors
    /// were tried.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn compare(&self, engine: &Engine, watch: &dyn Watch) -> Result<(Vec<Mismatch>, usize)> {
        let split_name = self.split.as_deref().and_then(named_splits::name_given);
        let (found, plain) = Self::without_vectors(engine, &self.annotations(), split_name)?;
        let mut mismatches = Vec::new();
        let differ = &mut mismatches;
        compare("vocab_size", &self.vocab_size, &found.vocab_size, differ)?;
        compare("bos_token_id", &self.bos_token_id, &found.bos_token_id, differ)?;
        compare("eos_token_id", &self.eos_token_id, &found.eos_token_id, differ)?;
        if let Some(id) = self.think_end_id.filter(|&id| !engine.vocabulary().contains(id)) {
            differ.push(Mismatch::new("think_end_id".to_owned(), id.to_string(), "no such id".to_owned()));
        } else {
            compare("think_end_id", &self.think_end_id, &found.think_end_id, differ)?;
        }
        compare("chat_template_sha256", &self.chat_template_sha256, &found.chat_template_sha256, differ)?;
        compare("fingerprint", &self.fingerprint, &found.fingerprint, differ)?;
        compare("digests", &self.digests, &found.digests, differ)?;
        compare("split", &self.split, &found.split, differ)?;
        compare("unicode_edition", &self.unicode_edition, &found.unicode_edition, differ)?;
        compare("special_tokens", &self.special_tokens, &found.special_tokens, differ)?;
        // Hooks may refuse every text; else there are some.
        if self.golden.is_empty() && !vectors(questions(engine, &plain), engine, watch)?.is_empty() {
            differ.push(Mismatch::new(
                "golden".to_owned(),
                "texts with their ids".to_owned(),
                "none".to_owned(),
            ));
        }
        for (i, vector) in self.golden.iter().enumerate() {
            let (question, expected) = vector.parts();
            let place = |name: &str| format!("golden[{i}].{name}");
            match question.answer(engine, watch) {
                Ok(found) => {
                    compare(&place("unknown_token"), &expected.unknown_token, &found.unknown_token, differ)?;
                    compare(&place("ids"), &expected.ids, &found.ids, differ)?;
                    compare(&place("offsets"), &expected.offsets, &found.offsets, differ)?;
                    compare(&place("decoded"), &expected.decoded, &found.decoded, differ)?;
                }
                Err(error) if stops(&error) => return Err(error),
                Err(error) => {
                    let expected = as_json(&expected.ids)?.to_string();
                    differ.push(Mismatch::new(place("ids"), expected, format!("an error: {error}")));
                }
            }
        }
        Ok((mismatches, self.golden.len()))
    }
}

fn unwritten(error: &serde_json::Error) -> Error {
    Error::internal(format!("manifest: {error}"))
}

fn as_json<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| unwritten(&error))
}

/// Adds the differences between two values of a field; of objects, those of their entries.
pub(super) fn compare<T: Serialize>(
    field: &str,
    expected: &T,
    found: &T,
    mismatches: &mut Vec<Mismatch>,
) -> Result<()> {
    compare_json(field, &as_json(expected)?, &as_json(found)?, mismatches);
    Ok(())
}

fn compare_json(field: &str, expected: &Value, found: &Value, mismatches: &mut Vec<Mismatch>) {
    if expected == found {
        return;
    }
    let (Value::Object(expected), Value::Object(found)) = (expected, found) else {
        mismatches.push(Mismatch::new(field.to_owned(), expected.to_string(), found.to_string()));
        return;
    };
    let none = Value::Null;
    for (name, value) in expected {
        compare_json(&format!("{field}.{name}"), value, found.get(name).unwrap_or(&none), mismatches);
    }
    for (name, value) in found.iter().filter(|(name, _)| !expected.contains_key(*name)) {
        compare_json(&format!("{field}.{name}"), &none, value, mismatches);
    }
}
