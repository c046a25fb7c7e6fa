//! Each part against its definition, by brute force, and laws of the whole.
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::description::{Description, ModelDescription, Normalizer, PreTokenizer, PrependScheme};
use crate::description::{SentencePieceRules, Split};
use crate::train::table::Table;
use crate::train::{CharacterOptions, Dialect, Target, TrainModel, Trainer};
use crate::watch::Unwatched;

const LONGEST: usize = 5;

fn segments(words: &BTreeMap<String, u64>) -> Segments {
    let mut table = Table::new(false);
    for (word, count) in words {
        table.add(word.as_bytes(), *count, 0).unwrap();
    }
    let mut ticker = Ticker::new(&Unwatched);
    let types = Types::from_table(&table, false, &mut ticker).unwrap();
    Segments::new(&types, |_| true, &mut ticker).unwrap()
}

fn words() -> impl Strategy<Value = BTreeMap<String, u64>> {
    prop::collection::btree_map("[ab]{1,8}|[abc]{1,6}|(ab){1,5}|[aé漢😀]{1,6}", 1..9_u64, 1..10)
}

/// All pieces with their bytes.
fn spelled(pieces: &Pieces, segments: &Segments) -> Vec<String> {
    let text = |piece| String::from_utf8(pieces.bytes(piece, segments).to_vec()).unwrap();
    (0..to_u32(pieces.len())).map(text).collect()
}

