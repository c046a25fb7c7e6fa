//! The text of a file; for a file of another kind, an error that names the kind.
use std::borrow::Cow;

use tokenmill_core::error::{Defect, Error, Result};

use crate::first_bytes::{compression, converted, wide_encoding};

/// The bytes of a file as UTF-8, without a byte-order mark.
///
/// # Errors
/// A format error that says what the file is instead: empty, compressed, an image, a pickle, UTF-16,
/// a web page, a pointer to a file elsewhere, invalid UTF-8 at some line, or truncated within a
/// character.
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::format(Defect::Empty, "the file is empty"));
    }
    if let Some(encoding) = wide_encoding(bytes) {
        return Err(Error::format(
            Defect::Encoding,
            format!("the file is {encoding}; {}", converted(encoding)),
        ));
    }
    if let Some(what) = other_kind(bytes) {
        return Err(Error::format(Defect::WrongKind, format!("the file is {what}")));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    simdutf8::compat::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes[..at].split(|&byte| byte == b'\n').count();
        let error = match error.error_len() {
            Some(_) => Error::format(Defect::Encoding, format!("the file is not UTF-8 (byte {at})")),
            None => Error::format(Defect::Truncated, "the file ends within a character, too early"),
        };
        error.at(format!("line {line}"))
    })
}

const ARCHIVE: &str = "an archive; unpack it first";
const IMAGE: &str = "an image";
const PICKLE: &str = "a Python pickle, which could run code and is not opened";
const WEIGHTS: &str = "model weights; load the tokenizer.json of the model";
const PAGE: &str = "a web page, probably an error page from a download";

/// How files of other kinds begin, and the name of the kind. No text begins with one of these.
const BINARY: [(&[u8], &str); 16] = [
    (b"7z\xbc\xaf\x27\x1c", ARCHIVE),
    (b"Rar!\x1a\x07", ARCHIVE),
    (b"\x89PNG\r\n\x1a\n", IMAGE),
    (b"\xff\xd8\xff", IMAGE),
    (b"%PDF-", "a PDF document"),
    (b"PAR1\x15", "Parquet data"),
    (b"ARROW1\0\0", "Arrow data"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n\x1a\n", WEIGHTS),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x7fELF", "a program or a library"),
    // Protocol 1 and before begin with no number.
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04", PICKLE),
    (b"\x80\x05", PICKLE),
    (b"\x80\x06", PICKLE),
];

/// How text of other kinds begins, in small letters, after white space.
const TEXT: [(&[u8], &str); 3] = [
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file it points to (git lfs pull)"),
    (b"<!doctype html", PAGE),
    (b"<html", PAGE),
];

/// The kind of a file that no text reader accepts, by its first bytes.
fn other_kind(bytes: &[u8]) -> Option<Cow<'static, str>> {
    let begins = |table: &[(&[u8], &'static str)], bytes: &[u8]| {
        table.iter().find(|(known, _)| bytes.starts_with(known)).map(|&(_, what)| Cow::Borrowed(what))
    };
    if is_weights(bytes) {
        return Some(WEIGHTS.into());
    }
    if let Some((format, command)) = compression(bytes) {
        return Some(format!("compressed ({format}); decompress it with {command} first").into());
    }
    begins(&BINARY, bytes).or_else(|| {
        let start: Vec<u8> = bytes.trim_ascii_start().iter().take(32).map(u8::to_ascii_lowercase).collect();
        begins(&TEXT, &start)
    })
}

/// Is it a checkpoint of PyTorch, a zip archive whose first file says so, or of safetensors: a number of eight bytes,
/// then as many of JSON?
fn is_weights(bytes: &[u8]) -> bool {
    let is_checkpoint = bytes.starts_with(b"PK\x03\x04")
        && bytes[..bytes.len().min(200)].windows(9).any(|name| name == b"/data.pkl");
    is_checkpoint || (bytes.get(4..8) == Some(&[0; 4]) && bytes.get(8..10) == Some(b"{\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_begins_almost_like_another_kind_is_text() {
        for almost in ["BZh9 is a token\n", "PAR1\n##a\n", "PK\n", "%PDF\n", "\u{80}\n", "7z\n", "ARROW1\n"] {
            assert_eq!(text(almost.as_bytes()).ok(), Some(almost));
        }
    }
}
