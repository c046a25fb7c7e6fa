//! Cuts at the matches of a pattern.
//!
//! An empty match cuts without making a piece, and unmatched text is kept.
use super::behavior::Joiner;
use crate::description::{Behavior, Pattern, Split as Whole};
use crate::error::Result;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::watch::Ticker;

/// A compiled pattern, and the behavior of its matches.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) pattern: Compiled,
    pub(super) behavior: Behavior,
    pub(super) invert: bool,
}

#[derive(Debug)]
pub(super) enum Compiled {
    Regex(Splitter),
    /// A single character, which is searched for faster than a string.
    Char(char),
    Literal(String),
}

impl Split {
    pub(super) fn new(pattern: &Pattern, behavior: Behavior, invert: bool) -> Result<Self> {
        let pattern = match pattern {
            Pattern::Regex(regex) => Compiled::Regex(Splitter::compile(&Whole::Pattern(regex.clone()))?),
            Pattern::Literal(literal) => {
                let mut chars = literal.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Compiled::Char(c),
                    _ => Compiled::Literal(literal.clone()),
                }
            }
        };
        Ok(Self { pattern, behavior, invert })
    }

    /// Passes the pieces to `emit`. The position of a pattern error counts from the start of the text.
    #[inline]
    pub(super) fn for_each(
        &self,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(Span, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut joiner = Joiner::new(self.behavior, self.invert);
        match &self.pattern {
            Compiled::Regex(splitter) if self.behavior == Behavior::Isolated => {
                return splitter.for_each(text, |span| {
                    ticker.spend(splitter.work(span.len()))?;
                    emit(span, ticker)
                });
            }
            Compiled::Regex(splitter) => splitter.for_each_match(text, |span, is_match| {
                ticker.spend(splitter.work(span.len()))?;
                joiner.push(span, is_match, &mut |piece| emit(piece, ticker))
            })?,
            Compiled::Char(c) => tile(text, text.match_indices(*c), &mut joiner, ticker, &mut emit)?,
            Compiled::Literal(literal) => {
                tile(text, text.match_indices(literal.as_str()), &mut joiner, ticker, &mut emit)?;
            }
        }
        joiner.finish(&mut |piece| emit(piece, ticker))
    }
}

fn tile<'t>(
    text: &str,
    matches: impl Iterator<Item = (usize, &'t str)>,
    joiner: &mut Joiner,
    ticker: &mut Ticker<'_>,
    emit: &mut impl FnMut(Span, &mut Ticker<'_>) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    for (start, matched) in matches {
        ticker.spend(start - done + matched.len())?;
        if done < start {
            joiner.push(Span::new(done, start), false, &mut |piece| emit(piece, ticker))?;
        }
        done = start + matched.len();
        joiner.push(Span::new(start, done), true, &mut |piece| emit(piece, ticker))?;
    }
    if done < text.len() {
        joiner.push(Span::new(done, text.len()), false, &mut |piece| emit(piece, ticker))?;
    }
    Ok(())
}
