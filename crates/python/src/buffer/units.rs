//! Memory of Python's objects as slices.
use std::mem::MaybeUninit;
use std::slice;

/// # Safety
/// `data` has room for so many units, aligned, which live and are nobody else's for `'a`.
pub(super) unsafe fn units<'a, U>(data: *mut std::ffi::c_void, count: usize) -> &'a mut [MaybeUninit<U>] {
    // SAFETY: the caller's promise; what is not initialised is not said to be.
    unsafe { slice::from_raw_parts_mut(data.cast(), count) }
}
