//! The text of a file; for a file of another kind, an error that names the kind.
use tokenmill_core::error::{Defect, Error, Result};

/// The bytes of a file as UTF-8, without a byte-order mark.
///
/// # Errors
/// A format error that says what the file is instead: empty, compressed, UTF-16, a web page, a
/// pointer to a file elsewhere, invalid UTF-8 at some line, or truncated within a character.
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::format(Defect::Empty, "the file is empty"));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::format(Defect::Encoding, "the file is UTF-16; save it as UTF-8"));
    }
    let start: Vec<u8> = bytes.trim_ascii_start().iter().take(32).map(u8::to_ascii_lowercase).collect();
    let known: [(&[u8], &str); 6] = [
        (&[0x1f, 0x8b], "gzip data; unpack it first"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd data; unpack it first"),
        (b"pk\x03\x04", "a zip archive; unpack it first"),
        (b"version https://git-lfs", "a Git LFS pointer; fetch the file it points to (git lfs pull)"),
        (b"<!doctype html", "a web page, probably an error page from a download"),
        (b"<html", "a web page, probably an error page from a download"),
    ];
    if let Some((_, what)) = known.iter().find(|(known, _)| start.starts_with(known)) {
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
