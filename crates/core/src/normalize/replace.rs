//! Replaces every match by a text, which stands for the whole match.
use super::edit::Edit;
use super::outcome::Outcome;
use crate::aligned::{AlignedText, Rewritten};
use crate::description::{Pattern, Split};
use crate::error::Result;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Ticker;

/// A compiled replacement.
#[derive(Debug)]
pub(super) struct Replace {
    pattern: Compiled,
    content: String,
}

#[derive(Debug)]
enum Compiled {
    Literal(String),
    Regex(Splitter),
}

impl Replace {
    pub(super) fn new(pattern: &Pattern, content: &str) -> Result<Self> {
        let pattern = match pattern {
            Pattern::Literal(literal) => Compiled::Literal(literal.clone()),
            Pattern::Regex(regex) => Compiled::Regex(Splitter::compile(&Split::Pattern(regex.clone()))?),
        };
        Ok(Self { pattern, content: content.to_owned() })
    }

    pub(super) fn apply(
        &self,
        from: AlignedText<'_>,
        to: &mut Rewritten,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome> {
        // Even a pattern that matches the empty string does not match in an empty text.
        if from.text.is_empty() {
            return Ok(Outcome::Same);
        }
        let mut edit = Edit::new(from, to);
        match &self.pattern {
            Compiled::Literal(literal) => {
                let mut done = 0;
                for (at, _) in from.text.match_indices(literal.as_str()) {
                    ticker.spend(at - done + 8)?;
                    done = at;
                    self.replace(&mut edit, Span::new(at, at + literal.len()));
                }
            }
            Compiled::Regex(splitter) => splitter.for_each_match(from.text, |found, is_match| {
                ticker.spend(splitter.work(found.len()))?;
                if is_match {
                    self.replace(&mut edit, found);
                }
                Ok(())
            })?,
        }
        Ok(edit.finish())
    }

    /// What a character becomes, if it is one character whatever is beside it.
    pub(super) fn of_one(&self, c: char) -> Option<char> {
        let is_ignored = match &self.pattern {
            Compiled::Literal(literal) if literal.len() < c.len_utf8() => !literal.is_empty(),
            Compiled::Literal(literal) if literal.chars().eq([c]) => {
                let mut content = self.content.chars();
                return content.next().filter(|_| content.next().is_none());
            }
            Compiled::Literal(literal) => !literal.is_empty() && !literal.contains(c),
            Compiled::Regex(splitter) => splitter.ignores(c.encode_utf8(&mut [0; 4])),
        };
        is_ignored.then_some(c)
    }

    /// Does the step replace a literal that is all ASCII?
    pub(super) fn takes_ascii_only(&self) -> bool {
        matches!(&self.pattern, Compiled::Literal(literal) if !literal.is_empty() && literal.is_ascii())
    }

    /// Is this a character of a literal of two or more, which are all ASCII? Alone it is kept.
    pub(super) fn has_in_pair(&self, c: char) -> bool {
        matches!(&self.pattern, Compiled::Literal(literal)
            if literal.len() > 1 && literal.is_ascii() && literal.contains(c))
    }

    /// Are these two characters side by side in such a literal?
    pub(super) fn has_pair(&self, left: char, right: char) -> bool {
        self.has_in_pair(left)
            && matches!(&self.pattern, Compiled::Literal(literal)
                if literal.chars().zip(literal.chars().skip(1)).any(|pair| pair == (left, right)))
    }

    fn replace(&self, edit: &mut Edit<'_, '_>, found: Span) {
        if !found.is_empty() {
            return edit.replace(found, &self.content);
        }
        // An insertion stands for the last byte of the character before it (for nothing at the
        // start), so that offsets do not decrease if that character is spelled byte by byte.
        let before = usize::from(found.start > 0);
        edit.insert(found.start, &self.content, Span::new(found.start - before, found.start));
    }
}
