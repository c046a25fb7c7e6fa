//! `tokenmill.Encoding`.
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::output;

/// Ids with the part of the text that each stands for.
///
/// All lists have one entry per id. `offsets` count characters of the text that was given,
/// `byte_offsets` bytes of its UTF-8; both are half-open and non-decreasing. A token that splits a
/// character has the whole of it as its `offsets`.
#[pyclass(frozen, eq, module = "tokenmill")]
#[derive(PartialEq)]
pub(crate) struct Encoding {
    pub(crate) ids: Vec<u32>,
    pub(crate) tokens: Vec<String>,
    pub(crate) offsets: Vec<(usize, usize)>,
    pub(crate) byte_offsets: Vec<(usize, usize)>,
}

#[pymethods]
impl Encoding {
    /// The ids.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list(py, &self.ids)
    }

    /// The tokens in the written form of their format (`Ġworld`).
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.tokens)
    }

    /// `(start, end)` in characters.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.offsets.iter().copied())
    }

    /// `(start, end)` in bytes.
    #[getter]
    fn byte_offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.byte_offsets.iter().copied())
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({} ids)", self.ids.len())
    }
}
