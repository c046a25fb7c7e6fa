//! `tokenmill.Appender` and its snapshots.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::budget;
use tokenmill_core::engine::{Engine, Special};
use tokenmill_core::error::{Error, Place};

use crate::argument_place::ArgumentPlace;
use crate::buffer::Surrogates;
use crate::convert;
use crate::exceptions::raise;
use crate::ready_ids::ReadyIds;
use crate::text::PyText;
use crate::watch::run;

/// A number for an appender or prepender, so that none takes the snapshot of another one.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Counts the ids of a text that grows at its end; made by `Tokenizer.appender`.
///
/// After each `push`, `token_count` is what `count` gives for the text so far, and `ids()` what `encode` gives.
/// For one thread at a time. Cost: constant per character, on average; linear in the text so far where `plan()`
/// says so.
#[pyclass(module = "tokenmill")]
pub(crate) struct Appender {
    text: budget::Appender,
    number: u64,
    adds_special: bool,
    surrogates: Surrogates,
    ready_ids: Py<ReadyIds>,
}

/// A text that an appender or a prepender can go back to; made by `Appender.snapshot` and `Prepender.snapshot`.
#[pyclass(module = "tokenmill", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Snapshot {
    number: u64,
    snapshot: budget::Snapshot,
}

impl Snapshot {
    pub(crate) fn new(number: u64, snapshot: budget::Snapshot) -> Self {
        Self { number, snapshot }
    }

    /// Checks that this is a snapshot of the text with a number.
    pub(crate) fn of(self, py: Python<'_>, number: u64, kind: &str) -> PyResult<budget::Snapshot> {
        if self.number == number {
            return Ok(self.snapshot);
        }
        let reason = format!("this snapshot is of another {kind}; restore it there");
        Err(raise(py, Error::budget(None, None, reason)))
    }
}

impl Appender {
    pub(crate) fn new(
        py: Python<'_>,
        engine: &Arc<Engine>,
        ready_ids: Py<ReadyIds>,
        special: Special,
        surrogates: Surrogates,
        adds_special: bool,
    ) -> PyResult<Self> {
        let text = budget::Appender::new(Arc::clone(engine), special).map_err(|error| raise(py, error))?;
        let number = next_number();
        Ok(Self { text, number, adds_special, surrogates, ready_ids })
    }

    /// An error, with its position in the unit of the text.
    fn locate(&self, piece: &[u8], error: Error) -> Error {
        let is_text = self.text.characters().is_some() && std::str::from_utf8(piece).is_ok();
        error.placed(|place| match place {
            Place::Byte(byte) if is_text => {
                let bytes = self.text.text().iter().chain(piece).take(byte);
                Place::Character(bytes.filter(|&&byte| byte & 0xc0 != 0x80).count())
            }
            _ => place,
        })
    }
}

#[pymethods]
impl Appender {
    /// Appends a piece of text, or of bytes where `encode` takes them.
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
    fn ids<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let size = self.text.text().len();
        let ids = run(py, size, |watch| {
            let mut ids = self.text.ids(watch)?;
            self.text.engine().add_special_tokens(&mut ids, 0, self.adds_special)?;
            Ok(ids)
        })?;
        self.ready_ids.get().list(py, &ids)
    }

    /// Cuts the text to its first `length` characters, or bytes if bytes were pushed.
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
    /// Raises `BudgetError` for a snapshot of another appender, and if the text was cut to less than it had then.
    #[pyo3(signature = (snapshot, /))]
    fn restore(&mut self, py: Python<'_>, snapshot: &Bound<'_, Snapshot>) -> PyResult<()> {
        let snapshot = snapshot.get().of(py, self.number, "appender")?;
        run(py, self.text.text().len(), |watch| self.text.restore(snapshot, watch))
    }

    /// A number of characters (bytes, if bytes were pushed) up to which nothing that is pushed later changes the
    /// ids: the first `stable_count` ones. Sound, but not always the largest such number; it may be 0.
    #[getter]
    fn stable_length(&self, py: Python<'_>) -> PyResult<usize> {
        let text = self.text.text();
        let (bytes, _) = run(py, text.len(), |watch| self.text.stable(watch))?;
        let starts = text[..bytes].iter().filter(|&byte| byte & 0xc0 != 0x80);
        Ok(if self.text.characters().is_some() { starts.count() } else { bytes })
    }

    /// The number of ids, the first ones of the text, that nothing that is pushed later changes: those of the first
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
        format!("Appender({} {unit}, {} ids)", self.__len__(), self.token_count())
    }
}

#[pymethods]
impl Snapshot {
    fn __repr__(&self) -> String {
        format!("Snapshot({} bytes)", self.snapshot.length())
    }
}
