//! The regex engines, for the patterns that no scanner can run.
//!
//! In: patterns, and then texts. Out: the matches and the gaps between them, which together tile a text. An
//! engine gets only patterns that mean the same to it as to fancy-regex. No text may take unbounded time or
//! memory.
use std::borrow::Cow;

use fancy_regex::{CompileError, Error as FancyError, RegexBuilder};
use regex_automata::{Anchored, Input, meta};
use tokenmill_kernels::MadeOnce;

use super::dialect_tables;
use super::rewrites::{for_backtracking, for_linear};
use super::tokens::{Dialect, Group, Member, Mode, Token, Tokens, members};
use crate::error::{Error, Kind, Place, Result};
use crate::span::Span;

/// The most bytes of a compiled NFA.
const SIZE_LIMIT: usize = 10 << 20;
/// The most instructions of a program for the backtracking engine.
const PROGRAM_LIMIT: usize = 1 << 18;

/// Tiles a text with matches and the gaps between them.
pub(super) struct Tiler<'e, F> {
    emit: &'e mut F,
    done: usize,
}

impl<'e, F: FnMut(Span, bool) -> Result<()>> Tiler<'e, F> {
    pub(super) fn new(emit: &'e mut F) -> Self {
        Self { emit, done: 0 }
    }

    /// Emits the next match. A match that `\K` makes start before `done` is cut off at `done`.
    pub(super) fn matched(&mut self, start: usize, end: usize) -> Result<()> {
        self.gap(start)?;
        let (start, end) = (start.max(self.done), end.max(self.done));
        self.done = end;
        (self.emit)(Span::new(start, end), true)
    }

    /// Emits the gap between the last match and `end`, if there is one.
    pub(super) fn gap(&mut self, end: usize) -> Result<()> {
        if self.done < end {
            let gap = Span::new(self.done, end);
            self.done = end;
            (self.emit)(gap, false)?;
        }
        Ok(())
    }
}

/// The engine of regex-automata, whose searches take linear time.
#[derive(Debug)]
pub(super) struct Linear {
    regex: meta::Regex,
    /// Can it match no text?
    may_be_empty: bool,
}

impl Linear {
    /// `None` if the pattern is invalid or too large, or if it might mean something else in fancy-regex.
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        if !means_the_same(pattern) {
            return None;
        }
        let config = meta::Config::new().nfa_size_limit(Some(SIZE_LIMIT));
        let parsed = regex_syntax::parse(&for_linear(pattern)).ok()?;
        let may_be_empty = parsed.properties().minimum_len().is_none_or(|length| length == 0);
        let regex = meta::Builder::new().configure(config).build_from_hir(&parsed).ok()?;
        Some(Self { regex, may_be_empty })
    }

    pub(super) fn for_each_match<F>(&self, text: &str, emit: &mut F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let mut tiler = Tiler::new(emit);
        if self.may_be_empty {
            for found in self.regex.find_iter(text) {
                tiler.matched(found.start(), found.end())?;
            }
            return tiler.gap(text.len());
        }
        while tiler.done < text.len() {
            let rest = Input::new(text).range(tiler.done..);
            // Most matches begin where the last one ended. An anchored search finds their end in one pass; any other
            // search reads the match once more, backwards, to find its start.
            let (start, end) = match self.regex.search_half(&rest.clone().anchored(Anchored::Yes)) {
                Some(found) => (tiler.done, found.offset()),
                None => match self.regex.search(&rest) {
                    Some(found) => (found.start(), found.end()),
                    None => break,
                },
            };
            tiler.matched(start, end)?;
        }
        tiler.gap(text.len())
    }
}

/// Does every construct of the pattern mean the same in regex-syntax and in fancy-regex?
fn means_the_same(pattern: &str) -> bool {
    // A quantifier that follows an assertion or another quantifier is accepted by one engine and refused by the
    // other.
    let mut may_repeat = false;
    Tokens::new(pattern, Dialect::Ours).all(|(at, token)| {
        let before = std::mem::replace(&mut may_repeat, true);
        match token {
            Token::Char(_) | Token::Dot | Token::Close | Token::CodePoint(_) => true,
            Token::Escape(c) => {
                may_repeat = !matches!(c, 'b' | 'B' | 'A' | 'z');
                !may_repeat || is_same_escape(c)
            }
            Token::Property { name, .. } => dialect_tables::is_known_property(name),
            Token::Class(text) => members(text).all(|(_, member)| match member {
                Member::Token(Token::Escape(c)) => is_same_escape(c),
                Member::Token(Token::Property { name, .. }) => dialect_tables::is_known_property(name),
                Member::Token(token) => matches!(token, Token::CodePoint(_)),
                _ => true,
            }),
            Token::Caret | Token::Dollar | Token::Bar => {
                may_repeat = false;
                true
            }
            Token::Open(group) => {
                may_repeat = false;
                let plain = |flags: &str| flags.bytes().all(|flag| b"ims".contains(&flag));
                match group {
                    Group::Capture | Group::Named(_) | Group::Plain => true,
                    Group::Flags { on, off } => plain(on) && plain(off),
                    // Inside a group, fancy-regex would apply the flags beyond the end of the group.
                    Group::BareFlags { on, off } => at == 0 && plain(on) && plain(off),
                    _ => false,
                }
            }
            Token::Repeat(repeat) => {
                may_repeat = false;
                before && repeat.mode != Mode::Possessive
            }
            Token::Unknown => false,
        }
    })
}

fn is_same_escape(c: char) -> bool {
    matches!(c, 'n' | 'r' | 't' | 'f' | 'v' | 'a' | 's' | 'S' | 'd' | 'D' | 'w' | 'W')
        || (c.is_ascii_punctuation() && c != '<' && c != '>')
}

