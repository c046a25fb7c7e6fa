//! A text that grows at its end or at its start, compared with the split of each of its beginnings or endings.
use proptest::prelude::*;

use super::{EDGES, is_slow, scanner_patterns, spans, splitter};
use crate::description::Split;
use crate::pattern::{BackwardSplit, FirstPretoken, GrowingSplit, Splitter};

/// Grows a text by the pieces of these lengths, in characters, and compares every state.
pub(super) fn check(splitter: &Splitter, text: &str, steps: &[usize]) {
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

/// Grows a text at its start, character by character, with steps back to what it was, and compares every pretoken.
pub(super) fn check_backwards(splitter: &Splitter, text: &str, back: usize) {
    let mut split = BackwardSplit::default();
    // By the length of the ending.
    let mut first: Vec<Option<FirstPretoken>> = vec![None; text.len() + 1];
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let mut number = starts.len();
    let mut steps = 0;
    while number > 0 {
        number -= 1;
        let ending = &text[starts[number]..];
        let next = starts.get(number + 1).and_then(|&at| first[text.len() - at]);
        let pretoken = splitter.first_pretoken(&mut split, ending.as_bytes(), next);
        first[ending.len()] = Some(pretoken);
        let (mut at, mut all) = (0, Vec::new());
        while at < ending.len() {
            let end = at + first[ending.len() - at].unwrap().end;
            all.push((at, end));
            at = end;
        }
        assert_eq!(all, spans(splitter, ending).unwrap(), "{ending:?}");
        steps += 1;
        if back > 0 && steps % (2 * back) == 0 {
            number = (number + back).min(starts.len());
            split.truncate(text.len() - starts.get(number).copied().unwrap_or(text.len()));
        }
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
                    check_backwards(&splitter, &text, 0);
                }
            }
        }
    }
}

#[test]
fn a_text_without_a_split_is_one_pretoken() {
    let splitter = Splitter::compile(&Split::Whole).unwrap();
    check(&splitter, "one text, 文", &[1, 3]);
    check_backwards(&splitter, "one text, 文", 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_slow() { 20_000 } else { 1_500 }))]

    #[test]
    fn any_text_grows_as_it_is_split(
        pattern in prop::sample::select(scanner_patterns().collect::<Vec<_>>()),
        picks in prop::collection::vec((0..EDGES.len(), 1..4_usize), 0..60),
        few in 1..EDGES.len(),
        steps in prop::collection::vec(1..8_usize, 1..4),
        back in 0..6_usize,
    ) {
        let chars = picks.into_iter().flat_map(|(pick, times)| std::iter::repeat_n(EDGES[pick % few], times));
        let text: String = chars.collect();
        check(&splitter(&pattern), &text, &steps);
        check_backwards(&splitter(&pattern), &text, back);
        let words: String = text.chars().map(|c| ['a', 'B', '中', ' ', '\n', '\'', 's', '1', '!'][c as usize % 9]).collect();
        check(&splitter(&pattern), &words, &[1]);
        check_backwards(&splitter(&pattern), &words, back);
    }
}
