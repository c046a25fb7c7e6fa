//! Replaces every match of a pattern.
//!
//! A literal is replaced while its element arrives. An empty literal matches before, between and
//! after characters, but not in an empty string. A regular expression needs the whole element.
use std::sync::Arc;

use super::literal::{Found, Literal};
use super::{Machine, Rest, Step};
use crate::description::{Pattern, Split};
use crate::error::{Error, Result};
use crate::pattern::Splitter;

/// The step for a pattern.
pub(super) fn machine(pattern: &Pattern, content: &str) -> Result<Machine> {
    Ok(match pattern {
        Pattern::Literal(literal) => Machine::Replace(Replace {
            literal: (!literal.is_empty()).then(|| Literal::new(literal)),
            content: content.into(),
            is_empty: true,
        }),
        Pattern::Regex(regex) => Machine::Regex(Regex {
            splitter: Arc::new(Splitter::compile(&Split::Pattern(regex.clone()))?),
            content: content.into(),
            element: String::new(),
        }),
    })
}

/// Replaces a literal.
#[derive(Debug, Clone)]
pub(super) struct Replace {
    /// `None` for an empty literal.
    literal: Option<Literal>,
    content: Arc<str>,
    /// Is the element empty so far?
    is_empty: bool,
}

impl Replace {
    pub(super) fn growth(&self) -> usize {
        let per_match = self.content.len();
        self.literal.as_ref().map_or(per_match + 1, |literal| per_match.div_ceil(literal.len()).max(1))
    }
}

impl Step for Replace {
    #[inline]
    fn part(&mut self, text: &str, to: &mut Rest<'_, '_>) -> Result<()> {
        self.is_empty = false;
        let Some(literal) = &mut self.literal else {
            for (i, c) in text.char_indices() {
                to.part(&self.content)?;
                to.part(&text[i..i + c.len_utf8()])?;
            }
            return Ok(());
        };
        let content = &*self.content;
        literal.part(text, |found| match found {
            Found::Text(text) => to.part(text),
            Found::Match => to.part(content),
        })
    }

    #[inline]
    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        match &mut self.literal {
            Some(literal) => to.part(literal.end())?,
            None if !self.is_empty => to.part(&self.content)?,
            None => {}
        }
        self.is_empty = true;
        to.end()
    }
}

/// Replaces the matches of a regular expression.
#[derive(Debug, Clone)]
pub(super) struct Regex {
    splitter: Arc<Splitter>,
    content: Arc<str>,
    element: String,
}

impl Regex {
    pub(super) fn growth(&self) -> usize {
        self.content.len() + 1
    }
}

impl Step for Regex {
    fn part(&mut self, text: &str, _to: &mut Rest<'_, '_>) -> Result<()> {
        self.element.push_str(text);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        let Self { splitter, content, element } = self;
        // As in the tokenizers library, no pattern matches in an empty string.
        if !element.is_empty() {
            let replaced = splitter.for_each_match(element, |span, is_match| {
                to.ticker.spend(splitter.work(span.len()))?;
                to.part(if is_match { content } else { &element[span.start..span.end] })
            });
            replaced.map_err(Error::without_place)?;
        }
        element.clear();
        to.end()
    }
}
