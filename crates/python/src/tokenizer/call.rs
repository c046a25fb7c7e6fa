//! `tok(...)`: encodes texts as input of a model.
use std::ffi::CStr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use tokenmill_core::description::Truncation;
use tokenmill_core::error::Error;

use super::Tokenizer;
use crate::convert::{self, Given, NOT_GIVEN};
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise};
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

/// Refuses truncation to a length that padding would exceed, as transformers does.
fn check_multiple(truncation: Option<&Truncation>, multiple: Option<usize>) -> PyResult<()> {
    let (Some(length), Some(multiple @ 1..)) = (truncation.map(|by| by.max_length), multiple) else {
        return Ok(());
    };
    if length % multiple == 0 {
        return Ok(());
    }
    let below = length - length % multiple;
    let meant = if below > 0 { format!("{below} or {}", below + multiple) } else { multiple.to_string() };
    Err(PyValueError::new_err(format!(
        "truncation to max_length={length} and pad_to_multiple_of={multiple}: {length} is no multiple of {multiple}; \
         pass max_length={meant}"
    )))
}

/// The signature and the documentation of `Tokenizer.__call__`.
pub(crate) const CALL: &CStr = c"__call__($self, text, pair=None, *, add_special_tokens=True, truncation=None, padding=None, max_length=None, stride=None, pad_to_multiple_of=None, truncation_side=None, padding_side=None, is_pretokenized=False, special='text', surrogates='replace', num_threads=1)
--

Encodes a text as input of a model: an `Encoding`. For a list of texts, a list of them.

`pair` is a second text, or a list of as many. With `is_pretokenized` a text is a list of words:
each word is encoded as a text of its own, offsets count within it, and `word_ids` are its index.
`add_special_tokens` adds the tokens that the file puts around a text or a pair; `special` and
`surrogates` are as for `encode`.

Lengths count ids, special tokens included:

- `truncation` cuts to `max_length`: True as the file says, or `\"longest_first\"`, `\"only_first\"`,
  `\"only_second\"`; False does not cut. None cuts if `max_length` is given and there is no
  `padding`. `truncation_side` is `\"right\"` or `\"left\"`. The windows after the first one are its
  `overflowing`; neighbours share `stride` ids.
- `padding` is True (as the file says, else to the longest of the list), `\"longest\"` or
  `\"max_length\"`, on `padding_side`, up to a multiple of `pad_to_multiple_of`.

The texts of a list are shared among `num_threads` threads, None for all cores; the result is the
same.

Raises `UnknownTokenError` for text that the vocabulary cannot spell, `SpecialTokenError` as
`special` says, and `ValueError` for what cannot be: a `max_length` without room for the special
tokens, a `stride` that is not below it, truncation to a `max_length` that `pad_to_multiple_of`
does not divide, padding without a padding token.

>>> import tokenmill
>>> tok = tokenmill.train(texts=[\"low lower lowest\"] * 3, vocab_size=260)
>>> [encoding.tokens for encoding in tok([\"lower\", \"low\"], max_length=2)]
[['low', 'e'], ['low']]
>>> tok([\"low\", \"lower\"], \"lowest\", is_pretokenized=True)
Traceback (most recent call last):
    ...
TypeError: pair must be a sequence of words where is_pretokenized is set, not str
";

#[pymethods]
impl Tokenizer {
    // The documentation is `CALL`: Python takes none from here.
    #[pyo3(signature = (text, pair = None, *, add_special_tokens = true, truncation = None, padding = None, max_length = None, stride = None, pad_to_multiple_of = None, truncation_side = None, padding_side = None, is_pretokenized = false, special = None, surrogates = "replace", num_threads = NOT_GIVEN))]
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
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = convert::threads(&num_threads, Error::argument::<String>)?;
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
        if padding.is_some() {
            check_multiple(truncation.as_ref(), limits.pad_to_multiple_of)?;
        }
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
        let mut encodings = how.encode(py, &samples, threads)?;
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
