//! Normalization as in SentencePiece, in one pass.
//!
//! At each position, a user-defined symbol is kept, else the longest key of the map is replaced,
//! else one character is kept. Spaces in the result are collapsed and written as `▁`.
//!
//! Offsets follow SentencePiece: the last byte of a replacement stands for all of the replaced text
//! and for the removed text after it, the bytes before it for nothing. If `ﬁ` becomes `fi`, the `f`
//! is empty and the `i` stands for the whole letter.
use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};

use super::outcome::Outcome;
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::charsmap::Charsmap;
use crate::description::SentencePieceRules;
use crate::error::{Defect, Error, Result};
use crate::span::Span;
use crate::watch::Ticker;

const SPACE: &str = " ";
const MARK: &str = "\u{2581}";
const MARK_CHAR: char = '\u{2581}';

/// The bytes that are kept at once: a cancellation is noticed after them.
const MAX_KEPT: usize = 1 << 14;

/// What is known of a place by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstByte {
    /// No key and no symbol begins with this ASCII character, so it is kept.
    Kept,
    /// It is kept before another ASCII character and at the end. Most letters are: with a combining mark after them
    /// they are replaced.
    KeptBeforeAscii,
    /// The text may change here.
    Other,
}

/// The compiled rules.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // the flags of the format
pub(super) struct SentencePiece {
    map: Option<Charsmap>,
    user_defined: Option<AhoCorasick>,
    first_bytes: [FirstByte; 256],
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    escape_whitespaces: bool,
    treat_whitespace_as_suffix: bool,
}

impl SentencePiece {
    pub(super) fn new(rules: &SentencePieceRules) -> Result<Self> {
        let map = if rules.charsmap.is_empty() { None } else { Some(Charsmap::parse(&rules.charsmap)?) };
        let symbols = || rules.user_defined.iter().filter(|symbol| !symbol.is_empty());
        let user_defined = if symbols().next().is_some() {
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .start_kind(StartKind::Anchored)
                .build(symbols());
            Some(
                automaton
                    .map_err(|error| Error::format(Defect::Limit, error.to_string()).at("user_defined"))?,
            )
        } else {
            None
        };
        let mut first_bytes = [FirstByte::Other; 256];
        for (byte, first) in (0..0x80).zip(&mut first_bytes) {
            if byte != b' ' && !symbols().any(|symbol| symbol.as_bytes()[0] == byte) {
                *first = match &map {
                    Some(map) if map.has_key_of_ascii_from(byte) => FirstByte::Other,
                    Some(map) if map.has_key_from(byte) => FirstByte::KeptBeforeAscii,
                    _ => FirstByte::Kept,
                };
            }
        }
        Ok(Self {
            map,
            user_defined,
            first_bytes,
            add_dummy_prefix: rules.add_dummy_prefix,
            remove_extra_whitespaces: rules.remove_extra_whitespaces,
            escape_whitespaces: rules.escape_whitespaces,
            treat_whitespace_as_suffix: rules.treat_whitespace_as_suffix,
        })
    }

    pub(super) fn map(&self) -> Option<&Charsmap> {
        self.map.as_ref()
    }

    /// What a character becomes, if it is one character whatever is beside it.
    pub(super) fn kept(&self, c: char) -> Option<char> {
        match c {
            _ if self.map.is_some() || self.user_defined.is_some() => None,
            ' ' if self.remove_extra_whitespaces => None,
            ' ' if self.escape_whitespaces => Some('\u{2581}'),
            _ => Some(c),
        }
    }

    /// Does every character of a word stay as it is?
    pub(super) fn keeps(&self, word: &str) -> bool {
        self.kept_length(word, 0, false) == word.len()
    }

