//! What `tokenmill.Appender` and `tokenmill.Prepender` have in common.
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyList;
use tokenmill_core::budget::{self, GrowingText};
use tokenmill_core::error::{Error, Place};

use crate::argument_place::ArgumentPlace;
use crate::argument_values;
use crate::buffer::Surrogates;
use crate::exceptions::raise;
use crate::ready_ids::ReadyIds;
use crate::text::PyText;
use crate::watch::run;

/// A text that an appender or a prepender can go back to; made by `Appender.snapshot` and `Prepender.snapshot`.
#[pyclass(module = "tokenmill", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Snapshot {
    number: u64,
    snapshot: budget::Snapshot,
}

#[pymethods]
impl Snapshot {
    fn __repr__(&self) -> String {
        format!("Snapshot({} bytes)", self.snapshot.length())
    }
}

/// A text that grows, as Python code sees it.
pub(crate) struct Grown<T> {
    text: T,
    /// So that none takes the snapshot of another one.
    number: u64,
    adds_special: bool,
    surrogates: Surrogates,
    ready_ids: Py<ReadyIds>,
    /// Its name in messages.
    name: &'static str,
}

impl<T: GrowingText + Send + Sync> Grown<T> {
    pub(crate) fn new(
        text: T,
        name: &'static str,
        ready_ids: Py<ReadyIds>,
        surrogates: Surrogates,
        adds_special: bool,
    ) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { text, number, adds_special, surrogates, ready_ids, name }
    }

    pub(crate) fn push(&mut self, text: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = text.py();
        let piece = PyText::new(text, self.surrogates, ArgumentPlace::TEXT)?;
        let piece = piece.as_text();
        run(py, piece.as_bytes().len(), |watch| {
            self.text.push(piece, watch).map_err(|error| self.locate(piece.as_bytes(), error))
        })
    }

    /// An error, with its position in the unit of the text.
    fn locate(&self, piece: &[u8], error: Error) -> Error {
        let is_text = self.text.characters().is_some() && std::str::from_utf8(piece).is_ok();
        let parts = if T::AT_START { [piece, self.text.text()] } else { [self.text.text(), piece] };
        error.placed(|place| match place {
            Place::Byte(byte) if is_text => {
                let bytes = parts.iter().copied().flatten().take(byte);
                Place::Character(bytes.filter(|&&byte| byte & 0xc0 != 0x80).count())
            }
            _ => place,
        })
    }

    pub(crate) fn token_count(&self) -> usize {
        self.text.engine().count_with_special_tokens(self.text.count(), self.adds_special)
    }

    pub(crate) fn ids<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let size = self.text.text().len();
        let ids = run(py, size, |watch| {
            let mut ids = self.text.ids(watch)?;
            self.text.engine().add_special_tokens(&mut ids, 0, self.adds_special)?;
            Ok(ids)
        })?;
        self.ready_ids.get().list(py, &ids)
    }

    pub(crate) fn truncate(&mut self, length: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = length.py();
        let length = argument_values::length(Some(length), "length")?.unwrap_or_default();
        run(py, self.text.text().len(), |watch| match self.text.characters() {
            Some(_) => self.text.truncate_characters(length, watch),
            None => self.text.truncate(length, watch),
        })
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { number: self.number, snapshot: self.text.snapshot() }
    }

    pub(crate) fn restore(&mut self, snapshot: &Bound<'_, Snapshot>) -> PyResult<()> {
        let py = snapshot.py();
        let Snapshot { number, snapshot } = *snapshot.get();
        if number != self.number {
            let reason =
                format!("this snapshot is of another {}; restore it there", self.name.to_lowercase());
            return Err(raise(py, Error::budget(None, None, reason)));
        }
        run(py, self.text.text().len(), |watch| self.text.restore(snapshot, watch))
    }

    pub(crate) fn stable_length(&self, py: Python<'_>) -> PyResult<usize> {
        let text = self.text.text();
        let (bytes, _) = run(py, text.len(), |watch| self.text.stable(watch))?;
        let stable = if T::AT_START { &text[text.len() - bytes..] } else { &text[..bytes] };
        let starts = stable.iter().filter(|&byte| byte & 0xc0 != 0x80);
        Ok(if self.text.characters().is_some() { starts.count() } else { bytes })
    }

    pub(crate) fn stable_count(&self, py: Python<'_>) -> PyResult<usize> {
        let (_, ids) = run(py, self.text.text().len(), |watch| self.text.stable(watch))?;
        Ok(ids)
    }

    pub(crate) fn length(&self) -> usize {
        self.text.characters().unwrap_or(self.text.text().len())
    }

    pub(crate) fn shown(&self) -> String {
        let unit = if self.text.characters().is_some() { "characters" } else { "bytes" };
        format!("{}({} {unit}, {} ids)", self.name, self.length(), self.token_count())
    }
}
