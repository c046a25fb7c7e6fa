//! `tok.__signature__`: what `inspect.signature(tok)` reads.
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// The attribute `__signature__` of instances: the signature of their `__call__`, without `self`. The class itself
/// does not have it, because it is not called that way.
#[pyclass(frozen, module = "tokenmill._core")]
pub(crate) struct CallSignature;

#[pymethods]
impl CallSignature {
    #[allow(clippy::unused_self)] // what Python passes
    fn __get__<'py>(
        &self,
        py: Python<'py>,
        instance: Option<&Bound<'py, PyAny>>,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = owner;
        match instance {
            Some(instance) => {
                py.import("inspect")?.getattr("signature")?.call1((instance.getattr("__call__")?,))
            }
            None => Err(PyAttributeError::new_err("__signature__")),
        }
    }
}
