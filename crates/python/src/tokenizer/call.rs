//! `tok(...)`: encodes texts as input of a model.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use super::Tokenizer;
use crate::convert;
use crate::encoding::Encoding;
use crate::errors::{gather, raise};
use crate::limits::Limits;
use crate::output;
use crate::sequences::{How, Sample};

fn is_one_text(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyString>().is_ok()
        || object.cast::<PyBytes>().is_ok()
        || object.cast::<PyByteArray>().is_ok()
        || object.cast::<PyMemoryView>().is_ok()
}

/// The rows of a batch; `None` for a single sample.
fn rows<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    is_pretokenized: bool,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if is_one_text(object) {
        return Ok(None);
    }
    let expected = if is_pretokenized { "words, or a list of these" } else { "a text, or a list of texts" };
    let items = gather(convert::texts(object, name, expected)?)?;
    // A list of words is a single sample.
    Ok(if is_pretokenized && items.iter().all(is_one_text) { None } else { Some(items) })
}

#[pymethods]
impl Tokenizer {
    /// Encodes a text as input of a model, with special tokens: an `Encoding`; for a list of texts
    /// a list of them.
    ///
    /// `pair` is a second text (or list of texts). `truncation` cuts to `max_length`: True as the
    /// file says, or `"longest_first"`, `"only_first"`, `"only_second"`; the windows after the
    /// first one share `stride` ids and are its `overflowing`. None truncates if `max_length` is
    /// given and is not the length of padding. `padding` is True (as the file says, else to the
    /// longest of the list), `"longest"` or `"max_length"`. With `is_pretokenized`, a text is a
    /// list of words.
    #[pyo3(signature = (text, pair = None, *, add_special_tokens = true, truncation = None, padding = None, max_length = None, stride = None, pad_to_multiple_of = None, truncation_side = None, padding_side = None, is_pretokenized = false, special = None, surrogates = "replace"))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        pair: Option<&Bound<'py, PyAny>>,
        add_special_tokens: bool,
        truncation: Option<&Bound<'py, PyAny>>,
        padding: Option<&Bound<'py, PyAny>>,
        max_length: Option<&Bound<'py, PyAny>>,
        stride: Option<&Bound<'py, PyAny>>,
        pad_to_multiple_of: Option<&Bound<'py, PyAny>>,
        truncation_side: Option<&str>,
        padding_side: Option<&str>,
        is_pretokenized: bool,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let limits = Limits {
            truncation,
            padding,
            max_length: convert::length(max_length, "max_length")?,
            stride: convert::length(stride, "stride")?,
            pad_to_multiple_of: convert::length(pad_to_multiple_of, "pad_to_multiple_of")?,
            truncation_side,
            padding_side,
        };
        let truncation = limits.truncation(&self.engine)?;
        let padding = limits.pad(&self.engine)?;
        let how = How {
            engine: &self.engine,
            special: convert::special(special)?,
            surrogates: convert::surrogates(surrogates)?,
            adds_special: add_special_tokens,
            truncation,
            only_if_cut: false,
        };
        let batch = rows(text, "text", is_pretokenized)?;
        let samples = match &batch {
            None => vec![Sample::new(text, pair, is_pretokenized)?],
            Some(texts) => {
                let pairs = match pair {
                    None => None,
                    Some(pair) => {
                        let pairs = rows(pair, "pair", is_pretokenized)?;
                        let pairs = pairs.filter(|pairs| pairs.len() == texts.len());
                        Some(pairs.ok_or_else(|| {
                            PyValueError::new_err("pair must be a list as long as that of the texts")
                        })?)
                    }
                };
                let pair_of = |i: usize| pairs.as_ref().map(|pairs| &pairs[i]);
                let sample = |(i, text)| Sample::new(text, pair_of(i), is_pretokenized);
                gather(texts.iter().enumerate().map(sample))?
            }
        };
        let mut encodings = how.encode(py, &samples, 1)?;
        if let Some(padding) = padding {
            Encoding::pad(&mut encodings, &padding).map_err(|error| raise(py, error))?;
        }
        match (batch, encodings.pop()) {
            (None, Some(encoding)) => Ok(Bound::new(py, encoding)?.into_any()),
            (_, last) => {
                encodings.extend(last);
                Ok(output::list_of(py, encodings.len(), encodings.into_iter())?.into_any())
            }
        }
    }
}
