//! Tokenizers from files and from pickles.
use std::path::PathBuf;

use pyo3::prelude::*;
use tokenmill_core::compile::compile;
use tokenmill_io::LoadOptions;

use crate::convert;
use crate::load_report::LoadReport;
use crate::tokenizer::Tokenizer;
use crate::watch::run_long;

/// Loads a tokenizer file or folder; see `tokenmill.load`.
#[pyfunction]
#[pyo3(signature = (path, *, split = None, special_tokens = None, strict = false))]
pub(crate) fn load_file(
    py: Python<'_>,
    path: PathBuf,
    split: Option<&str>,
    special_tokens: Option<&Bound<'_, PyAny>>,
    strict: bool,
) -> PyResult<Tokenizer> {
    let options = LoadOptions {
        split: split.map(|text| convert::split(py, text)).transpose()?,
        special_tokens: convert::special_tokens(special_tokens)?,
        strict,
    };
    let (engine, report) = run_long(py, None, |_| tokenmill_io::load(&path, &options))?;
    Ok(Tokenizer::new(engine, None).with_load_report(Py::new(py, LoadReport::new(report))?))
}

/// The tokenizer of a pickle's bytes.
#[pyfunction]
#[pyo3(signature = (state, /))]
pub(crate) fn from_state(py: Python<'_>, state: &[u8]) -> PyResult<Tokenizer> {
    let engine = run_long(py, None, |_| compile(tokenmill_io::state::parse(state)?))?;
    Ok(Tokenizer::new(engine, None))
}
