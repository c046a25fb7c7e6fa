//! What is known of a tokenizer without effect on what it does: what its user said, and how it was trained.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::train::TrainingReport;

/// The keys that a caller may give.
const GIVEN: [&str; 4] = ["think_end_id", "padding_side_train", "padding_side_generate", "corpus"];

/// The most bytes of JSON that a caller may give.
const MOST_GIVEN: usize = 1 << 20;

/// The side of a text that is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PaddedSide {
    Right,
    Left,
}

/// What is known of a tokenizer without effect on what it does. It is kept in the manifest of a folder; neither `==`
/// nor the fingerprint nor a pickle knows of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// The id that ends a train of thought.
    pub(crate) think_end_id: Option<TokenId>,
    /// The side that was padded in training.
    pub(crate) padding_side_train: Option<PaddedSide>,
    /// The side to pad for generation.
    pub(crate) padding_side_generate: Option<PaddedSide>,
    /// What the tokenizer was trained on, in the words of its user: any JSON.
    pub(crate) corpus: Option<Value>,
    /// How it was trained here: what was read, and the settings.
    pub(crate) training: Option<Value>,
}

impl Annotations {
    /// These annotations with what a caller says: JSON of an object. `null` takes back what was said before.
    ///
    /// # Errors
    /// A manifest error that names the key, for one that cannot be given and for a wrong value.
    pub fn with_given(&self, json: &str) -> Result<Self> {
        let mut annotations = self.clone();
        let given = read_object(json).ok_or_else(|| {
            let expected = "an object of at most 1 MiB".to_owned();
            refused("manifest", expected, shortened(json))
        })?;
        for (key, value) in given {
            annotations.set(&key, value)?;
        }
        Ok(annotations)
    }

    /// Sets what a caller gives under a key.
    fn set(&mut self, key: &str, value: Value) -> Result<()> {
        let wrong =
            |expected: &str, value: &Value| refused(key, expected.to_owned(), shortened(&value.to_string()));
        match key {
            "think_end_id" => {
                let id = |value: &Value| value.as_u64().and_then(|id| TokenId::try_from(id).ok());
                let expected = "an id, or null";
                let read = |value: Value| id(&value).ok_or_else(|| wrong(expected, &value));
                self.think_end_id = given(value).map(read).transpose()?;
            }
            "padding_side_train" | "padding_side_generate" => {
                let expected = "\"right\" or \"left\", or null";
                let read =
                    |value: Value| PaddedSide::deserialize(&value).map_err(|_| wrong(expected, &value));
                let side = given(value).map(read).transpose()?;
                let field = if key == "padding_side_train" {
                    &mut self.padding_side_train
                } else {
                    &mut self.padding_side_generate
                };
                *field = side;
            }
            "corpus" => self.corpus = given(value),
            _ => return Err(refused(key, format!("one of {}", GIVEN.join(", ")), format!("{key:?}"))),
        }
        Ok(())
    }

    /// The annotations of a tokenizer that was just trained, with these settings: JSON of an object.
    ///
    /// # Errors
    /// An internal error for settings that are no such JSON.
    pub fn of_training(report: &TrainingReport, settings: &str) -> Result<Self> {
        let settings = read_object(settings)
            .ok_or_else(|| Error::internal("the settings of a training run are no JSON object"))?;
        let mut training = Map::new();
        for (name, count) in [
            ("documents", report.documents),
            ("bytes", report.bytes),
            ("skipped", report.skipped_documents),
            ("replaced", report.replaced_documents),
            ("pretokens", report.pretokens),
            ("distinct_pretokens", report.distinct_pretokens),
        ] {
            training.insert(name.to_owned(), count.into());
        }
        let stopped = report.stopped_early.map(|reason| reason.as_str().to_owned());
        training.insert("stopped_early".to_owned(), stopped.into());
        training.insert("settings".to_owned(), Value::Object(settings));
        Ok(Self { training: Some(Value::Object(training)), ..Self::default() })
    }

    /// The same without how the tokenizer was trained, for one that no training makes.
    #[must_use]
    pub fn without_training(&self) -> Self {
        Self { training: None, ..self.clone() }
    }

    /// The same for a vocabulary that has only some of the ids.
    #[must_use]
    pub fn with_ids(&self, has: impl Fn(TokenId) -> bool) -> Self {
        Self { think_end_id: self.think_end_id.filter(|&id| has(id)), ..self.clone() }
    }
}

fn read_object(json: &str) -> Option<Map<String, Value>> {
    if json.len() > MOST_GIVEN { None } else { serde_json::from_str(json).ok() }
}

fn given(value: Value) -> Option<Value> {
    if value.is_null() { None } else { Some(value) }
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

/// The error for something that a manifest cannot say.
pub(super) fn refused(field: &str, expected: String, found: String) -> Error {
    let reason = format!("a manifest takes {expected}, not {found}");
    Error::from(Kind::Manifest { expected, found, reason }).at(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(json: &str) -> String {
        Annotations::default().with_given(json).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_given_is_refused_by_its_key() {
        assert!(
            error_of(r#"{"padding_side": "left"}"#).starts_with("padding_side: a manifest takes one of ")
        );
        assert!(error_of(r#"{"padding_side_train": "up"}"#).starts_with("padding_side_train: "));
        assert!(error_of(r#"{"think_end_id": -1}"#).starts_with("think_end_id: "));
        assert!(error_of(r#"{"think_end_id": 4294967296}"#).starts_with("think_end_id: "));
        assert!(error_of(r#"{"training": {}}"#).starts_with("training: "));
        assert!(error_of("[1]").starts_with("manifest: "));
    }

    #[test]
    fn null_takes_back() {
        let json = r#"{"think_end_id": 7, "padding_side_generate": "left", "corpus": {"name": ["a", 1.5]}}"#;
        let annotations = Annotations::default().with_given(json).unwrap();
        let less = annotations.with_given(r#"{"corpus": null, "think_end_id": null}"#).unwrap();
        assert_eq!(less.padding_side_generate, Some(PaddedSide::Left));
        assert_eq!((less.corpus, less.think_end_id), (None, None));
    }
}