/// The engine of fancy-regex, with a limit on the total backtracking for one text.
///
/// The engine limits each search by itself. That is not enough: a hostile text can cause a million searches, each
/// of which stays under any limit that harmless texts need. So each search first runs under a small limit.
/// Whenever it exceeds a limit, it runs again under the next larger one, and the size of that limit is subtracted
/// from the budget of the text. The result depends on the pattern and the text alone, never on time.
#[derive(Debug)]
pub(super) struct Backtracking {
    pattern: String,
    /// The pattern with [guards](super::rewrites) against wrong rewrites, as the engine gets it.
    guarded: String,
    /// Does the pattern contain `\K`, which can move the start of a match?
    has_keep_out: bool,
    /// The pattern compiled for each of [`LIMITS`]. All but the first are compiled when they are first needed.
    levels: [MadeOnce<std::result::Result<fancy_regex::Regex, String>>; LIMITS.len()],
}

/// Limits on the backtracking of one search. A search that finds its match after `d` characters backtracks `d`
/// times.
const LIMITS: [usize; 7] = [1 << 6, 1 << 9, 1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24];

/// The budget of a text, and the amount that each of its bytes adds to it. A hostile text of a megabyte takes
/// about a second to use it up. A text whose matches are far apart is charged at most ten for each byte.
pub(super) const BUDGET: usize = 1 << 26;
pub(super) const BUDGET_PER_BYTE: usize = 16;

impl Backtracking {
    pub(super) fn compile(pattern: &str) -> Result<Self> {
        let build = |given: &str| build(given, LIMITS[0]).map_err(|error| compile_error(pattern, &error));
        let mut first = build(pattern)?;
        let guarded = for_backtracking(pattern);
        if let Cow::Owned(guarded) = &guarded {
            first = build(guarded)?;
        }
        let levels: [MadeOnce<_>; LIMITS.len()] = Default::default();
        levels[0].get_or_make(|| Ok(first));
        let has_keep_out = pattern.contains(r"\K");
        Ok(Self { pattern: pattern.to_owned(), guarded: guarded.into_owned(), has_keep_out, levels })
    }

    pub(super) fn for_each_match<F>(&self, text: &str, emit: &mut F) -> Result<()>
    where
        F: FnMut(Span, bool) -> Result<()>,
    {
        let mut tiler = Tiler::new(emit);
        let mut budget = BUDGET.saturating_add(text.len().saturating_mul(BUDGET_PER_BYTE));
        let (mut at, mut last_end) = (0, None);
        while at <= text.len() {
            let Some((start, end)) = self.find(text, at, &mut budget)? else { break };
            // An empty match directly after the previous match does not count.
            let is_new = start < end || last_end != Some(end);
            if is_new {
                tiler.matched(start, end)?;
                last_end = Some(end);
            }
            // After an empty match the search continues one character later. If `\K` made the match empty, the
            // search continues at its end, where another match may start.
            let next = end.max(at);
            at = if start == end && !(is_new && self.has_keep_out) {
                next + text[next..].chars().next().map_or(1, char::len_utf8)
            } else {
                next
            };
        }
        tiler.gap(text.len())
    }

    fn find(&self, text: &str, at: usize, budget: &mut usize) -> Result<Option<(usize, usize)>> {
        for (level, &limit) in self.levels.iter().zip(&LIMITS) {
            if limit > LIMITS[0] {
                *budget = budget.checked_sub(limit).ok_or_else(|| self.too_hard(at))?;
            }
            let regex = level
                .get_or_make(|| build(&self.guarded, limit).map_err(|error| error.to_string()))
                .as_ref()
                .map_err(|error| Error::pattern(&self.pattern, None, error.clone()))?;
            match regex.find_from_pos(text, at) {
                Ok(found) => return Ok(found.map(|found| (found.start(), found.end()))),
                Err(FancyError::RuntimeError(fancy_regex::RuntimeError::BacktrackLimitExceeded)) => {}
                Err(_) => return Err(self.too_hard(at)),
            }
        }
        Err(self.too_hard(at))
    }

    fn too_hard(&self, at: usize) -> Error {
        Kind::Pattern {
            pattern: self.pattern.clone(),
            position: None,
            searched_from: Some(Place::Byte(at)),
            reason: "it exceeds the limit on backtracking; make quantifiers possessive (`\\s++`), or do not nest them"
                .to_owned(),
        }
        .into()
    }
}

fn build(pattern: &str, limit: usize) -> std::result::Result<fancy_regex::Regex, FancyError> {
    RegexBuilder::new(pattern)
        .backtrack_limit(limit)
        .delegate_size_limit(SIZE_LIMIT)
        .max_prog_size(PROGRAM_LIMIT)
        .build()
}

fn compile_error(pattern: &str, error: &FancyError) -> Error {
    match error {
        FancyError::ParseError(position, error) => {
            Error::pattern(pattern, Some(*position), error.to_string())
        }
        FancyError::CompileError(error) => match &**error {
            CompileError::InnerError(inner) if inner.size_limit().is_some() => {
                let reason = format!("it needs more than {SIZE_LIMIT} bytes; use smaller repetition counts");
                Error::pattern(pattern, None, reason)
            }
            // The position is relative to the part that fancy-regex delegates to regex-automata, so it is dropped.
            CompileError::InnerError(inner) => match inner.syntax_error() {
                Some(error) => Error::pattern(pattern, None, error.to_string()),
                None => Error::pattern(pattern, None, inner.to_string()),
            },
            error => Error::pattern(pattern, None, error.to_string()),
        },
        error => Error::pattern(pattern, None, error.to_string()),
    }
}
