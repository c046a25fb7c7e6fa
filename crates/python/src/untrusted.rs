//! `untrusted=` and `protected=`: the parts of a text that must not become certain tokens.
use std::collections::HashMap;
use tokenmill_kernels::sorting;

use pyo3::buffer::{Element, PyUntypedBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use tokenmill_core::engine::{Engine, Recognizer, Special, UntrustedRanges, byte_spans};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::ids::TokenId;
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use crate::argument_values::{self, look};
use crate::buffer::numbers;
use crate::exceptions::{gather, out_of_memory, raise, wrong_type};

/// The two arguments as Python gave them.
#[derive(Clone, Copy)]
pub(crate) struct TrustArguments<'a, 'py> {
    untrusted: Option<&'a Bound<'py, PyAny>>,
    protected: Option<&'a Bound<'py, PyAny>>,
}

/// A pair (start, stop), in the unit of its text.
type Pair = (usize, usize);

/// The untrusted pairs and the protected tokens of each text of a call.
pub(crate) struct Trust {
    /// The pairs of all rows, concatenated.
    pairs: Vec<Pair>,
    /// The end of the pairs of each row.
    ends: Vec<usize>,
    /// Sets of protected tokens: a single one for all rows, or several that `set_of_row` refers to.
    protected: Vec<Vec<TokenId>>,
    set_of_row: Option<Vec<usize>>,
}

/// The length of a text, with its unit.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    Characters(usize),
    Bytes(usize),
}

impl<'a, 'py> TrustArguments<'a, 'py> {
    pub(crate) fn new(
        untrusted: Option<&'a Bound<'py, PyAny>>,
        protected: Option<&'a Bound<'py, PyAny>>,
    ) -> Self {
        Self { untrusted, protected }
    }

    /// Were both arguments left out?
    pub(crate) fn is_empty(self) -> bool {
        self.untrusted.is_none() && self.protected.is_none()
    }

    /// Was `untrusted=` given?
    pub(crate) fn has_untrusted(self) -> bool {
        self.untrusted.is_some()
    }

    /// Reads the arguments for one text. Returns `None` if nothing is untrusted: then nothing is protected either.
    pub(crate) fn for_text(self, engine: &Engine, length: Length) -> PyResult<Option<Trust>> {
        let protected = self.protected.map(|given| protected_set(given, "protected", engine)).transpose()?;
        let Some(given) = self.untrusted else { return Ok(None) };
        let mut all = Vec::new();
        read_pairs(given, length, || "untrusted".to_owned(), &mut all)?;
        if all.is_empty() {
            return Ok(None);
        }
        let (ends, protected) = (vec![all.len()], vec![protected.unwrap_or_default()]);
        Ok(Some(Trust { pairs: all, ends, protected, set_of_row: None }))
    }

    /// Reads the arguments for a batch of this many texts; `length` returns the length of a text. Returns `None` as
    /// [`Self::for_text`] does.
    pub(crate) fn for_rows(
        self,
        py: Python<'py>,
        engine: &Engine,
        rows: usize,
        length: impl Fn(usize) -> PyResult<Length>,
    ) -> PyResult<Option<Trust>> {
        let (protected, set_of_row) = match self.protected {
            Some(given) => protected_rows(given, engine, rows)?,
            None => (vec![Vec::new()], None),
        };
        let Some(given) = self.untrusted else { return Ok(None) };
        let given = argument_values::sequence(given, "untrusted", "rows, each a sequence of pairs or None")?;
        check_rows("untrusted", given.len(), rows)?;
        let mut pairs = Vec::new();
        let mut ends = try_alloc::vec(rows).map_err(out_of_memory)?;
        for (row, given) in given.iter().enumerate() {
            look(py, row)?;
            // `length` may have to count characters, so it is called only if needed.
            let is_empty = given.is_none() || given.cast_exact::<PyList>().is_ok_and(PyListMethods::is_empty);
            if !is_empty {
                read_pairs(given, length(row)?, || format!("untrusted[{row}]"), &mut pairs)?;
            }
            ends.push(pairs.len());
        }
        Ok((!pairs.is_empty()).then_some(Trust { pairs, ends, protected, set_of_row }))
    }
}

