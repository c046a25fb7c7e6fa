//! JSON lines: each line is an object, and one string in it a document.
use std::io::Read;

use tokenmill_core::error::{Kind, Result};
use tokenmill_core::try_alloc;
use tokenmill_core::watch::{Ticker, Watch};

use super::decode::{Decoder, Errors, Invalid};
use super::json_field::{Escape, Found, JsonField, JsonString, find};
use super::reader::{CorpusReader, Document};
use crate::first_bytes::{converted, wide_encoding};

/// UTF-8 of the byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where a line is: its number, from 1 on, and the position of its first byte in the source.
#[derive(Debug, Clone, Copy)]
struct Line {
    row: u64,
    start: u64,
}

impl CorpusReader<'_> {
    /// Reads the documents of JSON lines: a string `field` is a document, null is none. Empty lines are passed over, and
    /// a byte order mark at the start. Of equal keys the last one counts. Memory: the longest line.
    ///
    /// # Errors
    /// Errors of the stream; [`Kind::Training`] with the row for a line that is no JSON object, or whose field is
    /// missing or no string; as [`CorpusReader`] for a text that is not UTF-8 or holds a lone surrogate.
    pub fn json_lines(&mut self, source: &mut dyn Read, field: &JsonField) -> Result<()> {
        let mut source = self.start(source)?;
        let mut block = std::mem::take(&mut self.block);
        // A line that a block did not end.
        let mut begun: Vec<u8> = Vec::new();
        let mut line = Line { row: 1, start: 0 };
        let mut at = 0;
        loop {
            let n = self.read(&mut source, &mut block)?;
            if n == 0 {
                break;
            }
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', &block[..n]) {
                if begun.is_empty() {
                    self.json_line(&block[start..end], line, field)?;
                } else {
                    try_alloc::extend(&mut begun, &block[start..end]).map_err(|error| self.here(error))?;
                    self.json_line(&begun, line, field)?;
                    begun.clear();
                }
                start = end + 1;
                line = Line { row: line.row + 1, start: at + start as u64 };
            }
            try_alloc::extend(&mut begun, &block[start..n]).map_err(|error| self.here(error))?;
            at += n as u64;
        }
        self.json_line(&begun, line, field)?;
        self.block = block;
        Ok(())
    }

    fn json_line(&mut self, bytes: &[u8], line: Line, field: &JsonField) -> Result<()> {
        match self.json_document(bytes, line, field)? {
            Some(document) => self.end(document, false),
            None => Ok(()),
        }
    }

    /// Appends the text of a line; `None` if it is not a document.
    fn json_document(&mut self, bytes: &[u8], line: Line, field: &JsonField) -> Result<Option<Document>> {
        if line.row == 1
            && let Some(name) = wide_encoding(bytes)
        {
            let reason = format!("not UTF-8, but {name}; {}", converted(name));
            return Err(self.here(Kind::Training { row: None, byte: Some(0), reason }));
        }
        let mark = if line.row == 1 && bytes.starts_with(MARK) { MARK.len() } else { 0 };
        let (bytes, start) = (&bytes[mark..], line.start + mark as u64);
        let mut ticker = Ticker::new(self.watch);
        let found = find(bytes, field, &mut ticker).map_err(|mut error| {
            if let Kind::Training { row, byte, .. } = &mut error.kind {
                *row = Some(line.row);
                *byte = byte.map(|byte| byte + start);
            }
            self.here(error)
        })?;
        let Found::Text(string) = found else { return Ok(None) };
        let mut document = Document::of_row(line.row);
        self.push_string(&mut document, &string, start, &mut ticker)?;
        Ok(Some(document))
    }

    /// Appends a string, its escapes resolved. `start` is the position of the line in the source.
    fn push_string(
        &mut self,
        document: &mut Document,
        string: &JsonString<'_>,
        start: u64,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // An escape is longer than its character.
        self.reserve(string.bytes.len() + 1)?;
        let start = start + string.start as u64;
        let mut at = 0;
        while !document.bad {
            let next = if string.has_escapes { memchr::memchr(b'\\', &string.bytes[at..]) } else { None };
            let end = next.map_or(string.bytes.len(), |next| at + next);
            self.push_raw(document, &string.bytes[at..end], start + at as u64)?;
            ticker.spend(end - at + 8)?;
            if next.is_none() {
                break;
            }
            let (escape, length) = Escape::read(&string.bytes[end..]);
            match escape {
                Escape::Char(character) => self.text.push(character),
                Escape::LoneSurrogate(_) if self.errors == Errors::Replace => {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                    document.replaced = true;
                }
                Escape::LoneSurrogate(unit) => {
                    let reason = format!(
                        "the text holds half of a surrogate pair (\\u{unit:04x}), which is no text; pass \
                         errors=\"replace\" or \"skip\""
                    );
                    self.refuse(document, start + end as u64, reason)?;
                }
            }
            at = end + length;
        }
        Ok(())
    }

    /// Appends bytes between escapes, which do not lie within a character.
    fn push_raw(&mut self, document: &mut Document, bytes: &[u8], start: u64) -> Result<()> {
        let mut decoder = Decoder::default();
        let pushed = decoder
            .push(bytes, self.errors, &mut self.text)
            .and_then(|()| decoder.finish(self.errors, &mut self.text));
        document.replaced |= decoder.replaced;
        match pushed {
            Ok(()) => Ok(()),
            Err(Invalid(at)) => {
                let reason = "not UTF-8; pass errors=\"replace\" or \"skip\"".to_owned();
                self.refuse(document, start + at, reason)
            }
        }
    }
}

/// Passes the text of each line to `push`, `None` for one that is no document. `row` is the number of the first line,
/// from 1 on, and `start` the position of its first byte in the source, for errors.
///
/// # Errors
/// As [`CorpusReader::json_lines`], and those of `push`.
pub fn json_rows(
    lines: &[u8],
    field: &JsonField,
    (row, start): (u64, u64),
    push: &mut dyn FnMut(Option<&str>) -> Result<()>,
    watch: &dyn Watch,
) -> Result<()> {
    let mut feed = |_: &[&str]| Ok(());
    let mut reader = CorpusReader::new(Errors::Strict, &mut feed, watch)?;
    let mut line = Line { row, start };
    for bytes in lines.strip_suffix(b"\n").unwrap_or(lines).split(|&byte| byte == b'\n') {
        let is_document = reader.json_document(bytes, line, field)?.is_some();
        push(is_document.then_some(reader.text.as_str()))?;
        reader.text.clear();
        line = Line { row: line.row + 1, start: line.start + bytes.len() as u64 + 1 };
    }
    Ok(())
}

#[cfg(test)]
mod tests;
