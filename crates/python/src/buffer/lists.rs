//! Lists of ids, filled and read item by item.
use std::mem::offset_of;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyInt, PyList};
use tokenmill_core::ids::TokenId;
use tokenmill_kernels::{MadeOnce, pages, try_alloc};

use super::objects;
use super::units::units;
use crate::errors::out_of_memory;

/// Signals are looked for after so many items: some milliseconds of work.
const ITEMS: usize = 1 << 17;

/// Items of a list whose pages are brought together.
const LIST_PART: usize = pages::PART / size_of::<*mut ffi::PyObject>();

/// Ids whose pages are brought together.
const IDS_PART: usize = pages::PART / size_of::<TokenId>();

/// A new list of ids: for each the object with its number in `ready`, or a new one.
pub(crate) fn list_of_ids<'py>(
    py: Python<'py>,
    ids: &[TokenId],
    ready: &[Py<PyInt>],
) -> PyResult<Bound<'py, PyList>> {
    let list = untracked_list(py, ids, ready)?;
    // SAFETY: the list is not tracked, and no place of it is empty.
    unsafe { ffi::PyObject_GC_Track(list.as_ptr().cast()) };
    Ok(list)
}

/// A new list of such lists.
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
    // Only now may the garbage collector look at them. It would do so again and again while they are made.
    for row in list.iter() {
        // SAFETY: only what was made above is in the list, unless somebody who found it among the objects of the
        // garbage collector has put something else there. A list is tracked once.
        unsafe {
            if ffi::PyList_CheckExact(row.as_ptr()) != 0 && ffi::PyObject_GC_IsTracked(row.as_ptr()) == 0 {
                ffi::PyObject_GC_Track(row.as_ptr().cast());
            }
        }
    }
    Ok(list)
}

/// A new list of ids that the garbage collector does not know of. No place of it is empty.
fn untracked_list<'py>(
    py: Python<'py>,
    ids: &[TokenId],
    ready: &[Py<PyInt>],
) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: a new reference, or null with an error set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
    // SAFETY: the list is new and tracked. While it has empty places nobody may find it, which
    // the garbage collector's own functions would allow.
    unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) };
    if ids.is_empty() {
        // It has no memory for items.
        return Ok(list.cast_into()?);
    }
    // SAFETY: the list has memory for so many items, and nobody else has it who could make it longer or shorter.
    let items = unsafe {
        let items = (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item;
        units::<*mut ffi::PyObject>(items.cast(), ids.len())
    };
    let mut rest = items;
    for (slice, part) in ids.chunks(LIST_PART).enumerate() {
        if (slice + 1) % (ITEMS / LIST_PART) == 0 {
            py.check_signals()?;
        }
        pages::bring(rest);
        let (places, behind) = rest.split_at_mut(part.len());
        rest = behind;
        for (place, &id) in places.iter_mut().zip(part) {
            let item = match ready.get(id as usize) {
                Some(item) => item.clone_ref(py).into_ptr(),
                None => objects::int(py, id as usize)?.into_ptr(),
            };
            // The place was empty, and takes the reference over.
            place.write(item);
        }
    }
    Ok(list.cast_into()?)
}

/// The ids in a list. `odd` says what any item is that is not plainly an id.
pub(crate) fn ids_in_list<'py>(
    list: &Bound<'py, PyList>,
    odd: impl Fn(usize, &Bound<'py, PyAny>) -> PyResult<TokenId>,
) -> PyResult<Vec<TokenId>> {
    let py = list.py();
    let sizes = Sizes::of(py);
    with_critical_section(list, || {
        let mut ids = try_alloc::vec(list.len()).map_err(out_of_memory)?;
        // The list may change whenever Python runs: its length is looked at again for every part.
        while ids.len() < list.len() {
            let start = ids.len();
            let end = list.len().min((start / IDS_PART + 1) * IDS_PART);
            // It may have become longer.
            try_alloc::reserve(&mut ids, end - start).map_err(out_of_memory)?;
            if start % IDS_PART == 0 {
                pages::bring(ids.spare_capacity_mut());
            }
            for at in start..end {
                // SAFETY: the place is within the list, which does not change before the reference
                // is used for the last time: nothing of Python runs that long, and threads without the
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

/// An `int` of one digit as CPython has it, behind what every object has: in its size or, from 3.12 on, tag are
/// the number of digits and the sign.
#[repr(C)]
struct OneDigit {
    object: ffi::PyObject,
    size: usize,
    digit: u32,
}

/// What the sizes of small positive numbers are here; a call of the interpreter for each number would take longer than all
/// that is done with it. From 3.14 on those that the interpreter keeps ready are marked, so there are two.
#[derive(Clone, Copy)]
struct Sizes([usize; 2]);

/// Numbers of one digit, some that are kept ready and some that are not, and others. A digit has 30 bits.
const ONE_DIGIT: [i64; 8] = [1, 2, 127, 256, 257, 65_536, 100_000, (1 << 30) - 1];
const OTHERS: [i64; 8] = [0, -1, -5, -6, -100_000, 1 << 30, 1 << 32, 1 << 62];

impl Sizes {
    /// Found once, from numbers that are known; `None` where they are not as expected, and the interpreter is asked.
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
        // SAFETY: an `int` has its size before its digits, and these begin where they are expected.
        let stored_size = |int: &Bound<'_, PyInt>| unsafe { (*int.as_ptr().cast::<OneDigit>()).size };
        let sizes = Self([stored_size(&int(1)?), stored_size(&int(100_000)?)]);
        // SAFETY: it is an `int`, laid out as expected.
        let read = |number: i64| int(number).and_then(|int| unsafe { sizes.number(int.as_ptr()) });
        let are_read = ONE_DIGIT.iter().all(|&number| read(number).map(i64::from) == Some(number));
        (are_read && OTHERS.iter().all(|&number| read(number).is_none())).then_some(sizes)
    }

    /// The number that an `int` of one digit is.
    ///
    /// # Safety
    /// `int` is of just that type, laid out as expected.
    #[inline]
    unsafe fn number(self, int: *mut ffi::PyObject) -> Option<u32> {
        let int = int.cast::<OneDigit>();
        // SAFETY: it has a size, and a digit where that says so.
        unsafe { if self.0.contains(&(*int).size) { Some((*int).digit) } else { None } }
    }
}

/// The id that an object of just the type `int` is; no other is looked at, so that no Python runs.
///
/// # Safety
/// `item` is an object that lives during the call, and the thread is attached.
#[inline]
unsafe fn plain_id(item: *mut ffi::PyObject, sizes: Option<Sizes>) -> Option<TokenId> {
    // SAFETY: an object has a type; of an `int` the number is read, an overflow sets no error. Sizes are found only where
    // numbers are laid out as expected.
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
