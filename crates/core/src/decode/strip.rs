//! Removes a character from the ends of every string.
//!
//! Up to `start` occurrences are removed at the start, then up to `stop` of the remaining ones at
//! the end. (The tokenizers library panics where the two would meet, and on an empty string.)
use super::{Rest, Step};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Strip {
    content: char,
    start: usize,
    stop: usize,
    /// Number of occurrences that may still be removed at the start of this element.
    leading: usize,
    /// Number of trailing occurrences held back, at most `stop`; removed if the element ends here.
    held: usize,
}

impl Strip {
    pub(super) fn new(content: char, start: usize, stop: usize) -> Self {
        Self { content, start, stop, leading: start, held: 0 }
    }

    fn release(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        let content = self.content;
        for _ in 0..std::mem::take(&mut self.held) {
            to.part(content.encode_utf8(&mut [0; 4]))?;
        }
        Ok(())
    }
}

impl Step for Strip {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        let mut text = text;
        while self.leading > 0
            && let Some(rest) = text.strip_prefix(self.content)
        {
            text = rest;
            self.leading -= 1;
        }
        if text.is_empty() {
            return Ok(());
        }
        self.leading = 0;
        if self.stop == 0 {
            return to.part(text);
        }
        let body = text.trim_end_matches(self.content);
        if !body.is_empty() {
            self.release(to)?;
            to.part(body)?;
        }
        // Only the last `stop` occurrences of a run may be removed; the others are certain.
        let tail = &text[body.len()..];
        let width = self.content.len_utf8();
        let all = self.held + tail.len() / width;
        for _ in self.stop..all {
            to.part(self.content.encode_utf8(&mut [0; 4]))?;
        }
        self.held = all.min(self.stop);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        (self.leading, self.held) = (self.start, 0);
        to.end()
    }
}
