//! Every scanner against fancy-regex on the same pattern.
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{EDGES, Plan, Splitter, expected, is_slow, scanner_patterns, spans, splitter};
use crate::pattern::atoms;

struct Pair {
    pattern: String,
    splitter: Splitter,
    regex: fancy_regex::Regex,
}

fn pairs() -> Vec<Pair> {
    let pair = |pattern: String| {
        let splitter = splitter(&pattern);
        assert_eq!(splitter.plan(), Plan::Scanner, "{pattern}");
        let regex = fancy_regex::Regex::new(&pattern).unwrap();
        Pair { pattern, splitter, regex }
    };
    scanner_patterns().map(pair).collect()
}

impl Pair {
    fn check(&self, text: &str) {
        let found = spans(&self.splitter, text).unwrap();
        assert_eq!(found, expected(&self.regex, text), "{} on {text:?}", self.pattern);
    }
}

#[test]
fn edges_hold_every_atom() {
    let all: BTreeSet<u8> = EDGES.iter().map(|&c| atoms::of(u32::from(c))).collect();
    assert_eq!(all.len(), atoms::ATOMS);
}

#[test]
fn the_scanner_agrees_on_every_pair_and_triple_of_edges() {
    // A triple ends the text; the pair and the single character are its ends.
    let few: Vec<char> = EDGES.into_iter().enumerate().filter(|(i, _)| i % 2 == 0).map(|(_, c)| c).collect();
    let third: &[char] = if is_slow() { &EDGES } else { &few };
    for pair in pairs() {
        pair.check("");
        for a in EDGES {
            pair.check(&String::from(a));
            for b in EDGES {
                pair.check(&String::from_iter([a, b]));
                for &c in third {
                    pair.check(&String::from_iter([a, b, c]));
                }
            }
        }
    }
}

#[test]
fn the_scanner_agrees_on_every_atom_four_times_over() {
    let mut seen = BTreeSet::new();
    let each: Vec<char> = EDGES.into_iter().filter(|&c| seen.insert(atoms::of(u32::from(c)))).collect();
    assert_eq!(each.len(), atoms::ATOMS);
    for pair in pairs() {
        for &a in &each {
            for &b in &each {
                for &c in &each {
                    for &d in if is_slow() { &each[..] } else { &each[..each.len() / 3] } {
                        pair.check(&String::from_iter([a, b, c, d]));
                    }
                }
            }
        }
    }
}

#[test]
fn the_scanner_agrees_on_every_character_in_context() {
    let all = (0..=0x10_FFFF).filter_map(char::from_u32);
    let chars: Vec<char> =
        all.filter(|&c| is_slow() || u32::from(c) % 61 == 0 || atoms::of(u32::from(c)) != 0).collect();
    // The last context of a character is followed by the first one of the next character.
    let texts: Vec<String> = chars
        .chunks(1000)
        .map(|chunk| {
            chunk
                .iter()
                .fold(String::new(), |text, c| text + &format!("{c}\na{c}.{c}a {c}b{c} 1{c}{c}A'{c}\t"))
        })
        .collect();
    for pair in pairs().iter().take(if is_slow() { usize::MAX } else { 7 }) {
        for text in &texts {
            pair.check(text);
        }
    }
}

fn edgy_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(&EDGES[..]).prop_map(String::from),
        2 => (prop::sample::select(&EDGES[..]), 2..6_usize).prop_map(|(c, n)| String::from(c).repeat(n)),
        2 => prop::sample::select(&["'s", "'LL", "'ſ", "\r\n", "  ", " a", "\n\n", "don't", "HTTPServer"][..])
            .prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn the_scanner_agrees_on_edgy_texts() {
    let pairs = pairs();
    let cases = if is_slow() { 200_000 } else { 6_000 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in edgy_text())| {
        for pair in &pairs {
            pair.check(&text);
        }
    });
}

#[test]
fn a_wrong_scanner_would_be_found() {
    // The scanner of one variant against the regex of another.
    let splitter = splitter(r"\p{N}{1,2}");
    let regex = fancy_regex::Regex::new(r"\p{N}{1,3}").unwrap();
    assert_ne!(spans(&splitter, "1234").unwrap(), expected(&regex, "1234"));
}
