//! `tokenmill.Prepender`.
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::budget;
use tokenmill_core::engine::{Engine, Special};
use tokenmill_core::error::{Error, Place};

use crate::appender::{Snapshot, next_number};
use crate::argument_place::ArgumentPlace;
use crate::buffer::Surrogates;
use crate::convert;
use crate::exceptions::raise;
use crate::ready_ids::ReadyIds;
use crate::text::PyText;
use crate::watch::run;

/// Counts the ids of a text that grows at its start; made by `Tokenizer.prepender`.
///
/// After each `push`, `token_count` is what `count` gives for the text so far, and `ids()` what `encode` gives, at the
/// cost of encoding it. For one thread at a time. Cost of a push: constant per character, on average; linear in the
/// text so far where the table in docs/budgets.md says so.
#[pyclass(module = "tokenmill")]
pub(crate) struct Prepender {
    text: budget::Prepender,
    number: u64,
    adds_special: bool,
    surrogates: Surrogates,
    ready_ids: Py<ReadyIds>,
}

impl Prepender {
    pub(crate) fn new(
        py: Python<'_>,
        engine: &Arc<Engine>,
        ready_ids: Py<ReadyIds>,
        special: Special,
        surrogates: Surrogates,
        adds_special: bool,
    ) -> PyResult<Self> {
        let text = budget::Prepender::new(Arc::clone(engine), special).map_err(|error| raise(py, error))?;
        let number = next_number();
        Ok(Self { text, number, adds_special, surrogates, ready_ids })
    }

    /// An error, with its position in the unit of the text.
    fn locate(&self, piece: &[u8], error: Error) -> Error {
        let is_text = self.text.characters().is_some() && std::str::from_utf8(piece).is_ok();
        error.placed(|place| match place {
            Place::Byte(byte) if is_text => {
                let bytes = piece.iter().chain(self.text.text()).take(byte);
                Place::Character(bytes.filter(|&&byte| byte & 0xc0 != 0x80).count())
            }
            _ => place,
        })
    }
}

#[pymethods]
impl Prepender {
    /// Puts a piece of text in front, or of bytes where `encode` takes them.
    ///
    /// Errors are those of `encode` for the whole text, which is then as it was before.
    #[pyo3(signature = (text, /))]
    fn push(&mut self, text: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = text.py();
        let piece = PyText::new(text, self.surrogates, ArgumentPlace::TEXT)?;
        let piece = piece.as_text();
        run(py, piece.as_bytes().len(), |watch| {
            self.text.push(piece, watch).map_err(|error| self.locate(piece.as_bytes(), error))
        })
    }

    /// The number of ids of the text so far.
    #[getter]
    fn token_count(&self) -> usize {
        self.text.engine().count_with_special_tokens(self.text.count(), self.adds_special)
    }

    /// The ids of the text so far, a new list.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let size = self.text.text().len();
        let ids = run(py, size, |watch| {
            let mut ids = self.text.ids(watch)?;
            self.text.engine().add_special_tokens(&mut ids, 0, self.adds_special)?;
            Ok(ids)
        })?;
        self.ready_ids.get().list(py, &ids)
    }

    /// Cuts the text to its last `length` characters, or bytes if bytes were pushed.
    ///
    /// Raises `BudgetError` if it is shorter.
    #[pyo3(signature = (length, /))]
    fn truncate(&mut self, length: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = length.py();
        let length = convert::length(Some(length), "length")?.unwrap_or_default();
        run(py, self.text.text().len(), |watch| match self.text.characters() {
            Some(_) => self.text.truncate_characters(length, watch),
            None => self.text.truncate(length, watch),
        })
    }

    /// The text so far, for `restore`. Cost: constant; nothing is copied.
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.number, self.text.snapshot())
    }

    /// Removes everything that was pushed since a snapshot was taken.
    ///
    /// Raises `BudgetError` for a snapshot of another prepender, and if the text was cut to less than it had then.
    #[pyo3(signature = (snapshot, /))]
    fn restore(&mut self, py: Python<'_>, snapshot: &Bound<'_, Snapshot>) -> PyResult<()> {
        let snapshot = snapshot.get().of(py, self.number, "prepender")?;
        run(py, self.text.text().len(), |watch| self.text.restore(snapshot, watch))
    }

    /// A number of characters (bytes, if bytes were pushed) at the end of the text whose ids, the last `stable_count`
    /// ones, nothing that is pushed later changes. Sound, but not always the largest such number; it may be 0.
    #[getter]
    fn stable_length(&self, py: Python<'_>) -> PyResult<usize> {
        let text = self.text.text();
        let (bytes, _) = run(py, text.len(), |watch| self.text.stable(watch))?;
        let starts = text[text.len() - bytes..].iter().filter(|&byte| byte & 0xc0 != 0x80);
        Ok(if self.text.characters().is_some() { starts.count() } else { bytes })
    }

    /// The number of ids, the last ones of the text, that nothing that is pushed later changes: those of the last
    /// `stable_length` characters. Special tokens around the text do not count.
    #[getter]
    fn stable_count(&self, py: Python<'_>) -> PyResult<usize> {
        let (_, ids) = run(py, self.text.text().len(), |watch| self.text.stable(watch))?;
        Ok(ids)
    }

    /// The number of characters of the text so far, or of its bytes if bytes were pushed.
    fn __len__(&self) -> usize {
        self.text.characters().unwrap_or(self.text.text().len())
    }

    /// The length of the text, and the number of its ids.
    fn __repr__(&self) -> String {
        let unit = if self.text.characters().is_some() { "characters" } else { "bytes" };
        format!("Prepender({} {unit}, {} ids)", self.__len__(), self.token_count())
    }
}