/// All ways to spell a text, each as numbers of pieces.
fn spellings(text: &str, pieces: &[String]) -> Vec<Vec<usize>> {
    if text.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        if let Some(rest) = text.strip_prefix(piece.as_str()) {
            all.extend(spellings(rest, pieces).into_iter().map(|mut way| {
                way.insert(0, number);
                way
            }));
        }
    }
    all
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn suffixes_are_sorted_as_far_as_a_piece_reaches(
        words in words(),
        large in prop::sample::select(vec![1, 3, 10, usize::MAX]),
    ) {
        let segments = segments(&words);
        let sorted = suffixes::sorted_by(&segments, LONGEST, large, &mut Ticker::new(&Unwatched)).unwrap();
        let text = |position: u32| {
            let bytes = segments.from(position);
            let end = bytes.iter().position(|&byte| byte == segments::END).unwrap();
            std::str::from_utf8(&bytes[..end]).unwrap()
        };
        let mut positions = sorted.clone();
        positions.sort_unstable();
        prop_assert_eq!(positions, (0..to_u32(segments.positions())).collect::<Vec<_>>());
        for two in sorted.windows(2) {
            let (a, b) = (text(two[0]), text(two[1]));
            let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(suffixes::common(&segments, two[0], two[1], LONGEST), shared.min(LONGEST));
            if shared < LONGEST {
                let next = |text: &str| text.chars().nth(shared);
                // What has ended comes last.
                prop_assert!(next(b).is_none_or(|b| next(a).is_some_and(|a| a < b)) || next(a) == next(b), "{a} {b}");
            }
        }
    }

    #[test]
    fn seeds_are_the_substrings_that_occur_twice_and_are_not_always_followed_by_one_character(words in words()) {
        let segments = segments(&words);
        let pieces = seeds::seeds(&segments, LONGEST, &mut Ticker::new(&Unwatched)).unwrap();
        // Each substring: how often, and with what after it.
        let mut all: BTreeMap<String, (u64, Vec<Option<char>>)> = BTreeMap::new();
        for (word, count) in &words {
            let chars: Vec<char> = word.chars().collect();
            for start in 0..chars.len() {
                for end in start + 1..=chars.len().min(start + LONGEST) {
                    let entry = all.entry(chars[start..end].iter().collect()).or_default();
                    entry.0 += count;
                    let next = chars.get(end).copied().filter(|_| end < start + LONGEST);
                    if next.is_none() || !entry.1.contains(&next) {
                        entry.1.push(next);
                    }
                }
            }
        }
        all.retain(|piece, (count, next)| {
            piece.chars().count() == 1 || (*count > 1 && (next.len() > 1 || next.contains(&None)))
        });
        prop_assert_eq!(spelled(&pieces, &segments), all.keys().cloned().collect::<Vec<_>>());
        let total: f64 = all.iter().map(|(piece, (count, _))| *count as f64 * piece.chars().count() as f64).sum();
        for (number, (piece, (count, _))) in (0..).zip(&all) {
            let weight = *count as f64 * piece.chars().count() as f64;
            prop_assert!(close(pieces.get(number).probability, weight / total), "{}", piece);
        }
    }

    #[test]
    fn expected_counts_and_best_spellings_are_those_of_all_spellings(words in words(), dropped in any::<u64>()) {
        let segments = segments(&words);
        let mut pieces = seeds::seeds(&segments, LONGEST, &mut Ticker::new(&Unwatched)).unwrap();
        let is_kept: Vec<bool> =
            (0..to_u32(pieces.len())).map(|i| pieces.is_char(i) || dropped >> (i % 64) & 1 == 0).collect();
        pieces.retain(&is_kept).unwrap();
        let texts = spelled(&pieces, &segments);
        let mut want = vec![0.0; texts.len()];
        for (word, count) in &words {
            let ways = spellings(word, &texts);
            let probability =
                |way: &[usize]| way.iter().map(|&piece| pieces.get(to_u32(piece)).probability).product::<f64>();
            let all: f64 = ways.iter().map(|way| probability(way)).sum();
            for way in &ways {
                for &piece in way {
                    want[piece] += *count as f64 * probability(way) / all;
                }
            }
            let best = ways.iter().map(|way| probability(way)).fold(0.0, f64::max);
            let mut counts = vec![0; texts.len()];
            let one = self::segments(&BTreeMap::from([(word.clone(), 1)]));
            prop_assert_eq!(one.len(), 1);
            let segment = (0..segments.len()).find(|&i| segments.bytes(segments.positions_of(i).start as u32, segments.positions_of(i).len()) == word.as_bytes()).unwrap();
            Search::default().count(&segments, segment..segment + 1, &pieces, &mut counts, &mut Ticker::new(&Unwatched)).unwrap();
            let found: f64 = counts.iter().enumerate().map(|(piece, &n)| {
                pieces.score(to_u32(piece)) * (n / count) as f64
            }).sum();
            prop_assert!(close(found.exp(), best), "{} {} {}", word, found.exp(), best);
        }
        let mut got = vec![0.0; texts.len()];
        expect(&segments, 0..segments.len(), &pieces, LONGEST, &mut Sums::default(), &mut got, &mut Ticker::new(&Unwatched)).unwrap();
        for (piece, (got, want)) in texts.iter().zip(got.iter().zip(&want)) {
            prop_assert!(close(*got, *want), "{} {} {}", piece, got, want);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Counts are large and uneven, and the longest token longer than a word, so that hardly any two losses are equal.
    /// Where they are, either piece may stay: only the scores are compared.
    #[test]
    fn pieces_are_those_of_the_definition(
        words in prop::collection::btree_map("[ab]{1,7}|[abc]{1,6}|(ab){1,4}|[aé漢😀]{1,6}", 1..100_000_u64, 1..12),
        more in 0..30_usize,
    ) {
        let chars: std::collections::BTreeSet<char> = words.keys().flat_map(|word| word.chars()).collect();
        let wanted = chars.len() + more;
        let model = UnigramOptions { max_token_length: 8, ..model(Dialect::Tokenizers) };
        let options = TrainOptions { pre_tokenizer: Vec::new(), ..options(model, wanted + 1) };
        let mut trainer = Trainer::new(options).unwrap();
        let texts: Vec<&str> = words.keys().map(String::as_str).collect();
        let counts: Vec<u64> = words.values().copied().collect();
        trainer.feed_weighted(&texts, &counts, &Unwatched).unwrap();
        let got = pieces_of(&trainer.finish(&Unwatched).unwrap().0);
        let want = tokenmill_reference::train_unigram(&words, wanted, 8);
        prop_assert_eq!(got.len(), want.len());
        // The highest score first; scores are rounded to single precision.
        for ((_, score), (_, of_wanted)) in got.iter().zip(&want) {
            let is_close = (score - of_wanted).abs() <= 1e-5 * (1.0 + score.abs());
            prop_assert!(is_close, "{:?} {:?}", got, want);
        }
        let names = |pieces: &[(String, f64)]| {
            pieces.iter().map(|(piece, _)| piece.clone()).collect::<std::collections::BTreeSet<_>>()
        };
        if names(&got) != names(&want) {
            DIFFERENT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        prop_assert!(DIFFERENT.load(std::sync::atomic::Ordering::Relaxed) < 10, "ties are rare");
    }
}

/// Random corpora of which another piece was kept than in the definition.
static DIFFERENT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// The forward and backward sums in logarithms.
fn expected_by_logarithms(pieces: &Pieces, count: usize) -> Vec<f64> {
    let add = |a: f64, b: f64| {
        let (low, high) = (a.min(b), a.max(b));
        if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
    };
    let mut forward = vec![f64::NEG_INFINITY; count + 1];
    let mut backward = forward.clone();
    (forward[0], backward[count]) = (0.0, 0.0);
    for at in 0..count {
        for (number, piece) in pieces.at(at) {
            let end = at + piece.length as usize;
            forward[end] = add(forward[end], forward[at] + pieces.score(number));
        }
    }
    for at in (0..count).rev() {
        for (number, piece) in pieces.at(at) {
            backward[at] = add(backward[at], pieces.score(number) + backward[at + piece.length as usize]);
        }
    }
    let mut expected = vec![0.0; pieces.len()];
    for at in 0..count {
        for (number, piece) in pieces.at(at) {
            let rest = backward[at + piece.length as usize];
            expected[number as usize] += (forward[at] + pieces.score(number) + rest - backward[0]).exp();
        }
    }
    expected
}

#[test]
fn sums_of_long_segments_do_not_vanish() {
    // Twenty thousand characters, of which some are rare: the probability of the whole is about 10^-20,000.
    let mut state = 7_u32;
    let text: String = (0..20_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_u32(0x4E00 + (state >> 20) * (state >> 28) / 4).unwrap()
        })
        .collect();
    let segments = segments(&BTreeMap::from([(text, 1)]));
    let pieces = seeds::seeds(&segments, 16, &mut Ticker::new(&Unwatched)).unwrap();
    let mut got = vec![0.0; pieces.len()];
    let mut sums = Sums::default();
    expect(&segments, 0..1, &pieces, 16, &mut sums, &mut got, &mut Ticker::new(&Unwatched)).unwrap();
    let want = expected_by_logarithms(&pieces, segments.positions());
    let worst =
        got.iter().zip(&want).map(|(got, want)| (got - want).abs() / (1.0 + want)).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst}");
    let characters: f64 = (0..).zip(&got).map(|(piece, n)| n * f64::from(pieces.get(piece).length)).sum();
    assert!(close(characters, 20_000.0), "{characters}");
}

