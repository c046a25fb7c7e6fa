//! The encodings of a batch: the data of `RaggedEncodings`, which makes lists and flat arrays of them.
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tokenmill_core::engine::{Engine, FlatEncodings};
use tokenmill_core::error::Result;
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};
use tokenmill_io::state::encodings::{self, EncodingRow};
use tokenmill_kernels::MadeOnce;

use std::sync::Arc;

use crate::buffer::objects;
use crate::call::{BatchResult, Options};
use crate::encoding::{Encoding, Names};
use crate::exceptions::{gather, raise};
use crate::output;
use crate::sequences::SampleEncoder;
use crate::untrusted::TrustArguments;
use crate::watch::run;

/// Encodings that are not Python objects yet. All of them share one table of the written forms of ids.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct EncodedRows(Rows);

enum Rows {
    Made(Vec<Encoding>),
    Deferred(Deferred),
}

/// Texts whose `Encoding` objects are made when they are first asked for, by encoding the texts again. This gives the ids
/// and offsets of the batch, since the texts are immutable and no stage is a function of the caller.
pub(crate) struct Deferred {
    engine: Arc<Engine>,
    adds_special: bool,
    options: Options,
    texts: Vec<Py<PyAny>>,
    made: MadeOnce<Vec<Encoding>>,
}

impl Deferred {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        adds_special: bool,
        options: Options,
        texts: Vec<Bound<'_, PyAny>>,
    ) -> Self {
        let texts = texts.into_iter().map(Bound::unbind).collect();
        Self { engine: Arc::clone(engine), adds_special, options, texts, made: MadeOnce::new() }
    }

    fn encodings(&self, py: Python<'_>) -> PyResult<&[Encoding]> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let encoder = SampleEncoder::of_texts(&self.engine, self.adds_special, &self.options);
        let texts = PyList::new(py, &self.texts)?;
        let none = TrustArguments::new(None, None);
        let BatchResult { result, .. } = encoder.encode_texts(py, &texts, none, self.options.threads)?;
        Ok(self.made.get_or_make(|| result))
    }

    /// These rows, to be encoded later; `None` if the encodings are already there.
    fn rows(&self, py: Python<'_>, numbers: &[usize]) -> Option<Self> {
        if self.made.get().is_some() {
            return None;
        }
        let texts =
            numbers.iter().map(|&row| Some(self.texts.get(row)?.clone_ref(py))).collect::<Option<_>>()?;
        let (engine, options) = (Arc::clone(&self.engine), self.options.clone());
        Some(Self { engine, adds_special: self.adds_special, options, texts, made: MadeOnce::new() })
    }
}

/// The ids and offsets of rows.
pub(crate) fn flat(rows: &[Encoding], watch: &dyn Watch) -> Result<FlatEncodings> {
    let count = rows.iter().map(Encoding::length).sum();
    let (mut ids, mut offsets) = (try_alloc::vec(count)?, try_alloc::vec(count)?);
    let mut row_offsets = try_alloc::vec(rows.len() + 1)?;
    row_offsets.push(0);
    let mut ticker = Ticker::new(watch);
    for row in rows {
        ids.extend(row.arranged().ids());
        offsets.extend(row.arranged().offsets().map(|(start, end)| Span::new(start, end)));
        row_offsets.push(ids.len() as i64);
        ticker.spend(row.length() + 1)?;
    }
    Ok(FlatEncodings { ids, offsets, row_offsets })
}

/// Start and end of each id, one after the other, in bytes.
fn byte_offsets(rows: &[&Encoding], watch: &dyn Watch) -> Result<Vec<i64>> {
    let mut offsets = try_alloc::vec(2 * rows.iter().map(|row| row.length()).sum::<usize>())?;
    let mut ticker = Ticker::new(watch);
    for row in rows {
        offsets.extend(row.arranged().byte_offsets().flat_map(|span| [span.start as i64, span.end as i64]));
        ticker.spend(row.length() + 1)?;
    }
    Ok(offsets)
}

impl EncodedRows {
    pub(crate) fn new(rows: Vec<Encoding>) -> Self {
        Self(Rows::Made(rows))
    }

