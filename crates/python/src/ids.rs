//! Ids from Python: a list, an array or an iterable of them, and rows of such.
use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMapping, PyMemoryView, PyString};
use tokenmill_core::ids::TokenId;
use tokenmill_core::try_alloc;

use crate::argument_values::{items, no_id, number};
use crate::buffer::{ids_in_list, numbers};
use crate::exceptions::{gather, out_of_memory, wrong_type};

/// Ids between two checks for signals: some milliseconds of work.
const IDS_PER_CHECK: usize = 1 << 18;

/// The name of the `ids` argument, or of a row of a batch.
fn name_of_ids(row: Option<usize>) -> String {
    row.map_or("ids".to_owned(), |row| format!("batch[{row}]"))
}

#[inline]
fn id_at(object: &Bound<'_, PyAny>, position: usize, row: Option<usize>) -> PyResult<TokenId> {
    if let Ok(id) = object.extract::<TokenId>() {
        return Ok(id);
    }
    odd_id_at(object, position, row)
}

/// The error for an item that is not a plain id.
#[cold]
fn odd_id_at(object: &Bound<'_, PyAny>, position: usize, row: Option<usize>) -> PyResult<TokenId> {
    let number = number(object, || format!("{}[{position}]", name_of_ids(row))).map_err(|error| {
        let is_text = object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok();
        if row.is_some() || is_text || object.len().is_err() {
            return error;
        }
        let reason = error.value(object.py());
        PyTypeError::new_err(format!("{reason}; rows of ids are for decode_batch"))
    })?;
    TokenId::try_from(number).map_err(|_| no_id(object.py(), number, Some(position), row))
}

/// A sequence of ids: a list, an array or any iterable of integers; `row` is its index in a batch.
pub(crate) fn ids(object: &Bound<'_, PyAny>, row: Option<usize>) -> PyResult<Vec<TokenId>> {
    let py = object.py();
    let id = |(i, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        if i % IDS_PER_CHECK == IDS_PER_CHECK - 1 {
            py.check_signals()?;
        }
        id_at(&item?, i, row)
    };
    if let Ok(list) = object.cast::<PyList>() {
        return ids_in_list(list, |i, item| odd_id_at(item, i, row));
    }
    let is_text = object.cast::<PyString>().is_ok()
        || object.cast::<PyBytes>().is_ok()
        || object.cast::<PyByteArray>().is_ok()
        || (object.cast::<PyMemoryView>().is_ok() && PyBuffer::<u8>::get(object).is_ok());
    if is_text {
        let name = name_of_ids(row);
        return Err(PyTypeError::new_err(format!(
            "{name} must be a sequence of integers, not text or bytes"
        )));
    }
    if let Ok(buffer) = PyUntypedBuffer::get(object)
        && let Some(ids) = ids_in_buffer(py, &buffer, row)
    {
        return ids;
    }
    let name = name_of_ids(row);
    refuse_mapping(object, &name, "a sequence of integers")?;
    // A tensor of torch with one id also counts as a number, but has a length.
    if object.len().is_err()
        && let Ok(id) = object.extract::<TokenId>()
    {
        let reason = format!("{name} must be a sequence of integers, not one; for one id write [{id}]");
        return Err(PyTypeError::new_err(reason));
    }
    if object.hasattr("ids")? && !object.hasattr("__iter__")? {
        return Err(wrong_type(&name, "a sequence of integers, such as the .ids of what was given", object));
    }
    gather(items(object, &name, "a sequence of integers")?.enumerate().map(id))
}

/// Refuses a dict with names, of which only these would be read; one with ids as keys is a sequence of ids.
fn refuse_mapping(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<()> {
    if object.cast::<PyMapping>().is_err() {
        return Ok(());
    }
    let has_names = object.try_iter()?.next().transpose()?.is_some_and(|key| key.cast::<PyString>().is_ok());
    if !has_names {
        return Ok(());
    }
    let reason = wrong_type(name, expected, object);
    let reason = reason.value(object.py());
    Err(PyTypeError::new_err(format!("{reason}; pass one of its values, such as that of \"input_ids\"")))
}

/// Rows of ids, concatenated.
pub(crate) struct Rows {
    ids: Vec<TokenId>,
    /// The end of each row.
    ends: Vec<usize>,
}

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[TokenId]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.ids[start..end])
    }
}

