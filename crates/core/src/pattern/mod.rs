//! Split patterns: from a regular expression to the spans of pretokens.
//!
//! In comes a [`Split`], out comes a [`Splitter`] that cuts any text. Matches are pretokens and
//! so is the text between them: nothing is dropped, and an empty match cuts without making a
//! piece (`(?=b)` cuts `abab` into `a`, `ba`, `b`).
//!
//! # The dialect
//! Patterns are regular expressions of fancy-regex, read as tiktoken reads them:
//! - Unicode throughout (version 16): `\s` is the 25 characters of White_Space, `\d` is
//!   `\p{Nd}`, `(?i:...)` folds simply, so that `(?i:'s)` matches `'ſ` too.
//! - `$` and `\z` are the end of the text, `^` and `\A` its start, `(?m:...)` makes `^` and `$`
//!   line anchors; `.` is anything but `\n`, and anything at all in `(?s:...)`.
//! - Any quantifier followed by `+` is possessive, `\p{N}{1,3}+` too.
//! - Look-around, atomic groups and back references are there, at the price of backtracking.
//!
//! The Oniguruma patterns of tokenizer.json files differ in several of these; [`portable`] and
//! [`from_portable`] translate, or refuse what they cannot translate with certainty.
//!
//! # The plans
//! A pattern whose every alternative is one of a few forms (`arms`) is run by a scanner over
//! character classes, which is linear in the text and exact. The classes of most patterns are made
//! of the atoms of one shipped table; a pattern with others gets a table of its own. Any other one is run by
//! regex-automata when that can express it, else by fancy-regex under a bound on backtracking.
//! What surprises: the plan follows from the structure of the pattern and never from its
//! name, so a variant of a known pattern is as fast as the known one.
mod arms;
mod atom_table;
mod atoms;
pub mod classes;
mod engines;
pub mod known;
mod lower;
mod own_atoms;
mod planes;
mod properties;
mod rewrites;
mod scanner;
mod spelt;
mod syntax;
#[cfg(test)]
mod tests;
mod tokens;
mod translate;

use std::fmt;

use self::atoms::Shipped;
use self::engines::{Backtracking, Linear};
use self::lower::{Obstacle, lower};
use self::own_atoms::Own;
pub use self::planes::WalkRoom;
use self::scanner::Scanner;
use self::syntax::Node;
pub use self::translate::{from_portable, portable};
use crate::description::Split;
use crate::error::{Kind, Result};
use crate::span::Span;

/// Bytes of a pattern: compiling takes time that grows with the square of alternatives.
const PATTERN_LIMIT: usize = 64 << 10;

/// What a search of a regex engine is taken for, in bytes: the watch is asked every few searches.
const SEARCH: usize = 4 << 10;

/// A split, ready to run. Immutable and safe to share between threads.
#[derive(Debug)]
pub struct Splitter {
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Whole,
    Scanner(Box<Scanner<Shipped>>),
    /// Over classes that the shipped table does not tell apart.
    OwnScanner(Box<Scanner<Own>>),
    Linear(Box<Linear>),
    Backtracking(Box<Backtracking>),
}

/// What the backtracking plan may take back for one text: so many steps, and so many for each byte.
pub const BACKTRACKING_LIMIT: (usize, usize) = (engines::BUDGET, engines::BUDGET_PER_BYTE);

/// How a split runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The text is not cut at all.
    Whole,
    /// A scanner over character classes; time linear in the text.
    Scanner,
    /// A regex engine whose every search is linear in what it looks at.
    Linear,
    /// A backtracking regex engine, bounded: beyond its limit a text is an error.
    Backtracking,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole text",
            Self::Scanner => "scanner",
            Self::Linear => "linear regex engine",
            Self::Backtracking => "backtracking regex engine",
        })
    }
}

/// Ends that are given out at a time where they are found one by one.
const ENDS: usize = 64;

impl Splitter {
    /// Makes a split ready.
    ///
    /// # Errors
    /// [`Kind::Pattern`] for a pattern that is invalid or too large.
    ///
    /// Cost: about a millisecond for a scanner, several for an engine.
    pub fn compile(split: &Split) -> Result<Self> {
        if let Split::Pattern(pattern) = split
            && pattern.len() > PATTERN_LIMIT
        {
            let reason =
                format!("{} bytes are over the limit of {PATTERN_LIMIT} for a pattern", pattern.len());
            return Err(pattern_error(pattern, None, reason));
        }
        let engine = match split {
            Split::Whole => Engine::Whole,
            Split::Pattern(pattern) => match syntax::parse(pattern).and_then(|node| Self::scanner(&node)) {
                Some(engine) => engine,
                None => Self::general(pattern)?,
            },
        };
        Ok(Self { engine })
    }

    fn scanner(node: &Node) -> Option<Engine> {
        let mut classes = match lower(node, &Shipped) {
            Ok(arms) => return Some(Engine::Scanner(Box::new(Scanner::new(Shipped, arms)))),
            Err(Obstacle::Form) => return None,
            Err(Obstacle::Classes(classes)) => classes,
        };
        // A branch tells one class after the other; few have more than two.
        for _ in 0..4 {
            let own = Own::new(&classes)?;
            match lower(node, &own) {
                Ok(arms) => return Some(Engine::OwnScanner(Box::new(Scanner::new(own, arms)))),
                Err(Obstacle::Form) => return None,
                Err(Obstacle::Classes(more)) => classes.extend(more),
            }
        }
        None
    }

