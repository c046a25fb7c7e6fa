//! Runs of `<0xNN>` become the text of their bytes.
//!
//! A run that is valid UTF-8 becomes one string. Any other run becomes one U+FFFD for each byte,
//! its valid parts included, so a run is held back until it ends or is known to be invalid.
use super::{Rest, Step, incomplete_tail};
use crate::error::Result;

/// Length of an element that stands for a byte.
const WIDTH: usize = "<0xNN>".len();

const REPLACEMENT: &str = "\u{fffd}";

#[derive(Debug, Clone, Default)]
pub(super) struct ByteFallback {
    /// Text of the current element, while it may still be a byte.
    element: String,
    /// Is the current element known to be text?
    is_text: bool,
    /// Bytes of the current run, while they may still be valid UTF-8.
    run: Vec<u8>,
    /// Number of bytes at the end of `run` that start an incomplete character.
    open: usize,
    /// Is the current run known to be invalid?
    is_invalid: bool,
}

impl ByteFallback {
    fn close_run(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if !self.run.is_empty() {
            match std::str::from_utf8(&self.run) {
                Ok(text) => to.element(text)?,
                Err(_) => self.replace_run(to)?,
            }
            self.run.clear();
        }
        (self.is_invalid, self.open) = (false, 0);
        Ok(())
    }

    fn replace_run(&self, to: &mut Rest<'_, '_>) -> Result<()> {
        for _ in &self.run {
            to.ticker.spend(1)?;
            to.element(REPLACEMENT)?;
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8, to: &mut Rest<'_, '_>) -> Result<()> {
        if self.is_invalid {
            return to.element(REPLACEMENT);
        }
        self.run.push(byte);
        let last = &self.run[self.run.len() - self.open - 1..];
        match std::str::from_utf8(last) {
            Ok(_) => self.open = 0,
            Err(_) if incomplete_tail(last) == last.len() => self.open = last.len(),
            Err(_) => {
                self.replace_run(to)?;
                self.run.clear();
                self.is_invalid = true;
            }
        }
        Ok(())
    }
}

/// The byte that an element stands for. `<0x+1>` counts, as in the tokenizers library.
pub(super) fn byte_of(element: &str) -> Option<u8> {
    let digits = element.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

impl Step for ByteFallback {
    #[inline]
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        if self.is_text {
            return to.part(text);
        }
        if self.element.is_empty() {
            let may_be = text.len() <= WIDTH && text.starts_with('<');
            if !may_be {
                self.close_run(to)?;
                self.is_text = true;
                return to.part(text);
            }
        }
        self.element.push_str(text);
        if self.element.len() > WIDTH {
            self.close_run(to)?;
            self.is_text = true;
            to.part(&self.element)?;
            self.element.clear();
        }
        Ok(())
    }

    #[inline]
    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if std::mem::take(&mut self.is_text) {
            return to.end();
        }
        if let Some(byte) = byte_of(&self.element) {
            self.element.clear();
            return self.byte(byte, to);
        }
        self.close_run(to)?;
        to.element(&self.element)?;
        self.element.clear();
        Ok(())
    }

    fn finish(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.close_run(to)
    }
}