/// The rows of a batch of ids.
pub(crate) fn rows_of_ids(batch: &Bound<'_, PyAny>) -> PyResult<Rows> {
    match rows_of_ragged(batch) {
        Ok(Some(rows)) => return Ok(rows),
        Ok(None) => {}
        // The loop below reports an invalid id, with its row.
        Err(error) if error.is_instance_of::<PyValueError>(batch.py()) => {}
        Err(error) => return Err(error),
    }
    let mut rows = Rows { ids: Vec::new(), ends: Vec::new() };
    let expected = "an iterable of rows of ids";
    refuse_mapping(batch, "batch", expected)?;
    for (i, row) in items(batch, "batch", expected)?.enumerate() {
        let row = ids(&row?, Some(i))?;
        try_alloc::extend(&mut rows.ids, &row).map_err(out_of_memory)?;
        try_alloc::push(&mut rows.ends, rows.ids.len()).map_err(out_of_memory)?;
    }
    Ok(rows)
}

/// The rows of a `Ragged`, whose arrays are read directly; `None` for another object.
fn rows_of_ragged(batch: &Bound<'_, PyAny>) -> PyResult<Option<Rows>> {
    let py = batch.py();
    if batch.cast::<PyList>().is_ok() {
        return Ok(None);
    }
    // If the module was never imported, no object of it exists.
    let modules = py.import("sys")?.getattr("modules")?;
    let module = modules.call_method1("get", ("tokenmill.ragged",))?;
    if module.is_none() || !batch.is_instance(&module.getattr("Ragged")?)? {
        return Ok(None);
    }
    let ids = ids(&batch.getattr("ids")?, None)?;
    let row_offsets = numbers(py, &PyBuffer::<i64>::get(&batch.getattr("row_offsets")?)?)?;
    let ends = row_offsets.iter().skip(1).map(|&end| Ok(usize::try_from(end)?));
    Ok(Some(Rows { ids, ends: gather(ends)? }))
}

/// The ids in a one-dimensional array; `None` for one that must be read item by item.
fn ids_in_buffer(
    py: Python<'_>,
    buffer: &PyUntypedBuffer,
    row: Option<usize>,
) -> Option<PyResult<Vec<TokenId>>> {
    // The types below do not distinguish byte orders.
    let foreign = if cfg!(target_endian = "little") { [b'>', b'!'] } else { [b'<', b'<'] };
    if buffer.dimensions() != 1
        || buffer.format().to_bytes().first().is_some_and(|first| foreign.contains(first))
    {
        return None;
    }
    // A bytes object is text, but an array of bytes is not.
    let is_array = || buffer.obj(py).is_some_and(|object| object.hasattr("dtype").unwrap_or(false));
    ids_of_type::<u32>(py, buffer, row)
        .or_else(|| ids_of_type::<i64>(py, buffer, row))
        .or_else(|| ids_of_type::<i32>(py, buffer, row))
        .or_else(|| ids_of_type::<u16>(py, buffer, row))
        .or_else(|| ids_of_type::<u64>(py, buffer, row))
        .or_else(|| ids_of_type::<i16>(py, buffer, row))
        .or_else(|| is_array().then(|| ids_of_type::<u8>(py, buffer, row)).flatten())
        .or_else(|| is_array().then(|| ids_of_type::<i8>(py, buffer, row)).flatten())
}

fn ids_of_type<T>(
    py: Python<'_>,
    buffer: &PyUntypedBuffer,
    row: Option<usize>,
) -> Option<PyResult<Vec<TokenId>>>
where
    T: Element + Copy + Default + Into<i128>,
    TokenId: TryFrom<T>,
{
    let buffer = buffer.as_typed::<T>().ok()?;
    Some(numbers(py, buffer).and_then(|values| {
        let id = |value| TokenId::try_from(value).ok();
        // A loop without an exit is vectorised; for `u32` it vanishes.
        let all_fit = values.iter().fold(true, |all_fit, &value| all_fit & id(value).is_some());
        let unfit = if all_fit { None } else { values.iter().position(|&value| id(value).is_none()) };
        match unfit {
            Some(at) => Err(no_id(py, values[at].into(), Some(at), row)),
            None => converted(values, |value| id(value).unwrap_or_default()),
        }
    }))
}

/// Converts numbers to ids, in place if they have the same width.
fn converted<T: Copy>(values: Vec<T>, id: impl Fn(T) -> TokenId) -> PyResult<Vec<TokenId>> {
    if size_of::<T>() == size_of::<TokenId>() && align_of::<T>() == align_of::<TokenId>() {
        return Ok(values.into_iter().map(id).collect());
    }
    let mut ids = try_alloc::vec(values.len()).map_err(out_of_memory)?;
    ids.extend(values.into_iter().map(id));
    Ok(ids)
}
