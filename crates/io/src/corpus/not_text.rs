//! Refuses files that are no UTF-8 text, where their first bytes show it: compressed ones, which are not decompressed
//! here, and UTF-16 and UTF-32 with a byte-order mark.
use tokenmill_core::error::{Error, Result};

use crate::first_bytes::{compression, converted, wide_encoding};

/// Refuses a file that begins as a compressed one does.
///
/// # Errors
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the format and how to decompress it.
pub(super) fn refuse_compressed(start: &[u8]) -> Result<()> {
    match compressed(start) {
        Some(reason) => Err(Error::training(reason)),
        None => Ok(()),
    }
}

/// Says what a file is instead of UTF-8 text, and how it becomes one, if its first bytes, ten at least, show it.
#[must_use]
pub fn not_text(start: &[u8]) -> Option<String> {
    compressed(start).or_else(|| {
        let name = wide_encoding(start)?;
        Some(format!("is {name}, where text is UTF-8; {}", converted(name)))
    })
}

fn compressed(start: &[u8]) -> Option<String> {
    let (format, command) = compression(start)?;
    Some(format!(
        "is compressed ({format}), which is not decompressed here; decompress it with {command} first, or pass a pipe \
         that does so"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_told_by_their_first_bytes() {
        let cases: [(&[u8], Option<&str>); 13] = [
            (b"\x1f\x8b\x08\0", Some("gzip")),
            (b"\x28\xb5\x2f\xfd\x04", Some("Zstandard")),
            (b"\xfd7zXZ\0\0\x04", Some("xz")),
            (b"PK\x03\x04\x14", Some("zip")),
            (b"PK\x05\x06\0", Some("zip")),
            (b"BZh91AY&SY", Some("bzip2")),
            (b"BZh1\x17\x72\x45\x38\x50\x90", Some("bzip2")),
            (b"BZh9 is a name", None),
            (b"BZh01AY&SY", None),
            (b"PK is short", None),
            (b"\x1f", None),
            (b"(b/", None),
            (b"", None),
        ];
        for (start, format) in cases {
            assert_eq!(compression(start).map(|(format, _)| format), format, "{start:?}");
            assert_eq!(not_text(start).is_some(), format.is_some(), "{start:?}");
        }
    }

    #[test]
    fn wide_encodings_are_told_by_their_mark() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"\xff\xfea\0", Some("UTF-16")),
            (b"\xfe\xff\0a", Some("UTF-16")),
            (b"\xff\xfe\0\0a\0\0\0", Some("UTF-32")),
            (b"\0\0\xfe\xff\0\0\0a", Some("UTF-32")),
            (b"\xef\xbb\xbfa", None),
            (b"\xff", None),
            (b"a\xff\xfe", None),
        ];
        for (start, name) in cases {
            assert_eq!(wide_encoding(start), name, "{start:?}");
            let reason = name.map(|name| format!("iconv -f {name} -t UTF-8"));
            assert_eq!(not_text(start).is_some(), reason.is_some(), "{start:?}");
            assert!(reason.is_none_or(|reason| not_text(start).is_some_and(|said| said.contains(&reason))));
        }
    }
}
