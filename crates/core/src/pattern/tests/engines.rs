//! The regex engines: both give the same pretokens, errors have a position, and limits hold.
use proptest::prelude::*;

use super::{Plan, Split, Splitter, expected, spans, splitter};
use crate::error::{Error, Kind};
use crate::pattern::engines::{Backtracking, Linear};
use crate::pattern::named_splits;
use crate::span::Span;

fn error_of(pattern: &str) -> (String, Option<usize>, String) {
    let error = Splitter::compile(&Split::Pattern(pattern.to_owned())).unwrap_err();
    fields(error)
}

fn fields(error: Error) -> (String, Option<usize>, String) {
    match error.into_kind() {
        Kind::Pattern { pattern, position, reason, .. } => (pattern, position, reason),
        other => panic!("another kind: {other:?}"),
    }
}

fn texts(splitter: &Splitter, text: &str) -> Vec<String> {
    spans(splitter, text).unwrap().iter().map(|&(a, b)| text[a..b].to_owned()).collect()
}

#[test]
fn an_empty_match_cuts_without_making_a_piece() {
    assert_eq!(texts(&splitter("(?=b)"), "abab"), ["a", "ba", "b"]);
    assert_eq!(texts(&splitter(""), "aé中"), ["a", "é", "中"]);
    assert_eq!(texts(&splitter(r"\b"), "ab, cd"), ["ab", ", ", "cd"]);
}

#[test]
fn text_between_matches_is_kept() {
    assert_eq!(texts(&splitter(r"\w+"), "ab, cd."), ["ab", ", ", "cd", "."]);
    assert_eq!(texts(&splitter(r"\p{Lu}+"), "abCDe"), ["ab", "CD", "e"]);
    assert_eq!(texts(&splitter(r"x"), "ab"), ["ab"]);
    assert!(texts(&splitter(r"x"), "").is_empty());
}

#[test]
fn the_plan_follows_from_the_pattern() {
    for (pattern, plan) in [
        (r"\p{L}+|\s+", Plan::Scanner),
        (r"\w+", Plan::Scanner),
        (r"[a-z]+", Plan::Scanner),
        (r"\w++", Plan::Scanner),
        (r"\w+\b", Plan::Automaton { reads_past_match: false }),
        (r"(?m:^)x", Plan::Automaton { reads_past_match: false }),
        (r"\p{L}{2,}", Plan::Automaton { reads_past_match: false }),
        (r"(?:a|b)++", Plan::Automaton { reads_past_match: false }),
        (r"(?<=a)b", Plan::Automaton { reads_past_match: false }),
        (r"a*b|a", Plan::Automaton { reads_past_match: true }),
        (r"(?:a*)*b", Plan::Linear),
        (r"(?:ax){1,3000}", Plan::Linear),
        (r"(?>a|ab)c", Plan::Backtracking),
        (r"(a)\1", Plan::Backtracking),
        (r"\h+", Plan::Backtracking),
        (r"(?:a(?i)b)c", Plan::Backtracking),
        // A run that may fail after it was read is not for the scanner.
        (r"\p{Lu}*\p{Ll}+", Plan::Automaton { reads_past_match: false }),
        (r"\s*\S+", Plan::Automaton { reads_past_match: false }),
    ] {
        assert_eq!(splitter(pattern).plan(), plan, "{pattern}");
    }
    assert_eq!(Plan::Scanner.to_string(), "scanner");
    assert_eq!(Plan::Backtracking.to_string(), "backtracking regex engine");
}

#[test]
fn both_engines_agree() {
    let patterns = [
        r"\w+",
        r"a*",
        r"",
        r"(?:a|b)*?b",
        r"[^ab]+",
        r"\b",
        r"\B",
        r"(?m:^.*$)",
        r"^a|b$",
        r"(?s:.)",
        r".",
        r"(?i:A|é)+",
        r"\d{1,2}",
        r"[[:alpha:]&&[^a]]+",
        r"(a)|(?<n>b)",
        r"(?i)AB",
        r"[\w--a]",
        "\\u0061+",
    ];
    let pairs = patterns.map(|pattern| {
        let linear = Linear::compile(pattern).unwrap_or_else(|| panic!("{pattern}"));
        (pattern, linear, Backtracking::compile(pattern).unwrap(), fancy_regex::Regex::new(pattern).unwrap())
    });
    let config = ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() };
    let chars = ['a', 'b', 'A', 'É', 'é', ' ', '\n', '\r', '1', '½', '中', '\u{200D}', '\u{2028}'];
    proptest!(config, |(chars in prop::collection::vec(prop::sample::select(chars.to_vec()), 0..14))| {
        let text = String::from_iter(chars);
        for (pattern, linear, backtracking, regex) in &pairs {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let push = |to: &mut Vec<(usize, usize)>, span: Span| {
                to.extend((!span.is_empty()).then_some((span.start, span.end)));
            };
            linear.for_each_match(&text, &mut |span, _| { push(&mut one, span); Ok(()) }).unwrap();
            backtracking.for_each_match(&text, &mut |span, _| { push(&mut other, span); Ok(()) }).unwrap();
            let expected = if text.is_empty() { Vec::new() } else { expected(regex, &text) };
            prop_assert_eq!(&one, &expected, "linear: {} on {:?}", pattern, text);
            prop_assert_eq!(&other, &expected, "backtracking: {} on {:?}", pattern, text);
        }
    });
}

