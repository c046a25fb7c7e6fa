//! Strings in the byte alphabet become the text of their bytes, joined into one string.
//!
//! A string with any other character stands for its own UTF-8. Invalid UTF-8 becomes U+FFFD, one
//! for each maximal part of a character.
use super::{Rest, Step, incomplete_tail};
use crate::byte_alphabet;
use crate::error::Result;

#[derive(Debug, Clone, Default)]
pub(super) struct ByteLevel {
    element: String,
    /// Bytes of an incomplete character, followed by those of the last element.
    bytes: Vec<u8>,
}

impl ByteLevel {
    /// Emits `self.bytes[..end]`, as text.
    fn hand_on(&mut self, end: usize, to: &mut Rest<'_, '_>) -> Result<()> {
        for chunk in self.bytes[..end].utf8_chunks() {
            to.part(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                to.part("\u{fffd}")?;
            }
        }
        self.bytes.drain(..end);
        Ok(())
    }
}

impl Step for ByteLevel {
    fn part(&mut self, text: &str, _to: &mut Rest<'_, '_>) -> Result<()> {
        self.element.push_str(text);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        let before = self.bytes.len();
        if !byte_alphabet::read_into(&self.element, &mut self.bytes) {
            self.bytes.truncate(before);
            self.bytes.extend_from_slice(self.element.as_bytes());
        }
        self.element.clear();
        self.hand_on(self.bytes.len() - incomplete_tail(&self.bytes), to)
    }

    fn finish(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.hand_on(self.bytes.len(), to)?;
        to.end()
    }
}
