//! Arrow columns as other libraries pass them to Python, and as we do: in capsules.
use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::{PyImportError, PyOSError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokenmill_kernels::{ArrowArray, ArrowSchema, ArrowStream, ColumnError, ImportedArray, ImportedStream};

use crate::exceptions::wrong_type;

/// What an object exports by Arrow's C interfaces.
pub(crate) enum Imported {
    /// An array, which may be a batch: an array of structs.
    Array(ImportedArray),
    /// A stream of arrays.
    Stream(ImportedStream),
}

/// What an object exports, an array rather than a stream of them; `None` for other objects. `name` is that of the
/// argument.
pub(crate) fn imported(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Imported>> {
    if let Some(export) = object.getattr_opt("__arrow_c_array__")? {
        let pair = export.call0()?;
        let Ok((schema, array)) = pair.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>() else {
            let expected = "the capsules of a schema and of an array";
            return Err(wrong_type(&format!("what {name}.__arrow_c_array__() gives"), expected, &pair));
        };
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<ArrowArray>();
        // SAFETY: by the interface, capsules of these names hold these structures. Both live to the end
        // of this block, and no one else has them.
        let taken = unsafe { ImportedArray::take(schema.as_ptr(), array.as_ptr()) };
        return taken.map(|array| Some(Imported::Array(array))).map_err(|error| column_error(name, error));
    }
    let Some(export) = object.getattr_opt("__arrow_c_stream__")? else { return Ok(None) };
    let capsule = match export.call0() {
        Ok(capsule) => capsule,
        // pandas has columns without pyarrow, but exports none without it.
        Err(error) if error.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        let what = format!("what {name}.__arrow_c_stream__() gives");
        return Err(wrong_type(&what, "the capsule of a stream", &capsule));
    };
    let stream =
        Pointer(capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<ArrowStream>().as_ptr());
    // The stream is asked for its type, which may be foreign code that waits for another thread.
    let taken = object.py().detach(move || {
        let Pointer(stream) = { stream };
        // SAFETY: as above; this thread waits, so that the capsule lives.
        unsafe { ImportedStream::take(stream) }
    });
    taken.map(|stream| Some(Imported::Stream(stream))).map_err(|error| column_error(name, error))
}

/// A pointer that is used by the thread that made it.
struct Pointer(*mut ArrowStream);

// SAFETY: it does not leave the thread: `detach` runs its function at once.
unsafe impl Send for Pointer {}

/// An array with its type, for another library.
pub(crate) fn array_capsules(
    py: Python<'_>,
    schema: ArrowSchema,
    array: ArrowArray,
) -> PyResult<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)> {
    Ok((schema_capsule(py, schema)?, capsule(py, array, c"arrow_array")?))
}

/// A type, for another library.
pub(crate) fn schema_capsule(py: Python<'_>, schema: ArrowSchema) -> PyResult<Bound<'_, PyCapsule>> {
    capsule(py, schema, c"arrow_schema")
}

/// A stream, for another library.
pub(crate) fn stream_capsule(py: Python<'_>, stream: ArrowStream) -> PyResult<Bound<'_, PyCapsule>> {
    capsule(py, stream, c"arrow_array_stream")
}

/// What nobody has taken out of its capsule is released without the interpreter lock: what it is made of may be a column
/// of another library, which may wait for a thread that needs the lock.
fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    value: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    let release = |value: T, _: *mut c_void| Python::attach(|py| py.detach(|| drop(value)));
    PyCapsule::new_with_value_and_destructor(py, value, name, release)
}

/// Does this thread hold the interpreter lock?
pub(crate) fn holds_interpreter() -> bool {
    // SAFETY: any thread may ask, once the interpreter is there: this module was loaded by it.
    unsafe { ffi::PyGILState_Check() == 1 }
}

/// Raises an exception in the main thread when Python code runs there next: it comes from a handler of a signal, and there
/// is no caller to raise it to.
pub(crate) fn raise_later(_py: Python<'_>, error: PyErr) {
    extern "C" fn raise(error: *mut c_void) -> c_int {
        // SAFETY: the box that was made below; Python calls this once, with the lock held.
        let error = unsafe { Box::from_raw(error.cast::<PyErr>()) };
        Python::attach(|py| error.restore(py));
        -1
    }
    let error = Box::into_raw(Box::new(error));
    // SAFETY: the function matches; if it is not taken, it is not called.
    unsafe {
        if ffi::Py_AddPendingCall(Some(raise), error.cast()) != 0 {
            drop(Box::from_raw(error));
        }
    }
}

/// The name of a type that is written as the interface does; for types with parameters its format.
pub(crate) fn type_name(format: &str) -> String {
    const NAMES: [(&str, &str); 19] = [
        ("b", "bool"),
        ("c", "int8"),
        ("C", "uint8"),
        ("s", "int16"),
        ("S", "uint16"),
        ("i", "int32"),
        ("I", "uint32"),
        ("l", "int64"),
        ("L", "uint64"),
        ("e", "float16"),
        ("f", "float32"),
        ("g", "float64"),
        ("u", "string"),
        ("U", "large_string"),
        ("vu", "string_view"),
        ("+s", "struct"),
        ("+l", "list"),
        ("+L", "large_list"),
        ("tdD", "date32"),
    ];
    let known = NAMES.iter().find(|(short, _)| *short == format);
    known.map_or_else(|| format!("type {format:?} (its format)"), |(_, name)| (*name).to_owned())
}

/// The Python error for a column, or for a row of it.
pub(crate) fn column_error(name: &str, error: ColumnError) -> PyErr {
    match error {
        ColumnError::Type(found) => {
            let hint = match (name, found.as_str()) {
                ("texts", "+s") => "encode_arrow takes a column of a table by its name",
                ("texts", _) => "cast it, or pass a list of texts",
                _ => "cast it to string",
            };
            PyTypeError::new_err(format!(
                "{name} is an Arrow array of {}, but must be of string, large_string or string_view, of binary, \
                 large_binary or binary_view, or a dictionary of one of these; {hint}",
                type_name(&found)
            ))
        }
        ColumnError::Released => PyValueError::new_err(format!(
            "{name} is an Arrow array or stream that was released: a stream is read once"
        )),
        ColumnError::Broken(reason) => {
            PyValueError::new_err(format!("{name} is no sound Arrow array: {reason}"))
        }
        ColumnError::Stream(reason) => {
            PyOSError::new_err(format!("the Arrow stream of {name} has failed: {reason}"))
        }
    }
}
