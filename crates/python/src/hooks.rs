//! Python functions as normalizers and splitters.
//!
//! An engine is shared by objects that Python's garbage collector cannot traverse, so it holds weak
//! references. The tokenizers own the functions and report them to the collector; so a cycle of an
//! object and a tokenizer that uses its method as a hook can be collected.
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple, PyWeakrefReference};
use tokenmill_core::description::{Description, HookName};
use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::hooks::{Cuts, Hooks, Normalized, fault};
use tokenmill_core::try_alloc;
use tokenmill_kernels::MadeOnce;

use crate::argument_values::string;
use crate::buffer::{self, Surrogates, Utf8, utf8};
use crate::exceptions::{Raised, gather, wrong_type};

/// A function, owned by the tokenizers that use it.
#[pyclass(frozen, weakref, module = "tokenmill._core")]
pub(crate) struct Hook {
    function: Py<PyAny>,
}

#[pymethods]
impl Hook {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.function)
    }
}

/// The hooks of a tokenizer.
#[derive(Default)]
pub(crate) struct PyHooks(Vec<(HookName, Py<Hook>)>);

impl PyHooks {
    /// Adds a function; replaces one of the same name.
    pub(crate) fn add(&mut self, name: HookName, function: &Bound<'_, PyAny>) -> PyResult<()> {
        let hook = Py::new(function.py(), Hook { function: function.clone().unbind() })?;
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, hook));
        Ok(())
    }

    /// Adds the function of a call, identified by its name or else by its address; `None` for no function.
    pub(crate) fn add_given(
        &mut self,
        function: &Bound<'_, PyAny>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<HookName>> {
        if function.is_none() {
            return match name {
                Some(_) => Err(PyValueError::new_err("a name without a function; leave name= out")),
                None => Ok(None),
            };
        }
        check_callable(function, "function", "callable or None")?;
        let name = match name {
            Some(name) => HookName::Named(string(name, || "name".to_owned())?),
            None => HookName::Unnamed(function.as_ptr() as u64),
        };
        self.add(name.clone(), function)?;
        Ok(Some(name))
    }

    /// Adds functions by name; replaces those of the same names.
    pub(crate) fn add_all(&mut self, argument: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(mapping) = argument.cast::<PyMapping>() else {
            return Err(wrong_type("hooks", "a mapping of names to functions", argument));
        };
        for (i, item) in mapping.items()?.iter().enumerate() {
            let (name, function): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let name = string(&name, || format!("key {i} of hooks"))?;
            check_callable(&function, &format!("hooks[{name:?}]"), "callable")?;
            self.add(HookName::Named(name), &function)?;
        }
        Ok(())
    }

    /// The registered hooks.
    pub(crate) fn registered(py: Python<'_>) -> PyResult<Self> {
        let mut hooks = Self::default();
        hooks.add_all(registry(py))?;
        Ok(hooks)
    }

    /// The hooks that a description names.
    pub(crate) fn named_by(&self, py: Python<'_>, description: &Description) -> Self {
        let names: HashSet<&HookName> = description.hooks().collect();
        let kept = self.0.iter().filter(|(name, _)| names.contains(name));
        Self(kept.map(|(name, hook)| (name.clone(), hook.clone_ref(py))).collect())
    }

    /// The hooks in the form of the core, valid as long as `self` lives.
    pub(crate) fn table(&self, py: Python<'_>) -> PyResult<Hooks> {
        let mut table = Hooks::default();
        for (name, hook) in &self.0 {
            let caller = Arc::new(Caller {
                name: name.clone(),
                hook: PyWeakrefReference::new(hook.bind(py).as_any())?.unbind(),
            });
            let normalize = Arc::clone(&caller);
            table.add_normalizer(name.clone(), move |text| normalize.call(text, Caller::normalized));
            table.add_splitter(name.clone(), move |text| caller.call(text, Caller::cuts));
        }
        Ok(table)
    }

    /// Reports the functions to the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.0.iter().try_for_each(|(_, hook)| visit.call(hook))
    }
}

