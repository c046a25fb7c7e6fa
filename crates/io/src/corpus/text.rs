//! Text: each file or each line is a document.
use std::io::Read;
use std::path::PathBuf;

use tokenmill_core::error::Result;
use tokenmill_core::watch::Watch;

use super::decode::Errors;
use super::pipes::refuse_pipes_given_twice;
use super::reader::{CorpusReader, CorpusReport, Document, Documents, open};

/// Reads text files in order, each once, and passes their documents to `feed`, as [`CorpusReader`] does. A byte order
/// mark is text.
///
/// # Errors
/// [`Kind::Os`](tokenmill_core::error::Kind::Os) with the path for a file that cannot be read; under [`Errors::Strict`]
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the path and the first invalid byte of the file;
/// the same kind with the path of a pipe that is listed twice, and of a compressed file;
/// [`Kind::Memory`](tokenmill_core::error::Kind::Memory) with the path for a document that is larger than memory; errors
/// of `feed` and of the watch.
pub fn read_files(
    paths: &[PathBuf],
    documents: Documents,
    errors: Errors,
    feed: &mut dyn FnMut(&[&str]) -> Result<()>,
    watch: &dyn Watch,
) -> Result<CorpusReport> {
    refuse_pipes_given_twice(paths)?;
    let mut reader = CorpusReader::new(errors, feed, watch)?;
    for path in paths {
        reader.begin(Some(path));
        reader.text(&mut *open(path, watch)?, documents)?;
    }
    reader.finish()
}

impl CorpusReader<'_> {
    /// Reads the documents of a text.
    ///
    /// # Errors
    /// As [`read_files`].
    pub fn text(&mut self, source: &mut dyn Read, documents: Documents) -> Result<()> {
        let mut source = self.start(source)?;
        let mut block = std::mem::take(&mut self.block);
        match documents {
            Documents::File => self.file(&mut source, &mut block)?,
            Documents::Lines => self.lines(&mut source, &mut block)?,
        }
        self.block = block;
        Ok(())
    }

    fn file(&mut self, source: &mut dyn Read, block: &mut [u8]) -> Result<()> {
        let mut document = Document::default();
        loop {
            let n = self.read(source, block)?;
            if n == 0 {
                break;
            }
            self.push(&mut document, &block[..n])?;
        }
        self.end(document, false)
    }

    fn lines(&mut self, source: &mut dyn Read, block: &mut [u8]) -> Result<()> {
        let mut line = Document::default();
        let mut at = 0;
        loop {
            let n = self.read(source, block)?;
            if n == 0 {
                break;
            }
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', &block[..n]) {
                self.push(&mut line, &block[start..end])?;
                start = end + 1;
                let done = std::mem::replace(&mut line, Document::at(at + start as u64));
                self.end(done, true)?;
            }
            self.push(&mut line, &block[start..n])?;
            at += n as u64;
        }
        if at > line.start { self.end(line, false) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
