//! Split patterns: from a regular expression to the spans of pretokens.
//!
//! In: a [`Split`]. Out: a [`Splitter`] that divides any text into pretokens. Each match is a pretoken,
//! and so is the text between two matches: no text is ever dropped. An empty match cuts the text but is not a
//! pretoken itself (`(?=b)` cuts `abab` into `a`, `ba`, `b`).
//!
//! # The dialect
//! Patterns are regular expressions of fancy-regex, read as tiktoken reads them:
//! - They use Unicode 16 throughout: `\s` is the 25 characters of White_Space and `\d` is `\p{Nd}`. `(?i:...)`
//!   uses simple case folding, so `(?i:'s)` matches `'ſ` too.
//! - `^` and `\A` match at the start of the text, `$` and `\z` at its end. `(?m:...)` makes `^` and `$` match at
//!   the ends of lines. `.` matches any character but `\n`, and any character at all in `(?s:...)`.
//! - Any quantifier followed by `+` is possessive, including `\p{N}{1,3}+`.
//! - Look-around, atomic groups and back references are supported, at the price of backtracking.
//!
//! The Oniguruma patterns of tokenizer.json files differ in several of these points. [`portable`] and
//! [`from_portable`] translate a pattern, or refuse it if they cannot do so with certainty.
//!
//! # The plans
//! If every alternative of a pattern has one of a few forms (`arms`), the pattern is run by a scanner over
//! character classes, which is exact and takes linear time. `syntax` parses the pattern, `lower` turns its tree
//! into arms over `atoms`, and `planes` runs them, with `arm_scanner` as its fallback. The classes of most
//! patterns are made of the atoms of one shipped table; a pattern with other classes gets a table of its own. Other
//! regular patterns, with or without look-around, are run by a deterministic automaton over classes (`automaton`).
//! Patterns that are too large for it are run by regex-automata; patterns that are not regular are run by fancy-regex,
//! with a limit on backtracking (`engines`). The plan depends on the structure of the pattern and never on its name, so
//! a variant of a known pattern is as fast as the known one.
//!
//! Splits that follow one another are compiled together (`sequence`): steps of simple classes become arms of the step
//! after them (`fold`), so that most sequences are run by one scanner, too.
mod arm_scanner;
mod arms;
mod atom_table;
mod atoms;
mod automaton;
mod avoids;
pub mod classes;
mod custom_atoms;
mod dialect_tables;
mod engines;
mod fold;
mod growing;
mod lower;
pub mod named_splits;
mod partition;
mod planes;
mod rewrites;
mod runs;
mod sequence;
mod syntax;
#[cfg(test)]
mod tests;
mod tokens;
mod translate;

use std::fmt;

use self::atoms::ShippedAtoms;
use self::automaton::Automaton;
pub use self::avoids::avoids;
use self::custom_atoms::CustomAtoms;
use self::engines::{Backtracking, Linear};
use self::fold::lower_and_fold;
pub use self::growing::{BackwardSplit, FirstPretoken, GrowingSplit};
use self::lower::Obstacle;
use self::planes::PlaneScanner;
pub use self::planes::ScanScratch;
use self::sequence::Sequence;
pub use self::sequence::SplitStep;
use self::syntax::Node;
pub use self::translate::{from_portable, portable};
use crate::description::Split;
use crate::error::{Error, Result};
use crate::span::Span;

/// The edition of Unicode that the classes of patterns are from, such as `\p{L}`: major, minor, update. It is that of
/// the pinned regex-syntax, which has no constant for it.
pub const UNICODE_EDITION: (u64, u64, u64) = (16, 0, 0);

/// The most bytes of a pattern. Compile time grows with the square of the number of alternatives.
const PATTERN_LIMIT: usize = 64 << 10;

/// The work, in bytes, that one search of a regex engine counts as, so that the watch is polled every few
/// searches.
const SEARCH_WORK: usize = 4 << 10;

/// A compiled split. Immutable and safe to share between threads.
#[derive(Debug)]
pub struct Splitter {
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Whole,
    Scanner(Box<PlaneScanner<ShippedAtoms>>),
    /// A scanner over classes that contain only a part of some shipped atom.
    CustomScanner(Box<PlaneScanner<CustomAtoms>>),
    Automaton(Box<Automaton>),
    Linear(Box<Linear>),
    Backtracking(Box<Backtracking>),
    /// Several splits, one after the other, that no single scanner can run.
    Sequence(Box<Sequence>),
}

/// The limit on backtracking steps for one text: a constant, and an amount for each byte.
pub const BACKTRACKING_LIMIT: (usize, usize) = (engines::BUDGET, engines::BUDGET_PER_BYTE);

