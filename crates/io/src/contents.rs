//! Reading a whole file within bounds, and saying what it is when it is not what it should be.
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use tokenmill_core::error::{Defect, Error, Result};

/// Tokenizer files are at most this large.
const FILE_LIMIT: u64 = 1 << 30;

/// The bytes of a file.
///
/// # Errors
/// The operating system's; a limit error above 1 GiB, before memory is taken.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let read = || -> Result<Vec<u8>> {
        let too_large =
            || Error::limit("the file is larger than a tokenizer file can be (1 GiB)", FILE_LIMIT);
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory).into());
        }
        if metadata.len() > FILE_LIMIT {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX).saturating_add(1);
        bytes.try_reserve_exact(size).map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        // Pipes have no size; one more than the limit shows whether there is more.
        File::open(path)?.take(FILE_LIMIT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_LIMIT {
            return Err(too_large());
        }
        Ok(bytes)
    };
    read().map_err(|error| error.in_file(path))
}

/// The text of a file's bytes, without a byte-order mark.
///
/// # Errors
/// A format error that says what the file is instead: empty, compressed, UTF-16, a web page, a
/// pointer to a file elsewhere, not UTF-8 on some line, or cut within a character.
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
