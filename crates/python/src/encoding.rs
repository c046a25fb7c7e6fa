//! `tokenmill.Encoding`.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use tokenmill_core::engine::{self, Engine};
use tokenmill_core::span::Span;

use crate::output;
use crate::text::PyText;
use crate::watch::run;

/// Ids with the part of the text that each stands for.
///
/// All lists have one entry per id. `offsets` count characters of the text that was given,
/// `byte_offsets` bytes of its UTF-8; both are half-open and non-decreasing. A token that splits a
/// character has the whole of it as its `offsets`.
#[pyclass(frozen, eq, module = "tokenmill")]
pub(crate) struct Encoding {
    engine: Arc<Engine>,
    ids: Vec<u32>,
    offsets: Vec<(usize, usize)>,
    byte_offsets: Vec<Span>,
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        self.ids == other.ids
            && self.offsets == other.offsets
            && self.byte_offsets == other.byte_offsets
            && (Arc::ptr_eq(&self.engine, &other.engine) || self.written().eq(other.written()))
    }
}

impl Encoding {
    /// The encoding of a text, as the engine gives it.
    pub(crate) fn new(
        py: Python<'_>,
        engine: Arc<Engine>,
        encoding: engine::Encoding,
        text: &PyText<'_>,
    ) -> PyResult<Self> {
        let engine::Encoding { ids, byte_offsets } = encoding;
        let offsets = run(py, text.as_text().as_bytes().len(), |watch| text.offsets(&byte_offsets, watch))?;
        Ok(Self { engine, ids, offsets, byte_offsets })
    }

    fn written(&self) -> impl ExactSizeIterator<Item = String> {
        let vocabulary = self.engine.vocabulary();
        self.ids.iter().map(|&id| vocabulary.written(id).unwrap_or_default())
    }
}

#[pymethods]
impl Encoding {
    /// The ids.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list(py, self.ids.iter().copied())
    }

    /// The tokens in the written form of their format (`Ġworld`).
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list(py, self.written())
    }

    /// `(start, end)` in characters.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list(py, self.offsets.iter().copied())
    }

    /// `(start, end)` in bytes.
    #[getter]
    fn byte_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list(py, self.byte_offsets.iter().map(|span| (span.start, span.end)))
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({} ids)", self.ids.len())
    }
}
