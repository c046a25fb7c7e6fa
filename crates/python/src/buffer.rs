//! The only unsafe code of the binding: the code units of Python strings read and written where
//! they lie, [lists of ids](lists) filled and read item by item, columns of strings taken over;
//! [objects] and [copies](numbers) made where there may be no memory for them.
mod lists;
mod numbers;
pub(crate) mod objects;
mod units;

use std::mem::MaybeUninit;
use std::ops::Range;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::string::PyStringData;
use pyo3::types::{PyCapsule, PyString};
use tokenmill_core::engine::CodeUnits;
use tokenmill_core::error::{Error, Result};
use tokenmill_kernels::{Ahead, CodeUnit, Width, append_code_units, fill_code_units, guess_length, measure};
use tokenmill_kernels::{ArrowArray, ArrowSchema, ColumnError, OutOfMemory, StringColumn, pages, try_alloc};

use crate::errors::{out_of_memory, raise, wrong_type};

pub(crate) use self::lists::{ids_in_list, list_of_ids, lists_of_ids};
pub(crate) use self::numbers::numbers;
use self::units::units;

/// What to do with surrogates, which have no UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surrogates {
    /// A pair becomes the character it means, a lone one U+FFFD.
    Replace,
    /// Report the first.
    Refuse,
}

/// A Python string as UTF-8.
pub(crate) enum Utf8<'a> {
    /// All ASCII: the string's own bytes.
    Borrowed(&'a str),
    /// A copy; `pairs` has the character positions (in the copy) of joined surrogate pairs.
    Copied { text: String, pairs: Vec<usize> },
    /// There is a surrogate at this character, and they are refused.
    Refused(usize),
}

/// Reads a string without leaving a UTF-8 copy behind in it. Ctrl-C is heard while a long one is copied.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>, surrogates: Surrogates) -> PyResult<Utf8<'a>> {
    // SAFETY: the string is kept alive by the borrow, strings are immutable, and the slices are
    // only read while the borrow lasts; that is what `data` asks for.
    let data = unsafe { text.data()? };
    match data {
        PyStringData::Ucs1(units) if is_ascii(text, units) => {
            // SAFETY: what is all ASCII is UTF-8, and `is_ascii` says why it is.
            Ok(Utf8::Borrowed(unsafe { str::from_utf8_unchecked(units) }))
        }
        PyStringData::Ucs1(units) => transcode(text.py(), units, surrogates),
        PyStringData::Ucs2(units) => transcode(text.py(), units, surrogates),
        PyStringData::Ucs4(units) => transcode(text.py(), units, surrogates),
    }
}

/// Is a string with these code units all ASCII? CPython knows, and where they stand tells: those of an ASCII string right
/// behind its `PyASCIIObject`, those of other strings behind the larger `PyCompactUnicodeObject`, or, of subclasses and of
/// strings made in the old way, in memory of their own, which is not inside the object.
#[inline]
fn is_ascii(text: &Bound<'_, PyString>, units: &[u8]) -> bool {
    let head = units.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    let is_known = head == size_of::<ffi::PyASCIIObject>();
    debug_assert!(!is_known || units.is_ascii(), "a string with the head of one that is all ASCII");
    is_known || units.is_ascii()
}

/// A string of fewer code units is taken to have as many bytes as it can have: a closer look takes longer than the room
/// costs.
const GUESSED_FROM: usize = 1 << 16;

/// The code units of a string that is not all ASCII, and what surrogates among them become.
pub(crate) struct WideUnits<'a> {
    units: Units<'a>,
    surrogates: Surrogates,
}

/// Code units in their own width.
enum Units<'a> {
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

/// Those of a string; `None` where it is all ASCII.
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
    /// All of them, and which of the characters are joined surrogate pairs.
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

    fn ahead(&self, from: usize) -> Ahead {
        match self.units {
            Units::One(units) => Ahead::of(&units[from..]),
            Units::Two(units) => Ahead::of(&units[from..]),
            Units::Four(units) => Ahead::of(&units[from..]),
        }
    }
}

