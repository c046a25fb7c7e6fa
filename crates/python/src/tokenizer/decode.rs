//! Decoding: ids to text.
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::sync::Arc;
use tokenmill_core::engine::{DecodeOptions, DecodedSize, Engine};
use tokenmill_core::error::Error;
use tokenmill_core::ids::TokenId;

use super::Tokenizer;
use crate::argument_values::{self, Given, NOT_GIVEN};
use crate::buffer::{ascii_string, objects};
use crate::exceptions::gather;
use crate::ids;
use crate::output;
use crate::stream::DecodeStream;
use crate::watch::run;

/// The given ids, and the options of decoding.
struct Ids {
    ids: Vec<TokenId>,
    options: DecodeOptions,
}

impl Ids {
    fn new(ids: &Bound<'_, PyAny>, skip_special_tokens: bool, undefined: &str) -> PyResult<Self> {
        let options = argument_values::decode_options(skip_special_tokens, undefined)?;
        Ok(Self { ids: ids::ids(ids, None)?, options })
    }

    /// The cost of decoding, in bytes of text.
    fn work(&self) -> usize {
        self.ids.len() * 4
    }

    fn size(&self, py: Python<'_>, engine: &Engine) -> PyResult<Option<DecodedSize>> {
        run(py, self.work(), |watch| engine.decoded_size(&self.ids, self.options, watch))
    }

    fn decode_to(&self, py: Python<'_>, engine: &Engine, bytes: &mut [u8]) -> PyResult<()> {
        run(py, self.work(), |watch| engine.decode_to(&self.ids, self.options, watch, bytes))
    }

    fn decode(&self, py: Python<'_>, engine: &Engine) -> PyResult<Vec<u8>> {
        run(py, self.work(), |watch| engine.decode(&self.ids, self.options, watch))
    }
}

#[pymethods]
impl Tokenizer {
    /// The text of ids.
    ///
    /// `ids` is a list, an integer array or any sequence. `errors` is Python's policy for invalid
    /// UTF-8: `"replace"`, `"strict"` or `"ignore"`. `undefined` is the policy for an id that does
    /// not exist: `"error"` (a `VocabularyError` with id and position), `"skip"`, or `"replace"`
    /// (U+FFFD). The words of `errors` are those of `bytes.decode`; an id that does not exist is no
    /// byte to ignore, so `undefined` has words of its own. If the file has a decoder, its steps turn
    /// the tokens into text; one for byte fallback (Llama 2, Mistral) writes U+FFFD for invalid UTF-8 itself,
    /// whatever `errors` says. Cost: linear.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.decode([257, 101, 114])
    /// 'lower'
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
        let ids = Ids::new(ids, skip_special_tokens, undefined)?;
        match ids.size(py, &self.engine)? {
            Some(size) if size.is_ascii => {
                ascii_string(py, size.bytes, |bytes| ids.decode_to(py, &self.engine, bytes))
            }
            _ => output::text(py, &ids.decode(py, &self.engine)?, errors),
        }
    }

    /// The bytes of ids, which need not be valid UTF-8. Raises `VocabularyError` for an id that does not
    /// exist, unless `undefined` says otherwise.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.decode_bytes([257, 0xC3])
    /// b'low\xc3'
    #[pyo3(signature = (ids, *, skip_special_tokens = false, undefined = "error"))]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        undefined: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = Ids::new(ids, skip_special_tokens, undefined)?;
        match ids.size(py, &self.engine)? {
            Some(size) => PyBytes::new_with(py, size.bytes, |bytes| ids.decode_to(py, &self.engine, bytes)),
            None => objects::bytes(py, &ids.decode(py, &self.engine)?),
        }
    }

    /// The length in bytes of the token of each id: an `int64` array.
    ///
    /// Their sum is what a loss is divided by for bits per byte. `ids` is what `decode` takes. A special token
    /// counts with the bytes of its literal. Raises `VocabularyError` for an id that does not exist.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.token_lengths(tok.encode("low é"))
    /// array([3, 1, 1, 1])
    #[pyo3(signature = (ids, /))]
    fn token_lengths<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = ids.py();
        let ids = ids::ids(ids, None)?;
        let lengths = run(py, ids.len() * 4, |watch| self.engine.token_lengths(&ids, watch))?;
        output::int64_array(py, lengths)
    }

    /// The text of every row of ids: a `Ragged`, or an iterable of what `decode` takes. Raises what
    /// `decode` raises; a `VocabularyError` names the row.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> tok.decode_batch([[257], [257, 101, 114]])
    /// ['low', 'lower']
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
        let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
        let options = argument_values::decode_options(skip_special_tokens, undefined)?;
        let rows = ids::rows_of_ids(batch)?;
        let views: Vec<&[TokenId]> = gather(rows.iter().map(Ok))?;
        let size = views.iter().map(|row| row.len() * 4 + 1).sum();
        let decoded = run(py, size, |watch| self.engine.decode_batch(&views, options, threads, watch))?;
        output::texts(py, views.len(), &decoded, errors)
    }

    /// A `DecodeStream`, which takes ids one at a time and returns text as soon as it is certain.
    ///
    /// Its joined pieces are the result of `decode` for all ids; no piece ends inside a character.
    /// The arguments are those of `decode`, and so are the errors, which `step` raises.
    ///
    /// >>> tok = tokenmill.train(texts=["low lower"] * 2, num_merges=2)
    /// >>> stream = tok.decode_stream()
    /// >>> [stream.step(id) for id in [257, 0xC3, 0xA9]] + [stream.finish()]
    /// ['low', '', 'é', '']
    #[pyo3(signature = (*, skip_special_tokens = false, errors = "replace", undefined = "error"))]
    fn decode_stream(
        &self,
        skip_special_tokens: bool,
        errors: &str,
        undefined: &str,
    ) -> PyResult<DecodeStream> {
        output::check_errors(errors)?;
        let options = argument_values::decode_options(skip_special_tokens, undefined)?;
        Ok(DecodeStream::new(Arc::clone(&self.engine), options, errors))
    }
}