fn model(dialect: Dialect) -> UnigramOptions {
    UnigramOptions {
        dialect,
        unk_token: Some("<unk>".to_owned()),
        byte_fallback: false,
        user_defined_symbols: Vec::new(),
        characters: CharacterOptions::default(),
        max_token_length: 16,
    }
}

const SENTENCEPIECE: Dialect = Dialect::SentencePiece { split_by_unicode_script: true, split_digits: false };

fn options(model: UnigramOptions, size: usize) -> TrainOptions {
    let (normalizer, pre_tokenizer) = match model.dialect {
        Dialect::Tokenizers => {
            let (replacement, prepend) = ('\u{2581}', PrependScheme::Always);
            (Vec::new(), vec![PreTokenizer::Metaspace { replacement, prepend, split: true }])
        }
        Dialect::SentencePiece { .. } => {
            let rules = SentencePieceRules {
                user_defined: model.user_defined_symbols.clone(),
                add_dummy_prefix: true,
                remove_extra_whitespaces: true,
                escape_whitespaces: true,
                ..SentencePieceRules::default()
            };
            (vec![Normalizer::SentencePiece(rules)], Vec::new())
        }
    };
    let model = TrainModel::Unigram(model);
    TrainOptions {
        model,
        normalizer,
        pre_tokenizer,
        ..TrainOptions::new(Target::VocabSize(size), &Split::Whole)
    }
}

