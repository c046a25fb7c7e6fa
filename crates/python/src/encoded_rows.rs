//! The encodings of a batch: the data of `RaggedEncodings`, which makes lists and flat arrays of them.
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tokenmill_core::engine::{Arranged, Sequence};
use tokenmill_core::error::Result;
use tokenmill_core::ids::TokenId;
use tokenmill_core::postprocess::OutputPart;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};
use tokenmill_io::state::encodings::{self, EncodingRow};

use std::sync::Arc;

use crate::buffer::objects;
use crate::encoding::{Encoding, Names};
use crate::exceptions::{gather, raise};
use crate::output;
use crate::watch::run;

/// Encodings that are not Python objects yet. All of them share one table of the written forms of ids.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct EncodedRows(Vec<Encoding>);

/// Flat ids and offsets of rows.
pub(crate) struct Flat {
    pub(crate) ids: Vec<TokenId>,
    /// The start of each row in `ids`, and the end of the last one.
    pub(crate) row_offsets: Vec<i64>,
    /// Start and end of each id, one after the other, in characters.
    pub(crate) offsets: Vec<i64>,
}

impl Flat {
    pub(crate) fn of(rows: &[Encoding], watch: &dyn Watch) -> Result<Self> {
        let count = rows.iter().map(Encoding::length).sum();
        let (mut ids, mut offsets) = (try_alloc::vec(count)?, try_alloc::vec(2 * count)?);
        let mut row_offsets = try_alloc::vec(rows.len() + 1)?;
        row_offsets.push(0);
        let mut ticker = Ticker::new(watch);
        for row in rows {
            ids.extend(row.arranged().ids());
            extend(&mut offsets, row, |sequence| &sequence.offsets, |&span| span);
            row_offsets.push(ids.len() as i64);
            ticker.spend(row.length() + 1)?;
        }
        Ok(Self { ids, row_offsets, offsets })
    }
}

/// Start and end of each id, one after the other, in bytes.
fn byte_offsets(rows: &[&Encoding], watch: &dyn Watch) -> Result<Vec<i64>> {
    let mut offsets = try_alloc::vec(2 * rows.iter().map(|row| row.length()).sum::<usize>())?;
    let mut ticker = Ticker::new(watch);
    for row in rows {
        extend(&mut offsets, row, |sequence| &sequence.encoding.byte_offsets, |span| (span.start, span.end));
        ticker.spend(row.length() + 1)?;
    }
    Ok(offsets)
}

/// Appends the start and end of each id of a row; both are 0 for what was added. Parts are copied as a whole, which
/// is faster than looking each id up.
fn extend<'a, T: 'a>(
    offsets: &mut Vec<i64>,
    row: &'a Encoding,
    spans_of: impl Fn(&'a Sequence) -> &'a Vec<T>,
    ends: impl Fn(&T) -> (usize, usize),
) {
    let Arranged { sequences, parts } = row.arranged();
    for part in parts {
        let at = offsets.len();
        offsets.resize(at + 2 * part.len(), 0);
        if let OutputPart::Tokens { second, range, .. } = *part {
            let spans = &spans_of(&sequences[usize::from(second)])[range.start..range.end];
            for (pair, span) in offsets[at..].chunks_exact_mut(2).zip(spans) {
                let (start, end) = ends(span);
                pair.copy_from_slice(&[start as i64, end as i64]);
            }
        }
    }
}

impl EncodedRows {
    pub(crate) fn new(rows: Vec<Encoding>) -> Self {
        Self(rows)
    }

    /// `count` rows from `start` on, by steps.
    fn rows(&self, start: usize, step: isize, count: usize) -> PyResult<Vec<&Encoding>> {
        let row = |k: usize| {
            let at = isize::try_from(k).ok().and_then(|k| start.checked_add_signed(k.checked_mul(step)?));
            let row = at.and_then(|at| self.0.get(at));
            row.ok_or_else(|| PyIndexError::new_err(format!("no such part of {} rows", self.0.len())))
        };
        gather((0..count).map(row))
    }
}

#[pymethods]
impl EncodedRows {
    /// `count` rows from `start` on, by steps.
    #[pyo3(signature = (start, step, count, /))]
    fn part(&self, start: usize, step: isize, count: usize) -> PyResult<Self> {
        let rows = self.rows(start, step, count)?;
        Ok(Self(gather(rows.into_iter().map(|row| Ok(row.fresh())))?))
    }

    /// The rows of these numbers.
    #[pyo3(signature = (rows, /))]
    fn take(&self, rows: &Bound<'_, PyList>) -> PyResult<Self> {
        let row = |row: Bound<'_, PyAny>| Ok(self.rows(row.extract()?, 1, 1)?[0].fresh());
        Ok(Self(gather(rows.iter().map(row))?))
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
        let rows = self.rows(start, step, count)?;
        let offsets = run(py, rows.len() * 64, |watch| byte_offsets(&rows, watch))?;
        output::int64_array(py, offsets)
    }

    /// A new `Encoding` for each row.
    fn encodings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        output::list_of(py, self.0.len(), self.0.iter().map(Encoding::fresh))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("EncodedRows({} rows)", self.0.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let state = py.detach(|| {
            let rows: Vec<EncodingRow> = self.0.iter().map(Encoding::row).collect();
            let names = self.0.first().map(|first| first.names().of_rows(&rows)).unwrap_or_default();
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
    Ok(EncodedRows(rows.into_iter().map(|row| Encoding::of_row(names.clone(), row)).collect()))
}
