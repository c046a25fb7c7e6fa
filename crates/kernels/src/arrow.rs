//! Columns of strings that another library passes in through the Arrow C data interface.
//!
//! In: the two structures of the interface. Out: the bytes of each row, without a copy; the column is
//! released when it is dropped. The layouts are those of "The Arrow C data interface" and "Arrow columnar format".
//! Offsets and views are checked whenever a string is read, against every bound that the interface gives: nothing
//! is read outside of a buffer whose length is known.
#![allow(unsafe_code)]
use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::slice;

/// `struct ArrowSchema`: the type of a column.
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

/// How strings are stored in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Offsets of 32 bits into one buffer of bytes.
    Offsets32,
    /// The same with 64 bits.
    Offsets64,
    /// Sixteen bytes for each string: a short string itself, or the location of a longer one.
    Views,
}

/// A column of strings, each of which may be null.
#[derive(Debug)]
pub struct StringColumn {
    array: ArrowArray,
    layout: Layout,
    length: usize,
    /// The index of the first row in the buffers.
    offset: usize,
    /// The end of the last string's bytes, for layouts with offsets: no byte is read after it.
    bytes_end: usize,
}

// SAFETY: the values of a column never change, and it may be released from any thread.
unsafe impl Send for StringColumn {}
// SAFETY: as above; nothing is written through a shared column.
unsafe impl Sync for StringColumn {}

/// Why an object has no column of strings, or a row no string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnError {
    /// The column has been released already.
    Released,
    /// The column has another type; in the notation of the interface.
    Type(String),
    /// The column, or a string in it, breaks the rules of its layout; says how.
    Broken(String),
}

fn broken(reason: impl Into<String>) -> ColumnError {
    ColumnError::Broken(reason.into())
}

impl Layout {
    /// The size in bytes of a row's item in the second buffer.
    fn width(self) -> usize {
        match self {
            Self::Offsets32 => 4,
            Self::Offsets64 => 8,
            Self::Views => 16,
        }
    }

    /// Items of the second buffer in addition to one for each row.
    fn extra(self) -> usize {
        match self {
            Self::Offsets32 | Self::Offsets64 => 1,
            Self::Views => 0,
        }
    }
}

