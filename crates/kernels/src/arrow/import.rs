//! Takes arrays and streams over from another library.
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use super::{ArrowArray, ArrowSchema, ArrowStream, ColumnError, Field, broken, checked, size};

/// An array with its type.
#[derive(Debug, Clone)]
pub struct ImportedArray {
    pub(super) field: Arc<Field>,
    pub(super) array: Arc<ArrowArray>,
}

impl ImportedArray {
    /// Takes ownership of an array: it is marked as released, as the interface demands. The schema stays
    /// the caller's.
    ///
    /// # Errors
    /// [`ColumnError`]; then the array stays the caller's, too.
    ///
    /// # Safety
    /// Both point to structures of the interface that no one else uses during the call. Unless they are
    /// released, they are as it demands: pointers in them are null or valid until the release, and
    /// buffers are as long as their layout says.
    pub unsafe fn take(schema: *const ArrowSchema, array: *mut ArrowArray) -> Result<Self, ColumnError> {
        if !schema.is_aligned() || !array.is_aligned() {
            return Err(broken("its structures are not aligned"));
        }
        // SAFETY: the caller's promise.
        let field = unsafe { Field::copy(&*schema) }?;
        // SAFETY: the caller's promise.
        let source = unsafe { &mut *array };
        if source.release.is_none() {
            return Err(ColumnError::Released);
        }
        // SAFETY: the caller's promise.
        unsafe { check(source, &field) }?;
        // SAFETY: the array is moved: its source is marked as released.
        let array = unsafe { ptr::read(source) };
        source.release = None;
        Ok(Self { field: Arc::new(field), array: Arc::new(array) })
    }

    /// The type.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        checked(self.array.length)
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Checks that the tree of an array is that of its type, and that lengths are no negative numbers.
///
/// # Safety
/// The array is as the interface demands.
unsafe fn check(array: &ArrowArray, field: &Field) -> Result<(), ColumnError> {
    size(array.length, "its length")?;
    size(array.offset, "its offset")?;
    if array.null_count < -1 || array.null_count > array.length {
        return Err(broken(format!("it has {} nulls among {} rows", array.null_count, array.length)));
    }
    let buffers = size(array.n_buffers, "the number of its buffers")?;
    if buffers > 0 && array.length > 0 && array.buffers.is_null() {
        return Err(broken("all its buffers are missing"));
    }
    let (count, expected) = (array.n_children, field.children().len());
    if size(count, "the number of its children")? != expected {
        return Err(broken(format!("it has {count} children, but its type has {expected}")));
    }
    if expected > 0 && array.children.is_null() {
        return Err(broken("all its children are missing"));
    }
    for (i, field) in field.children().iter().enumerate() {
        // SAFETY: there are that many pointers.
        let child = unsafe { array.children.add(i).read_unaligned() };
        // SAFETY: the caller's promise.
        unsafe { check_child(child, field) }?;
    }
    match (field.dictionary(), array.dictionary.is_null()) {
        (None, true) => Ok(()),
        // SAFETY: the caller's promise.
        (Some(field), false) => unsafe { check_child(array.dictionary, field) },
        (None, false) => Err(broken("it has a dictionary, but its type has none")),
        (Some(_), true) => Err(broken("its dictionary is missing")),
    }
}

/// # Safety
/// As for [`check`], for a pointer that may be null.
unsafe fn check_child(child: *const ArrowArray, field: &Field) -> Result<(), ColumnError> {
    if child.is_null() || !child.is_aligned() {
        return Err(broken(format!("its column {:?} is missing", field.name())));
    }
    // SAFETY: the caller's promise.
    unsafe { check(&*child, field) }
}

/// Batches that another library makes on demand.
#[derive(Debug)]
pub struct ImportedStream {
    stream: ArrowStream,
    field: Arc<Field>,
    is_over: bool,
}

impl ImportedStream {
    /// Takes ownership of a stream, which is marked as released, and asks for its type. Foreign code runs.
    ///
    /// # Errors
    /// [`ColumnError`].
    ///
    /// # Safety
    /// As for [`ImportedArray::take`].
    pub unsafe fn take(stream: *mut ArrowStream) -> Result<Self, ColumnError> {
        if !stream.is_aligned() {
            return Err(broken("its structure is not aligned"));
        }
        // SAFETY: the caller's promise; the stream is moved, as its source is marked as released.
        let mut stream = unsafe {
            let taken = ptr::read(stream);
            (*stream).release = None;
            taken
        };
        if stream.release.is_none() {
            return Err(ColumnError::Released);
        }
        let Some(get_schema) = stream.get_schema else { return Err(broken("its functions are missing")) };
        let mut schema = MaybeUninit::<ArrowSchema>::zeroed();
        // SAFETY: the stream is not released. What is written is a structure of the interface, and one of zeros is
        // a released one.
        let schema = unsafe {
            let code = get_schema(&raw mut stream, schema.as_mut_ptr());
            let schema = schema.assume_init();
            if code != 0 {
                return Err(failure(&mut stream, code));
            }
            schema
        };
        // SAFETY: the interface demands it of what the function writes.
        let field = unsafe { Field::copy(&schema) }?;
        Ok(Self { stream, field: Arc::new(field), is_over: false })
    }

    /// The schema of the batches.
    pub fn field(&self) -> &Arc<Field> {
        &self.field
    }

    /// The next batch; `None` at the end, and after an error. Foreign code runs.
    ///
    /// # Errors
    /// [`ColumnError`].
    pub fn next_array(&mut self) -> Result<Option<ImportedArray>, ColumnError> {
        if self.is_over {
            return Ok(None);
        }
        self.is_over = true;
        let Some(get_next) = self.stream.get_next else { return Err(broken("its functions are missing")) };
        let mut array = MaybeUninit::<ArrowArray>::zeroed();
        // SAFETY: as for the schema.
        let array = unsafe {
            let code = get_next(&raw mut self.stream, array.as_mut_ptr());
            let array = array.assume_init();
            if code != 0 {
                return Err(failure(&mut self.stream, code));
            }
            array
        };
        if array.release.is_none() {
            return Ok(None);
        }
        // SAFETY: the interface demands it of what the function writes.
        unsafe { check(&array, &self.field) }?;
        self.is_over = false;
        Ok(Some(ImportedArray { field: Arc::clone(&self.field), array: Arc::new(array) }))
    }
}

/// The error of a stream whose last call gave a code that is not 0.
fn failure(stream: &mut ArrowStream, code: i32) -> ColumnError {
    let text = stream.get_last_error.and_then(|last_error| {
        // SAFETY: the stream is not released, and its last call has failed. The text is valid until the next call.
        unsafe {
            let text = last_error(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    ColumnError::Stream(text.unwrap_or_else(|| std::io::Error::from_raw_os_error(code).to_string()))
}
