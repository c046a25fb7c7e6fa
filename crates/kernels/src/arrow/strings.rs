//! The bytes of each row of an array of strings.
//!
//! Offsets, views and indices are checked whenever a string is read, against every bound that the interface gives:
//! nothing is read outside of a buffer whose length is known.
use std::ffi::{CStr, c_void};
use std::slice;

use super::{ArrowArray, ColumnError, Field, broken, size};

/// How strings are stored in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Offsets of 32 bits into one buffer of bytes.
    Offsets32,
    /// The same with 64 bits.
    Offsets64,
    /// Sixteen bytes for each string: a short string itself, or the location of a longer one.
    Views,
    /// The index of each string in a dictionary: `width` bytes, with or without a sign.
    Indices { width: usize, is_signed: bool },
    /// Nothing: every row is null. Libraries infer this type where they see no value.
    Nulls,
}

/// An array of strings, which whoever holds this keeps.
#[derive(Debug)]
pub(super) struct Strings {
    layout: Layout,
    /// Are the strings UTF-8, by their type?
    is_text: bool,
    length: usize,
    /// The index of the first row in the buffers.
    offset: usize,
    buffers: *mut *const c_void,
    n_buffers: i64,
    /// The end of the last string's bytes, for layouts with offsets: no byte is read after it.
    bytes_end: usize,
    /// What indices are into.
    dictionary: Option<Box<Strings>>,
}

// SAFETY: the values of an array never change, and nothing is written through this.
unsafe impl Send for Strings {}
// SAFETY: as above.
unsafe impl Sync for Strings {}

impl Layout {
    /// The layout, and whether it holds text by its type.
    fn new(field: &Field) -> Result<(Self, bool), ColumnError> {
        let format = field.format().to_bytes();
        if field.dictionary().is_some() {
            let is_signed = format.first().is_some_and(u8::is_ascii_lowercase);
            let width = match format {
                b"c" | b"C" => 1,
                b"s" | b"S" => 2,
                b"i" | b"I" => 4,
                b"l" | b"L" => 8,
                _ => return Err(wrong_type(field.format())),
            };
            return Ok((Self::Indices { width, is_signed }, true));
        }
        Ok(match format {
            b"u" => (Self::Offsets32, true),
            b"U" => (Self::Offsets64, true),
            b"vu" => (Self::Views, true),
            b"z" => (Self::Offsets32, false),
            b"Z" => (Self::Offsets64, false),
            b"vz" => (Self::Views, false),
            b"n" => (Self::Nulls, true),
            _ => return Err(wrong_type(field.format())),
        })
    }

    /// The size in bytes of a row's item in the second buffer.
    fn width(self) -> usize {
        match self {
            Self::Offsets32 => 4,
            Self::Offsets64 => 8,
            Self::Views => 16,
            Self::Indices { width, .. } => width,
            // No item is read.
            Self::Nulls => 1,
        }
    }

    /// Items of the second buffer in addition to one for each row.
    fn extra(self) -> usize {
        match self {
            Self::Offsets32 | Self::Offsets64 => 1,
            Self::Views | Self::Indices { .. } | Self::Nulls => 0,
        }
    }

    /// Has an array of this layout `count` buffers?
    fn has_buffers(self, count: i64) -> bool {
        match self {
            Self::Offsets32 | Self::Offsets64 => count == 3,
            Self::Indices { .. } => count == 2,
            Self::Nulls => count >= 0,
            // The addresses of the buffers are an array.
            Self::Views => count >= 3 && count <= (isize::MAX / 8) as i64,
        }
    }

    fn expected_buffers(self) -> &'static str {
        match self {
            Self::Offsets32 | Self::Offsets64 => "3",
            Self::Views => "3 or more",
            Self::Indices { .. } => "2",
            Self::Nulls => "none",
        }
    }
}

fn wrong_type(format: &CStr) -> ColumnError {
    ColumnError::Type(format.to_string_lossy().into_owned())
}

/// Does a column of this type hold strings?
///
/// # Errors
/// [`ColumnError::Type`].
pub(super) fn check_type(field: &Field) -> Result<(), ColumnError> {
    Layout::new(field)?;
    match field.dictionary() {
        Some(inner) if inner.dictionary().is_some() => {
            Err(ColumnError::Type("a dictionary of dictionaries".to_owned()))
        }
        Some(inner) => Layout::new(inner).map(drop),
        None => Ok(()),
    }
}