impl StringColumn {
    /// Takes ownership of a column: `array` is marked as released, as the interface demands. The schema stays
    /// the caller's.
    ///
    /// # Errors
    /// [`ColumnError`].
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
        let (schema, source) = unsafe { (&*schema, &mut *array) };
        if schema.release.is_none() || source.release.is_none() {
            return Err(ColumnError::Released);
        }
        if schema.format.is_null() {
            return Err(broken("the format is missing"));
        }
        // SAFETY: the caller's promise: a string that ends with a zero.
        let format = unsafe { CStr::from_ptr(schema.format) };
        let layout = match format.to_bytes() {
            b"u" => Layout::Offsets32,
            b"U" => Layout::Offsets64,
            b"vu" => Layout::Views,
            _ => return Err(ColumnError::Type(format.to_string_lossy().into_owned())),
        };
        if !schema.dictionary.is_null() || !source.dictionary.is_null() {
            return Err(ColumnError::Type("dictionary".to_owned()));
        }
        let (length, offset) = check_numbers(schema, source, layout)?;
        let taken = Self { array: ArrowArray { ..*source }, layout, length, offset, bytes_end: 0 };
        // On an error the column stays with the caller, who releases it.
        let mut taken = ManuallyDrop::new(taken);
        taken.check_buffers()?;
        source.release = None;
        Ok(ManuallyDrop::into_inner(taken))
    }

    /// Checks that the buffers exist that every row needs. A column without rows needs none.
    fn check_buffers(&mut self) -> Result<(), ColumnError> {
        if self.length == 0 {
            return Ok(());
        }
        let rows = self.offset + self.length;
        if self.array.null_count > 0 && self.buffer(0).is_null() {
            return Err(broken(format!(
                "it has {} nulls, but no buffer that says which they are",
                self.array.null_count
            )));
        }
        if self.buffer(1).is_null() {
            return Err(broken(format!(
                "buffer 1 is missing, which says where its {} strings are",
                self.length
            )));
        }
        // Sizes that no memory can hold are refused before anything is read.
        within_memory(self.buffer(0), rows.div_ceil(8))?;
        within_memory(self.buffer(1), (rows + self.layout.extra()) * self.layout.width())?;
        let last = match self.layout {
            // SAFETY: there is one offset more than rows.
            Layout::Offsets32 => i64::from(unsafe { self.item::<i32>(1, rows) }),
            // SAFETY: as above.
            Layout::Offsets64 => unsafe { self.item(1, rows) },
            Layout::Views => return Ok(()),
        };
        self.bytes_end = size(last, "its last offset")?;
        within_memory(self.buffer(2), self.bytes_end)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn buffer(&self, number: usize) -> *const c_void {
        // SAFETY: a column with rows has three buffers at least, and others are only read when they are known
        // to exist. The interface does not say that their addresses are aligned.
        unsafe { self.array.buffers.add(number).read_unaligned() }
    }

    /// The item with a number in a buffer of numbers.
    ///
    /// # Safety
    /// The buffer has more than `number` items of this type.
    unsafe fn item<T: Copy>(&self, buffer: usize, number: usize) -> T {
        // SAFETY: the caller's promise; buffers need not be aligned.
        unsafe { self.buffer(buffer).cast::<T>().add(number).read_unaligned() }
    }

    /// The bytes of a row, `None` for a null. They should be UTF-8, but need not.
    ///
    /// # Errors
    /// [`ColumnError::Broken`] for a row that does not exist or is not as its layout says.
    pub fn get(&self, row: usize) -> Result<Option<&[u8]>, ColumnError> {
        if row >= self.len() {
            return Err(broken(format!("row {row} is after the last one")));
        }
        let index = row + self.offset;
        let validity = self.buffer(0);
        if !validity.is_null() {
            // SAFETY: the bitmap has a bit for every row.
            let byte: u8 = unsafe { self.item(0, index / 8) };
            if byte >> (index % 8) & 1 == 0 {
                return Ok(None);
            }
        }
        match self.layout {
            Layout::Offsets32 => {
                // SAFETY: there is one offset more than rows.
                let (start, end): (i32, i32) = unsafe { (self.item(1, index), self.item(1, index + 1)) };
                self.between(start.into(), end.into())
            }
            Layout::Offsets64 => {
                // SAFETY: as above.
                let (start, end): (i64, i64) = unsafe { (self.item(1, index), self.item(1, index + 1)) };
                self.between(start, end)
            }
            Layout::Views => self.view(index),
        }
        .map(Some)
    }

    fn between(&self, start: i64, end: i64) -> Result<&[u8], ColumnError> {
        let (start, end) = (size(start, "an offset")?, size(end, "an offset")?);
        let Some(length) = end.checked_sub(start) else {
            return Err(broken(format!("its offsets fall from {start} to {end}")));
        };
        if length == 0 {
            return Ok(&[]);
        }
        if end > self.bytes_end {
            return Err(broken(format!("its offset {end} is above the last one, {}", self.bytes_end)));
        }
        let bytes = self.buffer(2).cast::<u8>();
        if bytes.is_null() {
            return Err(broken("buffer 2 is missing, which has the bytes of its strings"));
        }
        // SAFETY: the bytes reach to the last offset, and these are not above it.
        Ok(unsafe { slice::from_raw_parts(bytes.add(start), length) })
    }

    /// Strings of at most twelve bytes are in their view, others in one of the following buffers,
    /// whose lengths are in the last buffer.
    fn view(&self, index: usize) -> Result<&[u8], ColumnError> {
        // SAFETY: there is a view for every row.
        let [length, _, buffer, start]: [i32; 4] = unsafe { self.item(1, index) };
        let length = size(length, "the length of a view")?;
        if length <= 12 {
            let bytes = self.buffer(1).cast::<u8>();
            // SAFETY: the view is sixteen bytes, and the string follows the first four.
            return Ok(unsafe { slice::from_raw_parts(bytes.add(16 * index + 4), length) });
        }
        let (buffer, start) = (size(buffer, "the buffer of a view")?, size(start, "the start of a view")?);
        let buffers = size(self.array.n_buffers - 3, "the number of its buffers")?;
        if buffer >= buffers {
            return Err(broken(format!("its view points to buffer {buffer} of {buffers}")));
        }
        let (lengths, bytes) = (2 + buffers, self.buffer(2 + buffer).cast::<u8>());
        if self.buffer(lengths).is_null() || bytes.is_null() {
            return Err(broken(format!("buffer {buffer} of its views, or their lengths, are missing")));
        }
        within_memory(self.buffer(lengths), 8 * buffers)?;
        // SAFETY: the last buffer has a length for each of these.
        let available: i64 = unsafe { self.item(lengths, buffer) };
        let available = size(available, "the length of a buffer")?;
        // Both are below 2^31.
        let end = start as u64 + length as u64;
        if end > available as u64 {
            return Err(broken(format!("its view ends at byte {end} of a buffer of {available}")));
        }
        within_memory(bytes.cast(), available)?;
        // SAFETY: the string ends within its buffer.
        Ok(unsafe { slice::from_raw_parts(bytes.add(start), length) })
    }
}

