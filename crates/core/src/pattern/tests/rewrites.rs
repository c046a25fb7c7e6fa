//! Both engines against the definition of backtracking, on small patterns.
use proptest::prelude::*;

use super::is_slow;
use crate::pattern::engines::{Backtracking, Linear};
use crate::span::Span;

/// A small pattern.
#[derive(Debug, Clone)]
enum Pattern {
    /// One of these characters, and how that is written.
    Chars(&'static str, &'static str),
    Sequence(Vec<Pattern>),
    Alternation(Vec<Pattern>),
    Group(&'static str, Box<Pattern>),
    Repeat {
        pattern: Box<Pattern>,
        min: usize,
        max: usize,
        is_lazy: bool,
        written: &'static str,
    },
}

const QUANTIFIERS: [(&str, usize, usize); 9] = [
    ("+", 1, usize::MAX),
    ("?", 0, 1),
    ("*", 0, usize::MAX),
    ("{1,2}", 1, 2),
    ("{2,}", 2, usize::MAX),
    ("{0,2}", 0, 2),
    ("{1,}", 1, usize::MAX),
    ("{1}", 1, 1),
    ("{0,1}", 0, 1),
];

impl Pattern {
    fn write(&self, to: &mut String) {
        match self {
            Self::Chars(_, written) => to.push_str(written),
            Self::Sequence(patterns) => patterns.iter().for_each(|pattern| pattern.write(to)),
            Self::Alternation(patterns) => {
                to.push_str("(?:");
                for (i, pattern) in patterns.iter().enumerate() {
                    to.push_str(if i > 0 { "|" } else { "" });
                    pattern.write(to);
                }
                to.push(')');
            }
            Self::Group(open, pattern) => {
                to.push_str(open);
                pattern.write(to);
                to.push(')');
            }
            Self::Repeat { pattern, is_lazy, written, .. } => {
                pattern.write(to);
                to.push_str(written);
                to.push_str(if *is_lazy { "?" } else { "" });
            }
        }
    }

    fn may_be_empty(&self) -> bool {
        match self {
            Self::Chars(..) => false,
            Self::Sequence(patterns) => patterns.iter().all(Self::may_be_empty),
            Self::Alternation(patterns) => patterns.iter().any(Self::may_be_empty),
            Self::Group(_, pattern) => pattern.may_be_empty(),
            Self::Repeat { pattern, min, .. } => *min == 0 || pattern.may_be_empty(),
        }
    }

    /// Is nothing repeated that may match the empty text? Engines differ in when they leave such loops.
    fn is_plain(&self) -> bool {
        match self {
            Self::Chars(..) => true,
            Self::Sequence(patterns) | Self::Alternation(patterns) => patterns.iter().all(Self::is_plain),
            Self::Group(_, pattern) => pattern.is_plain(),
            Self::Repeat { pattern, max, .. } => pattern.is_plain() && (*max == 1 || !pattern.may_be_empty()),
        }
    }