fn check_callable(function: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<()> {
    if function.is_callable() { Ok(()) } else { Err(wrong_type(name, expected, function)) }
}

/// The functions registered in this process, by name.
fn registry(py: Python<'_>) -> &Bound<'_, PyAny> {
    static REGISTRY: MadeOnce<Py<PyDict>> = MadeOnce::new();
    REGISTRY.get_or_make(|| PyDict::new(py).unbind()).bind(py).as_any()
}

/// Registers a function under a name in this process: `tokenmill.load` and unpickling find it there
/// for a tokenizer that names it. A later function replaces an earlier one of the same name, for
/// tokenizers loaded from then on.
///
/// A file never causes an import, so each process registers what it needs. Raises `ValueError` for
/// an empty name.
#[pyfunction]
#[pyo3(signature = (name, function, /))]
pub(crate) fn register_hook(name: &Bound<'_, PyAny>, function: &Bound<'_, PyAny>) -> PyResult<()> {
    let name = string(name, || "name".to_owned())?;
    if name.is_empty() {
        return Err(PyValueError::new_err("the name of a hook is empty; give it one"));
    }
    check_callable(function, "function", "callable")?;
    registry(function.py()).set_item(name, function)
}

/// Calls a function on behalf of the core, from any thread.
struct Caller {
    name: HookName,
    hook: Py<PyWeakrefReference>,
}

/// Maximum depth of nested hooks on a thread. Deeper nesting means that a function calls its own
/// tokenizer, which would overflow the stack before Python's own limit.
const MAX_DEPTH: usize = 16;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Counts a running hook on this thread until it is dropped.
struct RunningHook;

impl RunningHook {
    fn new() -> Option<Self> {
        let depth = DEPTH.get();
        (depth < MAX_DEPTH).then(|| {
            DEPTH.set(depth + 1);
            Self
        })
    }
}

impl Drop for RunningHook {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Wraps an exception, which reaches the caller unchanged.
pub(crate) fn raised(py: Python<'_>, error: PyErr) -> Error {
    let is_interrupt = error.is_instance_of::<PyKeyboardInterrupt>(py);
    Kind::Raised { error: Box::new(Raised(Some(error))), is_interrupt }.into()
}

impl Caller {
    fn call<T>(&self, text: &str, read: impl Fn(&Self, &Bound<'_, PyAny>) -> Result<T>) -> Result<T> {
        let _running = RunningHook::new().ok_or_else(|| {
            self.fault(format!(
                "{MAX_DEPTH} hooks run within one another; a hook cannot use the tokenizer that it serves"
            ))
        })?;
        Python::attach(|py| {
            let hook = self.hook.bind(py).upgrade_as::<Hook>().map_err(|error| raised(py, error))?;
            let hook = hook.ok_or_else(|| Error::internal("a hook is gone before its tokenizer"))?;
            let text = buffer::string(py, text).map_err(|error| raised(py, error))?;
            let result = hook.get().function.bind(py).call1((text,));
            read(self, &result.map_err(|error| raised(py, error))?)
        })
    }

    fn fault(&self, reason: impl Into<String>) -> Error {
        fault(&self.name, None, reason)
    }

    /// The error for a result, or a part of it, that has the wrong type.
    fn wrong(&self, what: &str, expected: &str, found: &Bound<'_, PyAny>) -> Error {
        let of = found.get_type().name().map_or("something else".to_owned(), |name| name.to_string());
        self.fault(format!("{what} must be {expected}, not {of}"))
    }

    fn text(&self, text: &Bound<'_, PyString>, what: &str) -> Result<String> {
        match utf8(text, Surrogates::Refuse).map_err(|error| raised(text.py(), error))? {
            Utf8::Borrowed(text) => Ok(try_alloc::copy_text(text)?),
            Utf8::Copied { text, .. } => Ok(text),
            Utf8::Refused(at) => {
                let reason =
                    format!("{what} has a surrogate at character {at}, which is no text; give U+FFFD");
                Err(self.fault(reason))
            }
        }
    }

    fn items<'py>(&self, result: &Bound<'py, PyAny>, expected: &str) -> Result<Vec<Bound<'py, PyAny>>> {
        let py = result.py();
        match result.try_iter() {
            Ok(items) => gather(items).map_err(|error| raised(py, error)),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                Err(self.wrong("what it gives", expected, result))
            }
            Err(error) => Err(raised(py, error)),
        }
    }

    /// The items of a tuple (or list) of length `N`.
    fn parts<'py, const N: usize>(
        &self,
        item: &Bound<'py, PyAny>,
        what: &str,
        expected: &str,
    ) -> Result<[Bound<'py, PyAny>; N]> {
        let parts: Vec<Bound<'py, PyAny>> = if let Ok(tuple) = item.cast::<PyTuple>() {
            tuple.iter().collect()
        } else if let Ok(list) = item.cast::<PyList>() {
            list.iter().collect()
        } else {
            return Err(self.wrong(what, expected, item));
        };
        let count = parts.len();
        parts.try_into().map_err(|_| self.fault(format!("{what} must be {expected}, not of {count}")))
    }

    fn character(&self, number: &Bound<'_, PyAny>, what: &str) -> Result<usize> {
        let Ok(index) = number.call_method0("__index__") else {
            return Err(self.wrong(what, "an integer", number));
        };
        let outside = || self.fault(format!("{what} is {index}; characters are counted from 0 on"));
        match index.extract::<i128>() {
            Ok(index) => usize::try_from(index).map_err(|_| outside()),
            Err(_) => Err(outside()),
        }
    }

    fn normalized(&self, result: &Bound<'_, PyAny>) -> Result<Normalized> {
        if let Ok(text) = result.cast::<PyString>() {
            return Ok(Normalized::Text(self.text(text, "the text that it gives")?));
        }
        let expected = "str, or a sequence of (text, start, end)";
        if result.cast::<PyBytes>().is_ok() {
            return Err(self.wrong("what it gives", expected, result));
        }
        let mut pieces = Vec::new();
        for (i, item) in self.items(result, expected)?.iter().enumerate() {
            let what = format!("piece {i}");
            let [text, start, end] = self.parts(item, &what, "a tuple (text, start, end)")?;
            let Ok(text) = text.cast::<PyString>() else {
                return Err(self.wrong(&format!("the text of {what}"), "str", &text));
            };
            let piece = (
                self.text(text, &format!("the text of {what}"))?,
                self.character(&start, &format!("the start of {what}"))?,
                self.character(&end, &format!("the end of {what}"))?,
            );
            try_alloc::push(&mut pieces, piece)?;
        }
        Ok(Normalized::Pieces(pieces))
    }

    fn cuts(&self, result: &Bound<'_, PyAny>) -> Result<Cuts> {
        let expected = "a sequence of (start, end), or of str";
        if result.cast::<PyString>().is_ok() {
            return Err(self.wrong("what it gives", expected, result));
        }
        let items = self.items(result, expected)?;
        if items.first().is_some_and(|item| item.cast::<PyString>().is_ok()) {
            let piece = |(i, item): (usize, &Bound<'_, PyAny>)| match item.cast::<PyString>() {
                Ok(text) => self.text(text, &format!("piece {i}")),
                Err(_) => Err(self.wrong(&format!("piece {i}"), "str like the first", item)),
            };
            return Ok(Cuts::Pieces(try_alloc::collect(items.iter().enumerate().map(piece))?));
        }
        let mut spans = try_alloc::vec(items.len())?;
        for (i, item) in items.iter().enumerate() {
            let what = format!("span {i}");
            let [start, end] = self.parts(item, &what, "a tuple (start, end)")?;
            spans.push((
                self.character(&start, &format!("the start of {what}"))?,
                self.character(&end, &format!("the end of {what}"))?,
            ));
        }
        Ok(Cuts::Spans(spans))
    }
}
