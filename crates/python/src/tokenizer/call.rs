//! `tok(...)` and `tok.pad_batch(...)`: texts, and ids, as input of a model.
use std::ffi::CStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};

use tokenmill_core::description::{PaddingLength, Side, Truncation};
use tokenmill_core::error::Error;

use super::Tokenizer;
use crate::argument_place::Naming;
use crate::argument_values::{self, Given, NOT_GIVEN};
use crate::call::Options;
use crate::encoding::Encoding;
use crate::exceptions::{gather, raise};
use crate::late;
use crate::limits::{self, Limits};
use crate::model_inputs::{InputRows, Returned};
use crate::output::{self, Dtype};
use crate::sequences::{Sample, SampleEncoder};

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
    let items = gather(argument_values::texts(object, name, expected)?)?;
    // A list of words is a single sample.
    Ok(if is_pretokenized && items.first().is_none_or(is_one_text) { None } else { Some(items) })
}

/// Refuses a truncation to a length that padding would exceed, as transformers does.
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
pub(crate) const CALL: &CStr = c"__call__($self, text, pair=None, *, add_special_tokens=True, truncation=None, padding=None, max_length=None, stride=None, pad_to_multiple_of=None, truncation_side=None, padding_side=None, pad_id=None, is_pretokenized=False, return_tensors=None, return_token_type_ids=None, return_attention_mask=None, return_overflowing_tokens=False, return_special_tokens_mask=False, return_offsets_mapping=False, return_length=False, return_position_ids=False, dtype='int64', out=None, special='text', surrogates='replace', num_threads=1)
--

Encodes a text as input of a model: an `Encoding`. For a list of texts, a list of them. With
`return_tensors`, arrays: `ModelInputs`.

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
  `\"max_length\"`, on `padding_side`, up to a multiple of `pad_to_multiple_of`, with the padding
  token of the file or with `pad_id`.

`return_tensors` is `\"np\"` for numpy or `\"pt\"` for torch, which shares the memory. Then all rows must
be equally long. The arrays have the names of transformers, and a row for each text:

- `input_ids` and, unless `return_attention_mask` is False, `attention_mask`;
- `token_type_ids` by `return_token_type_ids` (None: if the tokenizer has a `[CLS]` token and its file
  gives a pair more than one type), `special_tokens_mask` by `return_special_tokens_mask`;
- `position_ids` by `return_position_ids`, counted from the first id that is no padding;
- `offset_mapping` by `return_offsets_mapping`: rows x length x 2, in characters;
- `length` by `return_length`: that of the rows, padding included;
- with `return_overflowing_tokens` windows are rows, too, and `overflow_to_sample_mapping` has the
  index of the text of each row.

`dtype` is that of ids and masks, the others are int64. `out` is an array for `input_ids`, or a mapping
from names to arrays, at least as large: they are filled, and views of them come back.

The texts of a list are shared among `num_threads` threads, None for all cores; the result is the
same.

Raises `UnknownTokenError` for text that the vocabulary cannot spell, `SpecialTokenError` as
`special` says, `MissingExtraError` where torch is not installed, and `ValueError` for what cannot be:
a `max_length` without room for the special tokens, a `stride` that is not below it, truncation to a
`max_length` that `pad_to_multiple_of` does not divide, padding without a padding token, arrays of
rows of unequal length. Where a text of several is at fault the message names it: `text[3]`, `pair[3]`, or
`text[3][2]` for a word.

