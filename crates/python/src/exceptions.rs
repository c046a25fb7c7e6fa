//! Converts errors of the core to the Python classes of `tokenmill.errors`, which are looked up by
//! name when they are raised.
use std::fmt;

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenmill_core::error::{Error, Kind, Place};
use tokenmill_core::try_alloc;
use tokenmill_kernels::OutOfMemory;

use crate::late;

/// The Python exception of an error.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let message = error.to_string();
    let facts = PyDict::new(py);
    let path = error.path.as_ref().map(|path| path.display().to_string());
    let field = error.field.to_string();
    let class = match error.into_kind() {
        Kind::Format { defect, reason, limit } => {
            facts.set_item("path", path)?;
            facts.set_item("field", field)?;
            facts.set_item("kind", defect.as_str())?;
            facts.set_item("reason", reason)?;
            facts.set_item("limit", limit)?;
            "FormatError"
        }
        Kind::Pattern { pattern, position, searched_from, .. } => {
            facts.set_item("pattern", pattern)?;
            facts.set_item("position", position.or(searched_from.map(Place::number)))?;
            "PatternError"
        }
        Kind::SpecialToken { token, position, .. } => {
            facts.set_item("token", token)?;
            facts.set_item("position", position.map(Place::number))?;
            "SpecialTokenError"
        }
        Kind::UnknownToken { symbol, position } => {
            facts.set_item("char", symbol)?;
            facts.set_item("position", position.number())?;
            "UnknownTokenError"
        }
        Kind::Vocabulary { id, position, .. } => {
            facts.set_item("id", id)?;
            facts.set_item("position", position)?;
            "VocabularyError"
        }
        Kind::Training { row, byte, .. } => {
            facts.set_item("path", path)?;
            facts.set_item("row", row)?;
            facts.set_item("byte", byte)?;
            "TrainingError"
        }
        Kind::Budget { needed, limit, .. } => {
            facts.set_item("needed", needed)?;
            facts.set_item("limit", limit)?;
            "BudgetError"
        }
        Kind::Manifest { expected, found, .. } => {
            facts.set_item("field", field)?;
            facts.set_item("expected", expected)?;
            facts.set_item("found", found)?;
            "ManifestError"
        }
        Kind::Hook { name, position, .. } => {
            facts.set_item("hook", name)?;
            facts.set_item("position", position.map(Place::number))?;
            "HookError"
        }
        // An exception of the caller's own function is raised unchanged.
        Kind::Raised { error, .. } => {
            match error.downcast().ok().and_then(|raised| Raised::into_inner(*raised)) {
                Some(error) => return Ok(error),
                None => "InternalError",
            }
        }
        Kind::Argument(_) => return Ok(PyValueError::new_err(message)),
        Kind::Cancelled => return Ok(PyKeyboardInterrupt::new_err(message)),
        Kind::Memory { .. } | Kind::MemoryEstimate { .. } => return Ok(PyMemoryError::new_err(message)),
        Kind::Os(error) if error.kind() == std::io::ErrorKind::OutOfMemory => {
            return Ok(PyMemoryError::new_err(message));
        }
        Kind::Os(error) => {
            // From errno and file name Python chooses the subclass, such as FileNotFoundError.
            return Ok(match (error.raw_os_error(), path) {
                (Some(code), Some(path)) => {
                    let text = py.import("os")?.getattr("strerror")?.call1((code,))?.unbind();
                    PyOSError::new_err((code, text, path))
                }
                (_, Some(path)) if error.kind() == std::io::ErrorKind::IsADirectory => {
                    pyo3::exceptions::PyIsADirectoryError::new_err((21, "Is a directory", path))
                }
                // The path is in the message.
                _ => PyErr::from(std::io::Error::new(error.kind(), message)),
            });
        }
        Kind::Internal(_) => "InternalError",
    };
    let class = late::ERRORS.get(py)?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(&facts))?))
}

/// The exception for a lack of memory.
#[cold]
pub(crate) fn out_of_memory(error: OutOfMemory) -> PyErr {
    PyMemoryError::new_err(Error::from(error).to_string())
}

/// Adds the row of a batch to the reason of a Unicode error.
pub(crate) fn in_row(py: Python<'_>, error: PyErr, name: &str, row: usize) -> PyErr {
    let value = error.value(py);
    if let Ok(reason) = value.getattr("reason") {
        // The reason is for people only: an error that cannot be changed is raised as it is.
        let _ = value.setattr("reason", format!("{reason} ({name}[{row}])"));
    }
    error
}

/// The error for a wrong type, with the name of the value (`merges[3]`), the expected type and the
/// actual one.
pub(crate) fn wrong_type(name: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    match found.get_type().name() {
        Ok(found) => PyTypeError::new_err(format!("{name} must be {expected}, not {found}")),
        Err(error) => error,
    }
}

/// Collects all items, up to the first error.
pub(crate) fn gather<T>(items: impl IntoIterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    // The length that an object reports cannot be trusted.
    let mut gathered = Vec::new();
    for item in items {
        try_alloc::push(&mut gathered, item?).map_err(out_of_memory)?;
    }
    Ok(gathered)
}

/// An exception that passes through the core.
///
/// Only one of several errors reaches the caller; threads without the interpreter lock drop the
/// others. pyo3 would put these into a global list, whose lock stays locked in a child that is
/// forked meanwhile.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) Option<PyErr>);

impl Raised {
    pub(crate) fn into_inner(mut self) -> Option<PyErr> {
        self.0.take()
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |error| error.fmt(f))
    }
}

impl std::error::Error for Raised {}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(error) = self.0.take() {
            Python::attach(|_| drop(error));
        }
    }
}