impl Trust {
    /// The pairs of a row.
    pub(crate) fn pairs(&self, row: usize) -> &[Pair] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pairs[start..self.ends[row]]
    }

    /// Runs `work` with the recognizers for the rows: one for all of them, or one for each.
    pub(crate) fn with_recognizers<T>(
        &self,
        engine: &Engine,
        special: &Special,
        work: impl FnOnce(&[&Recognizer<'_>]) -> Result<T>,
    ) -> Result<T> {
        let recognizer = engine.recognizer(special)?;
        let sets: Vec<Recognizer<'_>> =
            try_alloc::collect(self.protected.iter().map(|ids| recognizer.protecting(ids)))?;
        let of_rows: Vec<&Recognizer<'_>> = match &self.set_of_row {
            None => sets.iter().collect(),
            Some(set_of_row) => try_alloc::collect(set_of_row.iter().map(|&set| Result::Ok(&sets[set])))?,
        };
        work(&of_rows)
    }
}

/// The byte ranges of pairs of characters. `joined` has the characters that are surrogate pairs, which are two
/// characters in the caller's string; if one of the two is untrusted, the whole pair is.
pub(crate) fn ranges_of_characters(
    text: &str,
    joined: &[usize],
    pairs: &[Pair],
    watch: &dyn Watch,
) -> Result<UntrustedRanges> {
    if text.is_ascii() {
        return ranges_of_bytes(pairs);
    }
    // Where each surrogate pair starts in the caller's string, in which every earlier pair is two characters.
    let starts: Vec<usize> =
        try_alloc::collect(joined.iter().enumerate().map(|(before, &at)| Result::Ok(at + before)))?;
    let place = |at: usize| {
        let before = starts.partition_point(|&start| start < at);
        let is_inside = before > 0 && starts[before - 1] + 1 == at;
        (at - before, usize::from(is_inside))
    };
    let characters = pairs.iter().filter(|(start, stop)| start < stop).map(|&(start, stop)| {
        let (stop, inside) = place(stop);
        Span::new(place(start).0, stop + inside)
    });
    let characters = UntrustedRanges::new(characters)?;
    let offsets: Vec<Pair> =
        try_alloc::collect(characters.iter().map(|span| Result::Ok((span.start, span.end))))?;
    UntrustedRanges::new(byte_spans(text, &offsets, watch)?)
}

/// The ranges of pairs of bytes.
pub(crate) fn ranges_of_bytes(pairs: &[Pair]) -> Result<UntrustedRanges> {
    UntrustedRanges::new(pairs.iter().map(|&(start, stop)| Span::new(start, stop)))
}

/// Lists up to this length are read without checks for signals.
const SHORT: usize = 1 << 16;

/// Reads the pairs of one text and appends them to `pairs`.
fn read_pairs(
    given: &Bound<'_, PyAny>,
    length: Length,
    name: impl FnOnce() -> String,
    all: &mut Vec<Pair>,
) -> PyResult<()> {
    let before = all.len();
    if read_plain_pairs(given, length, all).is_some() {
        return Ok(());
    }
    all.truncate(before);
    let name = name();
    let pairs = checked(pairs(given, &name)?, length, &name)?;
    try_alloc::extend(all, &pairs).map_err(out_of_memory)
}

