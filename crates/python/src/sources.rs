//! Sources of documents, as `tokenmill.sources` names them: files that are read here, and files that Python opens.
//!
//! What Python opens is read block by block, and only then with the interpreter lock.
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use tokenmill_core::error::{Error, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};
use tokenmill_io::corpus::{
    CorpusReader, CorpusReport, Documents, Errors, JsonField, json_rows, open, refuse_pipes_given_twice,
};
use tokenmill_kernels::{ColumnError, Field as ArrowField, StringColumn};

use crate::buffer::{self, Imported};
use crate::exceptions::{gather, raise, wrong_type};
use crate::hooks::raised;
use crate::watch::run_long;

/// A function that takes documents.
pub(crate) type Feed<'a> = dyn FnMut(&[&str], &dyn Watch) -> Result<()> + Send + 'a;

/// Files, in the order in which they are read.
pub(crate) struct Sources {
    files: Vec<Source>,
    /// The bytes of all of them as they are stored; 0 if that is not known.
    size: u64,
}

enum Source {
    Text(PathBuf),
    JsonLines(PathBuf, JsonField),
    /// An object that opens it.
    Opener(Py<PyAny>),
}

impl Sources {
    /// What `tokenmill.sources.expand` gave.
    pub(crate) fn new(list: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = list.py();
        let mut size = Some(0_u64);
        let mut more =
            |file: Option<u64>| size = size.zip(file).map(|(size, file)| size.saturating_add(file));
        let files = gather(list.try_iter()?.map(|item| {
            let item = item?;
            if item.cast::<PyString>().is_ok() {
                let path: PathBuf = item.extract()?;
                more(stored(&path));
                return Ok(Source::Text(path));
            }
            if let Ok(pair) = item.cast::<PyTuple>() {
                let (path, field): (PathBuf, String) = pair.extract()?;
                more(stored(&path));
                let field = JsonField::new(&field).map_err(|error| raise(py, error))?;
                return Ok(Source::JsonLines(path, field));
            }
            more(Some(item.getattr("size")?.extract()?).filter(|&bytes| bytes > 0));
            Ok(Source::Opener(item.unbind()))
        }))?;
        Ok(Self { files, size: size.unwrap_or(0) })
    }

    /// Reads all documents and passes them to `feed` in batches. Progress within the phase `count` is told as bytes of the
    /// files.
    ///
    /// # Errors
    /// As [`CorpusReader`]; exceptions of Python, unchanged; a training error for lines asked of a file of rows.
    pub(crate) fn read(
        &self,
        documents: Documents,
        errors: Errors,
        feed: &mut Feed<'_>,
        watch: &dyn Watch,
    ) -> Result<CorpusReport> {
        let paths: Vec<PathBuf> = self.files.iter().filter_map(Source::path).map(Path::to_owned).collect();
        refuse_pipes_given_twice(&paths)?;
        let following = Following::new(watch, self.size);
        let mut feed = |batch: &[&str]| {
            following.begin(batch);
            feed(batch, &following)?;
            following.end();
            Ok(())
        };
        let mut reader = CorpusReader::new(errors, &mut feed, watch)?;
        for file in &self.files {
            match file {
                Source::Text(path) => {
                    reader.begin(Some(path));
                    reader.text(&mut Counted(open(path, watch)?, &following), documents)?;
                }
                Source::JsonLines(path, field) => {
                    reader.begin(Some(path));
                    refuse_lines(documents).map_err(|error| error.in_file(path))?;
                    reader.json_lines(&mut Counted(open(path, watch)?, &following), field)?;
                }
                Source::Opener(opener) => {
                    let opened = Opened::new(opener)?;
                    opened.read(&mut reader, documents, &following)?;
                }
            }
        }
        reader.finish()
    }
}

impl Source {
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Text(path) | Self::JsonLines(path, _) => Some(path),
            Self::Opener(_) => None,
        }
    }
}

/// The size of a file; `None` for what has none, such as a pipe.
fn stored(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len())
}

/// Each row is a document, so that lines cannot be.
fn refuse_lines(documents: Documents) -> Result<()> {
    if documents == Documents::Lines {
        let reason = "documents=\"lines\" is for text; each row of this file is a document, so leave it out";
        return Err(Error::training(reason));
    }
    Ok(())
}

/// Calls Python; an exception passes through the core unchanged.
fn python<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    Python::attach(|py| call(py).map_err(|error| raised(py, error)))
}

/// The phase of training in which texts are read.
const COUNT: &str = "count";

/// What is read of all files, and a watch that tells it as the progress of counting.
struct Following<'a> {
    watch: &'a dyn Watch,
    /// Bytes of all files.
    total: u64,
    /// Bytes of the files that were read.
    read: AtomicU64,
    /// The same when the last batch ended.
    before: AtomicU64,
    /// Bytes of text in the batches before this one, and in this one.
    counted: AtomicU64,
    batch: AtomicU64,
}

