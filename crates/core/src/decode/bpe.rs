//! End-of-word suffixes become spaces; in the last string they are removed.
use super::literal::{Found, Literal};
use super::{Rest, Step};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Bpe {
    /// `None` for an empty suffix, which matches before, between and after characters.
    suffix: Option<Literal>,
    /// The element from its first suffix on, in the two forms that it may take: as the last
    /// element, and as any other.
    if_last: String,
    if_not: String,
    /// Is there a closed element that may be the last?
    waits: bool,
    /// Does the current element contain the suffix?
    holds: bool,
}

impl Bpe {
    pub(super) fn new(suffix: &str) -> Self {
        Self {
            suffix: (!suffix.is_empty()).then(|| Literal::new(suffix)),
            if_last: String::new(),
            if_not: String::new(),
            waits: false,
            holds: false,
        }
    }

    /// Emits the pending element, which is not the last.
    fn go_on(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        to.element(&self.if_not)?;
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        self.if_last.clear();
        self.if_not.clear();
        self.holds = false;
    }

    fn take(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        if !self.holds {
            return to.part(text);
        }
        self.if_last.push_str(text);
        self.if_not.push_str(text);
        Ok(())
    }

    fn suffix(&mut self) {
        self.holds = true;
        self.if_not.push(' ');
    }
}

impl Step for Bpe {
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        self.go_on(to)?;
        let Some(mut suffix) = self.suffix.take() else {
            for (i, c) in text.char_indices() {
                self.suffix();
                self.take(&text[i..i + c.len_utf8()], to)?;
            }
            return Ok(());
        };
        let result = suffix.part(text, |found| match found {
            Found::Text(text) => self.take(text, to),
            Found::Match => {
                self.suffix();
                Ok(())
            }
        });
        self.suffix = Some(suffix);
        result
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        // An element without text counts as an element.
        self.go_on(to)?;
        match self.suffix.take() {
            Some(mut suffix) => {
                self.take(suffix.end(), to)?;
                self.suffix = Some(suffix);
            }
            None => self.suffix(),
        }
        self.waits = true;
        Ok(())
    }

    fn finish(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        if std::mem::take(&mut self.waits) {
            to.element(&self.if_last)?;
            self.forget();
        }
        Ok(())
    }
}
