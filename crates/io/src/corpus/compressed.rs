//! Recognises compressed files, which are no text and are not decompressed here.
use std::path::Path;

use tokenmill_core::error::{Error, Result};

/// Bytes of a file that tell whether it is compressed.
pub(super) const START: u64 = 10;

/// Refuses a file that begins as a compressed one does. Only bzip2 begins with text, but with one of ten characters
/// that no prose begins with.
///
/// # Errors
/// [`Kind::Training`](tokenmill_core::error::Kind::Training) with the path, the format and how to decompress it.
pub(super) fn refuse_compressed(start: &[u8], path: &Path) -> Result<()> {
    let Some((format, command)) = format_of(start) else { return Ok(()) };
    let reason = format!(
        "is compressed ({format}), which is not decompressed here; decompress it with {command} first, or pass a pipe \
         that does so"
    );
    Err(Error::training(reason).in_file(path))
}

/// The format of a compressed file, and the command that decompresses it.
fn format_of(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, ..] => Some(("gzip", "gunzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("Zstandard", "unzstd")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "unxz")),
        // The first block begins with the digits of pi; a file of nothing has those of its square root.
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
            if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17rE8P\x90") =>
        {
            Some(("bzip2", "bunzip2"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_told_by_their_first_bytes() {
        let cases: [(&[u8], Option<&str>); 10] = [
            (b"\x1f\x8b\x08\0", Some("gzip")),
            (b"\x28\xb5\x2f\xfd\x04", Some("Zstandard")),
            (b"\xfd7zXZ\0\0\x04", Some("xz")),
            (b"BZh91AY&SY", Some("bzip2")),
            (b"BZh1\x17\x72\x45\x38\x50\x90", Some("bzip2")),
            (b"BZh9 is a name", None),
            (b"BZh01AY&SY", None),
            (b"\x1f", None),
            (b"(b/", None),
            (b"", None),
        ];
        for (start, format) in cases {
            assert_eq!(format_of(start).map(|(format, _)| format), format, "{start:?}");
        }
    }
}
