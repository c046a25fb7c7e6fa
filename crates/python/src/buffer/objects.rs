//! New Python objects. If memory runs out they are Python's `MemoryError`, where the constructors
//! of pyo3 panic.
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use tokenmill_core::error::Error;

use crate::exceptions::raise;

/// A new `int`.
pub(crate) fn int(py: Python<'_>, number: usize) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(number)) }
}

/// A new `bytes`.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (start, length) = (bytes.as_ptr().cast(), bytes.len() as ffi::Py_ssize_t);
    // SAFETY: `length` bytes are read from `start`; a new reference, or null with an error set.
    let object = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(start, length))? };
    Ok(object.cast_into()?)
}

/// A new tuple.
pub(crate) fn tuple<'py, const N: usize>(
    py: Python<'py>,
    items: [Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: a new reference, or null with an error set.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(N as ffi::Py_ssize_t))? };
    for (at, item) in (0..).zip(items) {
        // SAFETY: the tuple is not shared; the reference is taken over, even on failure.
        if unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), at, item.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(tuple.cast_into()?)
}

/// Objects between two checks for signals: some milliseconds of work.
const SLICE: usize = 1 << 16;

/// A new list of `count` items.
pub(crate) fn list<'py>(
    py: Python<'py>,
    count: usize,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: a new reference, or null with an error set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(count as ffi::Py_ssize_t))? };
    // SAFETY: the list is new and tracked. While it has unset items, no code may find it, which the
    // functions of the garbage collector would allow.
    unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
    let mut filled = 0;
    for item in items {
        if filled % SLICE == SLICE - 1 {
            py.check_signals()?;
        }
        let at = filled as ffi::Py_ssize_t;
        // SAFETY: the object is a list; the reference is taken over, even on failure.
        if unsafe { ffi::PyList_SetItem(list.as_ptr(), at, item?.into_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        filled += 1;
    }
    if filled < count {
        return Err(raise(py, Error::internal(format!("{filled} items for a list of {count}"))));
    }
    // SAFETY: the list is not tracked, and all of its items are set.
    unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
    Ok(list.cast_into()?)
}
