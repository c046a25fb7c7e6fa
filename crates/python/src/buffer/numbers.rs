//! Buffers copied into vectors, where there may be no memory for that: pyo3's own copy ends the process then.
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use tokenmill_core::try_alloc;

use crate::errors::out_of_memory;

/// A copy of the numbers of a buffer, in the order of their indices.
pub(crate) fn numbers<T: Element + Copy + Default>(py: Python<'_>, buffer: &PyBuffer<T>) -> PyResult<Vec<T>> {
    let count = buffer.item_count();
    let mut numbers = try_alloc::vec(count).map_err(out_of_memory)?;
    if let Some(items) = buffer.as_slice_ptr() {
        // SAFETY: the buffer has so many items in a row for as long as it is held, and the vector has room for as many;
        // whatever their bytes are, they are numbers.
        unsafe {
            std::ptr::copy_nonoverlapping(items.as_ptr().cast::<T>(), numbers.as_mut_ptr(), count);
            numbers.set_len(count);
        }
    } else {
        numbers.resize(count, T::default());
        buffer.copy_to_slice(py, &mut numbers)?;
    }
    Ok(numbers)
}
