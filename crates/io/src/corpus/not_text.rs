//! Recognises files that are no UTF-8 text by their first bytes: compressed ones, which are not decompressed here, and
//! UTF-16 and UTF-32 with a byte-order mark.
use std::path::Path;

use tokenmill_core::error::{Error, Result};

/// Bytes of a file that tell what it is.
pub(super) const START: u64 = 10;

/// Refuses a file that begins as a compressed one does. Only bzip2 begins with text, but with one of ten characters
/// that no prose begins with.
///
/// # Errors
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the path, the format and how to decompress it.
pub(super) fn refuse_compressed(start: &[u8], path: &Path) -> Result<()> {
    match compressed(start) {
        Some(reason) => Err(Error::training(reason).in_file(path)),
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

/// What to do with a file in another encoding.
pub(super) fn converted(encoding: &str) -> String {
    format!("convert it with iconv -f {encoding} -t UTF-8 first")
}

fn compressed(start: &[u8]) -> Option<String> {
    let (format, command) = format_of(start)?;
    Some(format!(
        "is compressed ({format}), which is not decompressed here; decompress it with {command} first, or pass a pipe \
         that does so"
    ))
}

/// The format of a compressed file, and the command that decompresses it.
fn format_of(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, ..] => Some(("gzip", "gunzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("Zstandard", "unzstd")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "unxz")),
        // An archive of nothing has its end alone.
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(("zip", "unzip -p")),
        // The first block begins with the digits of pi; a file of nothing has those of its square root.
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
            if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17rE8P\x90") =>
        {
            Some(("bzip2", "bunzip2"))
        }
        _ => None,
    }
}

/// The encoding that a byte-order mark of two or four bytes names.
pub(super) fn wide_encoding(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => None,
    }
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
            assert_eq!(format_of(start).map(|(format, _)| format), format, "{start:?}");
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
