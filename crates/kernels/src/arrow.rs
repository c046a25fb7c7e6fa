//! Columns of strings as the Arrow C data interface hands them from one library to another.
//!
//! The layouts are those of "The Arrow C data interface" and "Arrow columnar format"; a column is
//! read where it lies and given back when it is dropped. Offsets and views are checked whenever a
//! string is taken, as far as the interface tells what they must be within.
#![allow(unsafe_code)]
use std::ffi::{CStr, c_char, c_void};
use std::slice;

/// `struct ArrowSchema`: what the type of a column is.
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

/// `struct ArrowArray`: where the values of a column are.
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

/// How strings lie in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Offsets of 32 bits into one buffer of bytes.
    Offsets32,
    /// The same with 64 bits.
    Offsets64,
    /// Sixteen bytes for each: a short string itself, or where a longer one is.
    Views,
}

/// A column of strings, each of which may be null.
#[derive(Debug)]
pub struct StringColumn {
    array: ArrowArray,
    layout: Layout,
    length: usize,
    /// The place of the first row in the buffers.
    offset: usize,
}

// SAFETY: the values of a column never change, and it may be released from any thread.
unsafe impl Send for StringColumn {}
// SAFETY: as above; nothing is written through a shared column.
unsafe impl Sync for StringColumn {}

/// Why there is no column of strings, or no string at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnError {
    /// The column was taken before.
    Released,
    /// The column holds something else, in the words of the interface.
    Type(String),
    /// A column, or a string of one, that breaks the rules of its layout.
    Broken(&'static str),
}

