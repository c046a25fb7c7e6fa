//! Split patterns: from a regular expression to the spans of pretokens.
//!
//! In comes a [`Split`], out goes a [`Splitter`] that cuts any text. Matches are pretokens and
//! so is the text between them: nothing is ever dropped, and an empty match cuts without making a
//! pretoken (`(?=b)` cuts `abab` into `a`, `ba`, `b`).
//!
//! # The dialect
//! Patterns are regular expressions of fancy-regex, read as tiktoken reads them:
//! - Unicode throughout (version 16): `\s` is the 25 characters of White_Space, `\d` is
//!   `\p{Nd}`, `(?i:...)` folds simply, so that `(?i:'s)` matches `'ſ` too.
//! - `$` and `\z` are the end of the text, `^` and `\A` its start, `(?m:...)` makes `^` and `$`
//!   line anchors; `.` is anything but `\n`, and anything at all in `(?s:...)`.
//! - Any quantifier followed by `+` is possessive, `\p{N}{1,3}+` too.
//! - Look-around, atomic groups and back references are supported, at the price of backtracking.
//!
//! The Oniguruma patterns of tokenizer.json files differ in several of these; [`portable`] and
//! [`from_portable`] translate, or refuse what they cannot translate with certainty.
//!
//! # The plans
//! A pattern whose every alternative has one of a few forms (`arms`) is run by a scanner over character classes,
//! which is linear in the text and exact. It takes the steps `syntax` (text to tree), `lower` (tree to arms over
//! `atoms`) and `planes` (the scanner, with `arm_scanner` as its fallback). The classes of most patterns are made
//! of the atoms of one shipped table; a pattern with others gets a table of its own. All other patterns are run by
//! regex-automata if that can express them, else by fancy-regex under a bound on backtracking (`engines`). What
//! surprises: the plan follows from the structure of the pattern and never from its name, so a variant of a known
//! pattern is as fast as the known one.
mod arm_scanner;
mod arms;
mod atom_table;
mod atoms;
pub mod classes;
mod custom_atoms;
mod cuts;
mod engines;
mod error;
pub mod known;
mod lower;
mod planes;
mod properties;
mod rewrites;
mod spelled_out;
mod syntax;
#[cfg(test)]
mod tests;
mod tokens;
mod translate;

use std::fmt;

use self::atoms::ShippedAtoms;
use self::custom_atoms::CustomAtoms;
use self::engines::{Backtracking, Linear};
use self::error::pattern_error;
use self::lower::{Obstacle, lower};
use self::planes::PlaneScanner;
pub use self::planes::ScanScratch;
use self::syntax::Node;
pub use self::translate::{from_portable, portable};
use crate::description::Split;
use crate::error::Result;
use crate::span::Span;

/// The most bytes of a pattern: compile time grows with the square of its alternatives.
const PATTERN_LIMIT: usize = 64 << 10;

/// What a search of a regex engine counts as, in bytes, so that the watch is polled every few searches.
const SEARCH_WORK: usize = 4 << 10;

/// A split, ready to run. Immutable and safe to share between threads.
#[derive(Debug)]
pub struct Splitter {
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Whole,
    Scanner(Box<PlaneScanner<ShippedAtoms>>),
    /// Over classes that the shipped table does not tell apart.
    CustomScanner(Box<PlaneScanner<CustomAtoms>>),
    Linear(Box<Linear>),
    Backtracking(Box<Backtracking>),
}

/// The limit on backtracking steps for one text: a number, and a number for each byte.
pub const BACKTRACKING_LIMIT: (usize, usize) = (engines::BUDGET, engines::BUDGET_PER_BYTE);

/// How a split runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The text is not cut at all.
    Whole,
    /// A scanner over character classes; time linear in the text.
    Scanner,
    /// A regex engine whose every search is linear in what it reads.
    Linear,
    /// A backtracking regex engine: a text that exceeds its limit is an error.
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

/// Ends that are emitted at a time where they are found one by one.
const ENDS_BATCH: usize = 64;