/// Reads a list of tuples that lie within the text, as nearly all lists are. Returns `None` for anything else,
/// which [`pairs`] reads in five times as long.
fn read_plain_pairs(given: &Bound<'_, PyAny>, length: Length, pairs: &mut Vec<Pair>) -> Option<()> {
    let (Length::Characters(length) | Length::Bytes(length)) = length;
    let list = given.cast_exact::<PyList>().ok().filter(|list| list.len() <= SHORT)?;
    for item in list.iter() {
        let pair = item.cast_exact::<PyTuple>().ok().filter(|pair| pair.len() == 2)?;
        let side = |side: usize| {
            let item = pair.get_borrowed_item(side).ok()?;
            let number = item.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
            usize::try_from(number).ok().filter(|&at| at <= length)
        };
        let (start, stop) = (side(0)?, side(1)?);
        if start > stop {
            return None;
        }
        try_alloc::push(pairs, (start, stop)).ok()?;
    }
    Some(())
}

/// Reads pairs of integers, from a sequence of pairs or an array of two columns.
fn pairs(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<(i128, i128)>> {
    if let Ok(buffer) = PyUntypedBuffer::get(given)
        && buffer.dimensions() == 2
        && let Some(pairs) = pairs_in_buffer(given.py(), &buffer, name)
    {
        return pairs;
    }
    let items = argument_values::sequence(given, name, "pairs (start, stop)")?;
    let pair = |(i, item): (usize, &Bound<'_, PyAny>)| {
        look(given.py(), i)?;
        let number = |item: &Bound<'_, PyAny>, side: usize| {
            argument_values::number(item, || format!("{name}[{i}][{side}]"))
        };
        if let Ok(tuple) = item.cast::<PyTuple>()
            && tuple.len() == 2
        {
            return Ok((number(&tuple.get_item(0)?, 0)?, number(&tuple.get_item(1)?, 1)?));
        }
        let name = format!("{name}[{i}]");
        let is_pair = item.cast::<PyString>().is_err() && item.hasattr("__getitem__")?;
        if !is_pair {
            return Err(wrong_type(&name, "a pair (start, stop)", item));
        }
        match argument_values::sequence(item, &name, "two integers")?.as_slice() {
            [start, stop] => Ok((number(start, 0)?, number(stop, 1)?)),
            other => {
                let reason = format!("{name} must be a pair (start, stop), but has {} items", other.len());
                Err(PyValueError::new_err(reason))
            }
        }
    };
    gather(items.iter().enumerate().map(pair))
}

/// The pairs in an array; `None` if it must be read item by item.
fn pairs_in_buffer(
    py: Python<'_>,
    buffer: &PyUntypedBuffer,
    name: &str,
) -> Option<PyResult<Vec<(i128, i128)>>> {
    let foreign = if cfg!(target_endian = "little") { [b'>', b'!'] } else { [b'<', b'<'] };
    if buffer.format().to_bytes().first().is_some_and(|first| foreign.contains(first)) {
        return None;
    }
    if buffer.shape()[1] != 2 {
        let reason = format!("{name} must have the shape (n, 2), but has {:?}", buffer.shape());
        return Some(Err(PyValueError::new_err(reason)));
    }
    pairs_of_type::<i64>(py, buffer)
        .or_else(|| pairs_of_type::<i32>(py, buffer))
        .or_else(|| pairs_of_type::<u64>(py, buffer))
        .or_else(|| pairs_of_type::<u32>(py, buffer))
}

