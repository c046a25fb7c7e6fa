//! Ids with the part of the text that each stands for.
use crate::error::Result;
use crate::ids::TokenId;
use crate::span::Span;
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::encode::{Sink, Special, Text};

/// Ids and, for each, the bytes of the text it stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// Non-decreasing; for byte-level vocabularies they tile the text.
    pub byte_offsets: Vec<Span>,
}

struct Spans<'a> {
    engine: &'a Engine,
    text: &'a [u8],
    encoding: Encoding,
}

impl Sink for Spans<'_> {
    fn take(&mut self, span: Span, ids: &[TokenId]) {
        let mut at = span.start;
        for (i, &id) in ids.iter().enumerate() {
            // The last token ends where the pretoken ends: the literal of an unknown token is as
            // long as it is.
            let end = if i + 1 == ids.len() {
                span.end
            } else {
                (at + self.engine.length_in(&self.text[at..span.end], id)).min(span.end)
            };
            self.encoding.ids.push(id);
            self.encoding.byte_offsets.push(Span::new(at, end));
            at = end;
        }
    }
}

impl Engine {
    /// Encodes a text and says which bytes of it each id stands for.
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn encode_with_offsets(
        &self,
        text: Text<'_>,
        special: &Special,
        watch: &dyn Watch,
    ) -> Result<Encoding> {
        let mut sink = Spans { engine: self, text: text.as_bytes(), encoding: Encoding::default() };
        self.encode_into(text, special, watch, &mut sink)?;
        Ok(sink.encoding)
    }

    /// How many bytes of `rest`, the text from here on, a token stands for.
    fn length_in(&self, rest: &[u8], id: TokenId) -> usize {
        if self.parts.model.unk() == Some(id) {
            // It stands for one symbol: a character, or a byte where the alphabet is bytes.
            let is_bytes = self.description.model.alphabet == crate::description::Alphabet::Bytes;
            let first = if is_bytes {
                None
            } else {
                rest.utf8_chunks().next().and_then(|c| c.valid().chars().next())
            };
            return first.map_or(1, char::len_utf8);
        }
        self.parts.vocabulary.decoded(id).map_or(0, <[u8]>::len)
    }
}

/// Character offsets of byte spans: the character that holds the first byte, and one past the
/// character that holds the last. Tokens that split a character both get the whole of it.
/// `text` is read once; spans must be non-decreasing. Bytes that are not UTF-8 count as one
/// character each.
///
/// # Errors
/// What the watch says.
pub fn char_offsets(text: &[u8], spans: &[Span], watch: &dyn Watch) -> Result<Vec<(usize, usize)>> {
    let mut offsets = Vec::with_capacity(spans.len());
    let mut ticker = Ticker::new(watch);
    // `chars` characters start before byte `at`.
    let (mut at, mut chars) = (0, 0);
    let mut advance = |to: usize| {
        while at < to {
            chars += usize::from(starts_character(text, at));
            at += 1;
        }
        chars
    };
    let inside = |byte: usize| byte < text.len() && !starts_character(text, byte);
    for span in spans {
        let start = advance(span.start) - usize::from(inside(span.start));
        let end = if span.is_empty() { start } else { advance(span.end) };
        offsets.push((start, end));
        ticker.spend(span.len() + 1)?;
    }
    Ok(offsets)
}

/// Is this byte the first of a character? A continuation byte is, where no lead byte reaches it.
fn starts_character(text: &[u8], at: usize) -> bool {
    if text[at] & 0xc0 != 0x80 {
        return true;
    }
    // A valid sequence is at most four bytes: look for one that covers this byte.
    !(1..=3.min(at)).any(|back| {
        let lead = at - back;
        let length = match text[lead] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return false,
        };
        back < length
            && text.get(lead..lead + length).is_some_and(|sequence| std::str::from_utf8(sequence).is_ok())
    })
}
