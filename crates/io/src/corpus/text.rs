//! Text files: each file or each line is a document.
use std::io::{Chain, Cursor, Read as _};
use std::path::{Path, PathBuf};

use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use super::decode::{Decoder, Errors, Invalid};
use super::not_text::refuse_compressed;
use super::pipes::refuse_pipes_given_twice;
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
    /// Bytes read from the files.
    pub bytes: u64,
    /// Documents left out because they are not UTF-8.
    pub skipped: u64,
    /// Documents in which U+FFFD replaces invalid UTF-8.
    pub replaced: u64,
}

/// Bytes read between two polls of the watch.
const BLOCK: usize = 1 << 20;

/// Bytes of text per batch; a longer document makes a larger batch.
const BATCH: usize = 16 << 20;

/// Overhead of a document in a batch, in bytes.
const ENTRY: usize = 24;

/// Maximum number of bytes of a character that the end of a block cuts off.
const CUT: usize = 3;

/// Length in bytes of the replacement for invalid UTF-8.
const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Reads files in order, each once, and passes their documents to `feed`, about 16 MB at a time (at
/// least one document). A byte order mark is text. Memory: one batch, or the longest document if it
/// is larger.
///
/// # Errors
/// [`Kind::Os`] with the path for a file that cannot be read; under [`Errors::Strict`]
/// [`Kind::Training`] with the path and the first invalid byte of the file; [`Kind::Training`] with
/// the path of a pipe that is listed twice, and of a compressed file; [`Kind::Memory`] with the path
/// for a document that is larger than memory; errors of `feed` and of the watch.
pub fn read_files(
    paths: &[PathBuf],
    documents: Documents,
    errors: Errors,
    feed: &mut dyn FnMut(&[&str]) -> Result<()>,
    watch: &dyn Watch,
) -> Result<CorpusReport> {
    refuse_pipes_given_twice(paths)?;
    let mut reader = Reader {
        errors,
        feed,
        watch,
        report: CorpusReport::default(),
        encoding: None,
        text: String::new(),
        ends: Vec::new(),
        block: vec![0; BLOCK],
    };
    for path in paths {
        match documents {
            Documents::File => reader.file(path)?,
            Documents::Lines => reader.lines(path)?,
        }
    }
    reader.flush()?;
    Ok(reader.report)
}

/// A file whose first bytes were looked at.
type Started<'a> = Chain<Cursor<Vec<u8>>, Source<'a>>;

struct Reader<'a> {
    errors: Errors,
    feed: &'a mut dyn FnMut(&[&str]) -> Result<()>,
    watch: &'a dyn Watch,
    report: CorpusReport,
    /// The encoding of the current file, if its byte-order mark names another one than UTF-8.
    encoding: Option<&'static str>,
    /// The complete documents of the batch, concatenated, followed by the current one.
    text: String,
    /// The end of each complete document.
    ends: Vec<usize>,
    block: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn file(&mut self, path: &Path) -> Result<()> {
        let mut source = self.open(path)?;
        let mut document = Document::default();
        loop {
            let n = self.read(&mut source, path)?;
            if n == 0 {
                break;
            }
            self.push(&mut document, Part::Block(n), path)?;
        }
        self.end(document, false, path)
    }

    fn lines(&mut self, path: &Path) -> Result<()> {
        let mut source = self.open(path)?;
        let mut line = Document::default();
        let mut at = 0;
        loop {
            let n = self.read(&mut source, path)?;
            if n == 0 {
                break;
            }
            let mut start = 0;
            while let Some(len) = line_feed(&self.block[start..n]) {
                self.push(&mut line, Part::Slice(start, start + len), path)?;
                start += len + 1;
                let next = Document { start: at + start as u64, ..Document::default() };
                let done = std::mem::replace(&mut line, next);
                self.end(done, true, path)?;
            }
            self.push(&mut line, Part::Slice(start, n), path)?;
            at += n as u64;
        }
        if at > line.start { self.end(line, false, path) } else { Ok(()) }
    }

    /// Opens a file and looks at its start, which is read again with the rest.
    fn open(&mut self, path: &Path) -> Result<Started<'a>> {
        let in_file = |error: std::io::Error| Error::from(error).in_file(path);
        let mut source = Source::open(path, self.watch).map_err(in_file)?;
        let start = files::start(&mut source, first_bytes::LENGTH as u64).map_err(in_file)?;
        refuse_compressed(&start, path)?;
        self.encoding = wide_encoding(&start);
        Ok(Cursor::new(start).chain(source))
    }

    fn read(&mut self, source: &mut Started<'_>, path: &Path) -> Result<usize> {
        self.watch.poll()?;
        let read = source.read(&mut self.block);
        let n = read.map_err(|error| Error::from(error).in_file(path))?;
        self.report.bytes += n as u64;
        Ok(n)
    }

    /// Appends a part of the block to the current document.
    fn push(&mut self, document: &mut Document, part: Part, path: &Path) -> Result<()> {
        if document.bad {
            return Ok(());
        }
        let bytes = match part {
            Part::Block(n) => &self.block[..n],
            Part::Slice(start, end) => &self.block[start..end],
        };
        let most = bytes.len() + CUT;
        let most = if self.errors == Errors::Replace { REPLACED * most } else { most };
        try_alloc::reserve_text(&mut self.text, most).map_err(|error| Error::from(error).in_file(path))?;
        let pushed = document.decoder.push(bytes, self.errors, &mut self.text);
        document.bad = self.judge(&pushed, document.start, path)?;
        Ok(())
    }

    /// Returns whether the document is to be left out.
    fn judge(&self, pushed: &std::result::Result<(), Invalid>, start: u64, path: &Path) -> Result<bool> {
        match pushed {
            Ok(()) => Ok(false),
            Err(Invalid(_)) if self.errors == Errors::Skip => Ok(true),
            Err(Invalid(at)) => {
                let reason = match self.encoding {
                    Some(name) => format!("not UTF-8, but {name}; {}", converted(name)),
                    None => "not UTF-8; convert the file, or pass errors=\"replace\" or \"skip\"".to_owned(),
                };
                Err(Error::from(Kind::Training { byte: Some(start + at), reason }).in_file(path))
            }
        }
    }

    /// Completes the document at the end of a line (`line_end`) or of the file.
    fn end(&mut self, mut document: Document, line_end: bool, path: &Path) -> Result<()> {
        let from = self.ends.last().copied().unwrap_or(0);
        if !document.bad {
            try_alloc::reserve_text(&mut self.text, REPLACED)
                .map_err(|error| Error::from(error).in_file(path))?;
            let pushed = document.decoder.finish(self.errors, &mut self.text);
            document.bad = self.judge(&pushed, document.start, path)?;
        }
        if document.bad {
            self.text.truncate(from);
            self.report.skipped += 1;
            return Ok(());
        }
        if line_end && self.text[from..].ends_with('\r') {
            self.text.pop();
        }
        self.report.replaced += u64::from(document.decoder.replaced);
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

/// The current document.
#[derive(Debug, Default)]
struct Document {
    decoder: Decoder,
    /// Position of its first byte in the file.
    start: u64,
    /// Does it contain invalid UTF-8, so that it is left out?
    bad: bool,
}

/// A part of the block.
#[derive(Debug, Clone, Copy)]
enum Part {
    Block(usize),
    Slice(usize, usize),
}

/// The position of the first line feed.
fn line_feed(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests;
