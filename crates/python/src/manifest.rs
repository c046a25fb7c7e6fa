//! The manifests of folders: made, and compared with what is there.
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenmill_io::{LoadOptions, Verification};

use crate::argument_values;
use crate::hooks::PyHooks;
use crate::watch::run_long;

/// How the files are read: what they may lack, and the name of the split.
fn reading(
    py: Python<'_>,
    split: Option<&str>,
    additions: &Bound<'_, PyDict>,
) -> PyResult<(LoadOptions, Option<&'static str>)> {
    let split = split.map(|text| argument_values::split(py, text)).transpose()?;
    let name = split.as_ref().and_then(|split| split.name);
    let options = LoadOptions {
        split: split.map(|split| split.split),
        additions: argument_values::additions(additions)?,
        hooks: PyHooks::registered(py)?.table(py)?,
        ..LoadOptions::default()
    };
    Ok((options, name))
}

/// The manifest of a folder as it is, as JSON, with what `manifest` says; see `Tokenizer.save`. With `writes` it is
/// written into the folder, too.
#[pyfunction]
#[pyo3(signature = (path, *, split = None, additions, manifest = None, writes = false))]
pub(crate) fn manifest_of_folder(
    py: Python<'_>,
    path: PathBuf,
    split: Option<&str>,
    additions: &Bound<'_, PyDict>,
    manifest: Option<&Bound<'_, PyAny>>,
    writes: bool,
) -> PyResult<String> {
    let (options, name) = reading(py, split, additions)?;
    let given = manifest.map(argument_values::json).transpose()?;
    run_long(py, None, |watch| {
        tokenmill_io::manifest_of_folder(&path, &options, name, given.as_deref(), writes, watch)
    })
}

/// What of a folder is not as its manifest says: (field, expected, found) of each, with the version of the manifest
/// before them, and the numbers of files and of vectors that were compared.
#[pyfunction]
#[pyo3(signature = (path, *, split = None, additions))]
#[allow(clippy::type_complexity)] // plain rows for Python
pub(crate) fn verify_folder(
    py: Python<'_>,
    path: PathBuf,
    split: Option<&str>,
    additions: &Bound<'_, PyDict>,
) -> PyResult<(u32, usize, usize, Vec<(String, String, String)>)> {
    let (options, _) = reading(py, split, additions)?;
    let Verification { version, files, vectors, mismatches } =
        run_long(py, None, |watch| tokenmill_io::verify(&path, &options, watch))?;
    let rows = mismatches.into_iter().map(|mismatch| (mismatch.field, mismatch.expected, mismatch.found));
    Ok((version, files, vectors, rows.collect()))
}
