//! The memory of Python objects as slices.
use std::mem::MaybeUninit;
use std::slice;

/// # Safety
/// `data` must be aligned, have memory for `count` units, and be valid and unshared for `'a`.
pub(super) unsafe fn units<'a, U>(data: *mut std::ffi::c_void, count: usize) -> &'a mut [MaybeUninit<U>] {
    // SAFETY: the caller guarantees it; `MaybeUninit` does not require initialised memory.
    unsafe { slice::from_raw_parts_mut(data.cast(), count) }
}
