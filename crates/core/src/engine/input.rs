//! The input of a call: the text, and the meaning of the literals of special tokens in it.
use crate::aligned::Origins;
use crate::byte_alphabet;
use crate::error::{Error, Kind, Place};
use crate::span::Span;

/// The text to encode: UTF-8, or bytes that need not be text.
///
/// Each maximal run of bytes that are not UTF-8 is a pretoken, and each part between such runs is encoded as a text
/// of its own.
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// UTF-8.
    Str(&'a str),
    /// Any bytes; only vocabularies over bytes can spell them.
    Bytes(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Its bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The same as a `str`, where it is UTF-8.
    pub(super) fn validated(self) -> Self {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).map_or(self, Text::Str),
            Self::Str(_) => self,
        }
    }
}

/// A text, or a part of one that was cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) text: Text<'a>,
    /// Does it follow another part? Then nothing is put in front of it, as a normalizer does at the start of a text.
    /// It must begin at a place that [`Engine::safe_cut`](super::Engine::safe_cut) gave.
    pub(crate) follows: bool,
}

impl<'a> From<Text<'a>> for Part<'a> {
    fn from(text: Text<'a>) -> Self {
        Self { text, follows: false }
    }
}

/// What the literal of a special token in the text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Special {
    /// Ordinary text, so that a text cannot forge a token.
    Text,
    /// The token.
    Parse,
    /// An error.
    Raise,
    /// The token for these literals, ordinary text for the others.
    Only(Vec<String>),
}

/// An error in a pretoken, with its position moved to the caller's text.
pub(super) fn placed(error: Error, origins: Origins<'_>) -> Error {
    error.placed(|place| match place {
        Place::Byte(at) => Place::Byte(origins.span(Span::new(at, at)).start),
        Place::Character(_) => place,
    })
}

/// An error in a text that the model sees in the byte alphabet: the unknown symbol is shown as it is in the text,
/// not in the byte alphabet.
#[cold]
pub(super) fn show_symbol_as_text(mut error: Error, text: &[u8]) -> Error {
    if let Kind::UnknownToken { symbol, position: Place::Byte(at) } = &mut error.kind
        && let Some(named) = text_of_symbol(symbol, text, *at)
    {
        *symbol = named;
    }
    error
}

/// The text of some characters of the byte alphabet; a single byte of a longer character is shown as that
/// character.
fn text_of_symbol(letters: &str, text: &[u8], at: usize) -> Option<String> {
    let bytes = byte_alphabet::read(letters)?;
    match (bytes.utf8_chunks().next()?.valid(), bytes.as_slice()) {
        // Only the beginning of a long pretoken is shown, which may end inside a character.
        ("", &[byte, ..]) => {
            let char = char_at(text, at).filter(|char| char.to_string().as_bytes().contains(&byte));
            Some(char.map_or_else(|| format!("0x{byte:02X}"), String::from))
        }
        (valid, _) => Some(valid.to_owned()),
    }
}

/// The character that a byte of a text belongs to.
fn char_at(text: &[u8], at: usize) -> Option<char> {
    let start =
        (at.saturating_sub(3)..=at).rev().find(|&start| text.get(start).is_some_and(|b| b & 0xc0 != 0x80))?;
    let char = text[start..].utf8_chunks().next()?.valid().chars().next()?;
    (start + char.len_utf8() > at).then_some(char)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_alphabet::write;

    #[test]
    fn letters_are_named_by_what_they_stand_for() {
        let text = "a\u{b}é狐".as_bytes();
        let named = |bytes: &[u8], at| text_of_symbol(&write(bytes), text, at).unwrap();
        assert_eq!(named(b"\x0b", 1), "\u{b}");
        // A space that a stage has prepended.
        assert_eq!(named(b" ", 0), " ");
        assert_eq!((named(b"\xc3", 2), named(b"\xa9", 3)), ("é".to_owned(), "é".to_owned()));
        assert_eq!(named(&"狐".as_bytes()[2..], 6), "狐");
        // A stage has replaced the character.
        assert_eq!(named(b"\xc2", 2), "0xC2");
        assert_eq!(named(b"\xff", 9), "0xFF");
        assert_eq!(named(" é狐".as_bytes(), 1), " é狐");
        assert_eq!(named(&"a狐".as_bytes()[..3], 0), "a");
        assert_eq!(text_of_symbol("你", text, 0), None);
    }

    #[test]
    fn bytes_that_are_no_text_belong_to_no_character() {
        assert_eq!(char_at(b"a\xff\xa9", 1), None);
        assert_eq!(char_at(b"a\xff\xa9", 2), None);
        assert_eq!(char_at(b"\xa9", 0), None);
        assert_eq!(char_at("é".as_bytes(), 2), None);
    }
}