/// How a split runs, the fastest plan first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// The text is not split at all.
    Whole,
    /// A scanner over character classes. It takes linear time.
    Scanner,
    /// A deterministic automaton over character classes.
    Automaton {
        /// May a search read far beyond the match that it finds? If not, it takes linear time.
        reads_past_match: bool,
    },
    /// A regex engine in which every search is linear in the text that it reads.
    Linear,
    /// A backtracking regex engine. A text that exceeds the limit is an error.
    Backtracking,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole text",
            Self::Scanner => "scanner",
            Self::Automaton { .. } => "automaton",
            Self::Linear => "linear regex engine",
            Self::Backtracking => "backtracking regex engine",
        })
    }
}

/// The number of ends that are emitted at a time if the engine finds them one by one.
const ENDS_BATCH: usize = 64;

impl Splitter {
    /// Compiles a split.
    ///
    /// # Errors
    /// [`Kind::Pattern`](crate::error::Kind::Pattern) for a pattern that is invalid or too large.
    ///
    /// Cost: about a millisecond for a scanner, several for a regex engine.
    pub fn compile(split: &Split) -> Result<Self> {
        if let Split::Pattern(pattern) = split
            && pattern.len() > PATTERN_LIMIT
        {
            let reason =
                format!("{} bytes are over the limit of {PATTERN_LIMIT} for a pattern", pattern.len());
            return Err(Error::pattern(pattern, None, reason));
        }
        let engine = match split {
            Split::Whole => Engine::Whole,
            Split::Pattern(pattern) => match syntax::parse(pattern).and_then(|node| Self::regular(&node)) {
                Some(engine) => engine,
                None => match Linear::compile(pattern) {
                    Some(engine) => Engine::Linear(Box::new(engine)),
                    None => Engine::Backtracking(Box::new(Backtracking::compile(pattern)?)),
                },
            },
        };
        Ok(Self { engine })
    }

    /// The scanner of a pattern, or else its automaton.
    fn regular(node: &Node) -> Option<Engine> {
        Self::scanner(std::slice::from_ref(node))
            .or_else(|| Automaton::compile(node).map(|engine| Engine::Automaton(Box::new(engine))))
    }

    /// The scanner of a pattern, or of the steps of a sequence.
    fn scanner(steps: &[Node]) -> Option<Engine> {
        let mut classes = match lower_and_fold(steps, &ShippedAtoms) {
            Ok((arms, parts)) => {
                return Some(Engine::Scanner(Box::new(PlaneScanner::new(ShippedAtoms, arms, parts))));
            }
            Err(Obstacle::Form) => return None,
            Err(Obstacle::Classes(classes)) => classes,
        };
        // Lowering stops at the first such class of each branch, and few branches have more than two.
        for _ in 0..4 {
            let custom = CustomAtoms::new(&classes)?;
            match lower_and_fold(steps, &custom) {
                Ok((arms, parts)) => {
                    return Some(Engine::CustomScanner(Box::new(PlaneScanner::new(custom, arms, parts))));
                }
                Err(Obstacle::Form) => return None,
                Err(Obstacle::Classes(more)) => classes.extend(more),
            }
        }
        None
    }

    /// The work of finding a pretoken of `length` bytes, for the watch. A regex engine may read much more text
    /// than it matches.
    #[inline]
    pub fn work(&self, length: usize) -> usize {
        self.work_of(1, length)
    }

    /// As [`Self::work`], for several pretokens that have `bytes` bytes together.
    #[inline]
    pub fn work_of(&self, pretokens: usize, bytes: usize) -> usize {
        match self.plan() {
            Plan::Whole | Plan::Scanner | Plan::Automaton { reads_past_match: false } => bytes,
            Plan::Automaton { reads_past_match: true } | Plan::Linear | Plan::Backtracking => {
                bytes + pretokens * SEARCH_WORK
            }
        }
    }

    /// The plan by which this split runs.
    pub fn plan(&self) -> Plan {
        match &self.engine {
            Engine::Whole => Plan::Whole,
            Engine::Scanner(_) | Engine::CustomScanner(_) => Plan::Scanner,
            Engine::Automaton(automaton) => {
                Plan::Automaton { reads_past_match: automaton.reads_past_match() }
            }
            Engine::Linear(_) => Plan::Linear,
            Engine::Backtracking(_) => Plan::Backtracking,
            Engine::Sequence(sequence) => sequence.plan(),
        }
    }