fn train(options: TrainOptions, documents: &[&str]) -> Result<Description> {
    let mut trainer = Trainer::new(options)?;
    trainer.feed(documents, &Unwatched)?;
    let (description, _) = trainer.finish(&Unwatched)?;
    description.validate()?;
    Ok(description)
}

fn pieces_of(description: &Description) -> Vec<(String, f64)> {
    let ModelDescription::Unigram(model) = &description.model else { panic!("not Unigram") };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    model.tokens.iter().zip(&model.scores).map(|((_, bytes), score)| (text(bytes), *score)).collect()
}

/// Texts of words that repeat, in three scripts.
fn texts(count: u32) -> Vec<String> {
    let mut state = 1_u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let parts =
        ["low", "er", "est", "new", "wid", "ing", "slow", "漢字", "日本", "кот", "а", "12", ".", "don't"];
    (0..count)
        .map(|_| {
            let mut text = String::new();
            for _ in 0..40 {
                for _ in 0..=next(3) {
                    text.push_str(parts[next(parts.len() as u32) as usize]);
                }
                text.push(' ');
            }
            text
        })
        .collect()
}

#[test]
fn threads_and_the_order_of_texts_change_no_bit() {
    let texts = texts(6_000);
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for dialect in [SENTENCEPIECE, Dialect::Tokenizers] {
        let with = |threads| TrainOptions { num_threads: threads, ..options(model(dialect), 400) };
        let one = train(with(1), &texts).unwrap();
        assert_eq!(one.model.tokens().len() + usize::from(dialect == Dialect::Tokenizers), 400);
        texts.reverse();
        assert_eq!(one, train(with(3), &texts).unwrap());
    }
}

#[test]
fn pieces_of_sentencepiece_cross_neither_spaces_nor_scripts() {
    let texts = texts(200);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scripts = crate::pretokenize::Scripts::new();
    let crosses = |piece: &str| {
        let word = piece.strip_prefix('\u{2581}').unwrap_or(piece);
        let of: Vec<_> = word.char_indices().filter_map(|(at, _)| scripts.of(word.as_bytes(), at)).collect();
        word.contains('\u{2581}') || of.iter().any(|script| *script != of[0])
    };
    let learned = pieces_of(&train(options(model(SENTENCEPIECE), 300), &texts).unwrap());
    assert_eq!(learned[1..].iter().find(|(piece, _)| crosses(piece)), None);
    assert!(learned.iter().any(|(piece, _)| piece.chars().filter(char::is_ascii_digit).count() > 1));
    let dialect = Dialect::SentencePiece { split_by_unicode_script: false, split_digits: true };
    let learned = pieces_of(&train(options(model(dialect), 300), &texts).unwrap());
    assert!(learned[1..].iter().any(|(piece, _)| crosses(piece)));
    assert!(
        learned
            .iter()
            .all(|(piece, _)| piece.chars().count() == 1 || !piece.contains(|c: char| c.is_ascii_digit()))
    );
}

#[test]
fn rare_characters_are_left_out_and_wanted_ones_kept() {
    let texts = ["aaaa aaab aaab", "aaaa bbbb é", "abab 漢"];
    let learned = |coverage, initial: &str| {
        let model = UnigramOptions {
            characters: CharacterOptions { coverage, initial: initial.chars().collect(), limit: None },
            ..model(SENTENCEPIECE)
        };
        let description = train(options(model, 40), &texts).unwrap();
        let single: Vec<String> = pieces_of(&description)
            .into_iter()
            .map(|(piece, _)| piece)
            .filter(|piece| piece.chars().count() == 1)
            .collect();
        single.concat()
    };
    let sorted = |text: String| {
        let mut chars: Vec<char> = text.chars().collect();
        chars.sort_unstable();
        chars.into_iter().collect::<String>()
    };
    assert_eq!(sorted(learned(1.0, "")), "abé\u{2581}漢");
    assert_eq!(sorted(learned(0.9, "")), "ab\u{2581}");
    assert_eq!(sorted(learned(0.9, "éxx")), "abxé\u{2581}");
}

