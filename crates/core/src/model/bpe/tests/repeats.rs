//! Pretokens in which few bytes are repeated often, compared with the naive rule.
use proptest::prelude::*;

use super::Compiled;
use super::canonical::{by_id, compiled, recipes};
use crate::model::bpe::canonical::repeats;
use crate::vocabulary::Vocabulary;

/// The ids of a pretoken; `None` if it is merged otherwise.
fn merged(compiled: &Compiled, pretoken: &[u8]) -> Option<Vec<u32>> {
    let table = &compiled.model.canonical.as_ref()?.table;
    let mut symbols = vec![7];
    let is_merged = repeats::merge(&table.merges, pretoken, &mut symbols).unwrap();
    is_merged.then(|| symbols.iter().map(|&symbol| table.ids[symbol as usize]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn repeats_are_merged_by_the_naive_rule(
        recipe in recipes(6),
        texts in prop::collection::vec(
            prop::collection::vec((prop::sample::select(&b"abc\xe4\xb8"[..]), prop_oneof![1..6_usize, 6..120_usize]), 1..10),
            1..12,
        ),
    ) {
        let compiled = compiled(&recipe);
        for repeats in texts {
            let text: Vec<u8> = repeats.iter().flat_map(|&(byte, count)| std::iter::repeat_n(byte, count)).collect();
            if let Some(ids) = merged(&compiled, &text) {
                prop_assert_eq!(ids, compiled.naive(&text), "{:?}", repeats);
            }
        }
    }
}

#[test]
fn few_long_repeats_take_few_steps_and_others_are_left_alone() {
    let tokens: Vec<String> = (1..=6).map(|doublings| "-".repeat(1 << doublings)).collect();
    let compiled = by_id(&tokens.iter().map(String::as_str).chain([" -", "-\n"]).collect::<Vec<_>>());
    let length = |id: &u32| Vocabulary::decoded(&compiled.vocabulary, *id).unwrap().len();
    let lengths = |text: &[u8]| merged(&compiled, text).map(|ids| ids.iter().map(length).collect::<Vec<_>>());
    let dashes = [&b" "[..], &b"-".repeat(100), b"\n"].concat();
    assert_eq!(lengths(&dashes), Some(vec![1, 64, 32, 4, 1]));
    // Naively this takes a step for each byte.
    let many = merged(&compiled, &b"-".repeat(1 << 20)).unwrap();
    assert_eq!((many.len(), length(&many[0])), (1 << 14, 64));
    assert_eq!(lengths(&b"-a".repeat(50)), None);
    assert_eq!(lengths(b"--aabb"), None);
}
