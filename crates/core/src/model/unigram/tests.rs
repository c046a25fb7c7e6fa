//! The paths of the model are compared with all segmentations of short texts, and with recorded results of the
//! reference libraries.
// Scores are compared exactly, and counts are small.
#![allow(clippy::float_cmp, clippy::cast_precision_loss)]

use std::sync::Arc;

use proptest::prelude::*;
use tokenmill_reference as reference;

use super::Unigram;
use crate::description::{Description, ModelDescription, PieceKind, Split, TokenList, UnigramDescription};
use crate::error::{Kind, Place};
use crate::model::{Random, SAME_PART, Scratch};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

struct Fixture {
    model: Unigram,
    vocabulary: Vocabulary,
}

impl Fixture {
    fn new(description: &UnigramDescription) -> Self {
        let plain = crate::description::BpeDescription::plain(
            crate::description::Alphabet::Bytes,
            TokenList::default(),
            crate::description::Merges::ById,
        );
        let mut all = Description::of_bpe(&Split::Whole, plain);
        all.model = ModelDescription::Unigram(description.clone());
        all.validate().unwrap();
        let vocabulary = Vocabulary::new(&all);
        Self { model: Unigram::new(description, &vocabulary), vocabulary }
    }

    fn encode(&self, text: &str) -> (Vec<u32>, Vec<u32>) {
        self.try_encode(text).unwrap()
    }

    fn try_encode(&self, text: &str) -> crate::error::Result<(Vec<u32>, Vec<u32>)> {
        let (mut ids, mut ends) = (vec![], vec![]);
        let mut scratch = super::UnigramScratch::default();
        let ticker = &mut Ticker::new(&Unwatched);
        let text = text.as_bytes();
        self.model.encode(text, &self.vocabulary, &mut scratch, &mut ids, Some(&mut ends), ticker)?;
        Ok((ids, ends))
    }

    fn n_best(&self, text: &str, n: usize) -> Vec<(Vec<u32>, f64)> {
        self.model.n_best(text.as_bytes(), n, &self.vocabulary, &mut Ticker::new(&Unwatched)).unwrap()
    }

    fn log_marginal(&self, text: &str) -> f64 {
        let mut scratch = Scratch::default();
        self.model.log_marginal(text.as_bytes(), &mut scratch.unigram, &mut Ticker::new(&Unwatched)).unwrap()
    }

    fn sample(&self, text: &str, alpha: f64, random: &mut Random) -> Vec<u32> {
        let mut scratch = super::UnigramScratch::default();
        let mut ids = vec![];
        let ticker = &mut Ticker::new(&Unwatched);
        let text = text.as_bytes();
        self.model.sample(text, &self.vocabulary, (alpha, random), &mut scratch, &mut ids, ticker).unwrap();
        ids
    }
}

fn described(pieces: &[(&str, f64)], byte_fallback: bool) -> UnigramDescription {
    let mut tokens = TokenList::default();
    for (id, (piece, _)) in pieces.iter().enumerate() {
        tokens.push(id as u32, piece.as_bytes());
    }
    let scores: Vec<f64> = pieces.iter().map(|piece| piece.1).collect();
    let unk_score = scores.iter().copied().fold(f64::INFINITY, f64::min) - 10.0;
    UnigramDescription {
        tokens: Arc::new(tokens),
        scores,
        kinds: vec![],
        unk: Some(0),
        unk_score,
        byte_fallback,
        single_precision: false,
    }
}

/// The pieces are ordinary except for `kinds`.
fn sentencepiece(pieces: &[(&str, f64)], kinds: &[(usize, PieceKind)]) -> UnigramDescription {
    let mut description = described(pieces, false);
    description.kinds = vec![PieceKind::Normal; pieces.len()];
    for &(index, kind) in kinds {
        description.kinds[index] = kind;
    }
    let normal = (0..pieces.len()).filter(|&index| description.kinds[index] == PieceKind::Normal);
    description.unk_score = normal.map(|index| pieces[index].1).fold(f64::INFINITY, f64::min) - 10.0;
    description.byte_fallback = kinds.iter().any(|(_, kind)| *kind == PieceKind::Byte);
    description.single_precision = true;
    description
}

