//! Merges that are skipped at random.
use std::collections::HashMap;

use super::{Compiled, token_list};
use crate::description::{Alphabet, BpeDescription, Merge, Merges, PieceKind};
use crate::model::random::Random;

const TOKENS: [&str; 8] = ["a", "b", "c", "aa", "ab", "bc", "abc", "aab"];

fn listed() -> BpeDescription {
    let merges = [(0, 1, 4), (1, 2, 5), (4, 2, 6), (0, 0, 3), (0, 5, 6), (0, 4, 7)];
    let merges = merges.map(|(left, right, result)| Merge { left, right, result }).to_vec();
    let alphabet = Alphabet::Chars { end_of_word: None };
    BpeDescription::plain(alphabet, token_list(&TOKENS), Merges::listed(merges))
}

fn by_score() -> BpeDescription {
    let scores = vec![-9.0, -9.0, -9.0, -4.0, -1.0, -2.0, -3.0, -5.0];
    let merges = Merges::ByScore { scores, kinds: vec![PieceKind::Normal; TOKENS.len()] };
    BpeDescription { merges, ..listed() }
}

/// Are samples distributed like as many samples of the peer? `theirs` has the peer's counts.
fn is_spread_alike(model: BpeDescription, probability: f64, theirs: &[(&str, u32)]) {
    let compiled = Compiled::new(model);
    let total: u32 = theirs.iter().map(|(_, count)| count).sum();
    let mut random = Random::new(2026);
    let mut ours: HashMap<String, u32> = HashMap::new();
    for _ in 0..total {
        let (ids, ends) = compiled.sample("aabcab", probability, &mut random);
        assert_eq!(ends.last(), Some(&6));
        *ours.entry(compiled.written(&ids)).or_default() += 1;
    }
    // Two samples of equal size; rare results are counted as one class.
    let mut rare = (0.0, 0.0);
    let (mut statistic, mut classes) = (0.0, 0);
    let mut add = |a: f64, b: f64| {
        statistic += (a - b).powi(2) / (a + b);
        classes += 1;
    };
    for (written, theirs) in theirs {
        let (ours, theirs) = (f64::from(ours.remove(*written).unwrap_or(0)), f64::from(*theirs));
        if theirs < 100.0 { rare = (rare.0 + ours, rare.1 + theirs) } else { add(ours, theirs) }
    }
    rare.0 += f64::from(ours.values().sum::<u32>());
    if rare.0 + rare.1 > 0.0 {
        add(rare.0, rare.1);
    }
    // Far beyond the 99.9th percentile for this many classes; a different rule gives thousands.
    assert!(statistic < 3.0 * f64::from(classes) + 20.0, "{statistic} for {classes} classes");
}

/// The counts are those of tokenizers 0.23.3.
#[test]
fn listed_merges_are_passed_over_as_in_tokenizers() {
    is_spread_alike(
        listed(),
        0.1,
        &[
            ("a abc ab", 192_722),
            ("aa bc ab", 3479),
            ("aab c ab", 3306),
            ("a ab c ab", 389),
            ("aa b c ab", 38),
            ("a a b c a b", 18),
            ("a a b c ab", 17),
            ("a a bc ab", 16),
            ("aa bc a b", 6),
            ("a abc a b", 4),
            ("a a bc a b", 3),
            ("a ab c a b", 1),
            ("aab c a b", 1),
        ],
    );
    is_spread_alike(
        listed(),
        0.5,
        &[
            ("a abc ab", 81_766),
            ("aa bc ab", 24_213),
            ("aab c ab", 22_231),
            ("a ab c ab", 17_912),
            ("a a b c a b", 12_399),
            ("a a bc ab", 6265),
            ("aa b c ab", 6224),
            ("a a b c ab", 6144),
            ("a ab c a b", 5705),
            ("a abc a b", 5631),
            ("aa bc a b", 3959),
            ("a a bc a b", 3156),
            ("aa b c a b", 3084),
            ("aab c a b", 1311),
        ],
    );
}

/// The counts are those of sentencepiece 0.2.3.
#[test]
fn merges_by_score_are_passed_over_as_in_sentencepiece() {
    is_spread_alike(
        by_score(),
        0.1,
        &[
            ("a abc ab", 160_136),
            ("a abc a b", 17_806),
            ("aab c ab", 16_215),
            ("aab c a b", 1819),
            ("a ab c ab", 1594),
            ("aa bc ab", 1499),
            ("a a b c ab", 190),
            ("aa bc a b", 180),
            ("a ab c a b", 177),
            ("aa b c ab", 168),
            ("a a bc ab", 156),
            ("a a bc a b", 22),
            ("a a b c a b", 21),
            ("aa b c a b", 17),
        ],
    );
    is_spread_alike(
        by_score(),
        0.5,
        &[
            ("a abc ab", 37_515),
            ("a abc a b", 37_504),
            ("aab c a b", 18_812),
            ("aab c ab", 18_671),
            ("a a b c ab", 12_523),
            ("a ab c a b", 12_509),
            ("a ab c ab", 12_445),
            ("a a b c a b", 12_399),
            ("aa b c a b", 6362),
            ("aa bc a b", 6328),
            ("aa bc ab", 6274),
            ("a a bc a b", 6267),
            ("aa b c ab", 6249),
            ("a a bc ab", 6142),
        ],
    );
}

#[test]
fn with_certainty_nothing_merges_and_with_none_everything_does() {
    for model in [listed(), by_score()] {
        let compiled = Compiled::new(BpeDescription { whole_pretokens: true, ..model });
        let mut random = Random::new(1);
        // The rule for whole pretokens does not apply here.
        assert_eq!(compiled.sample("abc", 1.0, &mut random), (vec![0, 1, 2], vec![1, 2, 3]));
        for text in ["abc", "aabcab", &"aabcab".repeat(30)] {
            let (ids, ends) = compiled.spell(text).unwrap();
            assert_eq!(compiled.sample(text, 0.0, &mut random), (ids, ends), "{text}");
        }
    }
}
