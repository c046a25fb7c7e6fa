//! Batches with more columns than they came with. The columns that were there are not copied.
use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::{ArrowArray, Field, ImportedArray, checked};

/// Ids, in one of these types.
#[derive(Debug)]
pub enum Items {
    /// Numbers of 16 bits without a sign.
    U16(Vec<u16>),
    /// Numbers of 32 bits without a sign.
    U32(Vec<u32>),
    /// Numbers of 32 bits.
    I32(Vec<i32>),
    /// Numbers of 64 bits.
    I64(Vec<i64>),
    /// Numbers of 64 bits without a sign.
    U64(Vec<u64>),
}

/// The rows of a new column.
#[derive(Debug, Clone)]
pub enum Values {
    /// A list for each row: all items, and where each row begins and the last one ends.
    Lists(Arc<Vec<i64>>, Arc<Items>),
    /// A number for each row.
    Numbers(Arc<Vec<i64>>),
}

/// A new column.
#[derive(Debug, Clone)]
pub struct AddedColumn {
    /// The rows.
    pub values: Values,
    /// A bit for each row that is not null, from the lowest bit of the first byte on, and the number of nulls;
    /// `None` if no row is null.
    pub validity: Option<(Arc<Vec<u8>>, usize)>,
}

impl Items {
    /// The format of the interface for these numbers.
    fn format(&self) -> &'static str {
        match self {
            Self::U16(_) => "S",
            Self::U32(_) => "I",
            Self::I32(_) => "i",
            Self::I64(_) => "l",
            Self::U64(_) => "L",
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::U16(items) => items.len(),
            Self::U32(items) => items.len(),
            Self::I32(items) => items.len(),
            Self::I64(items) => items.len(),
            Self::U64(items) => items.len(),
        }
    }

    fn start(&self) -> *const c_void {
        match self {
            Self::U16(items) => items.as_ptr().cast(),
            Self::U32(items) => items.as_ptr().cast(),
            Self::I32(items) => items.as_ptr().cast(),
            Self::I64(items) => items.as_ptr().cast(),
            Self::U64(items) => items.as_ptr().cast(),
        }
    }
}

impl Field {
    /// A column of lists of items such as these.
    pub fn lists(name: &str, items: &Items) -> Self {
        Self::new(name, "+L", vec![Self::new("item", items.format(), Vec::new())])
    }

    /// A column of numbers of 64 bits.
    pub fn numbers(name: &str) -> Self {
        Self::new(name, "l", Vec::new())
    }
}

/// What keeps the buffers of an exported array.
type Keeper = Arc<dyn Any + Send + Sync>;

/// What an exported array owns.
struct Exported {
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: Option<*mut ArrowArray>,
    _keepers: Vec<Keeper>,
}

