//! A stream for another library: batches that are made when it asks for them.
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::{ArrowArray, ArrowSchema, ArrowStream, Field};

/// Codes of the operating system that consumers know: an argument is wrong, and input has failed.
const EINVAL: c_int = 22;
const EIO: c_int = 5;
const ENOMEM: c_int = 12;

/// Why there is no next batch.
#[derive(Debug)]
pub enum StreamError {
    /// The data cannot be used; says why.
    Data(String),
    /// The source has failed, or the work was stopped; says how.
    Source(String),
    /// Memory is used up; says where.
    Memory(String),
}

/// What makes the batches of a stream.
pub trait BatchSource: Send {
    /// The next batch; `None` at the end. After an error it is not called again. The caller may be any thread.
    fn next_batch(&mut self) -> Result<Option<ArrowArray>, StreamError>;
}

struct Exported {
    field: Arc<Field>,
    /// `None` after the end and after an error.
    source: Option<Box<dyn BatchSource>>,
    error: CString,
}

/// A stream of the interface. Its batches have this type.
pub fn exported_stream(field: Arc<Field>, source: Box<dyn BatchSource>) -> ArrowStream {
    let own = Exported { field, source: Some(source), error: CString::default() };
    ArrowStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(Box::new(own)).cast(),
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the stream was made above and is not released; what is pointed to is overwritten without being read.
    unsafe {
        let own = &*(*stream).private_data.cast::<Exported>();
        out.write_unaligned(own.field.export());
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above; nobody else uses the stream during the call.
    let own = unsafe { &mut *(*stream).private_data.cast::<Exported>() };
    let next = own.source.as_mut().map_or(Ok(None), |source| {
        let batch = catch_unwind(AssertUnwindSafe(|| source.next_batch()));
        batch.unwrap_or_else(|panic| {
            let reason = panic.downcast_ref::<String>().map(String::as_str);
            let reason = reason.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            Err(StreamError::Source(format!("a fault of tokenmill itself: {reason}")))
        })
    });
    let (batch, code) = match next {
        Ok(Some(batch)) => (batch, 0),
        Ok(None) => (ArrowArray::released(), 0),
        Err(error) => {
            let (code, text) = match error {
                StreamError::Data(text) => (EINVAL, text),
                StreamError::Source(text) => (EIO, text),
                StreamError::Memory(text) => (ENOMEM, text),
            };
            own.error = CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default();
            (ArrowArray::released(), code)
        }
    };
    if batch.release.is_none() {
        own.source = None;
    }
    // SAFETY: what is pointed to is overwritten without being read.
    unsafe { out.write_unaligned(batch) };
    code
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowStream) -> *const c_char {
    // SAFETY: as above.
    unsafe { (*(*stream).private_data.cast::<Exported>()).error.as_ptr() }
}

unsafe extern "C" fn release(stream: *mut ArrowStream) {
    // SAFETY: called once, with a stream that was made above.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Exported>()));
        (*stream).release = None;
        (*stream).private_data = ptr::null_mut::<c_void>();
    }
}

impl ArrowArray {
    /// What stands for the end of a stream.
    fn released() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}
