//! Text files: a file is a document, or each of its lines is.
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tokenmill_core::error::{Error, Kind, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::Watch;

use super::decode::{Decoder, Errors, Invalid};
use super::pipes::refuse_pipes_given_twice;
use crate::files::Source;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documents {
    /// A file, as it is.
    File,
    /// A line, without its end (`\n` or `\r\n`). Empty lines are documents too; what follows
    /// the last line end is one only if there is something.
    Lines,
}

/// What was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorpusReport {
    /// Documents handed over.
    pub documents: u64,
    /// Bytes read from the files.
    pub bytes: u64,
    /// Documents left out.
    pub skipped: u64,
    /// Documents with U+FFFD put in.
    pub replaced: u64,
}

/// Bytes read between two questions to the watch.
const BLOCK: usize = 1 << 20;

/// Text handed over at a time, a longer document apart.
const BATCH: usize = 16 << 20;

/// What a document costs a batch beside its text.
const ENTRY: usize = 24;

/// Bytes of a character that the end of a block may cut off.
const CUT: usize = 3;

/// What a byte that is no UTF-8 becomes has so many bytes.
const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Reads files in the order given, each once, and hands their documents to `feed`, some 16 MB at a time
/// (and never less than one document). A byte order mark stays as text. Memory: a batch, or
/// the longest document if that is more.
///
/// # Errors
/// [`Kind::Os`] with the path for a file that cannot be read; under [`Errors::Strict`]
/// [`Kind::Training`] with the path and the first byte of the file that is not UTF-8, or with the
/// path of a pipe that is given twice; [`Kind::Memory`] with the path for a document that is larger
/// than memory; and what `feed` and the watch say.
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

struct Reader<'a> {
    errors: Errors,
    feed: &'a mut dyn FnMut(&[&str]) -> Result<()>,
    watch: &'a dyn Watch,
    report: CorpusReport,
    /// The documents of the batch, one behind the other, and the one that is being read.
    text: String,
    /// Where each complete one ends.
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

    fn open(&self, path: &Path) -> Result<Source<'a>> {
        Source::open(path, self.watch).map_err(|error| Error::from(error).in_file(path))
    }

    fn read(&mut self, source: &mut Source<'_>, path: &Path) -> Result<usize> {
        self.watch.poll()?;
        let read = source.read(&mut self.block);
        let n = read.map_err(|error| Error::from(error).in_file(path))?;
        self.report.bytes += n as u64;
        Ok(n)
    }

    /// Adds a part of the block to the document that is being read.
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

    /// Is the document to be left out?
    fn judge(&self, pushed: &std::result::Result<(), Invalid>, start: u64, path: &Path) -> Result<bool> {
        match pushed {
            Ok(()) => Ok(false),
            Err(Invalid(_)) if self.errors == Errors::Skip => Ok(true),
            Err(Invalid(at)) => {
                let reason = "not UTF-8; convert the file, or pass errors=\"replace\" or \"skip\"".to_owned();
                Err(Error::from(Kind::Training { byte: Some(start + at), reason }).in_file(path))
            }
        }
    }

    /// The document is complete: at the end of a line (`line_end`) or of the file.
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

    /// Hands the batch over.
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

/// A document that is being read.
#[derive(Debug, Default)]
struct Document {
    decoder: Decoder,
    /// Its first byte in the file.
    start: u64,
    /// It is not UTF-8 and will be left out.
    bad: bool,
}

/// A part of the block.
#[derive(Debug, Clone, Copy)]
enum Part {
    Block(usize),
    Slice(usize, usize),
}

/// The first line feed.
fn line_feed(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests;
