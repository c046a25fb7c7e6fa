//! The `int` objects of ids, made with the first list and shared by all lists.
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};
use tokenmill_core::ids::TokenId;
use tokenmill_core::try_alloc;
use tokenmill_core::vocabulary::Vocabulary;
use tokenmill_kernels::MadeOnce;

use crate::buffer::{list_of_ids, lists_of_ids, numbers, objects};
use crate::exceptions::out_of_memory;
use crate::{ids, output};

/// Size of an `int` below 2^30 in bytes, as rounded up by Python's allocator.
const INT: usize = 32;

/// The `int` objects of the ids 0, 1, 2, ... of a tokenizer. Lists of ids reuse them, which takes a
/// fifth of the time of making new objects.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct ReadyIds {
    count: usize,
    /// Made with the first list: a process that wants arrays needs none.
    ints: MadeOnce<Vec<Py<PyInt>>>,
}

impl ReadyIds {
    /// The objects for a vocabulary. If a few ids are far above the number of ids, these are left out.
    pub(crate) fn new(py: Python<'_>, vocabulary: &Vocabulary) -> PyResult<Py<Self>> {
        let count = vocabulary.max_id().map_or(0, |id| id as usize + 1).min(4 * vocabulary.len() + 1024);
        Py::new(py, Self { count, ints: MadeOnce::new() })
    }

    fn ints(&self, py: Python<'_>) -> PyResult<&[Py<PyInt>]> {
        if let Some(ints) = self.ints.get() {
            return Ok(ints);
        }
        let mut ints = try_alloc::vec(self.count).map_err(out_of_memory)?;
        for id in 0..self.count {
            ints.push(objects::int(py, id)?.cast_into()?.unbind());
        }
        Ok(self.ints.get_or_make(|| ints))
    }

    /// Memory in bytes: a pointer and an object per id.
    pub(crate) fn memory(&self) -> usize {
        let ints = self.ints.get();
        ints.map_or(0, |ints| ints.capacity() * size_of::<Py<PyInt>>() + ints.len() * INT)
    }

    /// A new list of ids.
    pub(crate) fn list<'py>(&self, py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyList>> {
        list_of_ids(py, ids, self.ints(py)?)
    }
}

#[pymethods]
impl ReadyIds {
    /// A list for each row of ids: `row_offsets` has the start of each row in `ids`, and the end of
    /// the last one.
    #[pyo3(signature = (ids, row_offsets, /))]
    fn rows<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        row_offsets: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = ids.py();
        let bounds = numbers(py, &PyBuffer::<i64>::get(row_offsets)?)?;
        // The ids are read in place: a copy would take a fifth of the time of making the lists.
        match output::flat_ids(ids)? {
            Some(array) => lists_of_ids(py, rows(array.as_slice()?, &bounds), self.ints(py)?),
            None => lists_of_ids(py, rows(&ids::ids(ids, None)?, &bounds), self.ints(py)?),
        }
    }
}

/// The rows between consecutive bounds.
fn rows<'a>(ids: &'a [TokenId], bounds: &'a [i64]) -> impl Iterator<Item = PyResult<&'a [TokenId]>> {
    bounds.windows(2).enumerate().map(|(row, bounds)| {
        let (start, end) = (usize::try_from(bounds[0])?, usize::try_from(bounds[1])?);
        let outside = || PyValueError::new_err(format!("row {row} is not within the {} ids", ids.len()));
        ids.get(start..end).ok_or_else(outside)
    })
}
