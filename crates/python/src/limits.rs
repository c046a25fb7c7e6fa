//! Truncation and padding of a call: its arguments override the settings of the file.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use tokenmill_core::description::{Padding, PaddingLength, Side, Truncation, TruncationStrategy};
use tokenmill_core::engine::Engine;
use tokenmill_core::error::Kind;
use tokenmill_core::ids::TokenId;

use crate::argument_values;
use crate::exceptions::{raise, wrong_type};

/// The arguments of a call.
pub(crate) struct Limits<'a, 'py> {
    pub(crate) truncation: Option<&'a Bound<'py, PyAny>>,
    pub(crate) padding: Option<&'a Bound<'py, PyAny>>,
    pub(crate) max_length: Option<usize>,
    pub(crate) stride: Option<usize>,
    pub(crate) pad_to_multiple_of: Option<usize>,
    pub(crate) truncation_side: Option<&'a str>,
    pub(crate) padding_side: Option<&'a str>,
    /// Padding with this id, whatever the file names.
    pub(crate) pad_id: Option<TokenId>,
}

/// `None`, a `bool`, or a word.
#[derive(PartialEq)]
enum Choice {
    Unsaid,
    Flag(bool),
    Word(String),
}

fn choice(argument: Option<&Bound<'_, PyAny>>, name: &str, words: &str) -> PyResult<Choice> {
    let Some(argument) = argument else { return Ok(Choice::Unsaid) };
    if let Ok(flag) = argument.cast::<PyBool>() {
        return Ok(Choice::Flag(flag.is_true()));
    }
    match argument.cast::<PyString>() {
        Ok(word) => Ok(Choice::Word(word.extract()?)),
        Err(_) => Err(wrong_type(name, &format!("None, a bool, {words}"), argument)),
    }
}

pub(crate) fn side(argument: Option<&str>, name: &str) -> PyResult<Option<Side>> {
    match argument {
        None => Ok(None),
        Some("left") => Ok(Some(Side::Left)),
        Some("right") => Ok(Some(Side::Right)),
        Some(other) => {
            Err(PyValueError::new_err(format!("{name}={other:?} is neither \"left\" nor \"right\"")))
        }
    }
}

const STRATEGIES: &str = "\"longest_first\", \"only_first\" or \"only_second\"";
const PADDINGS: &str = "\"longest\" or \"max_length\"";

/// `pad_id=`: an id of the vocabulary.
pub(crate) fn pad_id(argument: Option<&Bound<'_, PyAny>>, engine: &Engine) -> PyResult<Option<TokenId>> {
    let Some(argument) = argument else { return Ok(None) };
    let id = argument_values::token_id(argument, || "pad_id".to_owned())?;
    if engine.vocabulary().written(id).is_some() {
        return Ok(Some(id));
    }
    let reason = "does not exist in this vocabulary; pad_id takes any id of it, such as eos_token_id, because padding \
                  is masked by length";
    let kind = Kind::Vocabulary { id: Some(id.into()), position: None, reason: reason.to_owned() };
    Err(raise(argument.py(), kind.into()))
}

impl Limits<'_, '_> {
    /// The truncation of the call, or `None`.
    pub(crate) fn truncation(&self, engine: &Engine) -> PyResult<Option<Truncation>> {
        let set = engine.description().defaults.limits;
        let filed = engine.description().truncation.filter(|_| set.is_none());
        let strategy = match choice(self.truncation, "truncation", STRATEGIES)? {
            // A `max_length` without `truncation` means truncation, unless it is the length of padding.
            Choice::Unsaid if self.max_length.is_none() || self.padding()? != Choice::Flag(false) => {
                return Ok(None);
            }
            Choice::Flag(false) => return Ok(None),
            Choice::Unsaid | Choice::Flag(true) => filed.map(|filed| filed.strategy).unwrap_or_default(),
            Choice::Word(word) => match word.as_str() {
                "longest_first" => TruncationStrategy::LongestFirst,
                "only_first" => TruncationStrategy::OnlyFirst,
                "only_second" => TruncationStrategy::OnlySecond,
                other => {
                    let reason = format!("truncation={other:?} is no bool and none of {STRATEGIES}");
                    return Err(PyValueError::new_err(reason));
                }
            },
        };
        let of_tokenizer = filed.map(|filed| filed.max_length).or(set.and_then(|set| set.max_length));
        let Some(max_length) = self.max_length.or(of_tokenizer) else {
            let reason =
                "truncation needs max_length: the tokenizer sets no length (model_max_length is None)";
            return Err(PyValueError::new_err(reason));
        };
        let direction = side(self.truncation_side, "truncation_side")?;
        Ok(Some(Truncation {
            direction: direction.unwrap_or(engine.description().truncation_side()),
            max_length,
            strategy,
            stride: self.stride.or(filed.map(|filed| filed.stride)).unwrap_or_default(),
        }))
    }

    fn padding(&self) -> PyResult<Choice> {
        Ok(match choice(self.padding, "padding", PADDINGS)? {
            Choice::Unsaid => Choice::Flag(false),
            choice => choice,
        })
    }

    /// The padding of the call, or `None`.
    pub(crate) fn pad(&self, engine: &Engine) -> PyResult<Option<Padding>> {
        let description = engine.description();
        let set = description.defaults.limits;
        let filed = description.padding.as_ref();
        let length = match self.padding()? {
            Choice::Unsaid | Choice::Flag(false) => return Ok(None),
            Choice::Flag(true) => {
                filed.filter(|_| set.is_none()).map_or(PaddingLength::Longest, |filed| filed.length)
            }
            Choice::Word(word) => match word.as_str() {
                "longest" => PaddingLength::Longest,
                "max_length" => PaddingLength::Fixed(
                    self.max_length
                        .or(set.and_then(|set| set.max_length))
                        .ok_or_else(|| PyValueError::new_err("padding=\"max_length\" needs max_length"))?,
                ),
                other => {
                    let reason = format!("padding={other:?} is no bool and none of {PADDINGS}");
                    return Err(PyValueError::new_err(reason));
                }
            },
        };
        let written = |id| engine.vocabulary().written(id);
        let mut padding = match (filed.filter(|_| set.is_none()), self.pad_id.or(description.pad())) {
            (Some(filed), _) => filed.clone(),
            (None, Some(id)) => Padding {
                length,
                direction: description.padding_side(),
                multiple_of: None,
                id,
                type_id: 0,
                token: written(id).unwrap_or_default(),
            },
            (None, None) => {
                let reason = "padding needs a padding token, and the tokenizer names none (pad_token_id is None); \
                              pass pad_id=, or give it one with load(..., pad_token=) or \
                              with_special_tokens(pad_token=)";
                return Err(PyValueError::new_err(reason));
            }
        };
        if let Some(id) = self.pad_id {
            (padding.id, padding.token) = (id, written(id).unwrap_or_default());
        }
        padding.length = length;
        padding.multiple_of = self.pad_to_multiple_of.or(padding.multiple_of);
        padding.direction = side(self.padding_side, "padding_side")?.unwrap_or(padding.direction);
        Ok(Some(padding))
    }
}
