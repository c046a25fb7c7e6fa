//! What the first bytes of a file say of it: a compressed format, or an encoding other than UTF-8.

/// Bytes that these functions need to see.
pub(crate) const LENGTH: usize = 10;

/// The format of a compressed file, and the command that decompresses it. Only bzip2 begins with text, but with ten
/// characters that no prose begins with.
pub(crate) fn compression(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, ..] => Some(("gzip", "gunzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("Zstandard", "unzstd")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "unxz")),
        // An empty archive is an end record alone.
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(("zip", "unzip -p")),
        // The first block begins with the digits of pi; an empty file has the digits of the square root of pi.
        [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
            if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17rE8P\x90") =>
        {
            Some(("bzip2", "bunzip2"))
        }
        _ => None,
    }
}

/// The encoding that a byte-order mark of two or four bytes names.
pub(crate) fn wide_encoding(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => None,
    }
}

/// What to do with a file in another encoding.
pub(crate) fn converted(encoding: &str) -> String {
    format!("convert it with iconv -f {encoding} -t UTF-8 first")
}
