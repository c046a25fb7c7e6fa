//! Copies buffers into vectors, with an error if memory runs out: pyo3's own copy aborts the process then.
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use tokenmill_core::try_alloc;

use crate::exceptions::out_of_memory;

/// A copy of the numbers in a buffer, in index order.
pub(crate) fn numbers<T: Element + Copy + Default>(py: Python<'_>, buffer: &PyBuffer<T>) -> PyResult<Vec<T>> {
    let count = buffer.item_count();
    let mut numbers = try_alloc::vec(count).map_err(out_of_memory)?;
    if let Some(items) = buffer.as_slice_ptr() {
        // SAFETY: the buffer has `count` contiguous items as long as it is held, and the vector has
        // capacity for them. Every bit pattern is a valid number.
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
