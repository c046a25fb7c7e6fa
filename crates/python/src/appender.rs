//! `tokenmill.Appender`.
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::budget;

use crate::growing::{Grown, Snapshot};

/// Counts the ids of a text that grows at its end; made by `Tokenizer.appender`.
///
/// After each `push`, `token_count` is what `count` gives for the text so far, and `ids()` what `encode` gives.
/// For one thread at a time. Cost: constant per character, on average; linear in the text so far where `plan()`
/// says so.
#[pyclass(module = "tokenmill")]
pub(crate) struct Appender(pub(crate) Grown<budget::Appender>);

#[pymethods]
impl Appender {
    /// Appends a piece of text, or of bytes where `encode` takes them.
    ///
    /// Errors are those of `encode` for the whole text, which is then as it was before.
    #[pyo3(signature = (text, /))]
    fn push(&mut self, text: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.push(text)
    }

    /// The number of ids of the text so far.
    #[getter]
    fn token_count(&self) -> usize {
        self.0.token_count()
    }

    /// The ids of the text so far, a new list.
    fn ids<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.0.ids(py)
    }

    /// Cuts the text to its first `length` characters, or bytes if bytes were pushed.
    ///
    /// Raises `BudgetError` if it is shorter.
    #[pyo3(signature = (length, /))]
    fn truncate(&mut self, length: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.truncate(length)
    }

    /// The text so far, for `restore`. Cost: constant; nothing is copied.
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    /// Removes everything that was pushed since a snapshot was taken.
    ///
    /// Raises `BudgetError` for a snapshot of another appender, and if the text was cut to less than it had then.
    #[pyo3(signature = (snapshot, /))]
    fn restore(&mut self, snapshot: &Bound<'_, Snapshot>) -> PyResult<()> {
        self.0.restore(snapshot)
    }

    /// A number of characters (bytes, if bytes were pushed) up to which nothing that is pushed later changes the
    /// ids: the first `stable_count` ones. Sound, but not always the largest such number; it may be 0.
    #[getter]
    fn stable_length(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.stable_length(py)
    }

    /// The number of ids, the first ones of the text, that nothing that is pushed later changes: those of the first
    /// `stable_length` characters. Special tokens around the text do not count.
    #[getter]
    fn stable_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.stable_count(py)
    }

    /// The number of characters of the text so far, or of its bytes if bytes were pushed.
    fn __len__(&self) -> usize {
        self.0.length()
    }

    /// The length of the text, and the number of its ids.
    fn __repr__(&self) -> String {
        self.0.shown()
    }
}