impl<'a> Following<'a> {
    fn new(watch: &'a dyn Watch, total: u64) -> Self {
        let zero = || AtomicU64::new(0);
        Self { watch, total, read: zero(), before: zero(), counted: zero(), batch: zero() }
    }

    fn begin(&self, batch: &[&str]) {
        self.batch.store(batch.iter().map(|text| text.len() as u64).sum(), Relaxed);
    }

    fn end(&self) {
        self.counted.fetch_add(self.batch.load(Relaxed), Relaxed);
        let read = self.read.load(Relaxed);
        self.before.store(read, Relaxed);
        self.tell(read);
    }

    fn tell(&self, read: u64) {
        let done = if self.total == 0 { read } else { read.min(self.total) };
        self.watch.progress(COUNT, done, self.total);
    }
}

impl Watch for Following<'_> {
    fn poll(&self) -> Result<()> {
        self.watch.poll()
    }

    fn progress(&self, phase: &'static str, done: u64, total: u64) {
        if phase != COUNT {
            return self.watch.progress(phase, done, total);
        }
        // The share of the batch that is done is that of what was read for it.
        let (before, read) = (self.before.load(Relaxed), self.read.load(Relaxed));
        let batch = self.batch.load(Relaxed).max(1);
        let done = done.saturating_sub(self.counted.load(Relaxed)).min(batch);
        let share = u128::from(read.saturating_sub(before)) * u128::from(done) / u128::from(batch);
        self.tell(before + u64::try_from(share).unwrap_or(0));
    }
}

/// A file that counts what is read of it.
struct Counted<'a>(Box<dyn Read + 'a>, &'a Following<'a>);

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.read.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// A file that Python opened. It is closed when this is dropped.
struct Opened {
    name: PathBuf,
    size: u64,
    object: Py<PyAny>,
}

impl Opened {
    fn new(opener: &Py<PyAny>) -> Result<Self> {
        python(|py| {
            let opener = opener.bind(py);
            let (name, size) = (opener.getattr("name")?.extract()?, opener.getattr("size")?.extract()?);
            Ok(Self { name, size, object: opener.call_method0("open")?.unbind() })
        })
    }

    fn read(
        &self,
        reader: &mut CorpusReader<'_>,
        documents: Documents,
        following: &Following<'_>,
    ) -> Result<()> {
        reader.begin(Some(&self.name));
        let (form, field) = python(|py| {
            let object = self.object.bind(py);
            Ok((object.getattr("form")?.extract::<String>()?, object.getattr("field")?.extract::<String>()?))
        })?;
        if form != "text" {
            refuse_lines(documents).map_err(|error| error.in_file(&self.name))?;
        }
        let base = following.read.load(Relaxed);
        let mut stream = Stream { object: &self.object, following, base };
        match form.as_str() {
            "rows" => {
                let batches =
                    python(|py| Ok(self.object.bind(py).call_method0("batches")?.try_iter()?.unbind()))?;
                let mut next = || {
                    let column = python(|py| match batches.bind(py).clone().next() {
                        Some(batch) => self.column(&batch?).map(Some),
                        None => Ok(None),
                    })?;
                    stream.follow()?;
                    Ok(column)
                };
                read_rows(&mut next, reader, following.watch)?;
            }
            "jsonl" => reader.json_lines(&mut stream, &JsonField::new(&field)?)?,
            _ => reader.text(&mut stream, documents)?,
        }
        // Of a table not every byte is read.
        following.read.fetch_max(base.saturating_add(self.size), Relaxed);
        Ok(())
    }

