//! Every range of texts, compared with encoding it.
use std::sync::Arc;

use proptest::prelude::*;

use super::{IntervalCounter, Unit};
use crate::budget::tests::engine;
use crate::compile::compile;
use crate::description::{AddedToken, Description, Normalizer};
use crate::engine::{Engine, Special, Text};
use crate::watch::Unwatched;

fn check(engine: &Arc<Engine>, text: &str, special: &Special) -> Result<(), TestCaseError> {
    let counter = IntervalCounter::new(engine.clone(), text, special.clone(), false, &Unwatched).unwrap();
    let want = |text: Text<'_>| engine.count(text, special, 1, &Unwatched);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (mut ranges, mut counts) = (Vec::new(), Vec::new());
    for (start, &from) in places.iter().enumerate() {
        for (stop, &to) in places.iter().enumerate().skip(start) {
            let count = want(Text::Str(&text[from..to])).unwrap();
            prop_assert_eq!(counter.count(start, stop, Unit::Characters, &Unwatched).unwrap(), count);
            prop_assert_eq!(counter.count(from, to, Unit::Bytes, &Unwatched).unwrap(), count);
            ranges.push([start as i64, stop as i64]);
            counts.push(count as i64);
        }
        let ends = places.len() - start;
        for limit in [0, 1, 2, 5] {
            let fits = |stop: &usize| counts[counts.len() - ends + (stop - start)] <= limit as i64;
            let want = (start..places.len()).rev().find(fits);
            let found = counter.fits(start, limit, Unit::Characters, &Unwatched).unwrap();
            prop_assert_eq!(Some(found), want, "from {} with {}", start, limit);
        }
    }
    prop_assert_eq!(counter.count_many(&ranges, Unit::Characters, 2, &Unwatched).unwrap(), counts);
    for start in 0..text.len().min(12) {
        for stop in start..=text.len() {
            let bytes = Text::Bytes(&text.as_bytes()[start..stop]);
            let found = counter.count(start, stop, Unit::Bytes, &Unwatched);
            match want(bytes) {
                Ok(count) => prop_assert_eq!(found.unwrap(), count, "bytes {}..{}", start, stop),
                Err(_) => prop_assert!(found.is_err()),
            }
        }
    }
    prop_assert!(counter.count(0, places.len(), Unit::Characters, &Unwatched).is_err());
    prop_assert!(counter.count_many(&[[1, 0]], Unit::Bytes, 1, &Unwatched).is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn ranges_have_the_ids_that_they_have_by_themselves(
        split in prop::sample::select(vec!["gpt2", "cl100k", "o200k", "none", "whitespace", r"\p{Lu}+", r"(?:a|b)++c|(?s:.)"]),
        (whole_pretokens, is_char) in any::<(bool, bool)>(),
        pieces in prop::collection::vec(("the|'s| |\\n|[0-9]{1,4}|\u{e9}|\u{8a9e}|ab|<s>|<|s>|!!|a|b", 1..6_usize), 0..24),
        special in prop::sample::select(vec![Special::Text, Special::Parse]),
        normalizes in any::<bool>(),
    ) {
        let engine = engine(split, whole_pretokens, is_char);
        let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        let known = "abehstABx12 '!\n\u{e9}\u{8a9e}";
        let text: String = if is_char { text.chars().filter(|&c| known.contains(c)).collect() } else { text };
        check(&engine, &text, &special)?;
        let added = vec![AddedToken::special(9_000, "<s>"), AddedToken::special(9_001, "<s>the")];
        let mut description = Description { added_tokens: added, ..engine.description().clone() };
        if normalizes {
            description.normalizer.push(Normalizer::Lowercase);
        }
        if let Ok(engine) = compile(description) {
            check(&engine.into(), &text, &special)?;
        }
    }
}

#[test]
fn pieces_without_cuts_are_encoded() {
    let engine = engine("gpt2", false, true);
    let text = format!("{} b {}", "a".repeat(700), "ab".repeat(400));
    let counter = IntervalCounter::new(engine.clone(), &text, Special::Text, false, &Unwatched).unwrap();
    for (start, stop) in [(3, 690), (3, 702), (650, 1_000), (0, 1_500), (701, 1_500), (703, 704), (10, 10)] {
        let want = engine.count(Text::Str(&text[start..stop]), &Special::Text, 1, &Unwatched).unwrap();
        assert_eq!(counter.count(start, stop, Unit::Characters, &Unwatched).unwrap(), want);
    }
    for (start, limit) in [(0, 30), (3, 300), (690, 3), (690, 200), (720, 2), (0, 10_000)] {
        let count =
            |stop: usize| engine.count(Text::Str(&text[start..stop]), &Special::Text, 1, &Unwatched).unwrap();
        let want = (start..=text.len()).rev().find(|&stop| count(stop) <= limit).unwrap();
        assert_eq!(counter.fits(start, limit, Unit::Characters, &Unwatched).unwrap(), want);
    }
}