fn pairs_of_type<T>(py: Python<'_>, buffer: &PyUntypedBuffer) -> Option<PyResult<Vec<(i128, i128)>>>
where
    T: Element + Copy + Default + Into<i128>,
{
    let values = numbers(py, buffer.as_typed::<T>().ok()?);
    Some(
        values.and_then(|values| {
            gather(values.chunks_exact(2).map(|pair| Ok((pair[0].into(), pair[1].into()))))
        }),
    )
}

/// Refuses pairs that do not lie within the text.
fn checked(pairs: Vec<(i128, i128)>, length: Length, name: &str) -> PyResult<Vec<Pair>> {
    let (length, unit) = match length {
        Length::Characters(length) => (length, "characters"),
        Length::Bytes(length) => (length, "bytes"),
    };
    let within = |at: i128| usize::try_from(at).ok().filter(|&at| at <= length);
    let pair = |(i, (start, stop)): (usize, (i128, i128))| match (within(start), within(stop)) {
        (Some(from), Some(to)) if from <= to => Ok((from, to)),
        (Some(_), Some(_)) => {
            let reason = format!("{name}[{i}] is ({start}, {stop}): it starts after it stops");
            Err(PyValueError::new_err(reason))
        }
        _ => Err(PyValueError::new_err(format!(
            "{name}[{i}] is ({start}, {stop}), which is not in the text: it has {length} {unit}"
        ))),
    };
    gather(pairs.into_iter().enumerate().map(pair))
}

fn check_rows(name: &str, given: usize, rows: usize) -> PyResult<()> {
    if given == rows {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name} has {given} rows for {rows} texts; pass one for each text")))
}

const NOT_ADDED: &str = "only added tokens of this tokenizer can be protected";

/// A collection of added tokens, by literal or id; for a dict such as `special_tokens`, its keys.
fn protected_set(given: &Bound<'_, PyAny>, name: &str, engine: &Engine) -> PyResult<Vec<TokenId>> {
    let expected = "a collection of str and int";
    if given.cast::<PyString>().is_ok() {
        return Err(wrong_type(name, expected, given));
    }
    protected_items(argument_values::items(given, name, expected)?, name, engine)
}

fn protected_items<'py>(
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    name: &str,
    engine: &Engine,
) -> PyResult<Vec<TokenId>> {
    let id = |(i, item): (usize, PyResult<Bound<'py, PyAny>>)| {
        let item = item?;
        let py = item.py();
        look(py, i)?;
        let Ok(content) = item.cast::<PyString>() else {
            let id = argument_values::token_id(&item, || format!("{name}[{i}]"))?;
            if engine.vocabulary().added_by_id(id).is_none() {
                return Err(raise(py, Error::vocabulary(Some(id.into()), NOT_ADDED)));
            }
            return Ok(id);
        };
        let content = content.to_cow()?;
        match engine.vocabulary().added_by_content(&content) {
            Some(token) => Ok(token.id),
            None => Err(raise(py, Error::special(content, NOT_ADDED))),
        }
    };
    gather(items.enumerate().map(id))
}

/// Sets of protected tokens, and the index of each row's set; `None` if there is one set for all rows.
type ProtectedRows = (Vec<Vec<TokenId>>, Option<Vec<usize>>);

/// Reads one collection for all rows, or one for each row.
fn protected_rows(given: &Bound<'_, PyAny>, engine: &Engine, rows: usize) -> PyResult<ProtectedRows> {
    const NAME: &str = "protected";
    let expected = "a collection of str and int, or one for each text";
    if given.cast::<PyString>().is_ok() {
        return Err(wrong_type(NAME, expected, given));
    }
    let items = gather(argument_values::items(given, NAME, expected)?)?;
    let is_token = |item: &Bound<'_, PyAny>| {
        item.cast::<PyString>().is_ok() || (!item.is_none() && item.try_iter().is_err())
    };
    if items.iter().all(is_token) && !(items.is_empty() && rows == 0) {
        return Ok((vec![protected_items(items.into_iter().map(Ok), NAME, engine)?], None));
    }
    check_rows(NAME, items.len(), rows)?;
    let (mut sets, mut known) = (Vec::new(), HashMap::new());
    let mut row = |(row, item): (usize, &Bound<'_, PyAny>)| {
        look(given.py(), row)?;
        let mut ids =
            if item.is_none() { Vec::new() } else { protected_set(item, &format!("{NAME}[{row}]"), engine)? };
        sorting::sort(&mut ids);
        Ok(*known.entry(ids).or_insert_with_key(|ids| {
            sets.push(ids.clone());
            sets.len() - 1
        }))
    };
    let set_of_row = gather(items.iter().enumerate().map(&mut row))?;
    Ok((sets, Some(set_of_row)))
}
