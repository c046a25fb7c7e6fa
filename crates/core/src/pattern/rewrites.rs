//! What keeps the regex engines from rewrites that change what a pattern means.
//!
//! fancy-regex 0.20.0 makes `b+(?:ab+)?` of `b+a?b+`, which matches `b` (and of `b+[ab]*?b*` one that
//! prefers to match more), `b+(?:ab*)*` of `(?:b+a?b*)+`, which matches `baa`, and `(a+?)?` of
//! `(a+?)*`. All of that looks for quantified parts side by side, or alone in a group: an assertion
//! that always holds behind them, `(?=)`, is enough.
//!
//! regex-syntax 0.8.11, which both engines stand on, makes `b+(?:b|a)` of `b+b|b+a`, which prefers
//! `bba` to `bb`. It looks at branches that are rows of parts, a row alone in a group among them, as
//! groups are nothing to it: a capturing group around one of the branches is enough, or the
//! assertion, which sends the branches to the engine one by one.
//!
//! Both are put in where the form calls for it, whether or not the parts are equal: they cost a step
//! of the engine at most and change nothing else.
use std::borrow::Cow;

use super::tokens::{Dialect, Group, Mode, Repeat, Token, Tokens};

/// What a part of a row is to the rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `b+`, `b*`: without end.
    Run {
        may_be_left_out: bool,
    },
    /// `a?`, `a*?`: may be left out.
    Optional,
    /// `a+?`, `a*?`: without end, as short as may be.
    Lazy {
        may_be_left_out: bool,
    },
    /// One of these in a group, or two or three parts of which the first is a run; it ends here.
    Row {
        run_end: usize,
    },
    Other,
}

impl Part {
    fn is_run(self) -> bool {
        matches!(self, Self::Run { .. })
    }

    fn may_be_left_out(self) -> bool {
        matches!(
            self,
            Self::Run { may_be_left_out: true } | Self::Lazy { may_be_left_out: true } | Self::Optional
        )
    }
}

/// One alternative of a group, as far as it is read.
#[derive(Debug, Default)]
struct Row {
    /// Each part with the place behind it.
    parts: Vec<(Part, usize)>,
    /// Where its group's content starts, behind flags.
    from: usize,
    has_bar: bool,
    /// Is there a quantifier or a group in it?
    varies: bool,
    has_group: bool,
}

impl Row {
    fn push(&mut self, part: Part, end: usize) {
        self.parts.push((part, end));
    }

    /// What the group is, seen from outside.
    fn summary(&self) -> Part {
        match self.parts[..] {
            _ if self.has_bar => Part::Other,
            [(Part::Lazy { .. }, run_end)] => Part::Row { run_end },
            [(part, _)] => part,
            [(first, run_end), (second, _)] if first.is_run() && second.may_be_left_out() => {
                Part::Row { run_end }
            }
            [(first, run_end), (second, _), _] if first.is_run() && second.may_be_left_out() => {
                Part::Row { run_end }
            }
            _ => Part::Other,
        }
    }
}

/// Places where engines would rewrite a pattern.
#[derive(Debug, Default)]
struct Places {
    /// Behind parts that would be joined with what follows.
    parts: Vec<usize>,
    /// First branches of those that would be joined.
    branches: Vec<(usize, usize)>,
}

/// The same pattern, in a form that fancy-regex leaves alone.
pub(super) fn for_backtracking(pattern: &str) -> Cow<'_, str> {
    let Places { parts, branches } = places(pattern).unwrap_or_default();
    insert(pattern, parts.into_iter().chain(branches.iter().map(|branch| branch.0)).map(|at| (at, "(?=)")))
}

/// The same pattern, in a form that regex-syntax leaves alone.
pub(super) fn for_linear(pattern: &str) -> Cow<'_, str> {
    let branches = places(pattern).unwrap_or_default().branches;
    insert(pattern, branches.into_iter().flat_map(|(from, to)| [(from, "("), (to, ")")]))
}

fn insert(pattern: &str, inserted: impl Iterator<Item = (usize, &'static str)>) -> Cow<'_, str> {
    let mut inserted: Vec<_> = inserted.collect();
    if inserted.is_empty() {
        return Cow::Borrowed(pattern);
    }
    inserted.sort_by_key(|&(at, _)| at);
    let (mut kept, mut done) = (String::with_capacity(pattern.len() + 4 * inserted.len()), 0);
    for (at, text) in inserted {
        kept.push_str(&pattern[done..at]);
        kept.push_str(text);
        done = at;
    }
    kept.push_str(&pattern[done..]);
    Cow::Owned(kept)
}

/// `None` where only an engine can tell what a group is.
fn places(pattern: &str) -> Option<Places> {
    let mut open: Vec<Row> = Vec::new();
    let mut row = Row::default();
    let mut places = Places::default();
    let mut tokens = Tokens::new(pattern, Dialect::Ours).peekable();
    while let Some((at, token)) = tokens.next() {
        let end = tokens.peek().map_or(pattern.len(), |&(at, _)| at);
        match token {
            Token::Unknown | Token::Open(Group::Other) => return None,
            Token::Open(Group::BareFlags { .. }) if row.parts.is_empty() && !row.has_bar => row.from = end,
            Token::Open(Group::BareFlags { .. }) => row.push(Part::Other, end),
            Token::Open(_) => open.push(std::mem::replace(&mut row, Row { from: end, ..Row::default() })),
            Token::Close => {
                let summary = row.summary();
                row = open.pop()?;
                (row.varies, row.has_group) = (true, true);
                row.push(summary, end);
            }
            Token::Bar => {
                if !row.has_bar && row.varies && (row.parts.len() > 1 || row.has_group) {
                    places.branches.push((row.from, at));
                }
                row.parts.clear();
                row.has_bar = true;
            }
            Token::Repeat(repeat) => {
                row.varies = true;
                let (part, part_end) = row.parts.last_mut()?;
                if let Part::Row { run_end } = *part
                    && repeat.max.is_none()
                {
                    places.parts.push(run_end);
                }
                *part = quantified(*part, repeat);
                *part_end = end;
            }
            _ => row.push(Part::Other, end),
        }
        if let [.., (left, run_end), (middle, _), (right, _)] = row.parts[..]
            && left.is_run()
            && middle.may_be_left_out()
            && right.is_run()
        {
            places.parts.push(run_end);
        }
    }
    places.parts.sort_unstable();
    places.parts.dedup();
    Some(places)
}

fn quantified(part: Part, repeat: Repeat) -> Part {
    match (repeat.min, repeat.max, repeat.mode, part) {
        (_, _, Mode::Possessive, _) => Part::Other,
        (min, None, Mode::Lazy, inner) => Part::Lazy { may_be_left_out: min == 0 || inner.may_be_left_out() },
        (min, None, Mode::Greedy, inner) => {
            Part::Run { may_be_left_out: min == 0 || inner.may_be_left_out() }
        }
        (0, _, Mode::Greedy, run @ Part::Run { .. }) | (1, _, _, run @ Part::Run { .. }) => {
            Part::Run { may_be_left_out: repeat.min == 0 || run.may_be_left_out() }
        }
        (0, ..) => Part::Optional,
        (_, _, _, inner) if inner.may_be_left_out() => Part::Optional,
        _ => Part::Other,
    }
}