    fn column(&self, batch: &Bound<'_, PyAny>) -> PyResult<StringColumn> {
        let name = self.name.display().to_string();
        match buffer::imported(batch, &name)? {
            Some(Imported::Array(array)) => {
                StringColumn::new(&array).map_err(|error| buffer::column_error(&name, error))
            }
            _ => Err(wrong_type(&name, "an Arrow array", batch)),
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        Python::attach(|py| {
            if let Err(error) = self.object.bind(py).call_method0("close") {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Bytes that Python reads.
struct Stream<'a> {
    object: &'a Py<PyAny>,
    following: &'a Following<'a>,
    /// Bytes of the files before this one.
    base: u64,
}

impl Stream<'_> {
    /// Takes over how far the file was read.
    fn follow(&self) -> Result<()> {
        let position: u64 = python(|py| self.object.bind(py).getattr("position")?.extract())?;
        self.following.read.fetch_max(self.base.saturating_add(position), Relaxed);
        Ok(())
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = python(|py| {
            let given = self.object.bind(py).call_method1("read", (buffer.len(),))?;
            let Ok(bytes) = given.cast::<PyBytes>() else {
                return Err(wrong_type("what read() gives", "bytes", &given));
            };
            let bytes = bytes.as_bytes();
            let Some(place) = buffer.get_mut(..bytes.len()) else {
                let reason = format!("{} bytes were read where {} were asked for", bytes.len(), buffer.len());
                return Err(raise(py, Error::internal(reason)));
            };
            place.copy_from_slice(bytes);
            Ok(bytes.len())
        });
        let read = read.and_then(|n| self.follow().map(|()| n));
        read.map_err(io::Error::other)
    }
}

/// Passes the rows of Arrow arrays on, those that are not null. The watch is polled before each array.
fn read_rows(
    next: &mut dyn FnMut() -> Result<Option<StringColumn>>,
    reader: &mut CorpusReader<'_>,
    watch: &dyn Watch,
) -> Result<()> {
    let mut ticker = Ticker::new(watch);
    let mut row = 0_u64;
    loop {
        watch.poll()?;
        let Some(column) = next()? else { return Ok(()) };
        for index in 0..column.len() {
            row += 1;
            let text = column.get(index).map_err(|error| unsound(TEXTS, error))?;
            if let Some(text) = text {
                ticker.spend(text.len() + 1)?;
                reader.row(text, row)?;
            }
        }
    }
}

/// What errors call an array.
const TEXTS: &str = "texts";

fn unsound(name: &str, error: ColumnError) -> Error {
    Python::attach(|py| raised(py, buffer::column_error(name, error)))
}

/// Passes the documents of an Arrow array, or of a stream of them, on to `feed`; of a table those of this column. `None`
/// for an object that is neither.
pub(crate) fn read_columns(
    texts: &Bound<'_, PyAny>,
    column: Option<&str>,
    errors: Errors,
    progress: Option<&Py<PyAny>>,
    feed: &mut Feed<'_>,
) -> PyResult<Option<CorpusReport>> {
    let py = texts.py();
    let Some(imported) = buffer::imported(texts, TEXTS)? else { return Ok(None) };
    let field = match &imported {
        Imported::Array(array) => array.field(),
        Imported::Stream(stream) => stream.field(),
    };
    let number = if field.is_struct() { Some(column_of(py, field, column.unwrap_or("text"))?) } else { None };
    let held = number.and_then(|number| field.children().get(number)).unwrap_or(field);
    StringColumn::check_type(held).map_err(|error| buffer::column_error(TEXTS, error))?;
    let (mut array, mut stream) = match imported {
        Imported::Array(array) => (Some(array), None),
        Imported::Stream(stream) => (None, Some(stream)),
    };
    let mut next = || {
        let next = match &mut stream {
            Some(stream) => stream.next_array(),
            None => Ok(array.take()),
        };
        let column = next.and_then(|array| {
            let array = array.as_ref();
            array
                .map(|array| {
                    number.map_or_else(|| StringColumn::new(array), |n| StringColumn::of_batch(array, n))
                })
                .transpose()
        });
        column.map_err(|error| unsound(TEXTS, error))
    };
    let report = run_long(py, progress, |watch| {
        let mut feed = |batch: &[&str]| feed(batch, watch);
        let mut reader = CorpusReader::new(errors, &mut feed, watch)?;
        read_rows(&mut next, &mut reader, watch)?;
        reader.finish()
    })?;
    Ok(Some(report))
}

/// The number of a column of a table.
fn column_of(py: Python<'_>, table: &ArrowField, column: &str) -> PyResult<usize> {
    let names: Vec<String> = table.children().iter().map(ArrowField::name).collect();
    if let [number] =
        names.iter().enumerate().filter(|(_, name)| *name == column).map(|(i, _)| i).collect::<Vec<_>>()[..]
    {
        return Ok(number);
    }
    let has: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let reason = format!(
        "texts is a table without one column {column:?}: it has {}{more}; name another one with column=",
        has.join(", ")
    );
    Err(raise(py, Error::training(reason)))
}

/// Columns that an error names.
const SHOWN: usize = 20;

/// The texts of lines of JSONL as UTF-8, None for a line that is no document: `lines` are whole lines. `row` is the number of the
/// first one, from 1 on, and `start` the position of its first byte in the file, for errors.
#[pyfunction]
#[pyo3(signature = (lines, field, row, start, /))]
pub(crate) fn json_lines<'py>(
    py: Python<'py>,
    lines: &[u8],
    field: &str,
    row: u64,
    start: u64,
) -> PyResult<Bound<'py, PyList>> {
    let field = JsonField::new(field).map_err(|error| raise(py, error))?;
    let mut texts: Vec<Option<String>> = Vec::new();
    run_long(py, None, |watch| {
        let mut push = |text: Option<&str>| {
            let text = text.map(try_alloc::copy_text).transpose()?;
            try_alloc::push(&mut texts, text).map_err(Error::from)
        };
        json_rows(lines, &field, (row, start), &mut push, watch)
    })?;
    let items = texts.iter().map(|text| match text {
        Some(text) => Ok(buffer::objects::bytes(py, text.as_bytes())?.into_any()),
        None => Ok(py.None().into_bound(py)),
    });
    buffer::objects::list(py, texts.len(), items)
}
