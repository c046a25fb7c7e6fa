//! Base64 as lenient as Python's decoder, which some formats' libraries use: characters outside the
//! alphabet and left-over bits are ignored; the padding must be complete.

/// The decoded bytes; `None` if Python rejects the text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut in_group, mut padding) = (0_u32, 0, 0);
    for byte in text.bytes() {
        if byte == b'=' {
            padding += 1;
            if in_group >= 2 && in_group + padding >= 4 {
                // Text after the padding is not read.
                return Some(bytes);
            }
        } else if let Some(value) = value_of(byte) {
            padding = 0;
            bits = bits << 6 | value;
            in_group = (in_group + 1) % 4;
            if in_group != 1 {
                let left_over = [0, 0, 4, 2][in_group];
                #[allow(clippy::cast_possible_truncation)] // the last eight bits
                bytes.push((bits >> left_over) as u8);
            }
        }
    }
    (in_group == 0).then_some(bytes)
}

fn value_of(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn what_is_written_is_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            assert_eq!(decode(&STANDARD.encode(&bytes[..length])).as_deref(), Some(&bytes[..length]));
        }
    }

    #[test]
    fn what_python_reads_is_read() {
        for (text, expected) in [
            ("Y*Q==", Some(&b"a"[..])),
            ("YQ=\n=", Some(b"a")),
            ("YR==", Some(b"a")),
            ("YQ==YQ==", Some(b"a")),
            ("YQ===", Some(b"a")),
            ("=YQ==", Some(b"a")),
            ("====", Some(b"")),
            ("", Some(b"")),
            ("YQ=", None),
            ("YQ", None),
            ("Y===", None),
            ("YWJjZ", None),
            ("éYQ==", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text:?}");
        }
    }
}