/// Signals are looked for after so many code units: some milliseconds of copying.
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

/// Appends code units from `at` up to `end`, and the second of a pair behind it; `false` where the one at
/// `at` is a surrogate and refused. `pairs` gets the character positions of joined pairs.
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
        // For a character.
        try_alloc::reserve_text(text, char::MAX.len_utf8())?;
        let low = units.get(*at + 1).map(|&low| low.into()).filter(|low| (0xdc00..0xe000).contains(low));
        if let (high @ 0xd800..0xdc00, Some(low)) = (surrogate.into(), low) {
            // Each pair before this one was two units and is one character.
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

/// A new string, of text that is known to be UTF-8.
pub(crate) fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // Python shares the strings of one character.
    if text.len() <= 2 {
        return Ok(PyString::new(py, text));
    }
    let (characters, width) = measure(text);
    let largest = match width {
        Width::Ascii => 0x7f,
        Width::One => 0xff,
        Width::Two => 0xffff,
        Width::Four => 0x10_ffff,
    };
    let length = characters as ffi::Py_ssize_t;
    // SAFETY: a new reference, or null with an error set.
    let string = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(length, largest))? };
    // SAFETY: a new string of more than one character, which nobody else has seen, with room for so
    // many units of the width that `largest` asks for; all of them are written.
    let written = unsafe {
        let data = ffi::PyUnicode_DATA(string.as_ptr());
        match width {
            Width::Ascii | Width::One => fill(text, units::<u8>(data, characters)),
            Width::Two => fill(text, units::<u16>(data, characters)),
            Width::Four => fill(text, units::<u32>(data, characters)),
        }
    };
    debug_assert_eq!(written, characters);
    Ok(string.cast_into()?)
}

/// Writes a text in code units, and brings their pages meanwhile; says how many units these are.
fn fill<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let (mut rest, mut written) = (text, 0);
    while !rest.is_empty() {
        // A byte has one unit at most.
        let mut length = rest.len().min(pages::PART / size_of::<U>());
        while !rest.is_char_boundary(length) {
            length -= 1;
        }
        let (part, behind) = rest.split_at(length);
        pages::bring(&mut units[written..]);
        written += fill_code_units(part, &mut units[written..]);
        rest = behind;
    }
    written
}

/// A new string of so many ASCII bytes, which `fill` writes; they are zero before.
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
    // SAFETY: a new string, which nobody else has seen, has room for so many bytes; zeros make them
    // initialised.
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

/// The column of strings that an object hands over by Arrow's C data interface, if it has one.
pub(crate) fn string_column(object: &Bound<'_, PyAny>) -> PyResult<Option<StringColumn>> {
    let Some(export) = object.getattr_opt("__arrow_c_array__")? else { return Ok(None) };
    let pair = export.call0()?;
    let Ok((schema, array)) = pair.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>() else {
        let expected = "the capsules of a schema and of an array";
        return Err(wrong_type("what texts.__arrow_c_array__() gives", expected, &pair));
    };
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<ArrowArray>();
    // SAFETY: capsules of these names hold these structures, as the interface asks for, and both live to
    // the end of this function. Only the caller had them.
    match unsafe { StringColumn::take(schema.as_ptr(), array.as_ptr()) } {
        Ok(column) => Ok(Some(column)),
        Err(error) => Err(column_error("texts", error)),
    }
}

/// What is wrong with a column, or with a row of it.
pub(crate) fn column_error(name: &str, error: ColumnError) -> PyErr {
    match error {
        ColumnError::Type(found) => PyTypeError::new_err(format!(
            "{name} is an Arrow array of type {found:?} (its format), but must be of string, large_string or \
             string_view; cast it, or pass a list of texts"
        )),
        ColumnError::Released => PyValueError::new_err(format!("{name} is an Arrow array that was released")),
        ColumnError::Broken(reason) => {
            PyValueError::new_err(format!("{name} is no sound Arrow array: {reason}"))
        }
    }
}
