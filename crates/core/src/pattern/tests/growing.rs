//! A text that grows, compared with the split of each of its beginnings.
use proptest::prelude::*;

use super::{EDGES, is_slow, scanner_patterns, spans, splitter};
use crate::description::Split;
use crate::pattern::{GrowingSplit, Splitter};

/// Grows a text by the pieces of these lengths, in characters, and compares every state.
fn check(splitter: &Splitter, text: &str, steps: &[usize]) {
    assert!(splitter.grows());
    let mut split = GrowingSplit::default();
    let mut certain: Vec<(usize, usize)> = Vec::new();
    let mut steps = steps.iter().copied().cycle();
    let mut end = 0;
    while end < text.len() {
        let step = steps.next().unwrap_or(1).max(1);
        end += text[end..].chars().take(step).map(char::len_utf8).sum::<usize>();
        splitter.grow(&mut split, &text.as_bytes()[..end], |span, read| {
            assert!(span.end <= read && read <= end);
            certain.push((span.start, span.end));
        });
        assert_eq!(split.certain(), certain.last().map_or(0, |last| last.1));
        let all: Vec<(usize, usize)> =
            certain.iter().copied().chain(split.open().map(|span| (span.start, span.end))).collect();
        assert_eq!(all, spans(splitter, &text[..end]).unwrap(), "{:?}", &text[..end]);
    }
}

#[test]
fn every_short_text_grows_as_it_is_split() {
    let characters: Vec<char> =
        if is_slow() { EDGES.to_vec() } else { EDGES.iter().copied().step_by(3).collect() };
    for pattern in scanner_patterns() {
        let splitter = splitter(&pattern);
        for &a in &characters {
            for &b in &characters {
                for &c in &characters {
                    let text: String = [a, b, c].iter().collect();
                    check(&splitter, &text, &[1]);
                }
            }
        }
    }
}

#[test]
fn a_text_without_a_split_is_one_pretoken() {
    let splitter = Splitter::compile(&Split::Whole).unwrap();
    check(&splitter, "one text, 文", &[1, 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_slow() { 20_000 } else { 1_500 }))]

    #[test]
    fn any_text_grows_as_it_is_split(
        pattern in prop::sample::select(scanner_patterns().collect::<Vec<_>>()),
        picks in prop::collection::vec((0..EDGES.len(), 1..4_usize), 0..60),
        few in 1..EDGES.len(),
        steps in prop::collection::vec(1..8_usize, 1..4),
    ) {
        let chars = picks.into_iter().flat_map(|(pick, times)| std::iter::repeat_n(EDGES[pick % few], times));
        let text: String = chars.collect();
        check(&splitter(&pattern), &text, &steps);
        let words: String = text.chars().map(|c| ['a', 'B', '中', ' ', '\n', '\'', 's', '1', '!'][c as usize % 9]).collect();
        check(&splitter(&pattern), &words, &[1]);
    }
}
