//! Tokens for a single byte: `<0x00>` to `<0xFF>`, in capitals as their libraries write them.

/// The byte that a token stands for; `None` for another token.
pub(crate) fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    // Number parsing would also accept a sign.
    let is_hex = digits.len() == 2 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    is_hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_pairs_of_characters_only_digits_are_a_byte() {
        let mut found = 0;
        for a in ' '..='~' {
            for b in ' '..='~' {
                let token = format!("<0x{a}{b}>");
                let digit = |c: char| "0123456789ABCDEF".find(c);
                let expected = digit(a).zip(digit(b)).map(|(a, b)| a * 16 + b);
                assert_eq!(byte_of(&token).map(usize::from), expected, "{token}");
                found += usize::from(expected.is_some());
            }
        }
        assert_eq!(found, 256);
        for token in ["<0x041>", "<0x4>", "0x41", "<0x41", "<0X41>", "<0xé>", ""] {
            assert_eq!(byte_of(token), None);
        }
    }
}
