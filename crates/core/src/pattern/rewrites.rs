//! What keeps fancy-regex 0.20.0 from two rewrites that change what a pattern means: of `b+a?b+` it
//! makes `b+(?:ab+)?`, which matches `b`, and of `(?:b+a?)+`-like rows `b+a*`-like ones, which
//! match `baa`.
//!
//! Both look for quantified parts that stand side by side. An assertion that always holds between
//! them, `(?=)`, is enough. It is put in where the form calls for it, whether or not the parts are
//! equal: it costs a step of the engine and changes nothing.
use std::borrow::Cow;

use super::tokens::{Dialect, Group, Mode, Token, Tokens};

const HOLDS: &str = "(?=)";

/// What a part of a row is to the rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `b+`: needed, without end.
    Run,
    /// `a?`, `a*`, `a*?`: may be left out.
    Optional,
    /// Two or three parts in a group, of which the first is a run that ends here.
    Row {
        run_end: usize,
    },
    Other,
}

/// One alternative of a group, as far as it is read.
#[derive(Debug, Default)]
struct Row {
    /// Each part with the place behind it.
    parts: Vec<(Part, usize)>,
    has_bar: bool,
}

impl Row {
    fn push(&mut self, part: Part, end: usize) {
        self.parts.push((part, end));
    }

    /// What the group is, seen from outside.
    fn summary(&self) -> Part {
        match self.parts[..] {
            _ if self.has_bar => Part::Other,
            [(part, _)] => part,
            [(Part::Run, run_end), (Part::Optional, _)]
            | [(Part::Run, run_end), (Part::Optional, _), (Part::Optional, _)] => Part::Row { run_end },
            _ => Part::Other,
        }
    }
}

/// The same pattern, in a form that fancy-regex leaves alone.
pub(super) fn kept_apart(pattern: &str) -> Cow<'_, str> {
    let mut open: Vec<Row> = Vec::new();
    let mut row = Row::default();
    let mut places = Vec::new();
    let mut tokens = Tokens::new(pattern, Dialect::Ours).peekable();
    while let Some((_, token)) = tokens.next() {
        let end = tokens.peek().map_or(pattern.len(), |&(at, _)| at);
        match token {
            Token::Open(Group::BareFlags { .. }) => row.push(Part::Other, end),
            Token::Open(_) => open.push(std::mem::take(&mut row)),
            Token::Close => {
                let summary = row.summary();
                row = open.pop().unwrap_or_default();
                row.push(summary, end);
            }
            Token::Bar => {
                row.parts.clear();
                row.has_bar = true;
            }
            Token::Repeat(repeat) => {
                let Some((part, part_end)) = row.parts.last_mut() else { continue };
                if let Part::Row { run_end } = *part
                    && repeat.max.is_none()
                {
                    places.push(run_end);
                }
                *part = match (repeat.min, repeat.max, repeat.mode, *part) {
                    (_, _, Mode::Possessive, _) => Part::Other,
                    (0, ..) | (_, _, _, Part::Optional) => Part::Optional,
                    (1, None, Mode::Greedy, _) | (_, _, _, Part::Run) => Part::Run,
                    _ => Part::Other,
                };
                *part_end = end;
            }
            _ => row.push(Part::Other, end),
        }
        if let [.., (Part::Run, run_end), (Part::Optional, _), (Part::Run, _)] = row.parts[..] {
            places.push(run_end);
        }
    }
    if places.is_empty() {
        return Cow::Borrowed(pattern);
    }
    places.sort_unstable();
    places.dedup();
    let mut kept = String::with_capacity(pattern.len() + places.len() * HOLDS.len());
    let mut done = 0;
    for place in places {
        kept.push_str(&pattern[done..place]);
        kept.push_str(HOLDS);
        done = place;
    }
    kept.push_str(&pattern[done..]);
    Cow::Owned(kept)
}
