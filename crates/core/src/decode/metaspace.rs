//! Marks become spaces; those of the first string go, unless none was ever put in front.
use super::{Rest, Step};
use crate::description::PrependScheme;
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Metaspace {
    mark: char,
    /// Is this the first element, of which marks go?
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
