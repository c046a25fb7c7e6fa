//! `tokenmill.IntervalCounter`.
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use tokenmill_core::budget::{self, Unit};
use tokenmill_core::error::Error;

use crate::argument_values::{self, Given};
use crate::buffer::numbers;
use crate::exceptions::{raise, wrong_type};
use crate::late;
use crate::output;
use crate::watch::run;

/// Counts the ids of any range of a text; made by `Tokenizer.interval_counter`.
///
/// A count is what `Tokenizer.count` gives for `text[start:stop]`. It takes constant time, except for ranges inside a
/// long pretoken and for the tokenizers listed in docs/budgets.md. Positions are in characters, or with `unit="bytes"`
/// in bytes of UTF-8. Safe to share between threads.
#[pyclass(module = "tokenmill", frozen)]
pub(crate) struct IntervalCounter(pub(crate) budget::IntervalCounter);

/// The unit of a name.
fn unit_of(py: Python<'_>, name: &str) -> PyResult<Unit> {
    match name {
        "characters" => Ok(Unit::Characters),
        "bytes" => Ok(Unit::Bytes),
        _ => {
            let reason = format!("unit={name:?} is none of \"characters\", \"bytes\"");
            Err(raise(py, Error::argument(reason)))
        }
    }
}

/// A place in the text; one that no text has for a negative or too large number, so that the error is that of the
/// range.
fn place(value: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    Ok(argument_values::place(value, name)?.unwrap_or(usize::MAX))
}

#[pymethods]
impl IntervalCounter {
    /// The number of ids of the range from `start` to `stop`.
    ///
    /// Raises `BudgetError` for a range outside the text, and what `encode` raises for bytes inside a character.
    #[pyo3(signature = (start, stop, unit = "characters"))]
    fn count(&self, start: &Bound<'_, PyAny>, stop: &Bound<'_, PyAny>, unit: &str) -> PyResult<usize> {
        let py = start.py();
        let (start, stop, unit) = (place(start, "start")?, place(stop, "stop")?, unit_of(py, unit)?);
        run(py, stop.saturating_sub(start), |watch| self.0.count(start, stop, unit, watch))
    }

    /// The numbers of ids of many ranges, as an int64 array of shape `(n,)`. `ranges` is a sequence of `(start, stop)`
    /// pairs, or an integer array of shape `(n, 2)`.
    ///
    /// Raises what `count` raises; the error names the index of the range.
    #[pyo3(signature = (ranges, unit = "characters", *, num_threads = argument_values::NOT_GIVEN), text_signature = "($self, ranges, unit='characters', *, num_threads=1)")]
    fn count_many<'py>(
        &self,
        ranges: &Bound<'py, PyAny>,
        unit: &str,
        num_threads: Given<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ranges.py();
        let unit = unit_of(py, unit)?;
        let threads = argument_values::threads(&num_threads, Error::argument::<String>)?;
        let array = late::NUMPY.get(py)?.call_method1("asarray", (ranges,))?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let is_empty = shape.iter().product::<usize>() == 0;
        if !is_empty && (shape.len() != 2 || shape[1] != 2 || !matches!(&*kind, "i" | "u")) {
            return Err(wrong_type(
                "ranges",
                "pairs of integers, or an array of them with the shape (n, 2)",
                ranges,
            ));
        }
        let flat = array.call_method1("astype", ("int64",))?.call_method1("reshape", (-1,))?;
        let flat = numbers(py, &PyBuffer::<i64>::get(&flat)?)?;
        let (pairs, _) = flat.as_chunks::<2>();
        let counts =
            run(py, pairs.len().saturating_mul(64), |watch| self.0.count_many(pairs, unit, threads, watch))?;
        output::int64_array(py, counts)
    }

    /// The largest stop for which the range from `start` has at most `n` ids.
    ///
    /// Raises `BudgetError` if `start` is outside the text or inside a character, or if the special tokens alone are more
    /// than `n`.
    #[pyo3(signature = (start, n, unit = "characters"))]
    fn fits(&self, start: &Bound<'_, PyAny>, n: &Bound<'_, PyAny>, unit: &str) -> PyResult<usize> {
        let py = start.py();
        let (start, limit, unit) = (
            place(start, "start")?,
            argument_values::length(Some(n), "n")?.unwrap_or_default(),
            unit_of(py, unit)?,
        );
        run(py, limit.saturating_mul(4).min(self.0.text().len()), |watch| {
            self.0.fits(start, limit, unit, watch)
        })
    }

    /// The number of characters of the text.
    fn __len__(&self) -> usize {
        self.0.characters()
    }

    /// The memory it uses, in bytes.
    #[getter]
    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn __repr__(&self) -> String {
        format!("IntervalCounter({} characters)", self.0.characters())
    }
}
