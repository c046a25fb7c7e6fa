//! Loads tokenizers from files and from pickles.
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenmill_core::pattern::named_splits::name_given;
use tokenmill_core::watch::Watch;
use tokenmill_io::LoadOptions;

use crate::argument_values;
use crate::hooks::PyHooks;
use crate::load_report::LoadReport;
use crate::tokenizer::Tokenizer;
use crate::watch::run_long;

/// Loads a tokenizer file or folder; see `tokenmill.load`. `additions` has the keyword arguments of
/// `Tokenizer.with_special_tokens`.
#[pyfunction]
#[pyo3(signature = (path, *, split = None, additions, strict = false, hooks = None, cache_bytes = None, image_dir = None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn load_file(
    py: Python<'_>,
    path: PathBuf,
    split: Option<&str>,
    additions: &Bound<'_, PyDict>,
    strict: bool,
    hooks: Option<&Bound<'_, PyAny>>,
    cache_bytes: Option<&Bound<'_, PyAny>>,
    image_dir: Option<PathBuf>,
) -> PyResult<Tokenizer> {
    let cache_bytes = argument_values::length(cache_bytes, "cache_bytes")?;
    let mut known = PyHooks::registered(py)?;
    if let Some(hooks) = hooks {
        known.add_all(hooks)?;
    }
    let split = split.map(|text| argument_values::split(py, text)).transpose()?;
    let asked = split.as_ref().and_then(|split| split.name);
    let options = LoadOptions {
        split: split.map(|split| split.split),
        additions: argument_values::additions(additions)?,
        names_all_special: false,
        strict,
        hooks: known.table(py)?,
        image_dir,
    };
    let (engine, report) = run_long(py, None, |watch| tokenmill_io::load(&path, &options, watch))?;
    let engine = engine.with_cache_bytes(cache_bytes);
    let hooks = known.named_by(py, engine.description());
    let split_name = asked.or(report.split_name());
    let tokenizer = Tokenizer::new(py, engine, None)?.with_hooks(hooks).with_split_name(split_name);
    let tokenizer = tokenizer.with_annotations(report.annotations().clone());
    let tokenizer = tokenizer.with_image_dir(options.image_dir);
    Ok(tokenizer.with_load_report(Py::new(py, LoadReport::new(report))?))
}

/// Loads a tokenizer.json from memory. `scores` are exact scores of a Unigram vocabulary, by id.
#[pyfunction]
#[pyo3(signature = (json, /, scores = None))]
pub(crate) fn from_tokenizer_json(
    py: Python<'_>,
    json: &[u8],
    scores: Option<Vec<f64>>,
) -> PyResult<Tokenizer> {
    let load = |_: &dyn Watch| tokenmill_io::load_tokenizer_json(json, scores.as_deref());
    let (engine, report) = run_long(py, None, load)?;
    Ok(Tokenizer::new(py, engine, None)?.with_load_report(Py::new(py, LoadReport::new(report))?))
}

/// Restores a tokenizer from the bytes of a pickle. `split` is the name that its split was asked for by, `image_dir`
/// the folder of images that it was loaded with.
#[pyfunction]
#[pyo3(signature = (state, split = None, image_dir = None, /))]
pub(crate) fn from_state(
    py: Python<'_>,
    state: &[u8],
    split: Option<&str>,
    image_dir: Option<PathBuf>,
) -> PyResult<Tokenizer> {
    let known = PyHooks::registered(py)?;
    let table = known.table(py)?;
    let load = |watch: &dyn Watch| tokenmill_io::load_state(state, &table, image_dir.as_deref(), watch);
    let engine = run_long(py, None, load)?;
    let hooks = known.named_by(py, engine.description());
    let split_name = split.and_then(name_given);
    let tokenizer = Tokenizer::new(py, engine, None)?.with_hooks(hooks).with_split_name(split_name);
    Ok(tokenizer.with_image_dir(image_dir))
}
