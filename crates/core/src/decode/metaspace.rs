//! Marks become spaces; those of the first string are removed, unless marks are never prepended.
use super::{Rest, Step};
use crate::description::PrependScheme;
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Metaspace {
    mark: char,
    /// Is this the first element, whose marks are removed?
    drops: bool,
}

impl Metaspace {
    pub(super) fn new(mark: char, prepend: PrependScheme) -> Self {
        Self { mark, drops: prepend != PrependScheme::Never }
    }
}

impl Step for Metaspace {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        for (i, piece) in text.split(self.mark).enumerate() {
            if i > 0 && !self.drops {
                to.part(" ")?;
            }
            to.part(piece)?;
        }
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        self.drops = false;
        to.end()
    }
}
