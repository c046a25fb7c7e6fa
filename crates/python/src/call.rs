//! The common frame of calls that take text: reads the arguments, runs the work, and gives errors
//! their position.
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tokenmill_core::engine::{
    CharactersOfRow, CodeUnits, Engine, Recognizer, Source, Special, Text, UntrustedOfRow, UntrustedRanges,
    to_characters,
};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::span::Span;
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use crate::argument_place::{ArgumentPlace, Naming};
use crate::argument_values::{self, Given, look};
use crate::buffer::{Surrogates, WideUnits, wide_units};
use crate::columns::Columns;
use crate::exceptions::{gather, out_of_memory};
use crate::text::PyText;
use crate::untrusted::{Length, Trust, TrustArguments, ranges_of_characters};
use crate::watch::run;

/// The arguments that all of these calls share.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) special: Special,
    pub(crate) surrogates: Surrogates,
    pub(crate) threads: usize,
}

impl Options {
    /// Reads the arguments from Python, once: literals of special tokens may come from an iterator.
    pub(crate) fn new(
        special: Option<&Bound<'_, PyAny>>,
        surrogates: &str,
        num_threads: &Given<'_>,
    ) -> PyResult<Self> {
        Ok(Self {
            special: argument_values::special(special)?,
            threads: argument_values::threads(num_threads, Error::argument::<String>)?,
            surrogates: argument_values::surrogates(surrogates)?,
        })
    }
}

/// Runs `work(text, special, threads, watch)` on one text.
pub(crate) fn with_text<'a, T: Send>(
    text: &'a Bound<'_, PyAny>,
    options: &Options,
    work: impl FnOnce(Text<'_>, &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<(T, PyText<'a>)> {
    let py_text = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
    let text_of = py_text.as_text();
    let result = run(text.py(), text_of.as_bytes().len(), |watch| {
        work(text_of, &options.special, options.threads, watch).map_err(|error| py_text.locate(error))
    })?;
    Ok((result, py_text))
}

/// Runs `work(text, recognizer, untrusted, watch)` on one text with untrusted parts. Returns `None` without
/// `untrusted=`.
pub(crate) fn with_untrusted<T: Send>(
    text: &Bound<'_, PyAny>,
    options: &Options,
    (engine, trust_arguments): (&Engine, TrustArguments<'_, '_>),
    work: impl FnOnce(Text<'_>, &Recognizer<'_>, &UntrustedRanges, &dyn Watch) -> Result<T> + Send,
) -> PyResult<Option<T>> {
    if trust_arguments.is_empty() {
        return Ok(None);
    }
    let py_text = PyText::new(text, options.surrogates, ArgumentPlace::TEXT)?;
    let Some(trust) = trust_arguments.for_text(engine, py_text.length(text)?)? else { return Ok(None) };
    let text_of = py_text.as_text();
    let result = run(text.py(), text_of.as_bytes().len(), |watch| {
        let untrusted = py_text.untrusted(trust.pairs(0), watch)?;
        trust.with_recognizers(engine, &options.special, |recognizers| {
            work(text_of, recognizers[0], &untrusted, watch).map_err(|error| py_text.locate(error))
        })
    })?;
    Ok(Some(result))
}

/// Strings with fewer characters are copied as a whole.
const LONG: usize = 1 << 17;

