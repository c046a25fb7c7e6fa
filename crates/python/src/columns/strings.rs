//! The texts of a column, which may be cut into several arrays.
use pyo3::prelude::*;
use tokenmill_core::try_alloc;
use tokenmill_kernels::{ColumnError, StringColumn};

use crate::argument_values::look;
use crate::buffer::{Imported, column_error, imported};
use crate::exceptions::out_of_memory;

/// The arrays of a column, one after the other.
pub(crate) struct Columns {
    arrays: Vec<StringColumn>,
    /// The row after the last one of each array.
    ends: Vec<usize>,
}

impl Columns {
    /// The texts that an object exports; `None` for an object that exports nothing. A stream is read to its end.
    pub(crate) fn of(texts: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let mut columns = Self { arrays: Vec::new(), ends: Vec::new() };
        match imported(texts, "texts")? {
            None => return Ok(None),
            Some(Imported::Array(array)) => columns.push(StringColumn::new(&array))?,
            Some(Imported::Stream(mut stream)) => {
                while let Some(array) =
                    texts.py().detach(|| stream.next_array()).map_err(|error| column_error("texts", error))?
                {
                    columns.push(StringColumn::new(&array))?;
                    texts.py().check_signals()?;
                }
            }
        }
        Ok(Some(columns))
    }

    fn push(&mut self, array: Result<StringColumn, ColumnError>) -> PyResult<()> {
        let array = array.map_err(|error| column_error("texts", error))?;
        let end = self.len() + array.len();
        try_alloc::push(&mut self.arrays, array).map_err(out_of_memory)?;
        try_alloc::push(&mut self.ends, end).map_err(out_of_memory)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The bytes of a row; `None` for a null.
    pub(crate) fn get(&self, row: usize) -> Result<Option<&[u8]>, ColumnError> {
        let array = self.ends.partition_point(|&end| end <= row).min(self.arrays.len().saturating_sub(1));
        let Some(column) = self.arrays.get(array) else {
            return Err(ColumnError::Broken(format!("row {row} is after the last one")));
        };
        column.get(row + column.len() - self.ends[array])
    }

    /// Each row.
    pub(crate) fn rows<'a, T>(
        &'a self,
        py: Python<'_>,
        mut of_row: impl FnMut(Option<&'a [u8]>) -> T,
    ) -> PyResult<Vec<T>> {
        let mut rows = try_alloc::vec(self.len()).map_err(out_of_memory)?;
        for column in &self.arrays {
            for row in 0..column.len() {
                look(py, rows.len())?;
                let bytes = column.get(row);
                let bytes = bytes.map_err(|error| column_error(&format!("texts[{}]", rows.len()), error))?;
                rows.push(of_row(bytes));
            }
        }
        Ok(rows)
    }
}