/// The length and the offset of a column, if these and all other numbers of it are valid.
fn check_numbers(
    schema: &ArrowSchema,
    array: &ArrowArray,
    layout: Layout,
) -> Result<(usize, usize), ColumnError> {
    let (length, offset) = (size(array.length, "its length")?, size(array.offset, "its offset")?);
    let most = isize::MAX as usize / layout.width() - layout.extra();
    if length.checked_add(offset).is_none_or(|rows| rows > most) {
        return Err(broken(format!(
            "its length {length} and offset {offset} are more rows than memory can hold"
        )));
    }
    if array.null_count < -1 || array.null_count > array.length {
        return Err(broken(format!("it has {} nulls among {length} rows", array.null_count)));
    }
    for children in [schema.n_children, array.n_children] {
        if children != 0 {
            return Err(broken(format!("it has {children} children, but strings have none")));
        }
    }
    let buffers = array.n_buffers;
    let is_number = match layout {
        Layout::Offsets32 | Layout::Offsets64 => buffers == 3,
        // The addresses of the buffers are an array.
        Layout::Views => buffers >= 3 && buffers <= (isize::MAX / 8) as i64,
    };
    // A column without rows is not read.
    if !is_number && (length > 0 || buffers < 0) {
        let expected = if layout == Layout::Views { "3 or more" } else { "3" };
        return Err(broken(format!("it has {buffers} buffers, but should have {expected}")));
    }
    if length > 0 && array.buffers.is_null() {
        return Err(broken("all its buffers are missing"));
    }
    Ok((length, offset))
}

/// Refuses a buffer that would extend beyond the address space. A missing buffer passes, because nothing is read
/// from it.
fn within_memory(start: *const c_void, bytes: usize) -> Result<(), ColumnError> {
    let most = if cfg!(target_pointer_width = "64") { isize::MAX as usize } else { usize::MAX };
    let end = start.addr().checked_add(bytes).filter(|&end| end <= most);
    if start.is_null() || (end.is_some() && isize::try_from(bytes).is_ok()) {
        Ok(())
    } else {
        Err(broken(format!("a buffer of {bytes} bytes is more than memory can hold")))
    }
}

fn size(number: impl TryInto<usize> + Copy + std::fmt::Display, what: &str) -> Result<usize, ColumnError> {
    number.try_into().map_err(|_| broken(format!("{what} is {number}")))
}

/// Calls the release function of the library that the column comes from; it may wait for other threads.
impl Drop for StringColumn {
    fn drop(&mut self) {
        if let Some(release) = self.array.release {
            // SAFETY: the column is owned, and is released once: the function marks it as released.
            unsafe { release(&raw mut self.array) };
        }
    }
}
