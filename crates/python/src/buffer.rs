//! The only unsafe code of the binding. In: Python objects. Out: their memory, read or written in place.
//!
//! Strings are read and written as code units, [lists of ids](lists) item by item, and [Arrow](arrow) columns are
//! taken over and passed on. [objects] and [copies](numbers) are made so that a lack of memory is an
//! error. Special methods get [their documentation](document).
mod arrow;
mod lists;
mod numbers;
pub(crate) mod objects;
mod slots;
mod units;

use std::mem::MaybeUninit;
use std::ops::Range;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use tokenmill_core::engine::CodeUnits;
use tokenmill_core::error::{Error, Result};
use tokenmill_kernels::{
    CodeUnit, Prefetcher, UnitWidth, append_code_units, fill_code_units, guess_length, measure,
};
use tokenmill_kernels::{OutOfMemory, pages, try_alloc};

use crate::exceptions::{out_of_memory, raise};

pub(crate) use self::arrow::{
    Imported, array_capsules, column_error, holds_interpreter, imported, raise_later, schema_capsule,
    stream_capsule, type_name,
};
pub(crate) use self::lists::{ids_in_list, list_of_ids, lists_of_ids};
pub(crate) use self::numbers::numbers;
pub(crate) use self::slots::document;
use self::units::units;

/// How surrogates are handled, which have no UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surrogates {
    /// A pair becomes the character that it encodes, a lone surrogate U+FFFD.
    Replace,
    /// The first surrogate is reported.
    Refuse,
}

/// A Python string as UTF-8.
pub(crate) enum Utf8<'a> {
    /// An ASCII string: its own bytes.
    Borrowed(&'a str),
    /// A copy; `pairs` has the character positions (in the copy) of joined surrogate pairs.
    Copied { text: String, pairs: Vec<usize> },
    /// The first surrogate, under [`Surrogates::Refuse`], as a character position.
    Refused(usize),
}

/// Reads a string without caching a UTF-8 copy in it. Signals are checked while a long string is copied.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>, surrogates: Surrogates) -> PyResult<Utf8<'a>> {
    // SAFETY: the borrow keeps the string alive, strings are immutable, and the slices are only
    // read while the borrow lasts, as `data` requires.
    let data = unsafe { text.data()? };
    match data {
        PyStringData::Ucs1(units) if is_ascii(text, units) => {
            // SAFETY: ASCII is valid UTF-8, and `is_ascii` describes how it is known.
            Ok(Utf8::Borrowed(unsafe { str::from_utf8_unchecked(units) }))
        }
        PyStringData::Ucs1(units) => transcode(text.py(), units, surrogates),
        PyStringData::Ucs2(units) => transcode(text.py(), units, surrogates),
        PyStringData::Ucs4(units) => transcode(text.py(), units, surrogates),
    }
}

/// Is a string with these code units ASCII? The position of the units tells, as CPython stores
/// ASCII strings in a smaller object: the units of an ASCII string directly follow its
/// `PyASCIIObject`, those of other strings the larger `PyCompactUnicodeObject`. Subclasses and
/// legacy strings keep their units outside the object.
#[inline]
fn is_ascii(text: &Bound<'_, PyString>, units: &[u8]) -> bool {
    let head = units.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    let is_known = head == size_of::<ffi::PyASCIIObject>();
    debug_assert!(!is_known || units.is_ascii(), "a string with the head of one that is all ASCII");
    is_known || units.is_ascii()
}

/// For a string with fewer code units the upper bound of its UTF-8 length is used: a closer
/// estimate takes longer than the extra memory costs.
const GUESSED_FROM: usize = 1 << 16;

/// The code units of a string that is not ASCII, and how surrogates are handled.
pub(crate) struct WideUnits<'a> {
    units: Units<'a>,
    surrogates: Surrogates,
}

/// Code units by width.
enum Units<'a> {
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

/// The code units of a string; `None` if it is ASCII.
pub(crate) fn wide_units<'a>(
    text: &'a Bound<'_, PyString>,
    surrogates: Surrogates,
) -> PyResult<Option<WideUnits<'a>>> {
    // SAFETY: as in `utf8`.
    let units = match unsafe { text.data()? } {
        PyStringData::Ucs1(units) if is_ascii(text, units) => return Ok(None),
        PyStringData::Ucs1(units) => Units::One(units),
        PyStringData::Ucs2(units) => Units::Two(units),
        PyStringData::Ucs4(units) => Units::Four(units),
    };
    Ok(Some(WideUnits { units, surrogates }))
}

impl WideUnits<'_> {
    /// The whole text, and the positions of joined surrogate pairs.
    pub(crate) fn text(&self) -> Result<(String, Vec<usize>)> {
        let (mut text, mut pairs) = (String::new(), Vec::new());
        self.append_telling(0..self.len(), &mut text, &mut pairs)?;
        Ok((text, pairs))
    }

    fn append_telling(
        &self,
        units: Range<usize>,
        text: &mut String,
        pairs: &mut Vec<usize>,
    ) -> Result<usize> {
        let (mut at, end) = (units.start, units.end);
        let all = match self.units {
            Units::One(units) => append(units, &mut at, end, self.surrogates, text, pairs),
            Units::Two(units) => append(units, &mut at, end, self.surrogates, text, pairs),
            Units::Four(units) => append(units, &mut at, end, self.surrogates, text, pairs),
        }?;
        if all { Ok(at) } else { Err(Error::argument("the text has a surrogate")) }
    }
}

