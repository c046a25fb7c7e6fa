//! Lists of ids, written and read item by item.
use std::mem::offset_of;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyInt, PyList};
use tokenmill_core::ids::TokenId;
use tokenmill_kernels::{MadeOnce, pages, try_alloc};

use super::objects;
use super::units::units;
use crate::exceptions::out_of_memory;

/// Items between two checks for signals: some milliseconds of work.
const ITEMS: usize = 1 << 17;

/// List items per prefault.
const LIST_PART: usize = pages::PREFAULT_BYTES / size_of::<*mut ffi::PyObject>();

/// Ids per prefault.
const IDS_PART: usize = pages::PREFAULT_BYTES / size_of::<TokenId>();

/// A new list of ids. The items are the objects in `ready`, indexed by id, or new objects.
pub(crate) fn list_of_ids<'py>(
    py: Python<'py>,
    ids: &[TokenId],
    ready: &[Py<PyInt>],
) -> PyResult<Bound<'py, PyList>> {
    let list = untracked_list(py, ids, ready)?;
    // SAFETY: the list is not tracked, and all of its items are set.
    unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
    Ok(list)
}

/// A new list of lists of ids.
pub(crate) fn lists_of_ids<'a, 'py>(
    py: Python<'py>,
    rows: impl Iterator<Item = PyResult<&'a [TokenId]>>,
    ready: &[Py<PyInt>],
) -> PyResult<Bound<'py, PyList>> {
    let list = objects::list(py, 0, std::iter::empty())?;
    let mut since_look = 0;
    for row in rows {
        let row = row?;
        since_look += row.len() + 32;
        if since_look >= ITEMS {
            since_look = 0;
            py.check_signals()?;
        }
        list.append(untracked_list(py, row, ready)?)?;
    }
    // Tracked only now: the garbage collector would traverse the lists again and again while they are made.
    for row in list.iter() {
        // SAFETY: the list contains only the lists made above, unless other code found it through
        // the garbage collector and replaced items; so type and tracking are checked first.
        unsafe {
            if ffi::PyList_CheckExact(row.as_ptr()) != 0 && ffi::PyObject_GC_IsTracked(row.as_ptr()) == 0 {
                ffi::PyObject_GC_Track(row.as_ptr().cast());
            }
        }
    }
    Ok(list)
}

/// A new list of ids with all items set, not yet tracked by the garbage collector.
fn untracked_list<'py>(
    py: Python<'py>,
    ids: &[TokenId],
    ready: &[Py<PyInt>],
) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: a new reference, or null with an error set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
    // SAFETY: the list is new and tracked. While it has unset items, no code may find it, which the
    // functions of the garbage collector would allow.
    unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
    if ids.is_empty() {
        // An empty list has no memory for items.
        return Ok(list.cast_into()?);
    }
    // SAFETY: the list has memory for this many items, and no other code has it, so it cannot be resized.
    let items = unsafe {
        let items = (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item;
        units::<*mut ffi::PyObject>(items.cast(), ids.len())
    };
    let mut rest = items;
    for (slice, part) in ids.chunks(LIST_PART).enumerate() {
        if (slice + 1) % (ITEMS / LIST_PART) == 0 {
            py.check_signals()?;
        }
        pages::prefault(rest);
        let (places, after) = rest.split_at_mut(part.len());
        rest = after;
        for (place, &id) in places.iter_mut().zip(part) {
            let item = match ready.get(id as usize) {
                Some(item) => item.clone_ref(py).into_ptr(),
                None => objects::int(py, id as usize)?.into_ptr(),
            };
            // The item was unset, and takes over the reference.
            place.write(item);
        }
    }
    Ok(list.cast_into()?)
}

/// The ids in a list. `odd` converts, or rejects, an item that is not a plain `int` in the range of ids.
pub(crate) fn ids_in_list<'py>(
    list: &Bound<'py, PyList>,
    odd: impl Fn(usize, &Bound<'py, PyAny>) -> PyResult<TokenId>,
) -> PyResult<Vec<TokenId>> {
    let py = list.py();
    let sizes = Sizes::of(py);
    with_critical_section(list, || {
        let mut ids = try_alloc::vec(list.len()).map_err(out_of_memory)?;
        // The list may change whenever Python code runs, so its length is read again for every part.
        while ids.len() < list.len() {
            let start = ids.len();
            let end = list.len().min((start / IDS_PART + 1) * IDS_PART);
            // The list may have grown.
            try_alloc::reserve(&mut ids, end - start).map_err(out_of_memory)?;
            if start % IDS_PART == 0 {
                pages::prefault(ids.spare_capacity_mut());
            }
            for at in start..end {
                // SAFETY: the index is within the list, which does not change before the last use
                // of the reference: no Python code runs until then, and threads without the
                // interpreter lock wait for the critical section.
                let plain = unsafe {
                    let item = ffi::PyList_GET_ITEM(list.as_ptr(), at as ffi::Py_ssize_t);
                    plain_id(item, sizes)
                };
                let Some(id) = plain else { break };
                ids.push(id);
            }
            let at = ids.len();
            if at < end {
                ids.push(odd(at, &list.get_item(at)?)?);
            }
            if ids.len() % ITEMS == 0 {
                py.check_signals()?;
            }
        }
        Ok(ids)
    })
}

