//! The frame of every call that takes text: arguments read, work run, errors placed.
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tokenmill_core::engine::{Special, Text};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::watch::Watch;

use crate::convert::{self, Given};
use crate::text::{PyText, locate_in_rows};
use crate::watch::run;

/// Signals are looked for after so many rows were read.
const ROWS_PER_LOOK: usize = 1 << 16;

/// The arguments that all such calls share, as they come from Python.
pub(crate) struct Options<'a, 'py> {
    pub(crate) special: Option<&'a Bound<'py, PyAny>>,
    pub(crate) surrogates: &'a str,
    pub(crate) num_threads: Given<'py>,
}

/// Runs `work(text, special, threads, watch)` on one text.
pub(crate) fn with_text<'a, 'py, T: Send>(
    text: &'a Bound<'py, PyAny>,
    options: &Options<'_, 'py>,
    work: impl FnOnce(Text<'_>, &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<(T, PyText<'a>)> {
    let special = convert::special(options.special)?;
    let threads = convert::threads(&options.num_threads, Error::argument::<String>)?;
    let py_text = PyText::new(text, convert::surrogates(options.surrogates)?, None)?;
    let text_of = py_text.as_text();
    let result = run(text.py(), text_of.as_bytes().len(), |watch| {
        work(text_of, &special, threads, watch).map_err(|error| py_text.locate(error))
    })?;
    Ok((result, py_text))
}

/// Runs `work(texts, special, threads, watch)` on the texts of a batch.
pub(crate) fn with_texts<'py, T: Send>(
    texts: &Bound<'py, PyAny>,
    options: &Options<'_, 'py>,
    work: impl FnOnce(&[Text<'_>], &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let special = convert::special(options.special)?;
    let threads = convert::threads(&options.num_threads, Error::argument::<String>)?;
    let surrogates = convert::surrogates(options.surrogates)?;
    if texts.cast::<PyString>().is_ok() || texts.cast::<PyBytes>().is_ok() {
        return Err(PyTypeError::new_err(
            "texts must be an iterable of texts, not one text; wrap it in a list",
        ));
    }
    let objects = convert::items(texts, "texts", "an iterable of texts")?.collect::<PyResult<Vec<_>>>()?;
    let mut py_texts = Vec::with_capacity(objects.len());
    for (row, object) in objects.iter().enumerate() {
        if row % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 {
            texts.py().check_signals()?;
        }
        py_texts.push(PyText::new(object, surrogates, Some(row))?);
    }
    let rows: Vec<Text<'_>> = py_texts.iter().map(PyText::as_text).collect();
    // A row counts for something even when it is empty.
    let size = rows.iter().map(|row| row.as_bytes().len() + 1).sum();
    run(texts.py(), size, |watch| {
        work(&rows, &special, threads, watch).map_err(|error| locate_in_rows(&py_texts, error))
    })
}