#[test]
fn a_required_term_is_not_merged_with_its_neighbour() {
    for (pattern, text, expected) in [
        (r"b+a?b+", "b", &[][..]),
        (r"b+a?b+", "bbabb", &["bbabb"]),
        (r"(?:b+)a*?b{1,}", "b", &[]),
        (r"(?:b+(?:ab*)?)+", "baa", &["ba"]),
        (r"(?:b+a?b*)+", "baa", &["ba"]),
        (r"b{1,}[ab]*?b*", "ba", &["b"]),
        (r"(a+?)*", "aa", &["aa"]),
        (r"b+b|b+a", "bba", &["bb"]),
        (r"(?:b+b)|b+a", "bba", &["bb"]),
        (r"(?:b+b){1}|b+a", "bba", &["bb"]),
        (r"(?i:(?:b+b))|(?i:b+a)", "bBa", &["bB"]),
    ] {
        let linear = Linear::compile(pattern).unwrap();
        // An assertion that never fails, so that no engine gets the whole pattern delegated.
        let backtracking = Backtracking::compile(&format!("(?!c)(?:{pattern})")).unwrap();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let keep = |found: &mut Vec<_>, span: Span, is_match: bool| {
            found.extend((is_match && !span.is_empty()).then(|| &text[span.start..span.end]));
            Ok(())
        };
        linear.for_each_match(text, &mut |span, is_match| keep(&mut one, span, is_match)).unwrap();
        backtracking.for_each_match(text, &mut |span, is_match| keep(&mut other, span, is_match)).unwrap();
        assert_eq!(one, expected, "linear: {pattern} on {text}");
        assert_eq!(other, expected, "backtracking: {pattern} on {text}");
    }
}

#[test]
fn an_invalid_pattern_is_an_error_with_a_place() {
    let (pattern, position, reason) = error_of("ab(c");
    assert_eq!((pattern.as_str(), position), ("ab(c", Some(4)), "{reason}");
    for pattern in
        ["[a", "a)", "*", r"\p{Nonsense}", r"\y", "(?<=a*)(b", "(?P<n", r"(a)\2", "[z-a]", "a**", "(?"]
    {
        let (named, _, reason) = error_of(pattern);
        assert_eq!(named, pattern);
        assert!(!reason.is_empty());
    }
}

#[test]
fn a_pattern_that_needs_too_much_memory_is_an_error() {
    for pattern in
        [r"(?:\p{L}{1000}){1000}", r"(?:(?:\w{500}){500}){500}x++", r"(?:(?:(?=a)\w{900}){900}){900}"]
    {
        error_of(pattern);
    }
    let deep = format!("{}a{}", "(".repeat(5000), ")".repeat(5000));
    error_of(&deep);
    error_of(&format!("{}a{}", "[".repeat(5000), "]".repeat(5000)));
}

#[test]
fn hostile_patterns_and_texts_end() {
    let a = "a".repeat(30_000) + "b";
    for (pattern, text) in [
        (r"(a+)+$", &a),
        (r"(a+)+$(?!x)", &a),
        (r"(?:a+)+\z(?=)", &a),
        (r"(?:a|a)*c(?!x)", &a),
        (r"(a*)*\1$", &a),
        (r"(?:a|aa)+(b)\1", &a),
        (r"(?=a*c)|a", &a),
        (r"(?:(?=a*c)x|a)(?!c)", &a),
    ] {
        // Without a limit some of these would run for years.
        if let Err(error) = spans(&splitter(pattern), text) {
            let (named, _, reason) = fields(error);
            assert_eq!(named, pattern);
            assert!(reason.contains("limit"), "{reason}");
        }
    }
    assert!(spans(&splitter(r"(?:a|aa)+(b)\1"), &a).is_err());
}

#[test]
fn matches_far_apart_are_within_the_limit() {
    let text = format!("{}ab", "x".repeat(100_000)).repeat(10);
    for pattern in [r"(?<=a)b", r"\Kb"] {
        assert_eq!(spans(&splitter(pattern), &text).unwrap().len(), 20, "{pattern}");
        // And a megabyte without any.
        assert_eq!(spans(&splitter(pattern), &"x".repeat(1 << 20)).unwrap().len(), 1, "{pattern}");
    }
}

#[test]
fn a_megabyte_of_one_character_ends_in_every_known_pattern() {
    for name in named_splits::NAMES {
        let splitter = Splitter::compile(&named_splits::split_named(name).unwrap()).unwrap();
        for piece in
            [" ", "\n", "\r\n", "a", "A", "'", "1", "\u{301}", "\u{3000}", "中", "A\u{301}", " \n", "'s", "/"]
        {
            let mut text = piece.repeat((1 << 20) / piece.len());
            for end in ["", "x", " x", "\n"] {
                text.push_str(end);
                // A quadratic scan of a megabyte takes minutes; this takes milliseconds.
                let found = spans(&splitter, &text).unwrap();
                assert_eq!(found.last().map(|span| span.1), Some(text.len()), "{name} on {piece:?}");
            }
        }
    }
}

#[test]
fn an_error_of_the_receiver_ends_the_walk() {
    for pattern in [r"\p{L}|\s", r"\w", r"(?<=a)b", "none"] {
        let splitter = Splitter::compile(&named_splits::split_from(pattern)).unwrap();
        let mut count = 0;
        let result = splitter.for_each("ab ab ab", |_| {
            count += 1;
            Err(Kind::Cancelled.into())
        });
        assert!(matches!(result, Err(ref error) if matches!(error.kind, Kind::Cancelled)), "{pattern}");
        assert_eq!(count, 1);
    }
}

#[test]
fn a_splitter_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Splitter>();
}