    pub(super) fn apply(
        &self,
        from: AlignedText<'_>,
        to: &mut Rewritten,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome> {
        let text = from.text;
        let mut at = 0;
        if self.remove_extra_whitespaces {
            while at < text.len()
                && !self.keeps_at(text.as_bytes(), at)
                && let (SPACE, length) = self.place(text, at)
            {
                ticker.spend(8)?;
                at += length;
            }
        }
        if at == text.len() {
            return Ok(if at == 0 { Outcome::Same } else { Outcome::Part(Span::new(at, at)) });
        }
        let space = if self.escape_whitespaces { MARK } else { SPACE };
        // To look for a character takes much less time than to look for a string.
        let space_char = if self.escape_whitespaces { MARK_CHAR } else { ' ' };
        to.start(from);
        // The source position of the spaces at the end of the new text, if there are any.
        let mut trailing = None;
        if self.add_dummy_prefix && !self.treat_whitespace_as_suffix {
            to.put(space, from, Span::new(at, at));
            trailing = Some(at);
        }
        let mut follows_space = self.remove_extra_whitespaces;
        let mut escaped = String::new();
        let is_tracked = !matches!(from.origins, Origins::Untracked);
        while at < text.len() {
            ticker.spend(16)?;
            let length = self.kept_length(text, at, is_tracked);
            if length > 0 {
                ticker.spend(length)?;
                to.keep(from, Span::new(at, at + length));
                (follows_space, trailing) = (false, None);
                at += length;
                continue;
            }
            let (new, length) = self.place(text, at);
            let range = Span::new(at, at + length);
            let new = if follows_space { new.trim_start_matches(' ') } else { new };
            if new.is_empty() {
                to.stretch(from, range);
            } else {
                follows_space = new.ends_with(' ');
                let new = if self.escape_whitespaces && new.contains(' ') {
                    escaped.clear();
                    new.split(' ').enumerate().for_each(|(i, part)| {
                        escaped.push_str(if i > 0 { MARK } else { "" });
                        escaped.push_str(part);
                    });
                    &escaped
                } else {
                    new
                };
                let is_all_space = new.chars().all(|c| c == space_char);
                trailing = match trailing {
                    Some(start) if is_all_space => Some(start),
                    _ => new.ends_with(space_char).then_some(at),
                };
                to.put_at_end(new, from, range);
            }
            at += length;
            follows_space &= self.remove_extra_whitespaces;
        }
        if self.remove_extra_whitespaces {
            let length = to.piece().text.trim_end_matches(space_char).len();
            to.truncate(length);
            at = trailing.unwrap_or(at);
        }
        if self.add_dummy_prefix && self.treat_whitespace_as_suffix {
            to.put(space, from, Span::new(at, at));
        }
        Ok(Outcome::New)
    }

    /// How many bytes from `at` on normalization leaves as they are, so that they can be copied together: characters that
    /// are no spaces and begin neither a key of the map nor a user-defined symbol. At most [`MAX_KEPT`], or a few more.
    ///
    /// If origins are tracked, only ASCII is counted: the origins of other characters are written one by one.
    #[inline]
    fn kept_length(&self, text: &str, at: usize, is_tracked: bool) -> usize {
        let bytes = text.as_bytes();
        let mut end = at;
        while let Some(&byte) = bytes.get(end).filter(|_| end - at < MAX_KEPT) {
            if self.keeps_at(bytes, end) {
                end += 1;
            } else if byte.is_ascii()
                || is_tracked
                || self.user_defined.is_some()
                || self.has_key_at(text, end)
            {
                break;
            } else {
                end += text[end..].chars().next().map_or(1, char::len_utf8);
            }
        }
        end - at
    }

    /// Is the character at `at` kept, as two bytes tell?
    #[inline]
    fn keeps_at(&self, text: &[u8], at: usize) -> bool {
        match self.first_bytes[usize::from(text[at])] {
            FirstByte::Kept => true,
            FirstByte::KeptBeforeAscii => text.get(at + 1).is_none_or(u8::is_ascii),
            FirstByte::Other => false,
        }
    }

    /// Is there a key at this place?
    #[inline]
    fn has_key_at(&self, text: &str, at: usize) -> bool {
        self.map.as_ref().is_some_and(|map| map.shortest(&text.as_bytes()[at..]).is_some())
    }

    /// The replacement of the text at `at`, and the number of bytes that it replaces.
    fn place<'a>(&'a self, text: &'a str, at: usize) -> (&'a str, usize) {
        let rest = &text[at..];
        if let Some(automaton) = &self.user_defined
            && let Some(found) = automaton.find(Input::new(rest).anchored(Anchored::Yes))
        {
            return (&rest[..found.end()], found.end());
        }
        if let Some(map) = &self.map
            && let Some((length, replacement)) = map.longest(rest.as_bytes())
        {
            // In an unusual file a key may end inside a character; such a key is ignored.
            if rest.is_char_boundary(length) {
                return (replacement, length);
            }
        }
        let length = rest.chars().next().map_or(0, char::len_utf8);
        (&rest[..length], length)
    }
}