#[test]
fn of_equal_paths_the_longest_last_token_wins() {
    let pieces = [("<unk>", 0.0), ("a", -1.0), ("bc", -2.0), ("ab", -2.0), ("c", -1.0)];
    assert_eq!(Fixture::new(&described(&pieces, false)).encode("abc"), (vec![1, 2], vec![1, 3]));
}

#[test]
fn unknown_characters_are_one_token() {
    let pieces = [("<unk>", -1.0), ("ab", -1.0), ("b", -2.0)];
    let fixture = Fixture::new(&described(&pieces, false));
    assert_eq!(fixture.encode("béxb"), (vec![2, 0, 2], vec![1, 4, 5]));
    assert_eq!(fixture.encode(""), (vec![], vec![]));
    // The text of the unknown token counts as unknown next to unknown characters.
    assert_eq!(fixture.encode("b<unk>éb<unk>"), (vec![2, 0, 2, 0], vec![1, 8, 9, 14]));
}

#[test]
fn bytes_stand_for_the_whole_run_in_tokenizers() {
    let names: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces = vec![("<unk>", -1.0), ("a", -1.0)];
    pieces.extend(names.iter().map(|name| (name.as_str(), -5.0)));
    let fixture = Fixture::new(&described(&pieces, true));
    assert!(fixture.model.is_byte_complete());
    let want = vec![1, 0xc3 + 2, 0xa9 + 2, 0x7a + 2, 1];
    assert_eq!(fixture.encode("aéza"), (want, vec![1, 4, SAME_PART, SAME_PART, 5]));
    // If one byte token is missing, the run is unknown.
    pieces.remove(0x7a + 2);
    let fixture = Fixture::new(&described(&pieces, true));
    assert_eq!(fixture.encode("aéza"), (vec![1, 0, 1], vec![1, 4, 5]));
}

#[test]
fn the_last_byte_stands_for_the_character_in_sentencepiece() {
    let names: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces = vec![("<unk>", 0.0), ("a", -1.0)];
    pieces.extend(names.iter().map(|name| (name.as_str(), 0.0)));
    let mut kinds: Vec<_> = (2..258).map(|index| (index, PieceKind::Byte)).collect();
    kinds.push((0, PieceKind::Unknown));
    let fixture = Fixture::new(&sentencepiece(&pieces, &kinds));
    assert_eq!(fixture.encode("aéza"), (vec![1, 0xc3 + 2, 0xa9 + 2, 0x7a + 2, 1], vec![1, 1, 3, 4, 5]));
    // Text never becomes byte tokens or the unknown token by their literals.
    let (ids, _) = fixture.encode("<0x41>");
    assert_eq!(ids, b"<0x41>".map(|byte| u32::from(byte) + 2));
}

