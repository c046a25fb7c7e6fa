//! The code units of Python strings, read where they lie. The only unsafe code of the binding.
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;

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
        PyStringData::Ucs1(units) => match std::str::from_utf8(units) {
            Ok(ascii) if units.is_ascii() => Ok(Utf8::Borrowed(ascii)),
            _ => transcode(text.py(), units, surrogates),
        },
        PyStringData::Ucs2(units) => transcode(text.py(), units, surrogates),
        PyStringData::Ucs4(units) => transcode(text.py(), units, surrogates),
    }
}

/// Signals are looked for after so many code units: some milliseconds of copying.
const SLICE: usize = 1 << 20;

fn transcode<U: Copy + Into<u32>>(
    py: Python<'_>,
    units: &[U],
    surrogates: Surrogates,
) -> PyResult<Utf8<'static>> {
    let mut text = String::with_capacity(units.len() * 2);
    let mut pairs = Vec::new();
    let mut characters = 0;
    let mut at = 0;
    while at < units.len() {
        if characters % SLICE == SLICE - 1 {
            py.check_signals()?;
        }
        let unit: u32 = units[at].into();
        if let Some(char) = char::from_u32(unit) {
            text.push(char);
        } else if surrogates == Surrogates::Refuse {
            return Ok(Utf8::Refused(at));
        } else {
            let low = units.get(at + 1).map(|&low| low.into()).filter(|low| (0xdc00..0xe000).contains(low));
            match (unit, low) {
                (0xd800..0xdc00, Some(low)) => {
                    at += 1;
                    pairs.push(characters);
                    let joined = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    text.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                _ => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        at += 1;
        characters += 1;
    }
    Ok(Utf8::Copied { text, pairs })
}
