//! The Arrow C data interface: columns that another library passes in, and what is passed on to the next one.
//!
//! In: the structures of the interface. Out: the type of a column ([`Field`]), the bytes of each row of strings without
//! a copy ([`StringColumn`]), and arrays and streams with more columns than they came with ([`extended`],
//! [`exported_stream`]). What came from another library is released when its last user is dropped. The layouts are
//! those of "The Arrow C data interface", "The Arrow C stream interface" and "Arrow columnar format".
#![allow(unsafe_code)]
mod column;
mod export;
mod field;
mod import;
mod stream;
mod strings;

use std::ffi::{c_char, c_int, c_void};

pub use column::StringColumn;
pub use export::{AddedColumn, Items, Values, extended};
pub use field::Field;
pub use import::{ImportedArray, ImportedStream};
pub use stream::{BatchSource, StreamError, exported_stream};

/// `struct ArrowSchema`: the type of a column. It is released when it is dropped.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`: where the values of a column are. It is released when it is dropped.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: batches that are made on demand. It is released when it is dropped.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

// SAFETY: the interface lets any thread read and release its structures, one at a time.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArray {}
// SAFETY: nothing is written through a shared array: its values never change.
unsafe impl Sync for ArrowArray {}
// SAFETY: as above; the functions of a stream are called by one thread at a time, which `&mut` ensures.
unsafe impl Send for ArrowStream {}
// SAFETY: no function is called through a shared stream.
unsafe impl Sync for ArrowStream {}

/// Why an object has no column of strings, or a row no string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnError {
    /// The column has been released already.
    Released,
    /// The column has another type; in the notation of the interface.
    Type(String),
    /// The column, or a string in it, breaks the rules of its layout; says how.
    Broken(String),
    /// A stream has failed; says how.
    Stream(String),
}

fn broken(reason: impl Into<String>) -> ColumnError {
    ColumnError::Broken(reason.into())
}

/// A number of a structure that was checked when it was taken.
#[allow(clippy::cast_sign_loss)]
fn checked(number: i64) -> usize {
    number as usize
}

/// A number of a structure that counts something.
fn size(number: impl TryInto<usize> + Copy + std::fmt::Display, what: &str) -> Result<usize, ColumnError> {
    number.try_into().map_err(|_| broken(format!("{what} is {number}")))
}

/// Calls the release function of the library that the column comes from; it may wait for other threads.
impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the array is owned, and is released once: the function marks it as released.
            unsafe { release(self) };
        }
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for an array.
            unsafe { release(self) };
        }
    }
}

impl Drop for ArrowStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as for an array.
            unsafe { release(self) };
        }
    }
}