impl Splitter {
    /// Compiles a split.
    ///
    /// # Errors
    /// [`Kind::Pattern`](crate::error::Kind::Pattern) for a pattern that is invalid or too large.
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
        let mut classes = match lower(node, &ShippedAtoms) {
            Ok(arms) => return Some(Engine::Scanner(Box::new(PlaneScanner::new(ShippedAtoms, arms)))),
            Err(Obstacle::Form) => return None,
            Err(Obstacle::Classes(classes)) => classes,
        };
        // Lowering reports one class of a branch at a time; few branches have more than two.
        for _ in 0..4 {
            let custom = CustomAtoms::new(&classes)?;
            match lower(node, &custom) {
                Ok(arms) => return Some(Engine::CustomScanner(Box::new(PlaneScanner::new(custom, arms)))),
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

    /// The work of finding a pretoken of `length` bytes, for the watch. A regex engine
    /// may read much more text than it matches.
    #[inline]
    pub fn work(&self, length: usize) -> usize {
        self.work_of(1, length)
    }

    /// As [`Self::work`], for several pretokens with `bytes` in all.
    #[inline]
    pub fn work_of(&self, pretokens: usize, bytes: usize) -> usize {
        match self.plan() {
            Plan::Whole | Plan::Scanner => bytes,
            Plan::Linear | Plan::Backtracking => bytes + pretokens * SEARCH_WORK,
        }
    }

    /// How this split runs.
    pub fn plan(&self) -> Plan {
        match self.engine {
            Engine::Whole => Plan::Whole,
            Engine::Scanner(_) | Engine::CustomScanner(_) => Plan::Scanner,
            Engine::Linear(_) => Plan::Linear,
            Engine::Backtracking(_) => Plan::Backtracking,
        }
    }

    /// Calls `emit` for every pretoken of `text`, in order; they tile it and none is empty.
    ///
    /// # Errors
    /// Those of `emit`, which end the scan, and [`Kind::Pattern`](crate::error::Kind::Pattern) from the
    /// backtracking plan if a text needs more steps than its limit; what was emitted before stays emitted.
    ///
    /// Cost: see [`Plan`]. An engine searches from each match for the next, so a pattern whose
    /// search reads much further than its match is quadratic in the text: `a*b|a` in the linear
    /// plan, and `(?:a|b)*+c` in the backtracking one, whose limit counts only backtracking.
    #[inline]
    pub fn for_each<F: FnMut(Span) -> Result<()>>(&self, text: &str, mut emit: F) -> Result<()> {
        self.for_each_match(text, |span, _| if span.is_empty() { Ok(()) } else { emit(span) })
    }

    /// As [`Self::for_each`], several at a time: `emit` gets the ends of the next pretokens, in order. Those
    /// before an error have been emitted. `scratch` is kept for the next text; its contents mean nothing between
    /// calls.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    #[inline]
    pub fn for_each_ends<F>(&self, text: &str, scratch: &mut ScanScratch, mut emit: F) -> Result<()>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        if let Some(done) = self.for_each_ends_by_planes(text, scratch, &mut emit) {
            return done;
        }
        let (mut ends, mut count) = ([0; ENDS_BATCH], 0);
        let split = self.for_each(text, |span| {
            ends[count] = span.end;
            count += 1;
            if count < ENDS_BATCH {
                return Ok(());
            }
            count = 0;
            emit(&ends)
        });
        emit(&ends[..count])?;
        split
    }

    #[inline]
    fn for_each_ends_by_planes<F>(
        &self,
        text: &str,
        scratch: &mut ScanScratch,
        emit: &mut F,
    ) -> Option<Result<()>>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.for_each_ends(text, scratch, emit),
            Engine::CustomScanner(scanner) => scanner.for_each_ends(text, scratch, emit),
            _ => None,
        }
    }

    /// Calls `emit` for every match of `text` and for every gap between two, in order, and says
    /// which it is. They tile the text. A match may be empty, and is then between two gaps or
    /// at an end of the text; a gap is never empty.
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
            Engine::CustomScanner(scanner) => scanner.for_each_match(text, emit),
            Engine::Linear(engine) => engine.for_each_match(text, &mut emit),
            Engine::Backtracking(engine) => engine.for_each_match(text, &mut emit),
        }
    }

    /// The first byte position from `from` on, strictly inside `text`, that is a boundary of
    /// pretokens whatever surrounds it: splitting the parts before and after it gives the
    /// same pretokens as splitting the whole.
    ///
    /// `None` if there is none within 64 kB, and for every plan but the scanner, the only one
    /// for which this can be known. `from` need not be a character boundary.
    ///
    /// Cost: linear in the distance, a few bytes in ordinary text.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.safe_cut(text, from),
            Engine::CustomScanner(scanner) => scanner.safe_cut(text, from),
            _ => None,
        }
    }
}
