//! Guards against rewrites of the regex engines that change the meaning of a pattern.
//!
//! In: a pattern. Out: a pattern with the same matches that the engine leaves as it is.
//!
//! fancy-regex 0.20.0 rewrites `b+a?b+` as `b+(?:ab+)?`, which matches `b`. It rewrites `b+[ab]*?b*` in the same
//! way, to a pattern that prefers longer matches. It rewrites `(?:b+a?b*)+` as `b+(?:ab*)*`, which matches `baa`,
//! and `(a+?)*` as `(a+?)?`. All these rewrites apply to quantified terms that are adjacent or alone in a group.
//! The assertion `(?=)`, which always holds, prevents them if it follows such a term.
//!
//! regex-syntax 0.8.11, which both engines use, rewrites `b+b|b+a` as `b+(?:b|a)`, which prefers `bba` to `bb`.
//! This rewrite applies to branches that are sequences of terms. It ignores groups, so a sequence alone in a group
//! counts too. A capturing group around one of the branches prevents it. The assertion `(?=)` prevents it in
//! fancy-regex, which then passes the branches on one by one.
//!
//! Both guards are inserted wherever a rewrite might apply, whether or not the terms are equal. A guard costs the
//! engine at most one step and changes nothing else.
use std::borrow::Cow;
use tokenmill_kernels::sorting;

use super::tokens::{Dialect, Group, Mode, Repeat, Token, Tokens};

/// A term of a branch, classified by the rewrites that may apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    /// `b+`, `b*`: greedy and without limit.
    Run {
        may_be_empty: bool,
    },
    /// `a?`, `a*?`: may match nothing.
    Optional,
    /// `a+?`, `a*?`: lazy and without limit.
    Lazy {
        may_be_empty: bool,
    },
    /// A group that contains one lazy term, or two or three terms of which the first is a run. `run_end` is where
    /// the first term ends.
    Sequence {
        run_end: usize,
    },
    Other,
}

impl Term {
    fn is_run(self) -> bool {
        matches!(self, Self::Run { .. })
    }

    fn may_be_empty(self) -> bool {
        matches!(self, Self::Run { may_be_empty: true } | Self::Lazy { may_be_empty: true } | Self::Optional)
    }
}

/// One branch of a group, as far as it has been read.
#[derive(Debug, Default)]
struct Branch {
    /// Each term with the position of its end.
    terms: Vec<(Term, usize)>,
    /// Where the content of the group starts, after any flags.
    from: usize,
    has_bar: bool,
    /// Does it contain a quantifier or a group?
    varies: bool,
    has_group: bool,
}

impl Branch {
    fn push(&mut self, term: Term, end: usize) {
        self.terms.push((term, end));
    }

    /// Classifies the whole group as one term of the enclosing branch.
    fn summary(&self) -> Term {
        match self.terms[..] {
            _ if self.has_bar => Term::Other,
            [(Term::Lazy { .. }, run_end)] => Term::Sequence { run_end },
            [(term, _)] => term,
            [(first, run_end), (second, _)] if first.is_run() && second.may_be_empty() => {
                Term::Sequence { run_end }
            }
            [(first, run_end), (second, _), _] if first.is_run() && second.may_be_empty() => {
                Term::Sequence { run_end }
            }
            _ => Term::Other,
        }
    }
}

/// The positions at which an engine might rewrite a pattern.
#[derive(Debug, Default)]
struct GuardPositions {
    /// The ends of the terms that fancy-regex might join with the terms after them.
    terms: Vec<usize>,
    /// The first branch, as start and end, of each alternation whose branches regex-syntax might join.
    branches: Vec<(usize, usize)>,
}

/// The pattern in a form that fancy-regex does not rewrite.
pub(super) fn for_backtracking(pattern: &str) -> Cow<'_, str> {
    let GuardPositions { terms, branches } = guard_positions(pattern).unwrap_or_default();
    insert(pattern, terms.into_iter().chain(branches.iter().map(|branch| branch.0)).map(|at| (at, "(?=)")))
}

