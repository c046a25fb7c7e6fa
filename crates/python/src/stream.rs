//! `tokenmill.DecodeStream`.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tokenmill_core::engine::{self, DecodeOptions, Engine};
use tokenmill_core::error::Result;
use tokenmill_core::watch::{Unwatched, Watch};

use crate::buffer::objects;
use crate::output;
use crate::watch::{run, run_long};
use crate::{argument_values, ids};

/// Bytes held back that a `repr` shows.
const SHOWN: usize = 16;

/// Decodes ids one at a time; made by `Tokenizer.decode_stream`.
///
/// `step` returns the text that is certain after an id, which may be empty; `finish` returns the
/// rest. The joined pieces are the result of `decode` for all ids, and no piece ends inside a
/// character. For one thread at a time. Cost: constant per id, on average.
#[pyclass(module = "tokenmill")]
pub(crate) struct DecodeStream {
    stream: engine::DecodeStream,
    errors: String,
}

impl DecodeStream {
    pub(crate) fn new(engine: Arc<Engine>, options: DecodeOptions, errors: &str) -> Self {
        Self { stream: engine::DecodeStream::new(engine, options), errors: errors.to_owned() }
    }

    /// Decodes the bytes that `work` appends. If these are not UTF-8 and errors are strict, the stream is restored.
    fn take<'py>(
        &mut self,
        py: Python<'py>,
        size: usize,
        work: impl FnOnce(&mut engine::DecodeStream, &mut Vec<u8>, &dyn Watch) -> Result<()> + Send,
    ) -> PyResult<Bound<'py, PyString>> {
        let before = (self.errors == "strict").then(|| self.stream.clone());
        let mut bytes = Vec::new();
        run(py, size, |watch| work(&mut self.stream, &mut bytes, watch))?;
        let text = output::text(py, &bytes, &self.errors);
        if let (Err(_), Some(before)) = (&text, before) {
            self.stream = before;
        }
        text
    }
}

#[pymethods]
impl DecodeStream {
    /// Takes the next id and returns the text that is certain now.
    ///
    /// Raises `VocabularyError` for an id that does not exist, and with `errors="strict"`
    /// `UnicodeDecodeError` for bytes that are no text; the id is then not taken.
    #[pyo3(signature = (id, /))]
    fn step<'py>(&mut self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = id.py();
        let id = argument_values::token_id(id, || "id".to_owned())?;
        self.take(py, 0, |stream, bytes, watch| stream.step(id, bytes, watch))
    }

    /// Takes many ids, as `decode` does, and returns the text that is certain then.
    ///
    /// Raises `VocabularyError` for an id that does not exist, and with `errors="strict"`
    /// `UnicodeDecodeError` for bytes that are no text; then none of the ids is taken.
    #[pyo3(signature = (ids, /))]
    fn extend<'py>(&mut self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        let ids = ids::ids(ids, None)?;
        self.take(py, ids.len() * 4, |stream, bytes, watch| stream.extend(&ids, bytes, watch))
    }

    /// Ends the ids and returns the rest of the text. The stream starts anew.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut bytes = Vec::new();
        run_long(py, None, |watch| self.stream.finish(&mut bytes, watch))?;
        output::text(py, &bytes, &self.errors)
    }

    /// Drops the ids so far. The stream starts anew.
    fn reset(&mut self) {
        self.stream.reset();
    }

    /// The number of ids taken, and the bytes that are held back until they are certain.
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ids = self.stream.taken();
        // A repr ignores the error of a decoder; the next call raises it.
        let pending = self.stream.pending(&Unwatched).unwrap_or_default();
        if pending.is_empty() {
            return Ok(format!("DecodeStream({ids} ids)"));
        }
        let start = objects::bytes(py, &pending[..pending.len().min(SHOWN)])?.repr()?;
        let more = if pending.len() > SHOWN { "..." } else { "" };
        Ok(format!("DecodeStream({ids} ids, {} bytes pending: {start}{more})", pending.len()))
    }
}
