//! Tiling, and cutting a text before it is split.
use proptest::prelude::*;

use super::{EDGES, scanner_patterns, spans, splitter};
use crate::description::Split;
use crate::pattern::{Splitter, named_splits};

fn scanners() -> Vec<(String, Splitter)> {
    scanner_patterns().map(|pattern| (pattern.clone(), splitter(&pattern))).collect()
}

/// Splitting the parts before and after `cut` gives the pretokens of the whole.
fn check_cut(splitter: &Splitter, pattern: &str, text: &str, cut: usize) {
    let mut parts = spans(splitter, &text[..cut]).unwrap();
    parts.extend(spans(splitter, &text[cut..]).unwrap().iter().map(|(a, b)| (a + cut, b + cut)));
    assert_eq!(parts, spans(splitter, text).unwrap(), "{pattern} on {text:?} cut at {cut}");
}

pub(super) fn check_all_cuts(splitter: &Splitter, pattern: &str, text: &str) -> usize {
    let (mut from, mut count) = (0, 0);
    while let Some(cut) = splitter.safe_cut(text, from) {
        assert!(cut >= from && cut > 0 && cut < text.len());
        check_cut(splitter, pattern, text, cut);
        (from, count) = (cut + 1, count + 1);
    }
    count
}

#[test]
fn a_safe_cut_changes_no_pretoken() {
    let scanners = scanners();
    let config = ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() };
    let text = prop::collection::vec(prop::sample::select(&EDGES[..]), 0..16);
    proptest!(config, |(chars in text)| {
        let text = String::from_iter(chars);
        for (pattern, splitter) in &scanners {
            check_all_cuts(splitter, pattern, &text);
        }
    });
}

#[test]
fn a_safe_cut_changes_no_pretoken_of_any_four_edges() {
    let chars: Vec<char> =
        EDGES.into_iter().enumerate().filter(|(i, _)| i % 3 != 1).map(|(_, c)| c).collect();
    for (pattern, splitter) in scanners().iter().take(8) {
        for &a in &chars {
            for &b in &chars {
                for &c in &chars {
                    check_all_cuts(splitter, pattern, &String::from_iter([a, b, c]));
                    check_all_cuts(splitter, pattern, &String::from_iter([c, a, b, ' ']));
                }
            }
        }
    }
}

#[test]
fn ordinary_text_has_a_safe_cut_before_most_words() {
    let text = "The quick brown fox, it's said, jumps over 13 lazy dogs.\n\nThen it rests. ".repeat(20);
    for name in ["gpt2", "cl100k", "o200k", "qwen2", "whitespace"] {
        let splitter = Splitter::compile(&named_splits::split_named(name).unwrap()).unwrap();
        let count = check_all_cuts(&splitter, name, &text);
        assert!(count >= 20 * 10, "{name}: {count}");
        assert_eq!(splitter.safe_cut(&text, 4), Some(9), "{name}");
    }
}

#[test]
fn a_safe_cut_is_inside_the_text_on_a_character_boundary_and_not_far() {
    let splitter = Splitter::compile(&named_splits::split_named("cl100k").unwrap()).unwrap();
    assert_eq!(splitter.safe_cut("", 0), None);
    assert_eq!(splitter.safe_cut("a b", 0), Some(1));
    assert_eq!(splitter.safe_cut("a b", 2), None);
    assert_eq!(splitter.safe_cut("a b", 99), None);
    assert_eq!(splitter.safe_cut("a b", usize::MAX), None);
    assert_eq!(splitter.safe_cut("é b", 1), Some(2));
    // Inside a character: the boundary after it counts.
    assert_eq!(splitter.safe_cut("aé b", 2), Some(3));
    // After white space nothing is certain, and digits may be in one match.
    assert_eq!(splitter.safe_cut("a  1234", 2), None);
    let far = format!("{} b", "a".repeat(70_000));
    assert_eq!(splitter.safe_cut(&far, 0), None);
    assert_eq!(splitter.safe_cut(&far, 10_000), Some(70_000));
}

#[test]
fn other_plans_have_no_safe_cut() {
    for split in [Split::Whole, named_splits::split_from(r"\w+\b"), named_splits::split_from(r"(?<=a)b")] {
        assert_eq!(Splitter::compile(&split).unwrap().safe_cut("a b a b", 1), None);
    }
}

#[test]
fn text_that_nothing_surely_matches_is_not_cut() {
    // The space may be in the text between two matches.
    assert_eq!(splitter(r"x|\p{Lu}+").safe_cut("a b c", 0), None);
    assert_eq!(splitter(r"x|\p{Lu}+").safe_cut("a b C", 0), None);
    assert_eq!(splitter(r"x|\p{Lu}+").safe_cut("a b.C", 0), Some(4));
    // All matches are runs of one class, which end where the class does.
    assert_eq!(splitter(r"\p{Lu}+").safe_cut("a b c", 0), None);
    assert_eq!(splitter(r"\p{Lu}+").safe_cut("a b C", 0), Some(4));
    assert_eq!(splitter(r"\p{Lu}+").safe_cut("a C b", 3), Some(3));
}

#[test]
fn spans_tile_the_text_in_every_plan() {
    let patterns = [
        r"\w+",
        r"(?=b)",
        r"",
        r"a*",
        r"(?<=a)b?",
        r"\b",
        r"(?!a)",
        r"b\Ka",
        r"(?s:.)",
        r"[^a]+?",
        r"(a)|b\1",
        r"\Ga",
        r"(?=a)|b",
        r"$",
        r"^",
        r"(?m:^)",
        r"\s+(?!\S)|x",
    ];
    let mut splitters: Vec<(String, Splitter)> = patterns.map(|p| (p.to_owned(), splitter(p))).into();
    splitters.extend(scanners());
    splitters.push(("none".to_owned(), Splitter::compile(&Split::Whole).unwrap()));
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    let text =
        prop::collection::vec(prop::sample::select(&['a', 'b', ' ', '\n', 'é', '中', '1', 'A'][..]), 0..12);
    proptest!(config, |(chars in text)| {
        let text = String::from_iter(chars);
        for (pattern, splitter) in &splitters {
            let mut at = 0;
            for (start, end) in spans(splitter, &text).unwrap() {
                prop_assert!(start == at && end > start, "{} on {:?}", pattern, text);
                prop_assert!(text.is_char_boundary(end));
                at = end;
            }
            prop_assert_eq!(at, text.len(), "{} on {:?}", pattern, text);
        }
    });
}
