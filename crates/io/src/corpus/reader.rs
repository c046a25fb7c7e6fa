//! Documents of any source, gathered into batches.
use std::io::Read;
use std::path::{Path, PathBuf};

use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use super::decode::{Decoder, Errors, Invalid};
use super::not_text::refuse_compressed;
use crate::files::{self, Source};
use crate::first_bytes::{self, converted, wide_encoding};

/// The unit of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documents {
    /// A whole file, unchanged.
    File,
    /// A line without its end (`\n` or `\r\n`). Empty lines are documents; text after the last line
    /// end is one if it is not empty.
    Lines,
}

/// The counts of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorpusReport {
    /// Documents passed to `feed`.
    pub documents: u64,
    /// Bytes read from the sources, decompressed.
    pub bytes: u64,
    /// Documents left out because they are not UTF-8.
    pub skipped: u64,
    /// Documents in which U+FFFD replaces invalid UTF-8.
    pub replaced: u64,
}

/// Bytes read between two polls of the watch.
pub(super) const BLOCK: usize = 1 << 20;

/// Bytes of text per batch; a longer document makes a larger batch.
pub(super) const BATCH: usize = 16 << 20;

/// Overhead of a document in a batch, in bytes.
const ENTRY: usize = 24;

/// Maximum number of bytes of a character that the end of a block cuts off.
const CUT: usize = 3;

/// Length in bytes of the replacement for invalid UTF-8.
pub(super) const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Opens a file or a pipe, to be read once.
///
/// # Errors
/// [`Kind::Os`] with the path; errors of the watch, which is polled while a pipe has no writer.
pub fn open<'a>(path: &Path, watch: &'a dyn Watch) -> Result<Box<dyn Read + 'a>> {
    match Source::open(path, watch) {
        Ok(source) => Ok(Box::new(source)),
        Err(error) => Err(Error::from(error).in_file(path)),
    }
}

/// Passes the documents of sources, one source after the other, to a function: about 16 MB of text at a time, at least
/// one document. Memory: one batch, or the longest document if it is larger.
///
/// Under [`Errors::Strict`] a document that is not UTF-8 is a [`Kind::Training`] error with the source and the first
/// invalid byte, for rows also the row.
pub struct CorpusReader<'a> {
    pub(super) errors: Errors,
    feed: &'a mut dyn FnMut(&[&str]) -> Result<()>,
    pub(super) watch: &'a dyn Watch,
    report: CorpusReport,
    /// The name of the current source.
    name: Option<PathBuf>,
    /// The encoding of the current source, if its byte-order mark names another one than UTF-8.
    pub(super) encoding: Option<&'static str>,
    /// The complete documents of the batch, concatenated, followed by the current one.
    pub(super) text: String,
    /// The end of each complete document.
    ends: Vec<usize>,
    /// The buffer for what is read; taken while it is in use.
    pub(super) block: Vec<u8>,
}

/// The current document.
#[derive(Debug, Default)]
pub(super) struct Document {
    decoder: Decoder,
    /// Position of its first byte in the source.
    pub(super) start: u64,
    /// Its row, if the source has rows.
    row: Option<u64>,
    /// Does it contain what is no text, so that it is left out?
    pub(super) bad: bool,
    /// Does it contain a replacement?
    pub(super) replaced: bool,
}

impl Document {
    /// An empty document that starts at this byte of the source.
    pub(super) fn at(start: u64) -> Self {
        Self { start, ..Self::default() }
    }

    /// An empty document of a row.
    pub(super) fn of_row(row: u64) -> Self {
        Self { row: Some(row), ..Self::default() }
    }
}

impl<'a> CorpusReader<'a> {
    /// A reader that passes documents to `feed`.
    pub fn new(
        errors: Errors,
        feed: &'a mut dyn FnMut(&[&str]) -> Result<()>,
        watch: &'a dyn Watch,
    ) -> Result<Self> {
        Ok(Self {
            errors,
            feed,
            watch,
            report: CorpusReport::default(),
            name: None,
            encoding: None,
            text: String::new(),
            ends: Vec::new(),
            block: try_alloc::filled(0, BLOCK)?,
        })
    }

    /// Begins a source: errors name it from now on.
    pub fn begin(&mut self, name: Option<&Path>) {
        self.name = name.map(Path::to_owned);
        self.encoding = None;
    }