>>> import tokenmill
>>> tok = tokenmill.train(texts=[\"low lower lowest\"] * 3, vocab_size=260)
>>> [encoding.tokens for encoding in tok([\"lower\", \"low\"], max_length=2)]
[['low', 'e'], ['low']]
>>> tok([\"lower\", \"low\"], padding=True, pad_id=0, return_tensors=\"np\")[\"input_ids\"]
array([[257, 101, 114],
       [257,   0,   0]])
>>> tok([\"low\", \"lower\"], \"lowest\", is_pretokenized=True)
Traceback (most recent call last):
    ...
TypeError: pair must be a sequence of words where is_pretokenized is set, not str
";

#[pymethods]
impl Tokenizer {
    // The documentation is `CALL`: Python takes none from here.
    #[pyo3(signature = (text, pair = None, *, add_special_tokens = true, truncation = None, padding = None, max_length = None, stride = None, pad_to_multiple_of = None, truncation_side = None, padding_side = None, pad_id = None, is_pretokenized = false, return_tensors = None, return_token_type_ids = None, return_attention_mask = None, return_overflowing_tokens = false, return_special_tokens_mask = false, return_offsets_mapping = false, return_length = false, return_position_ids = false, dtype = None, out = None, special = None, surrogates = "replace", num_threads = NOT_GIVEN))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools, clippy::too_many_lines)]
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
        pad_id: Option<&Bound<'py, PyAny>>,
        is_pretokenized: bool,
        return_tensors: Option<&Bound<'py, PyAny>>,
        return_token_type_ids: Option<bool>,
        return_attention_mask: Option<bool>,
        return_overflowing_tokens: bool,
        return_special_tokens_mask: bool,
        return_offsets_mapping: bool,
        return_length: bool,
        return_position_ids: bool,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        surrogates: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
        let limits = Limits {
            truncation,
            padding,
            max_length: argument_values::length(max_length, "max_length")?,
            stride: argument_values::length(stride, "stride")?,
            pad_to_multiple_of: argument_values::length(pad_to_multiple_of, "pad_to_multiple_of")?,
            truncation_side,
            padding_side,
            pad_id: limits::pad_id(pad_id, &self.engine)?,
        };
        let truncation = limits.truncation(&self.engine)?;
        let padding = limits.pad(&self.engine)?;
        if padding.is_some() {
            check_multiple(truncation.as_ref(), limits.pad_to_multiple_of)?;
        }
        let returned = Returned {
            tensors: return_tensors,
            token_type_ids: return_token_type_ids,
            attention_mask: return_attention_mask,
            overflowing_tokens: return_overflowing_tokens,
            special_tokens_mask: return_special_tokens_mask,
            offsets_mapping: return_offsets_mapping,
            length: return_length,
            position_ids: return_position_ids,
            dtype,
            out,
        };
        let columns = match return_tensors {
            None => returned.check_lists().map(|()| None)?,
            Some(_) => Some(returned.columns(&self.engine)?),
        };
        let options = Options {
            special: argument_values::special(special)?,
            surrogates: argument_values::surrogates(surrogates)?,
            threads,
        };
        let batch = rows(text, "text", is_pretokenized)?;
        let texts = batch.as_deref().unwrap_or(std::slice::from_ref(text));
        let pairs = match (pair, &batch) {
            (None, _) => None,
            (Some(pair), None) => Some(vec![pair.clone()]),
            (Some(pair), Some(texts)) => {
                let pairs = rows(pair, "pair", is_pretokenized)?;
                let expected =
                    format!("pair must be a list as long as that of the texts: of {}", texts.len());
                let Some(pairs) = pairs else {
                    return Err(PyTypeError::new_err(format!("{expected}, not one text")));
                };
                if pairs.len() != texts.len() {
                    return Err(PyValueError::new_err(format!("{expected}, not of {}", pairs.len())));
                }
                Some(pairs)
            }
        };
        let naming = if batch.is_some() { Naming::Lists } else { Naming::One };
        // Without offsets the ids are enough: the layout of special tokens and padding does not depend on the text.
        if let Some(columns) = columns.as_ref().filter(|_| !is_pretokenized && !return_offsets_mapping) {
            let given = (texts, pairs.as_deref());
            let frame = (add_special_tokens, truncation.as_ref());
            let overflowing = return_overflowing_tokens;
            let rows = InputRows::of_texts(py, &self.engine, given, &options, naming, frame, overflowing)?;
            return rows.into_arrays(columns, &returned, &self.engine, padding.as_ref(), threads);
        }
        let encoder = SampleEncoder {
            engine: &self.engine,
            special: options.special,
            surrogates: options.surrogates,
            adds_special: add_special_tokens,
            truncation,
            only_if_cut: false,
        };
        let pair_of = |i: usize| pairs.as_ref().map(|pairs| &pairs[i]);
        let sample = |(i, text)| Sample::new(text, pair_of(i), is_pretokenized, (naming, i));
        let samples = gather(texts.iter().enumerate().map(sample))?;
        let mut encodings = encoder.encode(py, &samples, naming, threads)?;
        if let Some(columns) = &columns {
            let rows = InputRows::of_encodings(py, encodings, return_overflowing_tokens)?;
            return rows.into_arrays(columns, &returned, &self.engine, padding.as_ref(), threads);
        }
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

    /// Rows of ids as arrays of equal length: `ModelInputs`.
    ///
    /// `rows` is a list of rows (lists of ids, arrays, `Encoding`s, or mappings with `input_ids` and
    /// more columns), a `Ragged`, or a mapping of columns. `padding`, `max_length`,
    /// `pad_to_multiple_of`, `padding_side`, `pad_id`, `return_tensors`, `dtype`, `out` and
    /// `num_threads` are as for a call. Nothing is cut: whatever `padding` is, a row longer than
    /// `max_length` (up to the next multiple of `pad_to_multiple_of`) is an error.
    ///
    /// A column with a list in each row is padded beside `input_ids`: `labels` with -100, masks with 0
    /// (`special_tokens_mask` with 1), `token_type_ids`, `position_ids` and `document_ids` as their
    /// names say, others with the value in `pad_values`. It must be as long as `input_ids` in each row,
    /// unless `own_length` names it. A column with a number in each row becomes an array of these.
    /// What is padding is known by length: an id that is also `pad_id` is none.
    ///
    /// `attention_mask` is made where the rows have none. `return_position_ids` adds the position of
    /// each id from the first one that is no padding, `max(0, cumsum(attention_mask) - 1)`, plus
    /// `position_offset`: a number, or one for each row, of the ids before these.
    /// `return_token_type_ids`, `return_special_tokens_mask`, `return_offsets_mapping` and
    /// `return_length` are for rows of encodings.
    ///
    /// Raises `ValueError` for rows of unequal length without padding, or longer than `max_length`,
    /// columns that do not fit, and values without padding; `TypeError` for what holds no ids.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> batch = tok.pad_batch([[257], [257, 101, 114]], pad_id=0, padding_side="left")
    /// >>> batch["input_ids"]
    /// array([[  0,   0, 257],
    ///        [257, 101, 114]])
    /// >>> batch["attention_mask"]
    /// array([[0, 0, 1],
    ///        [1, 1, 1]])
    #[pyo3(signature = (rows, *, padding = NOT_GIVEN, max_length = None, pad_to_multiple_of = None, padding_side = None, pad_id = None, pad_values = None, own_length = None, return_tensors = None, return_token_type_ids = false, return_attention_mask = true, return_special_tokens_mask = false, return_offsets_mapping = false, return_length = false, return_position_ids = false, position_offset = None, dtype = None, out = None, num_threads = NOT_GIVEN), text_signature = "($self, rows, *, padding=True, max_length=None, pad_to_multiple_of=None, padding_side=None, pad_id=None, pad_values=None, own_length=(), return_tensors='np', return_token_type_ids=False, return_attention_mask=True, return_special_tokens_mask=False, return_offsets_mapping=False, return_length=False, return_position_ids=False, position_offset=0, dtype='int64', out=None, num_threads=1)")]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn pad_batch<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        padding: Given<'py>,
        max_length: Option<&Bound<'py, PyAny>>,
        pad_to_multiple_of: Option<&Bound<'py, PyAny>>,
        padding_side: Option<&str>,
        pad_id: Option<&Bound<'py, PyAny>>,
        pad_values: Option<&Bound<'py, PyAny>>,
        own_length: Option<&Bound<'py, PyAny>>,
        return_tensors: Option<&Bound<'py, PyAny>>,
        return_token_type_ids: bool,
        return_attention_mask: bool,
        return_special_tokens_mask: bool,
        return_offsets_mapping: bool,
        return_length: bool,
        return_position_ids: bool,
        position_offset: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let yes = PyBool::new(py, true).to_owned().into_any();
        let multiple_of = argument_values::length(pad_to_multiple_of, "pad_to_multiple_of")?;
        let limits = Limits {
            truncation: None,
            padding: Some(padding.0.as_ref().unwrap_or(&yes)),
            max_length: argument_values::length(max_length, "max_length")?,
            stride: None,
            pad_to_multiple_of: multiple_of,
            truncation_side: None,
            padding_side,
            pad_id: limits::pad_id(pad_id, &self.engine)?,
        };
        let padding = limits.pad(&self.engine)?;
        Dtype::new(dtype, self.engine.vocabulary().max_id())?;
        let encoder = PyDict::new(py);
        let fixed = padding.as_ref().and_then(|padding| match padding.length {
            PaddingLength::Fixed(length) => Some(length),
            PaddingLength::Longest => None,
        });
        encoder.set_item("pad_id", padding.as_ref().map(|padding| padding.id))?;
        encoder.set_item("pad_type_id", padding.as_ref().map_or(0, |padding| padding.type_id))?;
        encoder
            .set_item("is_left", padding.as_ref().is_some_and(|padding| padding.direction == Side::Left))?;
        encoder.set_item("length", fixed)?;
        encoder.set_item("max_length", limits.max_length)?;
        encoder.set_item("multiple_of", padding.as_ref().and_then(|padding| padding.multiple_of))?;
        encoder.set_item("pad_values", pad_values)?;
        encoder.set_item("own_length", own_length)?;
        encoder.set_item("return_tensors", return_tensors)?;
        encoder.set_item("return_token_type_ids", return_token_type_ids)?;
        encoder.set_item("return_attention_mask", return_attention_mask)?;
        encoder.set_item("return_special_tokens_mask", return_special_tokens_mask)?;
        encoder.set_item("return_offsets_mapping", return_offsets_mapping)?;
        encoder.set_item("return_length", return_length)?;
        encoder.set_item("return_position_ids", return_position_ids)?;
        encoder.set_item("position_offset", position_offset)?;
        encoder.set_item("dtype", dtype)?;
        encoder.set_item("out", out)?;
        encoder
            .set_item("num_threads", argument_values::threads(&num_threads, Error::argument::<String>)?)?;
        late::PAD_BATCH.get(py)?.getattr("padded")?.call((rows,), Some(&encoder))
    }
}
