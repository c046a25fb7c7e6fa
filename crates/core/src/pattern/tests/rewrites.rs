//! Both engines against the definition of backtracking, on small patterns.
use proptest::prelude::*;

use super::is_slow;
use crate::pattern::engines::{Backtracking, Linear};
use crate::span::Span;

/// A small pattern.
#[derive(Debug, Clone)]
enum Part {
    /// One of these characters, as it is written.
    Chars(&'static str, &'static str),
    Row(Vec<Part>),
    Either(Vec<Part>),
    Group(&'static str, Box<Part>),
    Repeat {
        part: Box<Part>,
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

impl Part {
    fn write(&self, to: &mut String) {
        match self {
            Self::Chars(_, written) => to.push_str(written),
            Self::Row(parts) => parts.iter().for_each(|part| part.write(to)),
            Self::Either(parts) => {
                to.push_str("(?:");
                for (i, part) in parts.iter().enumerate() {
                    to.push_str(if i > 0 { "|" } else { "" });
                    part.write(to);
                }
                to.push(')');
            }
            Self::Group(open, part) => {
                to.push_str(open);
                part.write(to);
                to.push(')');
            }
            Self::Repeat { part, is_lazy, written, .. } => {
                part.write(to);
                to.push_str(written);
                to.push_str(if *is_lazy { "?" } else { "" });
            }
        }
    }

    fn may_be_empty(&self) -> bool {
        match self {
            Self::Chars(..) => false,
            Self::Row(parts) => parts.iter().all(Self::may_be_empty),
            Self::Either(parts) => parts.iter().any(Self::may_be_empty),
            Self::Group(_, part) => part.may_be_empty(),
            Self::Repeat { part, min, .. } => *min == 0 || part.may_be_empty(),
        }
    }

    /// Is nothing repeated that may match nothing? Engines differ in when they leave such a loop.
    fn is_plain(&self) -> bool {
        match self {
            Self::Chars(..) => true,
            Self::Row(parts) | Self::Either(parts) => parts.iter().all(Self::is_plain),
            Self::Group(_, part) => part.is_plain(),
            Self::Repeat { part, max, .. } => part.is_plain() && (*max == 1 || !part.may_be_empty()),
        }
    }

    /// The end of the first match, in the order of backtracking, from `at` on that `then` takes.
    fn find(&self, text: &[u8], at: usize, then: &mut dyn FnMut(usize) -> Option<usize>) -> Option<usize> {
        match self {
            Self::Chars(chars, _) => {
                let is_here = text.get(at).is_some_and(|byte| chars.as_bytes().contains(byte));
                if is_here { then(at + 1) } else { None }
            }
            Self::Row(parts) => find_row(parts, text, at, then),
            Self::Either(parts) => parts.iter().find_map(|part| part.find(text, at, then)),
            Self::Group(_, part) => part.find(text, at, then),
            Self::Repeat { part, min, max, is_lazy, .. } => {
                find_repeated(part, (*min, *max, *is_lazy), text, at, then)
            }
        }
    }
}

fn find_row(
    parts: &[Part],
    text: &[u8],
    at: usize,
    then: &mut dyn FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    match parts {
        [] => then(at),
        [first, rest @ ..] => first.find(text, at, &mut |end| find_row(rest, text, end, then)),
    }
}

fn find_repeated(
    part: &Part,
    (min, max, is_lazy): (usize, usize, bool),
    text: &[u8],
    at: usize,
    then: &mut dyn FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    if min > 0 {
        let left = (min - 1, max.saturating_sub(usize::from(max != usize::MAX)), is_lazy);
        return part.find(text, at, &mut |end| find_repeated(part, left, text, end, then));
    }
    if is_lazy && let Some(end) = then(at) {
        return Some(end);
    }
    let left = (0, if max == usize::MAX { max } else { max.saturating_sub(1) }, is_lazy);
    let mut more = |end: usize| find_repeated(part, left, text, end, then);
    if max > 0
        && let Some(end) = part.find(text, at, &mut more)
    {
        return Some(end);
    }
    if is_lazy { None } else { then(at) }
}

fn parts() -> impl Strategy<Value = Part> {
    let leaf = prop::sample::select(vec![("a", "a"), ("b", "b"), ("ab", "[ab]"), ("bB", "(?i:b)")]);
    let leaf = leaf.prop_map(|(chars, written)| Part::Chars(chars, written));
    let repeated = |part: Part, quantifier: Option<((&'static str, usize, usize), bool)>| match quantifier {
        Some(((written, min, max), is_lazy)) => {
            Part::Repeat { part: Box::new(part), min, max, is_lazy, written }
        }
        None => part,
    };
    let quantifier =
        || prop::option::weighted(0.7, (prop::sample::select(&QUANTIFIERS[..]), prop::bool::weighted(0.2)));
    let quantified = (leaf, quantifier()).prop_map(move |(part, quantifier)| repeated(part, quantifier));
    quantified.prop_recursive(3, 12, 4, move |inner| {
        let row = prop::collection::vec(inner.clone(), 1..5).prop_map(Part::Row);
        let group = (prop::sample::select(vec!["(?:", "(", "(?s:"]), row.clone(), quantifier());
        prop_oneof![
            3 => group.prop_map(move |(open, row, quantifier)| repeated(Part::Group(open, Box::new(row)), quantifier)),
            2 => row.clone(),
            1 => (row.clone(), row).prop_map(|(one, other)| Part::Either(vec![one, other])),
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
    proptest!(config, |(part in parts(), texts in prop::collection::vec("[abB]{1,7}", 6))| {
        prop_assume!(part.is_plain());
        let mut pattern = String::new();
        part.write(&mut pattern);
        let linear = Linear::compile(&pattern).unwrap();
        // An assertion that never fails, so that no other engine runs it.
        let pattern = format!("(?!c)(?:{pattern})");
        let backtracking = Backtracking::compile(&pattern).unwrap();
        for text in &texts {
            let end_from = |at| part.find(text.as_bytes(), at, &mut Some);
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
