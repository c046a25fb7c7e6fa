//! Values that are initialised once per process: modules that are imported on demand, and caches of
//! our dependencies.
//!
//! If a process forks while another thread initialises such a value, the child waits for it for ever. So most
//! values are initialised at import ([`make_early`]), and the rest under the lock of `tokenmill._forks`, which a
//! fork acquires first.
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyMapping, PyModule};
use tokenmill_core::early;
use tokenmill_kernels::MadeOnce;

/// A Python module that is imported on first use.
pub(crate) struct Late {
    name: &'static str,
    /// Runs once, after the import.
    prepare: fn(Python<'_>) -> PyResult<()>,
    module: MadeOnce<Py<PyModule>>,
}

pub(crate) static BUILTIN_TEMPLATES: Late = Late::new("tokenmill.chat.builtin", |_| Ok(()));
pub(crate) static CACHE_KEY: Late = Late::new("tokenmill._cache_key", |_| Ok(()));
pub(crate) static CHAT_COUNTING: Late = Late::new("tokenmill.chat.counting", |_| Ok(()));
pub(crate) static CHAT_ENCODING: Late = Late::new("tokenmill.chat.applied", |_| Ok(()));
pub(crate) static CHAT_EXTENDING: Late = Late::new("tokenmill.chat.extending", |_| Ok(()));
pub(crate) static CHAT_RENDERING: Late = Late::new("tokenmill.chat.preparing", |_| Ok(()));
pub(crate) static CHUNKS: Late = Late::new("tokenmill.chunks", |_| Ok(()));
pub(crate) static EDITING: Late = Late::new("tokenmill.editing", |_| Ok(()));
pub(crate) static EMBEDDING_PLAN: Late = Late::new("tokenmill.embedding_plan", |_| Ok(()));
pub(crate) static ERRORS: Late = Late::new("tokenmill.errors", |_| Ok(()));
pub(crate) static EXPLAIN: Late = Late::new("tokenmill.explain", |_| Ok(()));
pub(crate) static MODEL_INPUTS: Late = Late::new("tokenmill.model_inputs", |_| Ok(()));
pub(crate) static NOTEBOOK: Late = Late::new("tokenmill._notebook", |_| Ok(()));
pub(crate) static NUMPY: Late = Late::new("numpy", use_arrays);
pub(crate) static PAD_BATCH: Late = Late::new("tokenmill._pad_batch", |_| Ok(()));
pub(crate) static RAGGED: Late = Late::new("tokenmill.ragged", |_| Ok(()));
pub(crate) static STAGES: Late = Late::new("tokenmill.stages", |_| Ok(()));
pub(crate) static SURGERY: Late = Late::new("tokenmill.surgery", |_| Ok(()));
pub(crate) static TRAIN_INPUTS: Late = Late::new("tokenmill._train_inputs", |_| Ok(()));

impl Late {
    const fn new(name: &'static str, prepare: fn(Python<'_>) -> PyResult<()>) -> Self {
        Self { name, prepare, module: MadeOnce::new() }
    }

    /// Imports the module, if needed.
    pub(crate) fn get<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyModule>> {
        if let Some(module) = self.module.get() {
            return Ok(module.bind(py));
        }
        let _held = Held::new(py)?;
        let module = py.import(self.name)?;
        (self.prepare)(py)?;
        Ok(self.module.get_or_make(|| module.unbind()).bind(py))
    }
}

/// Guard of the lock that a fork acquires.
struct Held<'py>(Bound<'py, PyAny>);

impl<'py> Held<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let lock = py.import("tokenmill._forks")?.getattr("waited_for")?;
        // The interpreter lock is released while Python waits.
        lock.call_method0("acquire")?;
        Ok(Self(lock))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.call_method0("release") {
            error.write_unraisable(self.0.py(), None);
        }
    }
}

/// Initialises numpy's function table. Its bindings do so at first use, and threads then wait for each other.
fn use_arrays(py: Python<'_>) -> PyResult<()> {
    let array = PyArray1::from_vec(py, vec![0_u32]).into_any();
    let array = array.cast::<PyArray1<u32>>()?;
    let _ = (array.dtype(), array.try_readonly().is_ok(), array.try_readwrite().is_ok());
    Ok(())
}

/// Initialises the caches of pyo3 and of the core's dependencies at import, before there can be threads.
pub(crate) fn make_early(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // A thread attaching from outside of Python checks whether the interpreter is initialised.
    py.detach(|| Python::attach(|_| ()));
    PyMapping::type_object(py);
    // Attribute names: one of the error classes, and the one that adds a note about an argument of
    // a wrong type.
    let _ = module.get_type().module();
    let _ = module.getattr("force_cpu")?.call1((0,));
    early::make();
    Ok(())
}
