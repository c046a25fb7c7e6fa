//! Removes the prefixes of continuing tokens and puts a space before other tokens, except the first.
use std::sync::Arc;

use super::cleanup::clean_up;
use super::{Rest, Step};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct WordPiece {
    prefix: Arc<str>,
    cleanup: bool,
    element: String,
    is_later: bool,
}

impl WordPiece {
    pub(super) fn new(prefix: &str, cleanup: bool) -> Self {
        Self { prefix: prefix.into(), cleanup, element: String::new(), is_later: false }
    }
}

impl Step for WordPiece {
    fn part(&mut self, text: &str, _to: &mut Rest<'_, '_>) -> Result<()> {
        if self.element.is_empty() && self.is_later {
            // `end` removes this space together with the prefix of a continuing token.
            self.element.push(' ');
        }
        self.element.push_str(text);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if self.is_later {
            if self.element.is_empty() {
                self.element.push(' ');
            }
            if self.element[1..].starts_with(&*self.prefix) {
                self.element.drain(..=self.prefix.len());
            }
        }
        if self.cleanup {
            clean_up(&mut self.element);
        }
        self.is_later = true;
        to.element(&self.element)?;
        self.element.clear();
        Ok(())
    }
}
