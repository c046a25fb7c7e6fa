//! The type of a column, its name and what is noted with it, copied from and to `struct ArrowSchema`.
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::slice;

use super::{ArrowSchema, ColumnError, broken, size};

/// Types that are nested deeper are refused.
const MAX_DEPTH: usize = 64;

/// The flag of columns that may have nulls.
const NULLABLE: i64 = 2;

/// A column's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    format: CString,
    name: Option<CString>,
    /// Keys and values as the interface writes them.
    metadata: Option<Vec<u8>>,
    flags: i64,
    children: Vec<Field>,
    dictionary: Option<Box<Field>>,
}

impl Field {
    /// A column that may have nulls. Neither the name nor the format may hold a zero character: it ends them.
    pub fn new(name: &str, format: &str, children: Vec<Field>) -> Self {
        let text = |text: &str| CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default();
        Self {
            format: text(format),
            name: Some(text(name)),
            metadata: None,
            flags: NULLABLE,
            children,
            dictionary: None,
        }
    }

    /// This struct with more columns.
    #[must_use]
    pub fn with_children(&self, added: Vec<Field>) -> Self {
        let mut field = self.clone();
        field.children.extend(added);
        field
    }

    /// The type in the notation of the interface. Of a dictionary it is the type of its indices.
    pub fn format(&self) -> &CStr {
        &self.format
    }

    /// The type of what a dictionary holds.
    pub fn dictionary(&self) -> Option<&Field> {
        self.dictionary.as_deref()
    }

    /// The name; empty if there is none. Invalid UTF-8 in it is replaced by U+FFFD.
    pub fn name(&self) -> String {
        self.name.as_ref().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Does it have columns?
    pub fn is_struct(&self) -> bool {
        self.format.to_bytes() == b"+s" && self.dictionary.is_none()
    }

    /// Its columns.
    pub fn children(&self) -> &[Field] {
        &self.children
    }

    /// Copies a type.
    ///
    /// # Errors
    /// [`ColumnError::Released`], [`ColumnError::Broken`].
    ///
    /// # Safety
    /// The structure is aligned. Unless it is released, it is as the interface demands.
    pub(super) unsafe fn copy(schema: &ArrowSchema) -> Result<Self, ColumnError> {
        // SAFETY: the caller's promise.
        unsafe { Self::copy_at(schema, 0) }
    }

    /// # Safety
    /// As for [`Self::copy`].
    unsafe fn copy_at(schema: &ArrowSchema, depth: usize) -> Result<Self, ColumnError> {
        if schema.release.is_none() {
            return Err(ColumnError::Released);
        }
        if depth > MAX_DEPTH {
            return Err(broken(format!("its type is nested deeper than {MAX_DEPTH}")));
        }
        if schema.format.is_null() {
            return Err(broken("the format is missing"));
        }
        let count = size(schema.n_children, "the number of its children")?;
        if count > 0 && schema.children.is_null() {
            return Err(broken("all its children are missing"));
        }
        let mut children = Vec::new();
        for i in 0..count {
            // SAFETY: there are that many pointers.
            let child = unsafe { schema.children.add(i).read_unaligned() };
            // SAFETY: the caller's promise.
            children.push(unsafe { Self::copy_of(child, depth + 1) }?);
        }
        let dictionary = if schema.dictionary.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(Box::new(unsafe { Self::copy_of(schema.dictionary, depth + 1) }?))
        };
        // SAFETY: the caller's promise: these end with a zero.
        let (format, name) = unsafe {
            let name = (!schema.name.is_null()).then(|| CStr::from_ptr(schema.name).to_owned());
            (CStr::from_ptr(schema.format).to_owned(), name)
        };
        let metadata = if schema.metadata.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(unsafe { copy_metadata(schema.metadata.cast()) }?)
        };
        Ok(Self { format, name, metadata, flags: schema.flags, children, dictionary })
    }

    /// # Safety
    /// As for [`Self::copy`], for a pointer that may be null.
    unsafe fn copy_of(schema: *const ArrowSchema, depth: usize) -> Result<Self, ColumnError> {
        if schema.is_null() || !schema.is_aligned() {
            return Err(broken("the type of a child is missing"));
        }
        // SAFETY: the caller's promise.
        unsafe { Self::copy_at(&*schema, depth) }
    }

    /// A structure of the interface with this type.
    pub fn export(&self) -> ArrowSchema {
        let mut own = Box::new(Exported {
            field: self.without_children(),
            children: self.children.iter().map(|child| Box::into_raw(Box::new(child.export()))).collect(),
            dictionary: self.dictionary.as_ref().map(|inner| Box::into_raw(Box::new(inner.export()))),
        });
        ArrowSchema {
            format: own.field.format.as_ptr(),
            name: own.field.name.as_ref().map_or(c"".as_ptr(), |name| name.as_ptr()),
            metadata: own
                .field
                .metadata
                .as_ref()
                .map_or(ptr::null(), |bytes| bytes.as_ptr().cast::<c_char>()),
            flags: self.flags,
            n_children: own.children.len() as i64,
            children: own.children.as_mut_ptr(),
            dictionary: own.dictionary.unwrap_or(ptr::null_mut()),
            release: Some(release),
            private_data: Box::into_raw(own).cast(),
        }
    }

    fn without_children(&self) -> Self {
        Self {
            format: self.format.clone(),
            name: self.name.clone(),
            metadata: self.metadata.clone(),
            flags: self.flags,
            children: Vec::new(),
            dictionary: None,
        }
    }
}

/// Bytes that are noted with a column: a number of pairs of keys and values, each after its length.
///
/// # Safety
/// The pointer is to as many bytes as the numbers in them say.
unsafe fn copy_metadata(start: *const u8) -> Result<Vec<u8>, ColumnError> {
    // SAFETY: the caller's promise.
    let number = |at: usize| unsafe { start.add(at).cast::<i32>().read_unaligned() };
    let pairs = size(number(0), "the number of its notes")?;
    let mut end = 4;
    for _ in 0..2 * pairs {
        let length = size(number(end), "the length of a note")?;
        end += 4 + length;
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(start, end) }.to_vec())
}

/// What an exported type owns.
struct Exported {
    field: Field,
    children: Vec<*mut ArrowSchema>,
    dictionary: Option<*mut ArrowSchema>,
}

impl Drop for Exported {
    fn drop(&mut self) {
        for &child in self.children.iter().chain(&self.dictionary) {
            // SAFETY: it was a box. A child that a consumer has taken is marked as released.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

unsafe extern "C" fn release(schema: *mut ArrowSchema) {
    // SAFETY: called once, with a structure that `export` has made.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<Exported>()));
        (*schema).release = None;
        (*schema).private_data = ptr::null_mut::<c_void>();
    }
}
