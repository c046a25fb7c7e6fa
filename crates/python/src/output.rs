//! Converts ids and text to Python: lists, arrays, strings.
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};
use tokenmill_core::engine::DecodedRows;
use tokenmill_core::ids::TokenId;
use tokenmill_core::try_alloc;

use crate::buffer::{objects, string};
use crate::exceptions::{in_row, out_of_memory, wrong_type};
use crate::late;

/// An item of a list.
pub(crate) trait Item<'py> {
    /// Makes a Python object; running out of memory is an error.
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<'py> Item<'py> for usize {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects::int(py, self)
    }
}

impl<'py> Item<'py> for u32 {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects::int(py, self as usize)
    }
}

impl<'py> Item<'py> for u8 {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects::int(py, self.into())
    }
}

impl<'py, T: Item<'py>> Item<'py> for Option<T> {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.map_or_else(|| Ok(py.None().into_bound(py)), |item| item.object(py))
    }
}

impl<'py, A: Item<'py>, B: Item<'py>> Item<'py> for (A, B) {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(objects::tuple(py, [self.0.object(py)?, self.1.object(py)?])?.into_any())
    }
}

impl<'py> Item<'py> for String {
    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(string(py, &self)?.into_any())
    }
}

/// A new list of `count` items.
pub(crate) fn list_of<'py, T: Item<'py>>(
    py: Python<'py>,
    count: usize,
    items: impl Iterator<Item = T>,
) -> PyResult<Bound<'py, PyList>> {
    objects::list(py, count, items.map(|item| item.object(py)))
}

/// A new list of objects whose creation may fail.
pub(crate) fn list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl IntoIterator<Item = PyResult<T>, IntoIter: ExactSizeIterator>,
) -> PyResult<Bound<'py, PyList>> {
    let items = items.into_iter();
    let object = |item: PyResult<T>| item?.into_bound_py_any(py);
    objects::list(py, items.len(), items.map(object))
}

/// Names that are resolved without numpy.
const PLAIN: [&str; 5] = ["uint16", "uint32", "int32", "int64", "uint64"];

/// The integer types of id arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dtype {
    U16,
    U32,
    I32,
    I64,
    U64,
}

impl Dtype {
    /// Reads `dtype=` as numpy does. The type must be able to hold `max_id`.
    pub(crate) fn new(argument: Option<&Bound<'_, PyAny>>, max_id: Option<TokenId>) -> PyResult<Self> {
        let Some(argument) = argument else { return Ok(Self::U32) };
        let plain = argument.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
        let name = if let Some(name) = plain.filter(|name| PLAIN.contains(name)) {
            name.to_owned()
        } else {
            let dtype = late::NUMPY.get(argument.py())?.getattr("dtype")?.call1((argument,))?;
            // A foreign byte order is part of the dtype's `str`, not of its `name`.
            let native: bool = dtype.getattr("isnative")?.extract()?;
            dtype.getattr(if native { "name" } else { "str" })?.extract()?
        };
        let (dtype, largest) = match name.as_str() {
            "uint16" => (Self::U16, u32::from(u16::MAX)),
            "uint32" => (Self::U32, u32::MAX),
            "int32" => (Self::I32, i32::MAX as u32),
            "int64" => (Self::I64, u32::MAX),
            "uint64" => (Self::U64, u32::MAX),
            other => {
                return Err(PyValueError::new_err(format!(
                    "dtype {other} does not hold ids; use uint16, uint32, int32, int64 or uint64"
                )));
            }
        };
        match max_id.filter(|&id| id > largest) {
            Some(id) => Err(PyValueError::new_err(format!(
                "dtype {name} cannot hold the largest id, {id}; use uint32"
            ))),
            None => Ok(dtype),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
        }
    }
}

/// Imports numpy; a failure is an error, not a panic at first use.
fn import_numpy(py: Python<'_>) -> PyResult<()> {
    match late::NUMPY.get(py) {
        Ok(_) => Ok(()),
        // Only a missing numpy is reported this way; one that fails to load raises its own error.
        Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) => {
            Err(PyTypeError::new_err("arrays need numpy: pip install numpy"))
        }
        // This may be Ctrl-C, which is raised when Python code runs next.
        Err(error) => Err(error),
    }
}

/// A new array of ids.
pub(crate) fn array(py: Python<'_>, mut ids: Vec<TokenId>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    fn of<T: Element>(
        py: Python<'_>,
        ids: Vec<TokenId>,
        convert: impl Fn(TokenId) -> T,
    ) -> PyResult<Bound<'_, PyAny>> {
        let mut converted = try_alloc::vec(ids.len()).map_err(out_of_memory)?;
        converted.extend(ids.into_iter().map(convert));
        Ok(PyArray1::from_vec(py, converted).into_any())
    }
    import_numpy(py)?;
    match dtype {
        Dtype::U32 => {
            // The array keeps the whole capacity, much of which may be unused.
            ids.shrink_to_fit();
            Ok(PyArray1::from_vec(py, ids).into_any())
        }
        Dtype::U16 => of(py, ids, |id| id as u16),
        Dtype::I32 => of(py, ids, |id| id as i32),
        Dtype::I64 => of(py, ids, i64::from),
        Dtype::U64 => of(py, ids, u64::from),
    }
}