impl Drop for Exported {
    fn drop(&mut self) {
        for &child in self.children.iter().chain(&self.dictionary) {
            // SAFETY: it was a box. A child that a consumer has taken is marked as released.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: called once, with a structure that `export` has made.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Exported>()));
        (*array).release = None;
        (*array).private_data = ptr::null_mut();
    }
}

/// An array with these numbers of rows and nulls, from an offset on. Its buffers are as long as its type demands, while
/// the keepers are there.
fn export(
    (length, null_count, offset): (i64, i64, i64),
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
    dictionary: Option<ArrowArray>,
    keepers: Vec<Keeper>,
) -> ArrowArray {
    let boxed = |array| Box::into_raw(Box::new(array));
    let mut own = Box::new(Exported {
        buffers,
        children: children.into_iter().map(boxed).collect(),
        dictionary: dictionary.map(boxed),
        _keepers: keepers,
    });
    ArrowArray {
        length,
        null_count,
        offset,
        n_buffers: own.buffers.len() as i64,
        n_children: own.children.len() as i64,
        buffers: own.buffers.as_mut_ptr(),
        children: own.children.as_mut_ptr(),
        dictionary: own.dictionary.unwrap_or(ptr::null_mut()),
        release: Some(release),
        private_data: Box::into_raw(own).cast(),
    }
}

/// The same array once more: its buffers are shared.
///
/// # Safety
/// The array is one that `ImportedArray` has checked, and the keeper keeps it.
unsafe fn share(array: &ArrowArray, keeper: &Keeper) -> ArrowArray {
    // SAFETY: the caller's promise: that many pointers are there, and those to children are not null.
    unsafe {
        // An array without rows may have no list of buffers. The next library looks for as many as its type has.
        let buffer = |i: usize| {
            if array.buffers.is_null() { ptr::null() } else { array.buffers.add(i).read_unaligned() }
        };
        let buffers = (0..checked(array.n_buffers)).map(buffer).collect();
        let child = |i: usize| share(&*array.children.add(i).read_unaligned(), keeper);
        let children = (0..checked(array.n_children)).map(child).collect();
        let dictionary = (!array.dictionary.is_null()).then(|| share(&*array.dictionary, keeper));
        let keepers = vec![Arc::clone(keeper)];
        export((array.length, array.null_count, array.offset), buffers, children, dictionary, keepers)
    }
}

/// Some rows of an array.
fn slice(mut array: ArrowArray, start: i64, length: i64) -> ArrowArray {
    if start != 0 || length != array.length {
        array.offset += start;
        array.length = length;
        // -1 says that nobody has counted them.
        array.null_count = if array.null_count == 0 { 0 } else { -1 };
    }
    array
}

/// Which rows of a batch are not null as a whole: a bit for each of them; `None` if that is not known of any.
fn validity_of(batch: &ArrowArray) -> Option<Vec<u8>> {
    if batch.null_count == 0 || batch.n_buffers < 1 || batch.buffers.is_null() {
        return None;
    }
    // SAFETY: there is a buffer. It is null, or has a bit for each row.
    let validity = unsafe { batch.buffers.read_unaligned() }.cast::<u8>();
    if validity.is_null() {
        return None;
    }
    let mut bits = vec![0; (checked(batch.length)).div_ceil(8)];
    for row in 0..checked(batch.length) {
        let from = checked(batch.offset) + row;
        // SAFETY: as above.
        let byte = unsafe { *validity.add(from / 8) };
        bits[row / 8] |= (byte >> (from % 8) & 1) << (row % 8);
    }
    Some(bits)
}

/// A batch with more columns, each of as many rows as the batch. Its own columns are shared, and released when both the
/// batch and what is returned are dropped.
pub fn extended(batch: &ImportedArray, added: &[AddedColumn]) -> ArrowArray {
    let source = &batch.array;
    let keeper: Keeper = Arc::clone(source) as Keeper;
    let own = |i: usize| {
        // SAFETY: the array was checked when it was taken, and it is kept.
        let child = unsafe { share(&*source.children.add(i).read_unaligned(), &keeper) };
        // A batch may begin within its columns, and end before they do.
        slice(child, source.offset, source.length)
    };
    let children = (0..checked(source.n_children)).map(own);
    let children = children.chain(added.iter().map(|column| column.export(batch.len()))).collect();
    let (validity, null_count) = match validity_of(source) {
        Some(bits) => (Arc::new(bits), source.null_count),
        None => (Arc::default(), 0),
    };
    let buffers = vec![if validity.is_empty() { ptr::null() } else { validity.as_ptr().cast() }];
    export((source.length, null_count, 0), buffers, children, None, vec![keeper, validity])
}

impl AddedColumn {
    fn export(&self, rows: usize) -> ArrowArray {
        let (validity, nulls) = match &self.validity {
            Some((bits, nulls)) => (bits.as_ptr().cast(), *nulls as i64),
            None => (ptr::null(), 0),
        };
        let mut keepers: Vec<Keeper> = Vec::new();
        if let Some((bits, _)) = &self.validity {
            keepers.push(Arc::clone(bits) as Keeper);
        }
        let of_rows = (rows as i64, nulls, 0);
        match &self.values {
            Values::Numbers(numbers) => {
                debug_assert_eq!(numbers.len(), rows);
                keepers.push(Arc::clone(numbers) as Keeper);
                export(of_rows, vec![validity, numbers.as_ptr().cast()], Vec::new(), None, keepers)
            }
            Values::Lists(offsets, items) => {
                debug_assert_eq!(offsets.len(), rows + 1);
                let of_items = (items.len() as i64, 0, 0);
                let of_ids = vec![Arc::clone(items) as Keeper];
                let items = export(of_items, vec![ptr::null(), items.start()], Vec::new(), None, of_ids);
                keepers.push(Arc::clone(offsets) as Keeper);
                export(of_rows, vec![validity, offsets.as_ptr().cast()], vec![items], None, keepers)
            }
        }
    }
}
