//! Ends a text that was cut: with a full stop, once, and none after a comma.
use tokenmill_kernels::try_alloc;

use super::sentences::{is_closer, is_end, is_space};
use crate::error::Result;

/// What cannot stand before a full stop.
fn is_separator(char: char) -> bool {
    is_space(char) || ",;:-–—‐·*/\\(<[{“„«‹‘「『（、，；：".contains(char)
}

/// Ends a text with a full stop, unless a sentence ends there.
pub(super) fn close(text: &mut String) -> Result<()> {
    text.truncate(text.trim_end_matches(is_space).len());
    let body = text.trim_end_matches(is_closer);
    if body.ends_with(is_end) || text.is_empty() {
        return Ok(());
    }
    let kept = body.trim_end_matches(is_separator).len();
    // The last word stays a word, be it a dash.
    let last = text.rfind(is_space).map_or(0, |at| at + 1);
    if kept <= last {
        return Ok(try_alloc::push_text(text, ".")?);
    }
    let closers = if kept < body.len() { body.len()..text.len() } else { 0..0 };
    let quotes = try_alloc::copy_text(&text[closers.clone()])?;
    if kept < body.len() {
        text.truncate(kept);
    }
    try_alloc::push_text(text, ".")?;
    Ok(try_alloc::push_text(text, &quotes)?)
}

/// The first `count` characters of a text, ended by a full stop. What cannot stand before it gives way to the letters
/// that follow in the text, so that the number of characters is kept.
pub(super) fn close_at(text: &str, count: usize) -> Result<String> {
    let byte = |characters: usize| text.char_indices().nth(characters).map_or(text.len(), |(byte, _)| byte);
    let end = byte(count);
    let mut closed = try_alloc::copy_text(&text[..end])?;
    if closed.ends_with(is_end) && closed.chars().count() == count {
        return Ok(closed);
    }
    let before = byte(count.saturating_sub(1));
    let may_not_precede = |char: char| is_separator(char) || is_end(char) || is_closer(char);
    let kept = text[..before].trim_end_matches(may_not_precede);
    closed.truncate(kept.len());
    let missing = count.saturating_sub(1) - kept.chars().count();
    let letters = text[before..].chars().filter(|char| char.is_alphanumeric());
    let filler = kept.chars().last().filter(|char| char.is_alphanumeric()).unwrap_or('x');
    for letter in letters.chain(std::iter::repeat(filler)).take(missing) {
        try_alloc::push_text(&mut closed, letter.encode_utf8(&mut [0; 4]))?;
    }
    try_alloc::push_text(&mut closed, ".")?;
    Ok(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_full_stop_ends_a_text() {
        for (text, want) in [
            ("a b", "a b."),
            ("a b,", "a b."),
            ("a b.", "a b."),
            ("a b?\" ", "a b?\""),
            ("a b,\"", "a b.\""),
            ("a (b)", "a (b)."),
            ("a b (", "a b (."),
            ("a b —", "a b —."),
            ("a b—", "a b."),
            ("", ""),
        ] {
            let mut closed = text.to_owned();
            close(&mut closed).unwrap();
            assert_eq!(closed, want);
            assert_eq!(closed.split_whitespace().count(), text.split_whitespace().count());
        }
    }

    #[test]
    fn the_number_of_characters_is_kept() {
        let text = "Lorem ipsum, dolor. Sit amet";
        for count in 1..60 {
            let closed = close_at(text, count).unwrap();
            assert_eq!(closed.chars().count(), count, "{closed}");
            assert!(closed.ends_with('.') && !closed.ends_with("..") && !closed.ends_with(" ."), "{closed}");
        }
        assert_eq!(close_at(text, 13).unwrap(), "Lorem ipsumd.");
        assert_eq!(close_at(text, 19).unwrap(), "Lorem ipsum, dolor.");
        assert_eq!(close_at(text, 20).unwrap(), "Lorem ipsum, dolorS.");
    }
}
