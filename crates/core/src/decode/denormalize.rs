//! The character map that a SentencePiece model applies to decoded text.
//!
//! At each position the longest key is replaced; without a key the character stays. Text is held
//! back only while it may still become a longer key.
use std::sync::Arc;

use super::{Rest, Step};
use crate::charsmap::Charsmap;
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Denormalize {
    map: Arc<Charsmap>,
    held: String,
}

impl Denormalize {
    pub(super) fn new(map: &[u8]) -> Result<Self> {
        let map = Charsmap::parse(map).map_err(|error| error.at("map"))?;
        Ok(Self { map: Arc::new(map), held: String::new() })
    }

    pub(super) fn growth(&self) -> usize {
        self.map.longest_replacement().max(1)
    }

    /// Emits the text that no later text can change, or all of it if `is_all`.
    fn hand_on(&mut self, is_all: bool, to: &mut Rest<'_, '_>) -> Result<()> {
        let text = &*self.held;
        // Unchanged text is emitted together with the next replacement.
        let (mut kept, mut at) = (0, 0);
        while let Some(char) = text[at..].chars().next() {
            let rest = &text.as_bytes()[at..];
            to.ticker.spend(1)?;
            if !self.map.has_key_from(rest[0]) {
                at += char.len_utf8();
                continue;
            }
            to.ticker.spend(16)?;
            if !is_all && self.map.goes_on(rest) {
                break;
            }
            // In an unusual file a key may end inside a character; such a key is ignored.
            let key = self.map.longest(rest).filter(|(length, _)| text.is_char_boundary(at + length));
            if let Some((length, replacement)) = key {
                to.part(&text[kept..at])?;
                to.part(replacement)?;
                at += length;
                kept = at;
            } else {
                at += char.len_utf8();
            }
        }
        to.part(&text[kept..at])?;
        self.held.drain(..at);
        Ok(())
    }
}

impl Step for Denormalize {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        self.held.push_str(text);
        self.hand_on(false, to)
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.hand_on(true, to)?;
        to.end()
    }
}
