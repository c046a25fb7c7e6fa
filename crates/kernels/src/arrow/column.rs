//! A column of strings, and what it belongs to.
use std::sync::Arc;

use super::strings::{self, Strings};
use super::{ArrowArray, ColumnError, Field, ImportedArray, broken, checked};

/// A column of strings or bytes, each of which may be null.
#[derive(Debug)]
pub struct StringColumn {
    strings: Strings,
    /// The row of the column that is the first one here.
    first: usize,
    length: usize,
    /// The batch that the column is of, if it may have rows that are null as a whole.
    batch: Option<Arc<ArrowArray>>,
    /// Keeps the buffers.
    _owner: Arc<ArrowArray>,
}

impl StringColumn {
    /// An array as a column.
    ///
    /// # Errors
    /// [`ColumnError`].
    pub fn new(array: &ImportedArray) -> Result<Self, ColumnError> {
        // SAFETY: the array was taken with this type, and is kept.
        let strings = unsafe { Strings::new(&array.array, &array.field) }?;
        let owner = Arc::clone(&array.array);
        Ok(Self { strings, first: 0, length: array.len(), batch: None, _owner: owner })
    }

    /// A column of a batch, by its number.
    ///
    /// # Errors
    /// [`ColumnError`]; a batch without this column is broken.
    pub fn of_batch(batch: &ImportedArray, column: usize) -> Result<Self, ColumnError> {
        let Some(field) = batch.field.children().get(column) else {
            return Err(broken(format!("it has no column {column}")));
        };
        // SAFETY: the array was taken with this type: it has as many children, none of them null.
        let child = unsafe { &*batch.array.children.add(column).read_unaligned() };
        // SAFETY: as above; the batch is kept.
        let strings = unsafe { Strings::new(child, field) }?;
        let first = checked(batch.array.offset);
        let length = batch.len();
        if first.checked_add(length).is_none_or(|end| end > strings.len()) {
            let rows = strings.len();
            return Err(broken(format!("its column {:?} has {rows} rows of {length}", field.name())));
        }
        let owner = Arc::clone(&batch.array);
        let nullable = (batch.array.null_count != 0).then(|| Arc::clone(&owner));
        Ok(Self { strings, first, length, batch: nullable, _owner: owner })
    }

    /// Does a column of this type hold strings or bytes?
    ///
    /// # Errors
    /// [`ColumnError::Type`].
    pub fn check_type(field: &Field) -> Result<(), ColumnError> {
        strings::check_type(field)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does its type promise UTF-8?
    pub fn is_text(&self) -> bool {
        self.strings.is_text()
    }

    /// The bytes of a row, `None` for a null. Those of a string should be UTF-8, but need not.
    ///
    /// # Errors
    /// [`ColumnError::Broken`] for a row that does not exist or is not as its layout says.
    pub fn get(&self, row: usize) -> Result<Option<&[u8]>, ColumnError> {
        if row >= self.length {
            return Err(broken(format!("row {row} is after the last one")));
        }
        if self.batch.as_ref().is_some_and(|batch| is_null(batch, self.first + row)) {
            return Ok(None);
        }
        self.strings.get(self.first + row)
    }
}

/// Is a row of a batch null as a whole?
fn is_null(batch: &ArrowArray, row: usize) -> bool {
    if batch.n_buffers < 1 || batch.buffers.is_null() {
        return false;
    }
    // SAFETY: there is a buffer; it is null, or has a bit for each row.
    unsafe {
        let validity = batch.buffers.read_unaligned().cast::<u8>();
        !validity.is_null() && *validity.add(row / 8) >> (row % 8) & 1 == 0
    }
}