    /// Adds the text of a row, from 1 on, as a document.
    ///
    /// # Errors
    /// For text that is not UTF-8, under [`Errors::Strict`]; those of `feed`; [`Kind::Memory`].
    pub fn row(&mut self, text: &[u8], row: u64) -> Result<()> {
        self.report.bytes += text.len() as u64;
        let mut document = Document::of_row(row);
        self.push(&mut document, text)?;
        self.end(document, false)
    }

    /// Passes on what is left.
    ///
    /// # Errors
    /// Those of `feed`.
    pub fn finish(mut self) -> Result<CorpusReport> {
        self.flush()?;
        Ok(self.report)
    }

    /// Looks at the first bytes of a stream. They are read again with the rest.
    pub(super) fn start<'r>(&mut self, source: &'r mut dyn Read) -> Result<impl Read + use<'r>> {
        let start = files::start(source, first_bytes::LENGTH as u64).map_err(|error| self.here(error))?;
        refuse_compressed(&start).map_err(|error| self.here(error))?;
        self.encoding = wide_encoding(&start);
        Ok(std::io::Cursor::new(start).chain(source))
    }

    /// Reads a block; gives its length, 0 at the end of the source.
    pub(super) fn read(&mut self, source: &mut dyn Read, block: &mut [u8]) -> Result<usize> {
        self.watch.poll()?;
        let n = source.read(block).map_err(|error| self.here(error))?;
        self.report.bytes += n as u64;
        Ok(n)
    }

    /// An error of the current source.
    pub(super) fn here(&self, error: impl Into<Error>) -> Error {
        let error: Error = error.into();
        match &self.name {
            Some(name) => error.in_file(name),
            None => error,
        }
    }

    /// Appends a part of the current document.
    pub(super) fn push(&mut self, document: &mut Document, bytes: &[u8]) -> Result<()> {
        if document.bad {
            return Ok(());
        }
        self.reserve(bytes.len() + CUT)?;
        let pushed = document.decoder.push(bytes, self.errors, &mut self.text);
        self.judge(document, &pushed)
    }

    /// Reserves capacity for this many bytes, each of which may become U+FFFD.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<()> {
        let most = if self.errors == Errors::Replace { REPLACED.saturating_mul(bytes) } else { bytes };
        try_alloc::reserve_text(&mut self.text, most).map_err(|error| self.here(error))
    }

    fn judge(&self, document: &mut Document, pushed: &std::result::Result<(), Invalid>) -> Result<()> {
        let Err(Invalid(at)) = *pushed else { return Ok(()) };
        let reason = match self.encoding {
            Some(name) => format!("not UTF-8, but {name}; {}", converted(name)),
            None => "not UTF-8; convert the file, or pass errors=\"replace\" or \"skip\"".to_owned(),
        };
        self.refuse(document, document.start + at, reason)
    }

    /// Handles what is no text, at this byte of the source: an error, or a document that is left out.
    pub(super) fn refuse(&self, document: &mut Document, byte: u64, reason: String) -> Result<()> {
        if self.errors == Errors::Skip {
            document.bad = true;
            return Ok(());
        }
        Err(self.here(Kind::Training { row: document.row, byte: Some(byte), reason }))
    }

    /// Completes the document at the end of a line (`line_end`), of a row or of the source.
    pub(super) fn end(&mut self, mut document: Document, line_end: bool) -> Result<()> {
        let from = self.ends.last().copied().unwrap_or(0);
        if !document.bad {
            self.reserve(1)?;
            let pushed = document.decoder.finish(self.errors, &mut self.text);
            self.judge(&mut document, &pushed)?;
        }
        if document.bad {
            self.text.truncate(from);
            self.report.skipped += 1;
            return Ok(());
        }
        if line_end && self.text[from..].ends_with('\r') {
            self.text.pop();
        }
        self.report.replaced += u64::from(document.decoder.replaced || document.replaced);
        self.report.documents += 1;
        try_alloc::push(&mut self.ends, self.text.len())?;
        if self.text.len() + ENTRY * self.ends.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Passes the batch to `feed`.
    fn flush(&mut self) -> Result<()> {
        let mut start = 0;
        let mut documents: Vec<&str> = try_alloc::vec(self.ends.len())?;
        documents.extend(self.ends.iter().map(|&end| &self.text[std::mem::replace(&mut start, end)..end]));
        if !documents.is_empty() {
            (self.feed)(&documents)?;
        }
        self.text.clear();
        self.ends.clear();
        Ok(())
    }
}