/// Ids in a 32-bit array that can be read as a slice; `None` for another object.
pub(crate) fn flat_ids<'py>(ids: &Bound<'py, PyAny>) -> PyResult<Option<PyReadonlyArray1<'py, TokenId>>> {
    import_numpy(ids.py())?;
    let array = ids.cast::<PyArray1<TokenId>>().ok().and_then(|array| array.try_readonly().ok());
    Ok(array.filter(|array| array.as_slice().is_ok()))
}

/// A new array of 64-bit integers.
pub(crate) fn int64_array(py: Python<'_>, values: Vec<i64>) -> PyResult<Bound<'_, PyAny>> {
    import_numpy(py)?;
    Ok(PyArray1::from_vec(py, values).into_any())
}

/// A new array of booleans.
pub(crate) fn bool_array(py: Python<'_>, values: Vec<bool>) -> PyResult<Bound<'_, PyAny>> {
    import_numpy(py)?;
    Ok(PyArray1::from_vec(py, values).into_any())
}

/// The type of the array `out=`; a given `dtype` must be the same.
pub(crate) fn check_out(
    out: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    max_id: Option<TokenId>,
) -> PyResult<Dtype> {
    let Ok(own) = out.getattr("dtype") else {
        return Err(wrong_type("out", "a numpy array of one dimension", out));
    };
    let found = Dtype::new(Some(&own), max_id)?;
    match dtype.filter(|&dtype| dtype != found) {
        Some(dtype) => Err(PyValueError::new_err(format!(
            "out= is an array of {}, but dtype={}; leave dtype out, or give an array of it",
            found.name(),
            dtype.name()
        ))),
        None => Ok(found),
    }
}

/// Fills `out` from the front; returns the filled part of it.
pub(crate) fn fill<'py>(
    out: &Bound<'py, PyAny>,
    ids: &[TokenId],
    max_id: Option<TokenId>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = check_out(out, None, max_id)?;
    let length = out.len()?;
    if length < ids.len() {
        return Err(PyValueError::new_err(format!(
            "out= has room for {length} ids, {} are needed",
            ids.len()
        )));
    }
    match dtype {
        Dtype::U16 => fill_as(out, ids, |id| id as u16)?,
        Dtype::U32 => fill_as(out, ids, |id| id)?,
        Dtype::I32 => fill_as(out, ids, |id| id as i32)?,
        Dtype::I64 => fill_as(out, ids, i64::from)?,
        Dtype::U64 => fill_as(out, ids, u64::from)?,
    }
    // `PySlice::new` of pyo3 never frees the numbers that it makes.
    out.get_item(out.py().get_type::<PySlice>().call1((ids.len(),))?)
}

fn fill_as<T: Element>(
    out: &Bound<'_, PyAny>,
    ids: &[TokenId],
    convert: impl Fn(TokenId) -> T,
) -> PyResult<()> {
    let mut array: PyReadwriteArray1<'_, T> = out
        .cast::<PyArray1<T>>()
        .map_err(|_| PyTypeError::new_err("out= takes a numpy array of one dimension"))?
        .try_readwrite()
        .map_err(|error| PyValueError::new_err(format!("out= cannot be written to: {error}")))?;
    for (place, &id) in array.as_array_mut().iter_mut().zip(ids) {
        *place = convert(id);
    }
    Ok(())
}

/// Decoded bytes as a string, under Python's error policies.
pub(crate) fn text<'py>(py: Python<'py>, bytes: &[u8], errors: &str) -> PyResult<Bound<'py, PyString>> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => string(py, text),
        // Rare; Python's decoder implements the policies.
        Err(_) => Ok(objects::bytes(py, bytes)?.call_method1("decode", ("utf-8", errors))?.cast_into()?),
    }
}

/// Decoded rows as a list of strings.
pub(crate) fn texts<'py>(
    py: Python<'py>,
    count: usize,
    rows: &[DecodedRows],
    errors: &str,
) -> PyResult<Bound<'py, PyList>> {
    let text = |(row, bytes): (usize, &[u8])| {
        let text = text(py, bytes, errors).map_err(|error| in_row(py, error, "batch", row));
        text.map(Bound::into_any)
    };
    objects::list(py, count, rows.iter().flat_map(DecodedRows::iter).enumerate().map(text))
}

pub(crate) fn check_errors(errors: &str) -> PyResult<()> {
    match errors {
        "replace" | "strict" | "ignore" => Ok(()),
        other => Err(PyValueError::new_err(format!(
            "errors={other:?} is none of \"replace\", \"strict\", \"ignore\""
        ))),
    }
}