    /// Does one scanner find all pretokens? Then it also knows where a text may be cut.
    pub fn is_scanner(&self) -> bool {
        matches!(self.engine, Engine::Scanner(_) | Engine::CustomScanner(_))
    }

    /// Calls `emit` for every pretoken of `text`, in order. The pretokens tile the text, and none is empty.
    ///
    /// # Errors
    /// An error of `emit` ends the scan. The backtracking plan returns
    /// [`Kind::Pattern`](crate::error::Kind::Pattern) if a text needs more steps than the limit allows. Pretokens
    /// emitted before the error are not taken back.
    ///
    /// Cost: see [`Plan`]. An engine searches for the next match from the end of the last one. If a search of the
    /// pattern reads much further than its match, the scan is quadratic in the text. Examples are `a*b|a` in the
    /// automaton plan and `(?:ab)*+c` in the backtracking plan, whose limit counts only backtracking.
    #[inline]
    pub fn for_each<F: FnMut(Span) -> Result<()>>(&self, text: &str, mut emit: F) -> Result<()> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.for_each(text, emit),
            Engine::CustomScanner(scanner) => scanner.for_each(text, emit),
            _ => self.for_each_match(text, |span, _| if span.is_empty() { Ok(()) } else { emit(span) }),
        }
    }

    /// As [`Self::for_each`], but `emit` gets the ends of several pretokens at a time, in order. All pretokens
    /// before an error are emitted. `scratch` can be reused for the next text; its contents have no meaning
    /// between calls.
    ///
    /// # Errors
    /// As [`Self::for_each`].
    #[inline]
    pub fn for_each_ends<F>(&self, text: &str, scratch: &mut ScanScratch, mut emit: F) -> Result<()>
    where
        F: FnMut(&[usize]) -> Result<()>,
    {
        let several_at_a_time = match &self.engine {
            Engine::Scanner(scanner) => scanner.for_each_ends(text, scratch, &mut emit),
            Engine::CustomScanner(scanner) => scanner.for_each_ends(text, scratch, &mut emit),
            Engine::Automaton(automaton) => automaton.for_each_ends(text, &mut emit),
            _ => None,
        };
        if let Some(done) = several_at_a_time {
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

    /// Calls `emit` in order for every match of `text` and for every gap between two matches. The flag is true for
    /// a match. Matches and gaps tile the text. A match may be empty, a gap is never empty.
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
            Engine::Automaton(engine) => engine.for_each_match(text, &mut emit),
            Engine::Linear(engine) => engine.for_each_match(text, &mut emit),
            Engine::Backtracking(engine) => engine.for_each_match(text, &mut emit),
            Engine::Sequence(sequence) => sequence.for_each(text, &mut |span| emit(span, true)),
        }
    }

    /// Is no character of this text ever in a match, and is it never cut? False also where this is not known.
    pub fn ignores(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.arms.ignores(text),
            Engine::CustomScanner(scanner) => scanner.arms.ignores(text),
            Engine::Whole => true,
            Engine::Automaton(automaton) => automaton.ignores(text),
            Engine::Linear(_) | Engine::Backtracking(_) => false,
            Engine::Sequence(sequence) => sequence.ignores(text),
        }
    }

    /// May a text be cut between these two characters, whatever surrounds them, so that splitting both parts gives
    /// the same pretokens as splitting the whole? Known for the scanner only; else false.
    #[inline]
    pub fn cuts_between(&self, left: char, right: char) -> bool {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.arms.cuts_between(left, right),
            Engine::CustomScanner(scanner) => scanner.arms.cuts_between(left, right),
            Engine::Sequence(sequence) => sequence.cuts_between(left, right),
            _ => false,
        }
    }

    /// Is a text never cut between these two characters, whatever surrounds them? Known only where no match has them;
    /// else false.
    pub fn joins(&self, left: char, right: char) -> bool {
        self.ignores(&String::from_iter([left, right]))
    }

    /// The first safe cut from byte `from` on: a position strictly inside `text` at which the text can be cut so
    /// that splitting both parts gives the same pretokens as splitting the whole.
    ///
    /// `None` if there is no such position within 64 kB, and always for plans other than the scanner, as it can
    /// only be known for the scanner. `from` need not be a character boundary.
    ///
    /// Cost: linear in the distance to the cut, which is a few bytes in ordinary text.
    pub fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match &self.engine {
            Engine::Scanner(scanner) => scanner.safe_cut(text, from),
            Engine::CustomScanner(scanner) => scanner.safe_cut(text, from),
            Engine::Sequence(sequence) => sequence.safe_cut(text, from),
            _ => None,
        }
    }
}