impl Strings {
    /// The strings of an array.
    ///
    /// # Errors
    /// [`ColumnError`].
    ///
    /// # Safety
    /// The array is as the interface demands of one of this type, and outlives what is returned.
    pub(super) unsafe fn new(array: &ArrowArray, field: &Field) -> Result<Self, ColumnError> {
        check_type(field)?;
        let (layout, is_text) = Layout::new(field)?;
        if array.n_children != 0 {
            return Err(broken(format!("it has {} children, but strings have none", array.n_children)));
        }
        let (length, offset) = check_numbers(array, layout)?;
        let mut strings = Self {
            layout,
            is_text,
            length,
            offset,
            buffers: array.buffers,
            n_buffers: array.n_buffers,
            bytes_end: 0,
            dictionary: None,
        };
        if let Some(inner) = field.dictionary() {
            if array.dictionary.is_null() {
                return Err(broken("its dictionary is missing"));
            }
            // SAFETY: the caller's promise.
            let inner = unsafe { Self::new(&*array.dictionary, inner) }?;
            strings.is_text = inner.is_text;
            strings.dictionary = Some(Box::new(inner));
        }
        strings.check_buffers(array.null_count)?;
        Ok(strings)
    }

    /// Checks that the buffers exist that every row needs. An array without rows needs none.
    fn check_buffers(&mut self, null_count: i64) -> Result<(), ColumnError> {
        if self.length == 0 || self.layout == Layout::Nulls {
            return Ok(());
        }
        let rows = self.offset + self.length;
        if null_count > 0 && self.buffer(0).is_null() {
            return Err(broken(format!("it has {null_count} nulls, but no buffer that says which they are")));
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
            Layout::Views | Layout::Indices { .. } | Layout::Nulls => return Ok(()),
        };
        self.bytes_end = size(last, "its last offset")?;
        within_memory(self.buffer(2), self.bytes_end)
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Are the strings UTF-8, by their type?
    pub(super) fn is_text(&self) -> bool {
        self.is_text
    }

    fn buffer(&self, number: usize) -> *const c_void {
        // SAFETY: an array with rows has three buffers at least (two with indices), and others are only read when they
        // are known to exist. The interface does not say that their addresses are aligned.
        unsafe { self.buffers.add(number).read_unaligned() }
    }

    /// The item with a number in a buffer of numbers.
    ///
    /// # Safety
    /// The buffer has more than `number` items of this type.
    unsafe fn item<T: Copy>(&self, buffer: usize, number: usize) -> T {
        // SAFETY: the caller's promise; buffers need not be aligned.
        unsafe { self.buffer(buffer).cast::<T>().add(number).read_unaligned() }
    }

    /// The bytes of a row, `None` for a null.
    ///
    /// # Errors
    /// [`ColumnError::Broken`] for a row that does not exist or is not as its layout says.
    pub(super) fn get(&self, row: usize) -> Result<Option<&[u8]>, ColumnError> {
        if row >= self.length {
            return Err(broken(format!("row {row} is after the last one")));
        }
        if self.layout == Layout::Nulls {
            return Ok(None);
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
            Layout::Indices { width, is_signed } => return self.in_dictionary(index, width, is_signed),
            Layout::Nulls => return Ok(None),
        }
        .map(Some)
    }

    fn in_dictionary(
        &self,
        index: usize,
        width: usize,
        is_signed: bool,
    ) -> Result<Option<&[u8]>, ColumnError> {
        // SAFETY: there is an index of this width for every row.
        let number: i128 = unsafe {
            match (width, is_signed) {
                (1, true) => self.item::<i8>(1, index).into(),
                (1, false) => self.item::<u8>(1, index).into(),
                (2, true) => self.item::<i16>(1, index).into(),
                (2, false) => self.item::<u16>(1, index).into(),
                (4, true) => self.item::<i32>(1, index).into(),
                (4, false) => self.item::<u32>(1, index).into(),
                (_, true) => self.item::<i64>(1, index).into(),
                (_, false) => self.item::<u64>(1, index).into(),
            }
        };
        match &self.dictionary {
            Some(dictionary) => dictionary.get(size(number, "an index into its dictionary")?),
            None => Err(broken("its dictionary is missing")),
        }
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
        let buffers = size(self.n_buffers - 3, "the number of its buffers")?;
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

/// The length and the offset of an array, if these and all other numbers of it are valid.
fn check_numbers(array: &ArrowArray, layout: Layout) -> Result<(usize, usize), ColumnError> {
    let (length, offset) = (size(array.length, "its length")?, size(array.offset, "its offset")?);
    let most = isize::MAX as usize / layout.width() - layout.extra();
    if length.checked_add(offset).is_none_or(|rows| rows > most) {
        return Err(broken(format!(
            "its length {length} and offset {offset} are more rows than memory can hold"
        )));
    }
    let buffers = array.n_buffers;
    // An array without rows is not read.
    if !layout.has_buffers(buffers) && (length > 0 || buffers < 0) {
        let expected = layout.expected_buffers();
        return Err(broken(format!("it has {buffers} buffers, but should have {expected}")));
    }
    if length > 0 && array.buffers.is_null() && layout != Layout::Nulls {
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