/// Runs `work(units, threads, watch)` on a long string that is not ASCII. Its parts are converted
/// on demand, so the whole is never copied. `None` if the text must be converted as a whole.
pub(crate) fn in_blocks<T: Send>(
    text: &Bound<'_, PyAny>,
    options: &Options,
    engine: &Engine,
    work: impl FnOnce(&dyn CodeUnits, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<Option<T>> {
    let py = text.py();
    let Ok(string) = text.cast::<PyString>() else { return Ok(None) };
    if string.len()? < LONG || !engine.takes_blocks(&options.special) {
        return Ok(None);
    }
    let Some(units) = wide_units(string, options.surrogates)? else { return Ok(None) };
    match run(py, units.len(), |watch| work(&units, options.threads, watch)) {
        Ok(result) => Ok(Some(result)),
        // The conversion of the whole text produces the same error, with its position.
        Err(error) if error.is_instance_of::<PyValueError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The texts of a batch: Python objects, or a column, which may be cut into several arrays.
enum Texts<'a> {
    Objects(Vec<Row<'a>>),
    Columns(&'a Columns),
}

/// The text of a Python object.
enum Row<'a> {
    Read(PyText<'a>),
    /// A string that is converted on demand.
    Unread(WideUnits<'a>),
}

impl<'a> Row<'a> {
    fn new(object: &'a Bound<'_, PyAny>, surrogates: Surrogates, place: ArgumentPlace) -> PyResult<Self> {
        // If surrogates are refused, the string is converted at once, so that the error has its position.
        if surrogates == Surrogates::Replace
            && let Ok(string) = object.cast::<PyString>()
            && let Some(units) = wide_units(string, surrogates)?
        {
            return Ok(Self::Unread(units));
        }
        Ok(Self::Read(PyText::new(object, surrogates, place)?))
    }

    fn source(&self) -> Source<'_> {
        match self {
            Self::Read(text) => Source::Text(text.as_text()),
            Self::Unread(units) => Source::Units(units),
        }
    }

    fn locate(&self, error: Error) -> Error {
        match self {
            Self::Read(text) => text.locate(error),
            Self::Unread(units) => {
                // If the string cannot be converted, the position stays one in its UTF-8.
                match units.text() {
                    Ok((text, pairs)) => PyText::Str { text: text.into(), pairs }.locate(error),
                    Err(_) => error,
                }
            }
        }
    }
}

impl Texts<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Objects(texts) => texts.len(),
            Self::Columns(columns) => columns.len(),
        }
    }

    /// The text of each row; `None` for a null.
    fn rows(&self, py: Python<'_>) -> PyResult<Vec<Option<Source<'_>>>> {
        match self {
            Self::Objects(texts) => gather(texts.iter().map(|text| Ok(Some(text.source())))),
            Self::Columns(columns) => {
                columns.rows(py, |bytes| bytes.map(|bytes| Source::Text(Text::Bytes(bytes))))
            }
        }
    }

    /// The length of a text, for the ranges that are untrusted in it. An Arrow string is measured in characters, as
    /// other strings are.
    fn length(&self, objects: &[Bound<'_, PyAny>], row: usize) -> PyResult<Length> {
        match self {
            Self::Objects(texts) => match &texts[row] {
                Row::Read(text) => text.length(&objects[row]),
                Row::Unread(_) => Ok(Length::Characters(objects[row].len()?)),
            },
            Self::Columns(columns) => {
                let text = column_text(columns, row).map_err(PyValueError::new_err)?;
                Ok(Length::Characters(text.chars().count()))
            }
        }
    }

    /// The untrusted ranges of a row, whose text has been read.
    fn untrusted(
        &self,
        trust: &Trust,
        row: usize,
        text: Text<'_>,
        watch: &dyn Watch,
    ) -> Result<UntrustedRanges> {
        match (trust.pairs(row), self) {
            ([], _) => Ok(UntrustedRanges::default()),
            (pairs, Self::Objects(texts)) => match &texts[row] {
                Row::Read(text) => text.untrusted(pairs, watch),
                Row::Unread(units) => match text {
                    // As many characters as code units, so the string has no surrogate pair.
                    Text::Str(text) if text.chars().count() == units.len() => {
                        ranges_of_characters(text, &[], pairs, watch)
                    }
                    _ => {
                        let (text, joined) = units.text()?;
                        ranges_of_characters(&text, &joined, pairs, watch)
                    }
                },
            },
            (pairs, Self::Columns(columns)) => {
                let text = column_text(columns, row).map_err(Error::argument)?;
                ranges_of_characters(text, &[], pairs, watch)
            }
        }
    }

    /// Turns spans of bytes into spans of characters of the caller's string, for a row whose text has been read.
    fn to_characters(&self, row: usize, text: Text<'_>, spans: &mut [Span], watch: &dyn Watch) -> Result<()> {
        let Self::Objects(texts) = self else { return to_characters(text, spans, watch) };
        match (&texts[row], text) {
            (Row::Read(text), _) => text.to_characters(spans, watch),
            // As many characters as code units, so the string has no surrogate pair.
            (Row::Unread(units), Text::Str(read)) if read.chars().count() == units.len() => {
                to_characters(text, spans, watch)
            }
            (Row::Unread(units), _) => {
                let (text, pairs) = units.text()?;
                PyText::Str { text: text.into(), pairs }.to_characters(spans, watch)
            }
        }
    }

    /// The error of a row, with its position in the caller's text and that of the row in the arguments, which
    /// `places` gives.
    fn locate(&self, error: Error, places: impl Fn(usize) -> ArgumentPlace) -> Error {
        let Some(row) = error.field.first_index() else { return error };
        let error = match self {
            Self::Objects(texts) if row < texts.len() => texts[row].locate(error),
            _ => error,
        };
        places(row).locate(error)
    }
}

/// A text of a column as a string, so that its characters can be counted; empty for a null.
pub(crate) fn column_text(columns: &Columns, row: usize) -> std::result::Result<&str, String> {
    let bytes = columns.get(row).ok().flatten().unwrap_or_default();
    std::str::from_utf8(bytes)
        .map_err(|_| format!("texts[{row}] is not UTF-8, so that it has no characters to mark as untrusted"))
}

/// The position of a row of `texts`.
fn place_in_texts(row: usize) -> ArgumentPlace {
    Naming::Texts.place(row, 0, 1)
}

/// The result for a batch.
pub(crate) struct BatchResult<T> {
    pub(crate) result: T,
    /// For each row, whether it is null; `None` if the batch cannot have nulls.
    pub(crate) nulls: Option<Vec<bool>>,
}

/// Refuses a single text where many are expected: it would be taken for the list of its characters.
pub(crate) fn refuse_one_text(texts: &Bound<'_, PyAny>) -> PyResult<()> {
    if texts.cast::<PyString>().is_ok() || texts.cast::<PyBytes>().is_ok() {
        return Err(PyTypeError::new_err(
            "texts must be an iterable of texts, not one text; wrap it in a list",
        ));
    }
    Ok(())
}

/// Runs `work(texts, special, threads, watch)` on the texts of a batch; a null is `None`.
pub(crate) fn with_texts<T: Send>(
    texts: &Bound<'_, PyAny>,
    options: &Options,
    work: impl FnOnce(&[Option<Source<'_>>], &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<BatchResult<T>> {
    with_read_texts(texts, options, |texts, _| with_read(texts.0, texts.1, options, place_in_texts, work))
}

/// Runs `work(texts, untrusted, recognizers, threads, watch)` on the texts of a batch, of which parts may be
/// untrusted.
pub(crate) fn with_untrusted_texts<T: Send>(
    texts: &Bound<'_, PyAny>,
    options: &Options,
    (engine, trust_arguments): (&Engine, TrustArguments<'_, '_>),
    work: impl FnOnce(
        &[Option<Source<'_>>],
        UntrustedOfRow<'_>,
        &[&Recognizer<'_>],
        usize,
        &dyn Watch,
    ) -> Result<T>
    + Send,
) -> PyResult<BatchResult<T>> {
    with_read_texts(texts, options, |(py, texts), objects| {
        let trust = trust_arguments.for_rows(py, engine, texts.len(), |row| texts.length(objects, row))?;
        with_read(py, texts, options, place_in_texts, |rows, special, threads, watch| match &trust {
            None => {
                let untrusted = |_: usize, _: Text<'_>, _: &dyn Watch| Ok(UntrustedRanges::default());
                work(rows, &untrusted, &[&engine.recognizer(special)?], threads, watch)
            }
            Some(trust) => trust.with_recognizers(engine, special, |recognizers| {
                let untrusted =
                    |row: usize, text: Text<'_>, watch: &dyn Watch| texts.untrusted(trust, row, text, watch);
                work(rows, &untrusted, recognizers, threads, watch)
            }),
        })
    })
}

/// Reads the texts of a batch and passes them to `work` with the objects that they were read from; a column has no
/// objects.
fn with_read_texts<'py, T>(
    texts: &Bound<'py, PyAny>,
    options: &Options,
    work: impl FnOnce((Python<'py>, &Texts<'_>), &[Bound<'py, PyAny>]) -> PyResult<BatchResult<T>>,
) -> PyResult<BatchResult<T>> {
    let py = texts.py();
    refuse_one_text(texts)?;
    if let Some(columns) = Columns::of(texts)? {
        let result = work((py, &Texts::Columns(&columns)), &[]);
        // The release callback is foreign code: it may wait for a thread that needs the interpreter lock.
        py.detach(|| drop(columns));
        return result;
    }
    let objects = gather(argument_values::texts(texts, "texts", "an iterable of texts")?)?;
    let read = read_objects(py, &objects, options, place_in_texts)?;
    work((py, &Texts::Objects(read)), &objects)
}

/// As [`with_texts`], for Python objects; `places` gives their positions in the arguments.
pub(crate) fn with_objects<T: Send>(
    py: Python<'_>,
    texts: &[Bound<'_, PyAny>],
    options: &Options,
    places: impl Fn(usize) -> ArgumentPlace + Sync,
    work: impl FnOnce(&[Option<Source<'_>>], &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let read = read_objects(py, texts, options, &places)?;
    Ok(with_read(py, &Texts::Objects(read), options, &places, work)?.result)
}

/// As [`with_objects`], for texts of a batch. `work` also gets a function that turns spans of a row into spans of
/// characters.
pub(crate) fn with_characters<T: Send>(
    py: Python<'_>,
    texts: &[Bound<'_, PyAny>],
    options: &Options,
    work: impl FnOnce(&[Option<Source<'_>>], CharactersOfRow<'_>, &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let texts = Texts::Objects(read_objects(py, texts, options, place_in_texts)?);
    let done = with_read(py, &texts, options, place_in_texts, |rows, special, threads, watch| {
        let characters = |row: usize, text: Text<'_>, spans: &mut [Span], watch: &dyn Watch| {
            texts.to_characters(row, text, spans, watch)
        };
        work(rows, &characters, special, threads, watch)
    })?;
    Ok(done.result)
}

fn read_objects<'a>(
    py: Python<'_>,
    objects: &'a [Bound<'_, PyAny>],
    options: &Options,
    places: impl Fn(usize) -> ArgumentPlace,
) -> PyResult<Vec<Row<'a>>> {
    let mut read = try_alloc::vec(objects.len()).map_err(out_of_memory)?;
    for (row, object) in objects.iter().enumerate() {
        look(py, row)?;
        read.push(Row::new(object, options.surrogates, places(row))?);
    }
    Ok(read)
}

fn with_read<T: Send>(
    py: Python<'_>,
    texts: &Texts<'_>,
    options: &Options,
    places: impl Fn(usize) -> ArgumentPlace + Sync,
    work: impl FnOnce(&[Option<Source<'_>>], &Special, usize, &dyn Watch) -> Result<T> + Send,
) -> PyResult<BatchResult<T>> {
    let Options { special, threads, .. } = options;
    let rows = texts.rows(py)?;
    // An empty row costs something too.
    let size = rows.iter().flatten().map(Source::size).sum::<usize>() + rows.len();
    let result = run(py, size, |watch| {
        work(&rows, special, *threads, watch).map_err(|error| texts.locate(error, &places))
    })?;
    let may_be_null = matches!(texts, Texts::Columns(_));
    let nulls = may_be_null.then(|| gather(rows.iter().map(|row| Ok(row.is_none())))).transpose()?;
    Ok(BatchResult { result, nulls })
}
