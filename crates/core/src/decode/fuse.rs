//! Joins all strings into one, optionally with spaces between them.
use super::{Rest, Step};
use crate::error::Result;

#[derive(Debug, Clone, Default)]
pub(super) struct Fuse {
    is_spaced: bool,
    /// Has an element been closed in this row?
    has_one: bool,
    /// Does the next text start an element?
    at_start: bool,
}

impl Fuse {
    /// Puts a space between elements.
    pub(super) fn spaced() -> Self {
        Self { is_spaced: true, has_one: false, at_start: true }
    }

    fn open(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if self.is_spaced && self.at_start && self.has_one {
            to.part(" ")?;
        }
        self.at_start = false;
        Ok(())
    }
}

impl Step for Fuse {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        self.open(to)?;
        to.part(text)
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.open(to)?;
        (self.has_one, self.at_start) = (true, true);
        Ok(())
    }

    fn finish(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        to.end()
    }
}