    /// Rows that are encoded when they are asked for.
    pub(crate) fn deferred(rows: Deferred) -> Self {
        Self(Rows::Deferred(rows))
    }

    fn count(&self) -> usize {
        match &self.0 {
            Rows::Made(rows) => rows.len(),
            Rows::Deferred(deferred) => deferred.texts.len(),
        }
    }

    fn encoded(&self, py: Python<'_>) -> PyResult<&[Encoding]> {
        match &self.0 {
            Rows::Made(rows) => Ok(rows),
            Rows::Deferred(deferred) => deferred.encodings(py),
        }
    }

    /// The numbers of `count` rows from `start` on, by steps.
    fn numbers(&self, start: usize, step: isize, count: usize) -> PyResult<Vec<usize>> {
        let number = |k: usize| {
            let at = isize::try_from(k).ok().and_then(|k| start.checked_add_signed(k.checked_mul(step)?));
            let at = at.filter(|&at| at < self.count());
            at.ok_or_else(|| PyIndexError::new_err(format!("no such part of {} rows", self.count())))
        };
        gather((0..count).map(number))
    }

    /// The rows of these numbers.
    fn for_spans(&self, py: Python<'_>, numbers: &[usize]) -> PyResult<Self> {
        if let Rows::Deferred(deferred) = &self.0
            && let Some(rows) = deferred.rows(py, numbers)
        {
            return Ok(Self::deferred(rows));
        }
        let rows = self.encoded(py)?;
        Ok(Self::new(gather(numbers.iter().map(|&row| Ok(rows[row].fresh())))?))
    }
}

#[pymethods]
impl EncodedRows {
    /// `count` rows from `start` on, by steps.
    #[pyo3(signature = (start, step, count, /))]
    fn part(&self, py: Python<'_>, start: usize, step: isize, count: usize) -> PyResult<Self> {
        self.for_spans(py, &self.numbers(start, step, count)?)
    }

    /// The rows of these numbers.
    #[pyo3(signature = (rows, /))]
    fn take(&self, rows: &Bound<'_, PyList>) -> PyResult<Self> {
        let number = |row: Bound<'_, PyAny>| Ok(self.numbers(row.extract()?, 1, 1)?[0]);
        self.for_spans(rows.py(), &gather(rows.iter().map(number))?)
    }

    /// Start and end of each id of `count` rows from `start` on, by steps, one after the other, in bytes.
    #[pyo3(signature = (start, step, count, /))]
    fn byte_offsets<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        step: isize,
        count: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (numbers, rows) = (self.numbers(start, step, count)?, self.encoded(py)?);
        let rows = gather(numbers.into_iter().map(|row| Ok(&rows[row])))?;
        let offsets = run(py, rows.len() * 64, |watch| byte_offsets(&rows, watch))?;
        output::int64_array(py, offsets)
    }

    /// A new `Encoding` for each row.
    fn encodings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.encoded(py)?;
        output::list_of(py, rows.len(), rows.iter().map(Encoding::fresh))
    }

    fn __len__(&self) -> usize {
        self.count()
    }

    fn __repr__(&self) -> String {
        format!("EncodedRows({} rows)", self.count())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let encoded = self.encoded(py)?;
        let state = py.detach(|| {
            let rows: Vec<EncodingRow> = encoded.iter().map(Encoding::row).collect();
            let names = encoded.first().map(|first| first.names().of_rows(&rows)).unwrap_or_default();
            encodings::write(&names, &rows)
        });
        let restore = py.import("tokenmill._core")?.getattr("encoded_rows_from_state")?;
        let state = PyTuple::new(py, [objects::bytes(py, &state)?])?;
        PyTuple::new(py, [restore, state.into_any()])
    }
}

/// Restores rows from the bytes of a pickle.
#[pyfunction]
#[pyo3(signature = (state, /))]
pub(crate) fn encoded_rows_from_state(py: Python<'_>, state: &[u8]) -> PyResult<EncodedRows> {
    let (names, rows) = py.detach(|| encodings::read(state)).map_err(|error| raise(py, error))?;
    let names = Names::Kept(Arc::new(names));
    Ok(EncodedRows::new(rows.into_iter().map(|row| Encoding::of_row(names.clone(), row)).collect()))
}
