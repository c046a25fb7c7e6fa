//! Ids to text.
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::sync::Arc;
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;

use super::Tokenizer;
use crate::convert::{self, Given, NOT_GIVEN};
use crate::output;
use crate::stream::DecodeStream;
use crate::watch::run;

impl Tokenizer {
    fn decode_to_bytes(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Vec<u8>> {
        let options = convert::decode_options(skip_special_tokens, undefined)?;
        let ids = convert::ids(ids, None)?;
        run(py, ids.len() * 4, |watch| self.engine.decode(&ids, options, watch))
    }
}

#[pymethods]
impl Tokenizer {
    /// The text that ids stand for.
    ///
    /// `ids` is a list, an integer array or any sequence. `errors` is Python's policy for bytes that
    /// are not UTF-8: `"replace"`, `"strict"` or `"ignore"`. `undefined` says what an id that does
    /// not exist does: `"error"` (a `VocabularyError` with id and position), `"skip"`, or `"replace"`
    /// (U+FFFD). Where the file has a decoder, the text is what its steps make of the tokens. Cost:
    /// linear.
    #[pyo3(signature = (ids, *, errors = "replace", skip_special_tokens = false, undefined = "error"))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        output::check_errors(errors)?;
        output::text(py, &self.decode_to_bytes(py, ids, skip_special_tokens, undefined)?, errors)
    }

    /// The bytes that ids stand for, which need not be UTF-8.
    #[pyo3(signature = (ids, *, skip_special_tokens = false, undefined = "error"))]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.decode_to_bytes(py, ids, skip_special_tokens, undefined)?))
    }

    /// The text of every row of ids: a `Ragged`, or an iterable of what `decode` takes.
    #[pyo3(signature = (batch, *, errors = "replace", skip_special_tokens = false, undefined = "error", num_threads = NOT_GIVEN), text_signature = "($self, batch, *, errors='replace', skip_special_tokens=False, undefined='error', num_threads=1)")]
    #[allow(clippy::too_many_arguments)]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
        undefined: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        output::check_errors(errors)?;
        let threads = convert::threads(&num_threads, Error::argument::<String>)?;
        let options = convert::decode_options(skip_special_tokens, undefined)?;
        let rows = convert::rows_of_ids(batch)?;
        let views: Vec<&[TokenId]> = rows.iter().map(Vec::as_slice).collect();
        let size = rows.iter().map(|row| row.len() * 4 + 1).sum();
        let decoded = run(py, size, |watch| self.engine.decode_batch(&views, options, threads, watch))?;
        output::texts(py, &decoded, errors)
    }

    /// A `DecodeStream`, which takes ids one at a time and gives text as soon as it is certain.
    ///
    /// Its pieces joined are what `decode` gives for all ids; no piece ends inside a character. The
    /// arguments are those of `decode`.
    #[pyo3(signature = (*, skip_special_tokens = false, errors = "replace", undefined = "error"))]
    fn decode_stream(
        &self,
        skip_special_tokens: bool,
        errors: &str,
        undefined: &str,
    ) -> PyResult<DecodeStream> {
        output::check_errors(errors)?;
        let options = convert::decode_options(skip_special_tokens, undefined)?;
        Ok(DecodeStream::new(Arc::clone(&self.engine), options, errors))
    }
}