impl StringColumn {
    /// Takes a column over: `array` is left released, as the interface asks for. The schema stays
    /// the caller's.
    ///
    /// # Errors
    /// [`ColumnError`].
    ///
    /// # Safety
    /// Both point to structures of the interface that nobody else uses meanwhile. Where they are not
    /// released they are as it asks for: pointers in them are null or valid until the release,
    /// buffers are as long as their layout says.
    pub unsafe fn take(schema: *const ArrowSchema, array: *mut ArrowArray) -> Result<Self, ColumnError> {
        // SAFETY: the caller's promise.
        let (schema, source) = unsafe { (&*schema, &mut *array) };
        if schema.release.is_none() || source.release.is_none() {
            return Err(ColumnError::Released);
        }
        if schema.format.is_null() {
            return Err(ColumnError::Broken("the format is missing"));
        }
        // SAFETY: the caller's promise: a string that ends with a zero.
        let format = unsafe { CStr::from_ptr(schema.format) };
        let (layout, buffers) = match format.to_bytes() {
            b"u" => (Layout::Offsets32, 3),
            b"U" => (Layout::Offsets64, 3),
            b"vu" => (Layout::Views, 3),
            _ => return Err(ColumnError::Type(format.to_string_lossy().into_owned())),
        };
        if !schema.dictionary.is_null() || !source.dictionary.is_null() {
            return Err(ColumnError::Type("dictionary".to_owned()));
        }
        let (length, offset) = (size(source.length)?, size(source.offset)?);
        if length > 0 && (source.n_buffers < buffers || source.buffers.is_null()) {
            return Err(ColumnError::Broken("buffers are missing"));
        }
        // SAFETY: a column with rows has three buffers at least, as was seen above.
        if length > 0 && unsafe { *source.buffers.add(1) }.is_null() {
            return Err(ColumnError::Broken("a buffer is missing"));
        }
        // From here on nothing fails: what was taken is given back when the caller drops it, not before.
        let taken = Self { array: ArrowArray { ..*source }, layout, length, offset };
        source.release = None;
        Ok(taken)
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.length
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn buffer(&self, number: usize) -> *const c_void {
        // SAFETY: a column with rows has three buffers at least, and no other is asked for before
        // it is known to be there.
        unsafe { *self.array.buffers.add(number) }
    }

    /// The item with a number in a buffer of numbers.
    ///
    /// # Safety
    /// The buffer has such items, so many at least.
    unsafe fn item<T: Copy>(&self, buffer: usize, number: usize) -> T {
        // SAFETY: the caller's promise; buffers need not be aligned.
        unsafe { self.buffer(buffer).cast::<T>().add(number).read_unaligned() }
    }

    /// The bytes of a row, `None` for a null. They should be UTF-8, but need not.
    ///
    /// # Errors
    /// [`ColumnError::Broken`] for a row that is not there or not as its layout says.
    pub fn get(&self, row: usize) -> Result<Option<&[u8]>, ColumnError> {
        if row >= self.len() {
            return Err(ColumnError::Broken("the row is behind the last one"));
        }
        let place = row + self.offset;
        let validity = self.buffer(0);
        if !validity.is_null() {
            // SAFETY: the bitmap has a bit for every place.
            let byte: u8 = unsafe { self.item(0, place / 8) };
            if byte >> (place % 8) & 1 == 0 {
                return Ok(None);
            }
        }
        match self.layout {
            Layout::Offsets32 => {
                // SAFETY: there is an offset more than places.
                let (start, end): (i32, i32) = unsafe { (self.item(1, place), self.item(1, place + 1)) };
                self.between(start.into(), end.into())
            }
            Layout::Offsets64 => {
                // SAFETY: as above.
                let (start, end): (i64, i64) = unsafe { (self.item(1, place), self.item(1, place + 1)) };
                self.between(start, end)
            }
            Layout::Views => self.view(place),
        }
        .map(Some)
    }

    fn between(&self, start: i64, end: i64) -> Result<&[u8], ColumnError> {
        let (start, end) = (size(start)?, size(end)?);
        let Some(length) = end.checked_sub(start) else {
            return Err(ColumnError::Broken("the offsets fall"));
        };
        if length == 0 {
            return Ok(&[]);
        }
        let bytes = self.buffer(2).cast::<u8>();
        if bytes.is_null() {
            return Err(ColumnError::Broken("a buffer is missing"));
        }
        // SAFETY: the bytes reach to the last offset, and these are not above it.
        Ok(unsafe { slice::from_raw_parts(bytes.add(start), length) })
    }

    /// Strings of at most twelve bytes stand in their view, others in one of the buffers behind,
    /// whose lengths are in the last buffer.
    fn view(&self, place: usize) -> Result<&[u8], ColumnError> {
        // SAFETY: there is a view for every place.
        let [length, _, buffer, start]: [i32; 4] = unsafe { self.item(1, place) };
        let length = size(length)?;
        if length <= 12 {
            let bytes = self.buffer(1).cast::<u8>();
            // SAFETY: the view is sixteen bytes, of which the string stands behind the first four.
            return Ok(unsafe { slice::from_raw_parts(bytes.add(16 * place + 4), length) });
        }
        let (buffer, start) = (size(buffer)?, size(start)?);
        let buffers = size(self.array.n_buffers - 3)?;
        if buffer >= buffers {
            return Err(ColumnError::Broken("a view points nowhere"));
        }
        let (lengths, bytes) = (2 + buffers, self.buffer(2 + buffer).cast::<u8>());
        if self.buffer(lengths).is_null() || bytes.is_null() {
            return Err(ColumnError::Broken("a buffer is missing"));
        }
        // SAFETY: the last buffer has a length for each of those between.
        let available: i64 = unsafe { self.item(lengths, buffer) };
        if start + length > size(available)? {
            return Err(ColumnError::Broken("a view ends behind its buffer"));
        }
        // SAFETY: the string ends within its buffer.
        Ok(unsafe { slice::from_raw_parts(bytes.add(start), length) })
    }
}

fn size(number: impl TryInto<usize>) -> Result<usize, ColumnError> {
    number.try_into().map_err(|_| ColumnError::Broken("a length or an offset is negative"))
}

/// Calls the function with which the column's own library takes it back, which may wait for other threads.
impl Drop for StringColumn {
    fn drop(&mut self) {
        if let Some(release) = self.array.release {
            // SAFETY: the column is ours, and is released once: releasing says so in it.
            unsafe { release(&raw mut self.array) };
        }
    }
}