impl CodeUnits for WideUnits<'_> {
    fn len(&self) -> usize {
        match self.units {
            Units::One(units) => units.len(),
            Units::Two(units) => units.len(),
            Units::Four(units) => units.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self.units {
            Units::One(units) if units.len() < GUESSED_FROM => 2 * units.len(),
            Units::Two(units) if units.len() < GUESSED_FROM => 3 * units.len(),
            Units::Four(units) if units.len() < GUESSED_FROM => 4 * units.len(),
            Units::One(units) => guess_length(units),
            Units::Two(units) => guess_length(units),
            Units::Four(units) => guess_length(units),
        }
    }

    fn append(&self, units: Range<usize>, text: &mut String) -> Result<usize> {
        self.append_telling(units, text, &mut Vec::new())
    }

    fn ahead(&self, from: usize) -> Prefetcher {
        match self.units {
            Units::One(units) => Prefetcher::new(&units[from..]),
            Units::Two(units) => Prefetcher::new(&units[from..]),
            Units::Four(units) => Prefetcher::new(&units[from..]),
        }
    }
}

/// Code units between two checks for signals: some milliseconds of copying.
const SLICE: usize = 1 << 22;

fn transcode<U: CodeUnit>(py: Python<'_>, units: &[U], surrogates: Surrogates) -> PyResult<Utf8<'static>> {
    let mut text = try_alloc::string(guess_length(units)).map_err(out_of_memory)?;
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < units.len() {
        if at > 0 {
            py.check_signals()?;
        }
        let end = units.len().min(at + SLICE);
        if !append(units, &mut at, end, surrogates, &mut text, &mut pairs).map_err(out_of_memory)? {
            return Ok(Utf8::Refused(at));
        }
    }
    Ok(Utf8::Copied { text, pairs })
}

/// Appends the code units from `at` to `end`; if the last one is half of a pair, also the other
/// half. Returns false at a surrogate that is refused, with `at` on it. `pairs` gets the character
/// positions of joined pairs.
fn append<U: CodeUnit>(
    units: &[U],
    at: &mut usize,
    end: usize,
    surrogates: Surrogates,
    text: &mut String,
    pairs: &mut Vec<usize>,
) -> std::result::Result<bool, OutOfMemory> {
    while *at < end {
        *at += append_code_units(text, &units[*at..end])?;
        let Some(&surrogate) = units[..end].get(*at) else { break };
        if surrogates == Surrogates::Refuse {
            return Ok(false);
        }
        // For one character.
        try_alloc::reserve_text(text, char::MAX.len_utf8())?;
        let low = units.get(*at + 1).map(|&low| low.into()).filter(|low| (0xdc00..0xe000).contains(low));
        if let (high @ 0xd800..0xdc00, Some(low)) = (surrogate.into(), low) {
            // Each earlier pair was two units and is one character.
            let before = *at - pairs.len();
            try_alloc::push(pairs, before)?;
            let joined = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            text.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            *at += 2;
        } else {
            text.push(char::REPLACEMENT_CHARACTER);
            *at += 1;
        }
    }
    Ok(true)
}

/// A new string from UTF-8 text.
#[allow(clippy::disallowed_methods)] // only for what Python shares
pub(crate) fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // Python shares strings of one character.
    if text.len() <= 2 {
        return Ok(PyString::new(py, text));
    }
    let (characters, width) = measure(text);
    let largest = match width {
        UnitWidth::Ascii => 0x7f,
        UnitWidth::One => 0xff,
        UnitWidth::Two => 0xffff,
        UnitWidth::Four => 0x10_ffff,
    };
    let length = characters as ffi::Py_ssize_t;
    // SAFETY: a new reference, or null with an error set.
    let string = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length, largest))? };
    // SAFETY: the string is new, has more than one character and is not shared. It has memory for
    // this many units of the width of `largest`, and all of them are written.
    let written = unsafe {
        let data = ffi::PyUnicode_DATA(string.as_ptr());
        match width {
            UnitWidth::Ascii | UnitWidth::One => fill(text, units::<u8>(data, characters)),
            UnitWidth::Two => fill(text, units::<u16>(data, characters)),
            UnitWidth::Four => fill(text, units::<u32>(data, characters)),
        }
    };
    debug_assert_eq!(written, characters);
    Ok(string.cast_into()?)
}

/// Writes a text as code units, and prefaults their pages. Returns the number of units.
fn fill<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (mut rest, mut written) = (text, 0);
    while !rest.is_empty() {
        // A byte of UTF-8 gives at most one unit.
        let mut length = rest.len().min(pages::PREFAULT_BYTES / size_of::<U>());
        while !rest.is_char_boundary(length) {
            length -= 1;
        }
        let (part, after) = rest.split_at(length);
        pages::prefault(&mut units[written..]);
        written += fill_code_units(part, &mut units[written..]);
        rest = after;
    }
    written
}

/// A new string of `length` ASCII bytes, which are zero until `fill` writes them.
pub(crate) fn ascii_string(
    py: Python<'_>,
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyString>> {
    if length == 0 {
        fill(&mut [])?;
        return Ok(PyString::intern(py, ""));
    }
    // SAFETY: a new reference, or null with an error set.
    let string =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length as ffi::Py_ssize_t, 0x7f))? };
    // SAFETY: the string is new and not shared, and has memory for this many bytes; writing zeros
    // initialises them.
    let bytes = unsafe {
        let data = ffi::PyUnicode_DATA(string.as_ptr());
        pages::zeros(units::<u8>(data, length))
    };
    fill(bytes)?;
    if !bytes.is_ascii() {
        return Err(raise(py, Error::internal("text that was measured as ASCII is not")));
    }
    Ok(string.cast_into()?)
}