    /// The end of the first match from `at` on, in the order of backtracking, that `then` accepts.
    fn find(&self, text: &[u8], at: usize, then: &mut dyn FnMut(usize) -> Option<usize>) -> Option<usize> {
        match self {
            Self::Chars(chars, _) => {
                let fits = text.get(at).is_some_and(|byte| chars.as_bytes().contains(byte));
                if fits { then(at + 1) } else { None }
            }
            Self::Sequence(patterns) => find_sequence(patterns, text, at, then),
            Self::Alternation(patterns) => patterns.iter().find_map(|pattern| pattern.find(text, at, then)),
            Self::Group(_, pattern) => pattern.find(text, at, then),
            Self::Repeat { pattern, min, max, is_lazy, .. } => {
                find_repeated(pattern, (*min, *max, *is_lazy), text, at, then)
            }
        }
    }
}

fn find_sequence(
    patterns: &[Pattern],
    text: &[u8],
    at: usize,
    then: &mut dyn FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    match patterns {
        [] => then(at),
        [first, rest @ ..] => first.find(text, at, &mut |end| find_sequence(rest, text, end, then)),
    }
}

fn find_repeated(
    pattern: &Pattern,
    (min, max, is_lazy): (usize, usize, bool),
    text: &[u8],
    at: usize,
    then: &mut dyn FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    if min > 0 {
        let left = (min - 1, max.saturating_sub(usize::from(max != usize::MAX)), is_lazy);
        return pattern.find(text, at, &mut |end| find_repeated(pattern, left, text, end, then));
    }
    if is_lazy && let Some(end) = then(at) {
        return Some(end);
    }
    let left = (0, if max == usize::MAX { max } else { max.saturating_sub(1) }, is_lazy);
    let mut more = |end: usize| find_repeated(pattern, left, text, end, then);
    if max > 0
        && let Some(end) = pattern.find(text, at, &mut more)
    {
        return Some(end);
    }
    if is_lazy { None } else { then(at) }
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let leaf = prop::sample::select(vec![("a", "a"), ("b", "b"), ("ab", "[ab]"), ("bB", "(?i:b)")]);
    let leaf = leaf.prop_map(|(chars, written)| Pattern::Chars(chars, written));
    let repeated =
        |pattern: Pattern, quantifier: Option<((&'static str, usize, usize), bool)>| match quantifier {
            Some(((written, min, max), is_lazy)) => {
                Pattern::Repeat { pattern: Box::new(pattern), min, max, is_lazy, written }
            }
            None => pattern,
        };
    let quantifier =
        || prop::option::weighted(0.7, (prop::sample::select(&QUANTIFIERS[..]), prop::bool::weighted(0.2)));
    let quantified =
        (leaf, quantifier()).prop_map(move |(pattern, quantifier)| repeated(pattern, quantifier));
    quantified.prop_recursive(3, 12, 4, move |inner| {
        let sequence = prop::collection::vec(inner.clone(), 1..5).prop_map(Pattern::Sequence);
        let group = (prop::sample::select(vec!["(?:", "(", "(?s:"]), sequence.clone(), quantifier());
        prop_oneof![
            3 => group.prop_map(move |(open, sequence, quantifier)| repeated(Pattern::Group(open, Box::new(sequence)), quantifier)),
            2 => sequence.clone(),
            1 => (sequence.clone(), sequence).prop_map(|(one, other)| Pattern::Alternation(vec![one, other])),
        ]
    })
}

#[test]
fn both_engines_find_what_backtracking_finds() {
    let cases = if is_slow() { 100_000 } else { 3_000 };
    let config = ProptestConfig {
        cases,
        max_global_rejects: cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(tree in patterns(), texts in prop::collection::vec("[abB]{1,7}", 6))| {
        prop_assume!(tree.is_plain());
        let mut pattern = String::new();
        tree.write(&mut pattern);
        let linear = Linear::compile(&pattern).unwrap();
        // An assertion that never fails, so that no other engine runs it.
        let pattern = format!("(?!c)(?:{pattern})");
        let backtracking = Backtracking::compile(&pattern).unwrap();
        for text in &texts {
            let end_from = |at| tree.find(text.as_bytes(), at, &mut Some);
            let want = (0..=text.len()).find_map(|at| end_from(at).map(|end| (at, end)));
            let (mut one, mut other) = (None, None);
            let keep = |found: &mut Option<(usize, usize)>, span: Span, is_match: bool| {
                *found = found.or(is_match.then_some((span.start, span.end)));
                Ok(())
            };
            linear.for_each_match(text, &mut |span, is_match| keep(&mut one, span, is_match)).unwrap();
            backtracking.for_each_match(text, &mut |span, is_match| keep(&mut other, span, is_match)).unwrap();
            prop_assert_eq!(one, want, "linear: {} on {:?}", pattern, text);
            prop_assert_eq!(other, want, "backtracking: {} on {:?}", pattern, text);
        }
    });
}