#[test]
fn user_defined_symbols_and_bytes_have_pieces_of_their_own() {
    let model = UnigramOptions {
        byte_fallback: true,
        user_defined_symbols: vec!["<sep>".to_owned(), "aa".to_owned()],
        ..model(SENTENCEPIECE)
    };
    let texts = ["aab<sep>b <0x41> <0x41> <0x41>", "aab<sep>b b b<sep>b"];
    let learned = pieces_of(&train(options(model, 290), &texts).unwrap());
    let names: Vec<&str> = learned.iter().map(|(piece, _)| piece.as_str()).collect();
    assert_eq!(names[..5], ["<unk>", "<sep>", "aa", "<0x00>", "<0x01>"]);
    // They are not learned from the text.
    assert_eq!(names.iter().filter(|name| **name == "<0x41>").count(), 1);
    assert!(names[259..].iter().all(|name| !name.contains("aa") && !name.contains("<sep>")));
    let model = UnigramOptions { byte_fallback: true, ..self::model(Dialect::Tokenizers) };
    let learned = pieces_of(&train(options(model, 290), &["<unk> <0x41> <0x41> <0x41>"; 9]).unwrap());
    assert_eq!(learned.iter().filter(|(piece, _)| piece == "<0x41>").count(), 1);
    assert!(learned.iter().any(|(piece, _)| piece == "\u{2581}<0x41>"));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |options: TrainOptions| {
        let error = train(options, &["abc abd"]).unwrap_err();
        error.field.to_string()
    };
    let good = || model(SENTENCEPIECE);
    assert_eq!(refused(options(good(), 5)), "vocab_size");
    let also_a_character = UnigramOptions { unk_token: Some("\u{2581}".to_owned()), ..good() };
    assert_eq!(refused(options(also_a_character, 9)), "special_tokens");
    assert_eq!(refused(options(UnigramOptions { unk_token: None, ..good() }, 9)), "unk_token");
    for coverage in [0.0, 1.5, f64::NAN] {
        let characters = CharacterOptions { coverage, ..CharacterOptions::default() };
        assert_eq!(refused(options(UnigramOptions { characters, ..good() }, 9)), "character_coverage");
    }
    assert_eq!(refused(options(UnigramOptions { max_token_length: 0, ..good() }, 9)), "max_token_length");
    let symbols = |symbols: &[&str]| symbols.iter().map(|&symbol| symbol.to_owned()).collect();
    for wrong in [symbols(&["x", ""]), symbols(&["x", "x"]), symbols(&["x", "<unk>"])] {
        let model = UnigramOptions { user_defined_symbols: wrong, ..good() };
        assert_eq!(refused(options(model, 9)), "user_defined_symbols[1]");
    }
    let merges = TrainOptions { target: Target::NumMerges(3), ..options(good(), 9) };
    assert_eq!(refused(merges), "num_merges");
    let none =
        train(options(UnigramOptions { unk_token: None, ..model(Dialect::Tokenizers) }, 9), &[]).unwrap();
    assert_eq!(none.model.tokens().len(), 0);
}

#[test]
fn a_text_with_few_substrings_gives_fewer_pieces_than_asked_for() {
    let mut trainer = Trainer::new(options(model(SENTENCEPIECE), 100)).unwrap();
    trainer.feed(&["ab ab"], &Unwatched).unwrap();
    let (description, report) = trainer.finish(&Unwatched).unwrap();
    assert_eq!(report.stopped_early, Some(StopReason::NoPieceLeft));
    let names: Vec<String> = pieces_of(&description).into_iter().map(|(piece, _)| piece).collect();
    assert_eq!(names, ["<unk>", "\u{2581}ab", "a", "b", "\u{2581}"]);
}
