//! Removes the white space at the ends of tokens from their offsets.
//!
//! The tokenizers library counts `Ġ` and white space at the ends of a token's written form and
//! moves its offsets by that number of characters; it guesses whether a leading `Ġ` stands for a
//! space of the text or for a prepended one. Here the bytes of the token that are not white space
//! are projected back to the text, so no guess is needed.

/// A space in the byte alphabet.
const SPACE: char = 'Ġ';

fn is_blank(c: char) -> bool {
    c == SPACE || c.is_whitespace()
}

/// The number of white space bytes at the start and at the end of `part`, the part of a pretoken
/// that a token stands for. Counts only what is white space in the token's written form as well: an
/// unknown token has none. A part of white space alone counts as leading.
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
