//! Encodes a batch with the truncation and padding settings of the tokenizers library.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::description::{Padding, PaddingLength, Side, Truncation, TruncationStrategy};
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;

use crate::argument_place::Naming;
use crate::argument_values::{self, Given};
use crate::buffer::Surrogates;
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise};
use crate::output::list_of;
use crate::sequences::{Sample, SampleEncoder};
use crate::tokenizer::Tokenizer;

/// `truncation` of the tokenizers library.
pub(crate) struct TruncationArgument {
    max_length: usize,
    stride: usize,
    strategy: String,
    direction: String,
}

/// `padding` of the tokenizers library.
pub(crate) struct PaddingArgument {
    length: Option<usize>,
    pad_to_multiple_of: Option<usize>,
    pad_id: TokenId,
    pad_type_id: u32,
    pad_token: String,
    direction: String,
}

// Written by hand: the code that pyo3 derives initialises static names, for which threads wait on each other.
impl<'py> FromPyObject<'_, 'py> for TruncationArgument {
    type Error = PyErr;

    fn extract(dict: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            max_length: dict.get_item("max_length")?.extract()?,
            stride: dict.get_item("stride")?.extract()?,
            strategy: dict.get_item("strategy")?.extract()?,
            direction: dict.get_item("direction")?.extract()?,
        })
    }
}

impl<'py> FromPyObject<'_, 'py> for PaddingArgument {
    type Error = PyErr;

    fn extract(dict: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            length: dict.get_item("length")?.extract()?,
            pad_to_multiple_of: dict.get_item("pad_to_multiple_of")?.extract()?,
            pad_id: dict.get_item("pad_id")?.extract()?,
            pad_type_id: dict.get_item("pad_type_id")?.extract()?,
            pad_token: dict.get_item("pad_token")?.extract()?,
            direction: dict.get_item("direction")?.extract()?,
        })
    }
}

fn side(name: &str) -> PyResult<Side> {
    match name {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        other => Err(PyValueError::new_err(format!("direction={other:?} is neither \"left\" nor \"right\""))),
    }
}

impl TryFrom<TruncationArgument> for Truncation {
    type Error = PyErr;

    fn try_from(cut: TruncationArgument) -> PyResult<Self> {
        let strategy = match cut.strategy.as_str() {
            "longest_first" => TruncationStrategy::LongestFirst,
            "only_first" => TruncationStrategy::OnlyFirst,
            "only_second" => TruncationStrategy::OnlySecond,
            other => {
                let reason = format!(
                    "strategy={other:?} is none of \"longest_first\", \"only_first\" and \"only_second\""
                );
                return Err(PyValueError::new_err(reason));
            }
        };
        let direction = side(&cut.direction)?;
        Ok(Self { direction, max_length: cut.max_length, strategy, stride: cut.stride })
    }
}

impl TryFrom<PaddingArgument> for Padding {
    type Error = PyErr;

    fn try_from(fill: PaddingArgument) -> PyResult<Self> {
        Ok(Self {
            length: fill.length.map_or(PaddingLength::Longest, PaddingLength::Fixed),
            direction: side(&fill.direction)?,
            multiple_of: fill.pad_to_multiple_of,
            id: fill.pad_id,
            type_id: fill.pad_type_id,
            token: fill.pad_token,
        })
    }
}

/// Encodes texts, each with the text at the same index of `pairs` unless that is None. Errors name its place in
/// `input` if `is_batch` is set.
///
/// `truncation` and `padding` are dicts as in the tokenizers library. A truncation that cuts
/// nothing is ignored, for any stride.
#[pyfunction]
#[pyo3(signature = (tokenizer, texts, pairs = None, *, is_batch, add_special_tokens, is_pretokenized, special, truncation = None, padding = None, num_threads))]
#[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
pub(crate) fn encode_inputs<'py>(
    tokenizer: &Bound<'py, Tokenizer>,
    texts: &Bound<'py, PyAny>,
    pairs: Option<&Bound<'py, PyAny>>,
    is_batch: bool,
    add_special_tokens: bool,
    is_pretokenized: bool,
    special: &Bound<'py, PyAny>,
    truncation: Option<TruncationArgument>,
    padding: Option<PaddingArgument>,
    num_threads: Given<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let py = tokenizer.py();
    let (texts, pairs) =
        (gather(texts.try_iter()?)?, pairs.map(|pairs| gather(pairs.try_iter()?)).transpose()?);
    let padding: Option<Padding> = padding.map(TryInto::try_into).transpose()?;
    let encoder = SampleEncoder {
        engine: tokenizer.get().engine(),
        special: argument_values::special(Some(special))?,
        surrogates: Surrogates::Refuse,
        adds_special: add_special_tokens,
        truncation: truncation.map(TryInto::try_into).transpose()?,
        only_if_cut: true,
    };
    let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
    if pairs.as_ref().is_some_and(|pairs| pairs.len() != texts.len()) {
        return Err(PyValueError::new_err("pairs must be a list as long as that of the texts"));
    }
    let pair_of = |i: usize| pairs.as_ref().map(|pairs| &pairs[i]).filter(|pair| !pair.is_none());
    let naming = if is_batch { Naming::Inputs } else { Naming::One };
    let sample = |(i, text)| Sample::new(text, pair_of(i), is_pretokenized, (naming, i));
    let samples = gather(texts.iter().enumerate().map(sample))?;
    let mut encodings = encoder.encode(py, &samples, naming, threads)?;
    if let Some(padding) = padding {
        Encoding::pad(&mut encodings, &padding).map_err(|error| raise(py, error))?;
    }
    list_of(py, encodings.len(), encodings.into_iter())
}
