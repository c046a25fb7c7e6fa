//! Offsets without the white space at the ends of tokens.
//!
//! The tokenizers library counts the `Ġ` and white space at the ends of a token's written form and
//! moves its offsets by so many characters; whether a leading `Ġ` stands for a space of the text
//! or was put there, it guesses. Here the bytes of the token that are no white space are projected
//! back to the text, so that nothing need be guessed.

/// The mark of a space in the byte alphabet.
const SPACE: char = 'Ġ';

fn is_blank(c: char) -> bool {
    c == SPACE || c.is_whitespace()
}

/// Bytes of white space at the start and at the end of the part of a pretoken that a token stands
/// for, as far as the token's written form has white space there, too: an unknown token has none.
/// What is all white space is that at the start.
pub fn white_space_at_ends(part: &[u8], in_bytes: bool, written: impl FnOnce() -> String) -> (usize, usize) {
    if in_bytes {
        // In written form a space is `Ġ`, and no other byte is white space.
        let leading = part.iter().take_while(|&&byte| byte == b' ').count();
        let trailing = part[leading..].iter().rev().take_while(|&&byte| byte == b' ').count();
        return (leading, trailing);
    }
    let Ok(text) = std::str::from_utf8(part) else { return (0, 0) };
    let ends = [text.chars().next(), text.chars().next_back()];
    if !ends.into_iter().flatten().any(is_blank) {
        return (0, 0);
    }
    let written = written();
    let (first, last) = (
        written.chars().take_while(|&c| is_blank(c)).count(),
        written.chars().rev().take_while(|&c| is_blank(c)).count(),
    );
    let leading = text.chars().take(first).take_while(|&c| is_blank(c)).map(char::len_utf8).sum();
    let rest = &text[leading..];
    let trailing = rest.chars().rev().take(last).take_while(|&c| is_blank(c)).map(char::len_utf8).sum();
    (leading, trailing)
}
