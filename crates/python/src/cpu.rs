//! The switch between instruction sets, for tests.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tokenmill_core::cpu::{self, Level};

use crate::argument_values::string;

/// Makes encoding use these instructions from now on, in all threads, and returns the name of the
/// level in use: `"portable"`, `"neon"`, `"avx2"`, `"avx512"`. `None` selects the widest level of
/// the machine, which is the default. Meant for tests: the ids are the same at every level.
///
/// Raises `ValueError` for a level that this machine does not have, without a change.
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn force_cpu(level: Option<&Bound<'_, PyAny>>) -> PyResult<&'static str> {
    let level = level.map(named).transpose()?;
    cpu::force(level).map_err(|level| {
        let names: Vec<_> = cpu::available().into_iter().map(Level::name).collect();
        PyValueError::new_err(format!(
            "this machine has no {level}, only {}; force one of these",
            names.join(", ")
        ))
    })?;
    Ok(cpu::level().name())
}

fn named(level: &Bound<'_, PyAny>) -> PyResult<Level> {
    let name = string(level, || "level".to_owned())?;
    Level::named(&name).ok_or_else(|| {
        let names = Level::ALL.map(Level::name).join(", ");
        PyValueError::new_err(format!("level is {name:?}, which is none of {names}"))
    })
}
