//! The printable characters that stand for the 256 bytes in the files of byte-level vocabularies.
//!
//! Bytes that are printable in Latin-1 stand for themselves; the other 68 map to U+0100 and up, in
//! byte order (space is `Ġ`, newline `Ċ`). Only files and people see this form; the engine works on
//! bytes. Source: GPT-2's vocabulary files.

const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

/// The character of each byte.
pub const BYTE_TO_CHAR: [char; 256] = {
    let mut table = ['\0'; 256];
    let mut next = 0x100_u32;
    let mut byte = 0_u32;
    while byte < 256 {
        let code = if stands_for_itself(byte as u8) {
            byte
        } else {
            next += 1;
            next - 1
        };
        table[byte as usize] = match char::from_u32(code) {
            Some(char) => char,
            None => panic!("codes stay below U+0144"),
        };
        byte += 1;
    }
    table
};

/// The byte that a character stands for, or 0xFFFF; indexed by code point below 0x144.
const CHAR_TO_BYTE: [u16; 0x144] = {
    let mut table = [0xffff; 0x144];
    let mut byte = 0;
    while byte < 256 {
        table[BYTE_TO_CHAR[byte] as usize] = byte as u16;
        byte += 1;
    }
    table
};

/// Bytes in written form: `b" a"` is `"Ġa"`.
pub fn write(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| BYTE_TO_CHAR[usize::from(byte)]).collect()
}

/// The bytes of a written form; `None` if a character stands for no byte.
pub fn read(written: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(written.len());
    read_into(written, &mut bytes).then_some(bytes)
}

/// Appends the bytes of `written` to `bytes`. On failure returns false and leaves `bytes` in an
/// unspecified state.
pub fn read_into(written: &str, bytes: &mut Vec<u8>) -> bool {
    written.chars().all(|char| match CHAR_TO_BYTE.get(char as usize) {
        Some(&byte) if byte < 256 => {
            bytes.push(byte as u8);
            true
        }
        _ => false,
    })
}

/// The token of a byte in vocabularies of characters.
pub fn written_byte(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The byte whose token this is, as [`written_byte`] writes it.
pub fn byte_token(token: &[u8]) -> Option<u8> {
    let &[b'<', b'0', b'x', high, low, b'>'] = token else { return None };
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection_with_the_known_places() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&write(&all)), Some(all));
        assert_eq!(write(b" a\n\x7f\xa0\xad"), "ĠaĊġłŃ");
        assert_eq!(read(" "), None);
        assert_eq!(read("你"), None);
    }
}