#[test]
fn only_what_is_needed_is_an_error() {
    let mut description = described(&[("ab", -1.0), ("b", -2.0)], false);
    description.unk = None;
    let fixture = Fixture::new(&description);
    assert_eq!(fixture.encode("abb").0, [0, 1]);
    let error = fixture.try_encode("abéaba").unwrap_err();
    match error.into_kind() {
        Kind::UnknownToken { symbol, position } => {
            assert_eq!((symbol.as_str(), position), ("é", Place::Byte(2)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_user_defined_is_kept_by_bytes_on_the_best_path_and_by_characters_else() {
    // As in sentencepiece 0.2.3.
    let user = [(0, PieceKind::Unknown), (2, PieceKind::UserDefined)];
    for (score, whole) in [(0.14, true), (0.16, false)] {
        let fixture = Fixture::new(&sentencepiece(&[("<unk>", 0.0), ("é", score), ("éé", 0.0)], &user));
        assert_eq!(fixture.encode("éé").0 == [2], whole);
        let [(best, _), (second, last)] = &fixture.n_best("éé", 5)[..] else { panic!() };
        assert_eq!((best.as_slice(), second.as_slice()), ([1, 1].as_slice(), [2].as_slice()));
        assert_eq!(*last, f64::from(0.1f32));
    }
    let pieces = [("<unk>", 0.0), ("a", -1.0), ("b", -1.0), ("x", -1.0), ("xab", -0.2), ("ab", 0.0)];
    let kinds = [(0, PieceKind::Unknown), (5, PieceKind::UserDefined)];
    let fixture = Fixture::new(&sentencepiece(&pieces, &kinds));
    assert_eq!(fixture.encode("xab").0, [4]);
    assert_eq!(fixture.encode("aab").0, [1, 5]);
    // Unused pieces are never found, and their characters are unknown.
    let kinds = [(0, PieceKind::Unknown), (1, PieceKind::Unused), (5, PieceKind::Control)];
    let fixture = Fixture::new(&sentencepiece(&pieces, &kinds));
    assert_eq!(fixture.encode("abxaa").0, [0, 2, 3, 0]);
}

/// Random models with many ties, and the results of sentencepiece 0.2.3 for texts with them. The lines are "model"
/// (with "bytes" if all byte pieces follow), its pieces with score and type, and texts with their ids and the
/// scores of their three best paths. The last models have scores so far from 0 that sums are restarted; plain sums
/// would give other ids for these texts.
const CASES: &str = include_str!("sentencepiece_cases.txt");

#[test]
fn ids_and_best_ways_are_those_of_sentencepiece() {
    let names: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut texts = 0;
    for model in CASES.split("model").skip(1) {
        let mut lines = model.lines();
        let has_bytes = lines.next() == Some(" bytes");
        let (mut pieces, mut kinds) = (vec![("<unk>", 0.0)], vec![(0, PieceKind::Unknown)]);
        let mut fixture = None;
        let mut text = "";
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "piece" => {
                    let kind = match words[3] {
                        "4" => PieceKind::UserDefined,
                        "5" => PieceKind::Unused,
                        _ => PieceKind::Normal,
                    };
                    kinds.push((pieces.len(), kind));
                    pieces.push((words[1], f64::from(words[2].parse::<f32>().unwrap())));
                }
                "text" => {
                    let fixture: &mut Fixture = fixture.get_or_insert_with(|| {
                        if has_bytes {
                            kinds.extend((0..256).map(|byte| (pieces.len() + byte, PieceKind::Byte)));
                            pieces.extend(names.iter().map(|name| (name.as_str(), 0.0)));
                        }
                        Fixture::new(&sentencepiece(&pieces, &kinds))
                    });
                    text = words[1];
                    let want: Vec<u32> = words[2].split(',').map(|id| id.parse().unwrap()).collect();
                    assert_eq!(fixture.encode(text).0, want, "{text} by {pieces:?}");
                    texts += 1;
                }
                _ => {
                    let ways = fixture.as_ref().unwrap().n_best(text, 3);
                    assert_eq!(ways.len(), words.len() - 1);
                    for ((_, score), want) in ways.iter().zip(&words[1..]) {
                        assert!((score - want.parse::<f64>().unwrap()).abs() < 1e-3, "{text} by {pieces:?}");
                    }
                }
            }
        }
    }
    assert_eq!(texts, 120);
}

#[test]
fn sums_are_made_in_the_precision_of_the_reference() {
    // 1 + 1.5 × 2^-25 is more than 1, but not in single precision.
    let pieces = [("<unk>", 0.0), ("x", 1.0), ("y", 1.5 * 2f64.powi(-25)), ("xy", 1.0)];
    assert_eq!(Fixture::new(&described(&pieces, false)).encode("xy").0, [1, 2]);
    assert_eq!(Fixture::new(&sentencepiece(&pieces, &[(0, PieceKind::Unknown)])).encode("xy").0, [3]);
}

#[test]
fn work_is_counted_to_the_last_byte() {
    let pieces = [("<unk>", -1.0), ("a", -1.0), ("aa", -1.5)];
    let fixture = Fixture::new(&described(&pieces, false));
    let mut scratch = super::UnigramScratch::default();
    let mut random = Random::new(0);
    for length in [0, 1, 1_000, 4_095, 4_096, 4_097, 10_000] {
        let (text, mut ids) = ("a".repeat(length), vec![]);
        let (text, vocabulary) = (text.as_bytes(), &fixture.vocabulary);
        let mut ticker = Ticker::new(&Unwatched);
        fixture.model.encode(text, vocabulary, &mut scratch, &mut ids, None, &mut ticker).unwrap();
        // One pass forward and one back.
        assert_eq!(ticker.spent(), 2 * length);
        let mut ticker = Ticker::new(&Unwatched);
        let draw = (1.0, &mut random);
        fixture.model.sample(text, vocabulary, draw, &mut scratch, &mut ids, &mut ticker).unwrap();
        assert_eq!(ticker.spent(), (8 + 1) * length);
    }
}

#[test]
fn long_texts_of_one_character_keep_little_and_end_soon() {
    let pieces = [("<unk>", -1.0), ("a", -1.0), ("aa", -1.5), ("aaaaaaa", -4.0)];
    let fixture = Fixture::new(&described(&pieces, false));
    let text = "a".repeat(1_000_001);
    let mut scratch = super::UnigramScratch::default();
    let (mut ids, ticker) = (vec![], &mut Ticker::new(&Unwatched));
    fixture.model.encode(text.as_bytes(), &fixture.vocabulary, &mut scratch, &mut ids, None, ticker).unwrap();
    assert_eq!(scratch.last.capacity(), text.len() + 1);
    assert!(scratch.memory() < 4 * text.len() + 200);
    assert!(fixture.log_marginal(&text).is_finite());
    // Paths with equal scores are the worst case for a search.
    let pieces = [("<unk>", -1.0), ("a", -1.0), ("aa", -2.0), ("aaa", -3.0)];
    let best = Fixture::new(&described(&pieces, false)).n_best(&text[..2000], 1024);
    assert_eq!(best.len(), 1024);
    assert!(best.iter().all(|(_, score)| *score == -2000.0));
}

#[test]
fn samples_come_as_often_as_they_are_probable() {
    let pieces = [("<unk>", -9.0), ("a", -1.0), ("b", -1.5), ("ab", -2.0), ("ba", -2.2), ("aba", -2.5)];
    let fixture = Fixture::new(&described(&pieces, false));
    let all = fixture.n_best("abab", 100);
    for alpha in [0.0, 0.5, 1.0, 3.0] {
        let total: f64 = all.iter().map(|(_, score)| (alpha * score).exp()).sum();
        let mut random = Random::new(1);
        let drawn: Vec<Vec<u32>> = (0..20_000).map(|_| fixture.sample("abab", alpha, &mut random)).collect();
        for (ids, score) in &all {
            let want = (alpha * score).exp() / total;
            let got = drawn.iter().filter(|other| *other == ids).count() as f64 / drawn.len() as f64;
            assert!((got - want).abs() < 0.015, "{ids:?} at {alpha}: {got} instead of {want}");
        }
        let scores: Vec<f64> = all.iter().map(|(_, score)| *score).collect();
        let mut counts = vec![0.0; scores.len()];
        (0..20_000).for_each(|_| counts[super::draw(&scores, alpha, &mut random)] += 1.0 / 20_000.0);
        for (got, score) in counts.iter().zip(&scores) {
            assert!((got - (alpha * score).exp() / total).abs() < 0.015);
        }
    }
}

/// Pieces of a few characters, with many equal scores; the last choice is the score of unknown characters.
fn vocabularies() -> impl Strategy<Value = Vec<(String, f64)>> {
    let piece = "[abé]{1,4}";
    // Eighths have exact sums, tenths have not.
    let score = prop_oneof![
        (-24..4i32).prop_map(|n| f64::from(n) / 8.0),
        (-30..4i32).prop_map(|n| f64::from(n) / 10.0)
    ];
    prop::collection::btree_map(piece, score, 0..14).prop_map(|pieces| pieces.into_iter().collect())
}

fn of(pieces: &[(String, f64)], single: bool) -> UnigramDescription {
    let mut all = vec![("<unk>", -3.0)];
    all.extend(pieces.iter().map(|(piece, score)| (piece.as_str(), *score)));
    if single { sentencepiece(&all, &[(0, PieceKind::Unknown)]) } else { described(&all, false) }
}

proptest! {
    #[test]
    fn the_best_path_is_the_best_of_all(pieces in vocabularies(), text in "[abéc]{0,9}", single: bool) {
        let description = of(&pieces, single);
        let round = if single { |x| f64::from(x as f32) } else { |x| x };
        let rounded: Vec<_> = pieces.iter().map(|(piece, score)| (piece.clone(), round(*score))).collect();
        let all = reference::segmentations(&text, &rounded, round(description.unk_score), round);
        let best = reference::best(&text, &rounded, round(description.unk_score), round);
        prop_assert!(all.iter().all(|way| way.score <= best.score));
        prop_assert!(all.contains(&best));
        let fixture = Fixture::new(&description);
        let (ids, ends) = fixture.encode(&text);
        let mut want: Vec<(u32, u32)> = vec![];
        for &(token, end) in &best.parts {
            match (token, want.last_mut()) {
                (None, Some(last)) if last.0 == 0 => last.1 = end as u32,
                (token, _) => want.push((token.map_or(0, |index| index as u32 + 1), end as u32)),
            }
        }
        let got: Vec<_> = ids.into_iter().zip(ends).collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn n_best_and_marginal_equal_enumeration(pieces in vocabularies(), text in "[abéc]{0,8}", n in 1usize..60) {
        let description = of(&pieces, false);
        let mut all = reference::segmentations(&text, &pieces, description.unk_score, |x| x);
        let fixture = Fixture::new(&description);
        let want = reference::log_marginal(&all);
        prop_assert!((fixture.log_marginal(&text) - want).abs() < 1e-9);
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        let best = fixture.n_best(&text, n);
        let scores: Vec<f64> = best.iter().map(|(_, score)| *score).collect();
        let want: Vec<f64> = all.iter().take(n).map(|way| way.score).collect();
        prop_assert_eq!(&scores, &want);
        // The same paths; of those that share the last score, any may be chosen.
        let least = *scores.last().unwrap();
        let ids = |way: &reference::Segmentation| {
            let mut ids: Vec<u32> = way.parts.iter().map(|part| part.0.map_or(0, |t| t as u32 + 1)).collect();
            ids.dedup_by(|a, b| *a == 0 && *b == 0);
            ids
        };
        let mut want: Vec<_> = all.iter().filter(|way| way.score > least).map(ids).collect();
        let mut got: Vec<_> = best.iter().filter(|way| way.1 > least).map(|way| way.0.clone()).collect();
        want.sort();
        got.sort();
        prop_assert_eq!(got, want);
        let least_ones: Vec<_> = all.iter().filter(|way| way.score == least).map(ids).collect();
        prop_assert!(best.iter().filter(|way| way.1 == least).all(|way| least_ones.contains(&way.0)));
        prop_assert_eq!(&best.first().unwrap().0, &fixture.encode(&text).0);
    }
}
