//! Incomplete characters at the end of a byte string.

/// The number of bytes at the end that start a character which more bytes could complete; at most three.
///
/// Later bytes cannot change the meaning of the bytes before these: the first byte of a character
/// is never a later byte of another one, valid or not.
pub fn incomplete_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let tail = &bytes[bytes.len() - back..];
        match tail[0] {
            0x80..=0xbf => {}
            0xc2..=0xf4 => {
                let open = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
                return if open { back } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}