/// CPython's layout of an `int` with one digit: after the object header, the size (from 3.12 on a
/// tag) holds the number of digits and the sign.
#[repr(C)]
struct OneDigit {
    object: ffi::PyObject,
    size: usize,
    digit: u32,
}

/// The size fields of small positive numbers in this interpreter. Calling the interpreter for each
/// number would take longer than everything else. From 3.14 on preallocated numbers are marked, so
/// there are two values.
#[derive(Clone, Copy)]
struct Sizes([usize; 2]);

/// Numbers of one digit, preallocated and not, and other numbers. A digit has 30 bits.
const ONE_DIGIT: [i64; 8] = [1, 2, 127, 256, 257, 65_536, 100_000, (1 << 30) - 1];
const OTHERS: [i64; 8] = [0, -1, -5, -6, -100_000, 1 << 30, 1 << 32, 1 << 62];

impl Sizes {
    /// The sizes, determined once from known numbers; `None` if the layout is not as expected, so
    /// that the interpreter must be called.
    fn of(py: Python<'_>) -> Option<Self> {
        static SIZES: MadeOnce<Option<Sizes>> = MadeOnce::new();
        *SIZES.get_or_make(|| Self::find(py))
    }

    fn find(py: Python<'_>) -> Option<Self> {
        // SAFETY: the type lives as long as the interpreter, to which the thread is attached.
        let (before_digits, digit) = unsafe {
            let int = &raw const ffi::PyLong_Type;
            ((*int).tp_basicsize, (*int).tp_itemsize)
        };
        if before_digits != offset_of!(OneDigit, digit) as ffi::Py_ssize_t || digit != 4 {
            return None;
        }
        let int = |number: i64| number.into_pyobject(py).ok();
        // SAFETY: an `int` has its size before its digits, which start at the expected offset.
        let stored_size = |int: &Bound<'_, PyInt>| unsafe { (*int.as_ptr().cast::<OneDigit>()).size };
        let sizes = Self([stored_size(&int(1)?), stored_size(&int(100_000)?)]);
        // SAFETY: the object is an `int` with the expected layout.
        let read = |number: i64| int(number).and_then(|int| unsafe { sizes.number(int.as_ptr()) });
        let are_read = ONE_DIGIT.iter().all(|&number| read(number).map(i64::from) == Some(number));
        (are_read && OTHERS.iter().all(|&number| read(number).is_none())).then_some(sizes)
    }

    /// The value of an `int` with one digit; `None` for another.
    ///
    /// # Safety
    /// `int` must be exactly of type `int`, with the expected layout.
    #[inline]
    unsafe fn number(self, int: *mut ffi::PyObject) -> Option<u32> {
        let int = int.cast::<OneDigit>();
        // SAFETY: the object has a size, and a digit if the size says so.
        unsafe { if self.0.contains(&(*int).size) { Some((*int).digit) } else { None } }
    }
}

/// The id in an object that is exactly an `int`; `None` for any other object, so that no Python code runs.
///
/// # Safety
/// `item` must live during the call, and the thread must be attached.
#[inline]
unsafe fn plain_id(item: *mut ffi::PyObject, sizes: Option<Sizes>) -> Option<TokenId> {
    // SAFETY: every object has a type; the value is read from an `int` only, and an overflow sets
    // no error. `sizes` exists only if the layout is as expected.
    unsafe {
        if ffi::PyLong_CheckExact(item) == 0 {
            return None;
        }
        if let Some(number) = sizes.and_then(|sizes| sizes.number(item)) {
            return Some(number);
        }
        let mut overflow = 0;
        let number = ffi::PyLong_AsLongAndOverflow(item, &raw mut overflow);
        if overflow == 0 { TokenId::try_from(number).ok() } else { None }
    }
}