/// The pattern in a form that regex-syntax does not rewrite.
pub(super) fn for_linear(pattern: &str) -> Cow<'_, str> {
    let branches = guard_positions(pattern).unwrap_or_default().branches;
    insert(pattern, branches.into_iter().flat_map(|(from, to)| [(from, "("), (to, ")")]))
}

fn insert(pattern: &str, inserted: impl Iterator<Item = (usize, &'static str)>) -> Cow<'_, str> {
    let mut inserted: Vec<_> = inserted.collect();
    if inserted.is_empty() {
        return Cow::Borrowed(pattern);
    }
    sorting::sort_by_key(&mut inserted, |&(at, _)| at);
    let (mut guarded, mut done) = (String::with_capacity(pattern.len() + 4 * inserted.len()), 0);
    for (at, text) in inserted {
        guarded.push_str(&pattern[done..at]);
        guarded.push_str(text);
        done = at;
    }
    guarded.push_str(&pattern[done..]);
    Cow::Owned(guarded)
}

/// `None` if the pattern is malformed, or if it contains a construct that only an engine understands.
fn guard_positions(pattern: &str) -> Option<GuardPositions> {
    let mut open: Vec<Branch> = Vec::new();
    let mut branch = Branch::default();
    let mut found = GuardPositions::default();
    let mut tokens = Tokens::new(pattern, Dialect::Ours).peekable();
    while let Some((at, token)) = tokens.next() {
        let end = tokens.peek().map_or(pattern.len(), |&(at, _)| at);
        match token {
            Token::Unknown | Token::Open(Group::Other) => return None,
            Token::Open(Group::BareFlags { .. }) if branch.terms.is_empty() && !branch.has_bar => {
                branch.from = end;
            }
            Token::Open(Group::BareFlags { .. }) => branch.push(Term::Other, end),
            Token::Open(_) => {
                open.push(std::mem::replace(&mut branch, Branch { from: end, ..Branch::default() }));
            }
            Token::Close => {
                let summary = branch.summary();
                branch = open.pop()?;
                (branch.varies, branch.has_group) = (true, true);
                branch.push(summary, end);
            }
            Token::Bar => {
                if !branch.has_bar && branch.varies && (branch.terms.len() > 1 || branch.has_group) {
                    found.branches.push((branch.from, at));
                }
                branch.terms.clear();
                branch.has_bar = true;
            }
            Token::Repeat(repeat) => {
                branch.varies = true;
                let (term, term_end) = branch.terms.last_mut()?;
                if let Term::Sequence { run_end } = *term
                    && repeat.max.is_none()
                {
                    found.terms.push(run_end);
                }
                *term = quantified(*term, repeat);
                *term_end = end;
            }
            _ => branch.push(Term::Other, end),
        }
        if let [.., (left, run_end), (middle, _), (right, _)] = branch.terms[..]
            && left.is_run()
            && middle.may_be_empty()
            && right.is_run()
        {
            found.terms.push(run_end);
        }
    }
    sorting::sort(&mut found.terms);
    found.terms.dedup();
    Some(found)
}

fn quantified(term: Term, repeat: Repeat) -> Term {
    match (repeat.min, repeat.max, repeat.mode, term) {
        (_, _, Mode::Possessive, _) => Term::Other,
        (min, None, Mode::Lazy, inner) => Term::Lazy { may_be_empty: min == 0 || inner.may_be_empty() },
        (min, None, Mode::Greedy, inner) => Term::Run { may_be_empty: min == 0 || inner.may_be_empty() },
        (0, _, Mode::Greedy, run @ Term::Run { .. }) | (1, _, _, run @ Term::Run { .. }) => {
            Term::Run { may_be_empty: repeat.min == 0 || run.may_be_empty() }
        }
        (0, ..) => Term::Optional,
        (_, _, _, inner) if inner.may_be_empty() => Term::Optional,
        _ => Term::Other,
    }
}
