//! Cuts that depend on one character at a time: one pass over the text, with one table lookup per character.
//!
//! The tables are those of the libraries that tokenizers 0.23.3 is built with. Their Unicode
//! versions differ; each table names its own.
use std::sync::Arc;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use tokenmill_kernels::MadeOnce;

use super::behavior::Joiner;
use crate::description::Behavior;
use crate::error::Result;
use crate::pattern::classes::{Classes, class};
use crate::span::Span;
use crate::watch::Ticker;

/// Classes of characters.
const WHITE: u8 = 1;
const MARKED: u8 = 2;

/// A cut by classes of characters.
#[derive(Debug)]
pub(super) struct Characters {
    classes: Arc<Classes>,
    pub(super) rule: Rule,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Removes white space, isolates marked characters, keeps runs of others.
    Alone,
    /// Removes white space and characters outside any run of one class.
    Runs,
    /// Each marked character is a match.
    Matches(Behavior),
}

impl Characters {
    /// Removes the 25 characters of White_Space.
    pub(super) fn white_space() -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        Self::new(&CLASSES, || vec![(WHITE, class(r"\s"))], Rule::Alone)
    }

    /// Removes white space and isolates punctuation.
    pub(super) fn bert() -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        let numbered = || vec![(MARKED, punctuation()), (WHITE, class(r"\s"))];
        Self::new(&CLASSES, numbered, Rule::Alone)
    }

    /// Runs of word characters of the regex crate, and runs of characters that are neither word
    /// characters nor white space.
    pub(super) fn words() -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        Self::new(&CLASSES, || vec![(MARKED, class(r"\w")), (WHITE, class(r"\s"))], Rule::Runs)
    }

    /// Cuts at punctuation.
    pub(super) fn punctuation(behavior: Behavior) -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        Self::new(&CLASSES, || vec![(MARKED, punctuation())], Rule::Matches(behavior))
    }

    /// Cuts at numeric characters.
    pub(super) fn digits(individual: bool) -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        let behavior = if individual { Behavior::Isolated } else { Behavior::Contiguous };
        let numbered = || vec![(MARKED, numeric())];
        Self::new(&CLASSES, numbered, Rule::Matches(behavior))
    }

    /// Cuts at one character and removes it.
    pub(super) fn delimiter(delimiter: char) -> Self {
        let class = ClassUnicode::new([ClassUnicodeRange::new(delimiter, delimiter)]);
        let classes = Arc::new(Classes::new([(WHITE, &class)]));
        Self { classes, rule: Rule::Alone }
    }

    fn new(
        cell: &'static MadeOnce<Arc<Classes>>,
        numbered: impl Fn() -> Vec<(u8, ClassUnicode)>,
        rule: Rule,
    ) -> Self {
        let make = || {
            let numbered = numbered();
            Arc::new(Classes::new(numbered.iter().map(|(number, class)| (*number, class))))
        };
        Self { classes: Arc::clone(cell.get_or_make(make)), rule }
    }

    /// The class of a character; 0 if it is in none.
    pub(super) fn class_of(&self, c: char) -> u8 {
        self.classes.of(u32::from(c))
    }

    /// Is this the class of white space, or of a delimiter, which are removed?
    pub(super) fn is_white(class: u8) -> bool {
        class == WHITE
    }

    #[inline]
    pub(super) fn for_each(
        &self,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(Span, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut emit = |span: Span| {
            ticker.spend(span.len())?;
            emit(span, ticker)
        };
        match self.rule {
            Rule::Alone => self.alone(text.as_bytes(), &mut emit),
            Rule::Runs => self.runs(text.as_bytes(), &mut emit),
            Rule::Matches(behavior) => {
                let mut joiner = Joiner::new(behavior, false);
                self.matches(text.as_bytes(), |span, is_match| joiner.push(span, is_match, &mut emit))?;
                joiner.finish(&mut emit)
            }
        }
    }

    #[inline]
    fn alone(&self, bytes: &[u8], emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
        let (mut at, mut done) = (0, 0);
        while at < bytes.len() {
            let (number, width) = self.classes.at(bytes, at);
            if number != 0 {
                if done < at {
                    emit(Span::new(done, at))?;
                }
                done = at + width;
                if number == MARKED {
                    emit(Span::new(at, done))?;
                }
            }
            at += width;
        }
        if done < at { emit(Span::new(done, at)) } else { Ok(()) }
    }

    #[inline]
    fn runs(&self, bytes: &[u8], emit: &mut impl FnMut(Span) -> Result<()>) -> Result<()> {
        let (mut at, mut start, mut last) = (0, 0, WHITE);
        while at < bytes.len() {
            let (number, width) = self.classes.at(bytes, at);
            if number != last {
                if last != WHITE {
                    emit(Span::new(start, at))?;
                }
                (start, last) = (at, number);
            }
            at += width;
        }
        if last == WHITE { Ok(()) } else { emit(Span::new(start, at)) }
    }

    #[inline]
    fn matches(&self, bytes: &[u8], mut push: impl FnMut(Span, bool) -> Result<()>) -> Result<()> {
        let (mut at, mut done) = (0, 0);
        while at < bytes.len() {
            let (number, width) = self.classes.at(bytes, at);
            if number != 0 {
                if done < at {
                    push(Span::new(done, at), false)?;
                }
                done = at + width;
                push(Span::new(at, done), true)?;
            }
            at += width;
        }
        if done < at { push(Span::new(done, at), false) } else { Ok(()) }
    }
}

/// ASCII punctuation, `$+<=>^|~` and the backtick included, and P* of Unicode 8, without the two
/// characters whose category has changed since.
pub(super) fn punctuation() -> ClassUnicode {
    class(r"[!-/:-@\[-`{-~[\p{P}&&\p{Age=8.0}]\x{166D}\x{111C9}]")
}

/// N* of Unicode 17: that of 16 with the characters added since.
pub(super) fn numeric() -> ClassUnicode {
    class(r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]")
}