    fn general(pattern: &str) -> Result<Engine> {
        match Linear::compile(pattern) {
            Some(engine) => Ok(Engine::Linear(Box::new(engine))),
            None => Ok(Engine::Backtracking(Box::new(Backtracking::compile(pattern)?))),
        }
    }

    /// The work that finding a pretoken of `length` bytes stands for, for the watch. A regex engine
    /// may look at much more text than it matches.
    #[inline]
    pub fn work(&self, length: usize) -> usize {
        self.work_of(1, length)
    }

    /// As [`Self::work`], of several pretokens with so many bytes together.
    #[inline]
    pub fn work_of(&self, pretokens: usize, bytes: usize) -> usize {
        match self.plan() {
            Plan::Whole | Plan::Scanner => bytes,
            Plan::Linear | Plan::Backtracking => bytes + pretokens * SEARCH,
        }
    }

    /// Which way this split runs.
    pub fn plan(&self) -> Plan {
        match self.engine {
            Engine::Whole => Plan::Whole,
            Engine::Scanner(_) | Engine::OwnScanner(_) => Plan::Scanner,
            Engine::Linear(_) => Plan::Linear,
            Engine::Backtracking(_) => Plan::Backtracking,
        }
    }

    /// Calls `emit` for every pretoken of `text`, in order; they tile it and none is empty.
    ///
    /// # Errors
    /// Those of `emit`, at which the walk ends, and [`Kind::Pattern`] from the backtracking plan
    /// when a text needs more steps than its limit; what was emitted before stays emitted.
    ///
    /// Cost: see [`Plan`]. An engine searches from each match for the next, so a pattern whose
    /// search looks much further than its match is quadratic in the text: `a*b|a` in the linear
    /// plan, and `(?:a|b)*+c` in the backtracking one, whose limit counts only what is given back.
    #[inline]
    pub fn for_each<F: FnMut(Span) -> Result<()>>(&self, text: &str, mut emit: F) -> Result<()> {
        self.for_each_match(text, |span, _| if span.is_empty() { Ok(()) } else { emit(span) })
    }

    /// As [`Self::for_each`], several at a time: `emit` gets the ends of the next pretokens, in order. What comes
    /// before an error has been given to it. `room` is kept for the next text: what stands in it means nothing.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    #[inline]
    pub fn for_each_ends<F>(&self, text: &str, room: &mut WalkRoom, mut emit: F) -> Result<()>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        if let Some(done) = self.for_each_ends_by_planes(text, room, &mut emit) {
            return done;
        }
        let (mut ends, mut count) = ([0; ENDS], 0);
        let split = self.for_each(text, |span| {
            ends[count] = span.end;
            count += 1;
            if count < ENDS {
                return Ok(());
            }
            count = 0;
            emit(&ends)
        });
        emit(&ends[..count])?;
        split
    }

    #[inline]
    fn for_each_ends_by_planes<F>(&self, text: &str, room: &mut WalkRoom, emit: &mut F) -> Option<Result<()>>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.for_each_ends(text, room, emit),
            Engine::OwnScanner(scanner) => scanner.for_each_ends(text, room, emit),
            _ => None,
        }
    }

    /// Calls `emit` for every match of `text` and for every gap between two, in order, and says
    /// which it is. They tile the text. A match may be empty, and stands between two gaps then, or
    /// at an end of the text; a gap never is.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    #[inline]
    pub fn for_each_match<F>(&self, text: &str, mut emit: F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        match &self.engine {
            Engine::Whole if text.is_empty() => Ok(()),
            Engine::Whole => emit(Span::new(0, text.len()), false),
            Engine::Scanner(scanner) => scanner.for_each_match(text, emit),
            Engine::OwnScanner(scanner) => scanner.for_each_match(text, emit),
            Engine::Linear(engine) => engine.for_each_match(text, &mut emit),
            Engine::Backtracking(engine) => engine.for_each_match(text, &mut emit),
        }
    }

    /// The first byte position from `from` on, strictly inside `text`, that is a boundary of
    /// pretokens whatever surrounds it: splitting the parts before and behind it gives the
    /// same pretokens as splitting the whole.
    ///
    /// `None` where there is none within 64 kB, and for every plan but the scanner, for which
    /// alone this can be known. `from` need not be a character boundary.
    ///
    /// Cost: linear in the distance, a few bytes in ordinary text.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.safe_cut(text, from),
            Engine::OwnScanner(scanner) => scanner.safe_cut(text, from),
            _ => None,
        }
    }
}

/// `byte` is the place in the pattern, as the parsers count.
fn pattern_error(pattern: &str, byte: Option<usize>, reason: impl Into<String>) -> crate::error::Error {
    let position =
        byte.map(|byte| pattern.char_indices().take_while(|&(at, c)| at + c.len_utf8() <= byte).count());
    Kind::Pattern { pattern: pattern.to_owned(), position, searched_from: None, reason: reason.into() }.into()
}
