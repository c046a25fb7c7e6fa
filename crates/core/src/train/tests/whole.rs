//! The ids of the text that was learned from are those of `encode`.
use proptest::prelude::*;

use super::{bpe, options};
use crate::compile::compile;
use crate::description::{Description, EndOfWord, EndOfWordForm, Normalizer, Split, UnicodeTables};
use crate::engine::{Special, Text};
use crate::error::{Kind, Result};
use crate::ids::TokenId;
use crate::train::{
    BpeOptions, CharacterOptions, SpecialIds, StopReason, TieBreak, TrainAlphabet, TrainModel, TrainOptions,
    Trainer, TrainingReport, WordPieceOptions,
};
use crate::watch::Unwatched;

const TIES: [TieBreak; 5] = [
    TieBreak::Lexicographic,
    TieBreak::LexicographicLargest,
    TieBreak::FirstSeen,
    TieBreak::TokenId,
    TieBreak::HuggingFace,
];

fn train(options: &TrainOptions, text: &str) -> Result<(Description, TrainingReport, Vec<TokenId>)> {
    let mut trainer = Trainer::new(TrainOptions { return_ids: true, ..options.clone() })?;
    trainer.feed(&[text], &Unwatched)?;
    let (description, report, ids) = trainer.finish_with(&|_| Ok(true), &Unwatched)?;
    Ok((description, report, ids.unwrap()))
}

fn encode(description: Description, text: &str, special: &Special) -> Vec<TokenId> {
    let mut ids = Vec::new();
    compile(description).unwrap().encode(Text::Str(text), special, 1, &Unwatched, &mut ids).unwrap();
    ids
}

/// The ids are those of `encode`, and all else is as without them.
fn check(options: &TrainOptions, text: &str) {
    let (description, mut report, ids) = train(options, text).unwrap();
    let (expected, mut counted) = super::train(options.clone(), &[text]).unwrap();
    assert_eq!(description, expected);
    report.phases.clear();
    counted.phases.clear();
    assert_eq!(report, counted);
    assert_eq!(ids, encode(description.clone(), text, &Special::Parse), "{text:?}");
    if options.literals().iter().all(|token| !text.contains(token)) {
        assert_eq!(ids, encode(description, text, &Special::Text));
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "a{0,40}",
        "[ab]{0,60}",
        "[abc]{0,200}",
        "(ab|aba|b){0,40}",
        "( |a|é|\u{10348}|\n){0,60}",
        "([ab]{0,9}(<s>|<s>>|<t>|<)){0,12}[ab]{0,9}",
    ]
}

fn specials() -> impl Strategy<Value = (Vec<String>, SpecialIds)> {
    let tokens = ["<s>", "<s>>", "<t>"].map(str::to_owned).to_vec();
    let places = prop_oneof![Just(SpecialIds::First), Just(SpecialIds::Last)];
    (prop::sample::subsequence(tokens, 0..4), places)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn over_bytes(
        text in texts(),
        tie_break in prop::sample::select(TIES.to_vec()),
        min_frequency in 1..4_u64,
        max_token_length in prop_oneof![Just(None), (1..7_usize).prop_map(Some)],
        merges in 0..40_usize,
        (special_tokens, special_ids) in specials(),
    ) {
        let model = BpeOptions { tie_break, min_frequency, max_token_length, ..BpeOptions::default() };
        check(&TrainOptions { special_tokens, special_ids, ..bpe(merges, model) }, &text);
    }

    #[test]
    fn over_characters(
        text in texts(),
        tie_break in prop::sample::select(TIES.to_vec()),
        min_frequency in 1..4_u64,
        max_token_length in prop_oneof![Just(None), (1..7_usize).prop_map(Some)],
        merges in 0..40_usize,
        (special_tokens, special_ids) in specials(),
        form in prop::sample::select(vec![None, Some(EndOfWordForm::Separate), Some(EndOfWordForm::Suffix)]),
        unk_token in prop::sample::select(vec![None, Some("<t>".to_owned()), Some("b".to_owned())]),
    ) {
        let model = BpeOptions {
            tie_break,
            min_frequency,
            max_token_length,
            alphabet: TrainAlphabet::Chars,
            // A mark of letters that the text has, too.
            end_of_word: form.map(|form| EndOfWord { symbol: "bb".to_owned(), form }),
            unk_token,
            ..BpeOptions::default()
        };
        check(&TrainOptions { special_tokens, special_ids, ..bpe(merges, model) }, &text);
    }

    /// A segment may become longer, or empty.
    #[test]
    fn normalized(
        text in "(a|é|e\u{301}|\u{301}|\u{fdfa}|ﬁ|<s>|[\0\u{200d}]){0,40}",
        normalizer in prop::sample::select(vec![
            Normalizer::Nfc(UnicodeTables::Current),
            Normalizer::Nfkd(UnicodeTables::Current),
            Normalizer::Bert {
                clean_text: true,
                handle_chinese_chars: true,
                strip_accents: Some(true),
                lowercase: true,
            },
        ]),
    ) {
        let special_tokens = vec!["<s>".to_owned()];
        check(&TrainOptions { normalizer: vec![normalizer], special_tokens, ..options(20) }, &text);
    }
}

#[test]
fn runs_of_one_letter() {
    for tie_break in TIES {
        for n in 0..70 {
            for merges in [1, 2, 3, 9] {
                let model = BpeOptions { tie_break, ..BpeOptions::default() };
                check(&bpe(merges, model), &"a".repeat(n));
            }
        }
    }
}

#[test]
fn a_long_text() {
    let text: String =
        (0..300_000_u32).map(|i| char::from(b'a' + (i.wrapping_mul(i) / 7 % 5) as u8)).collect();
    for tie_break in TIES {
        let model = BpeOptions { tie_break, min_frequency: 2, ..BpeOptions::default() };
        check(&bpe(3_000, model), &text);
    }
}

#[test]
fn training_stops_where_every_pair_is_unique() {
    let model = BpeOptions { min_frequency: 2, tie_break: TieBreak::FirstSeen, ..BpeOptions::default() };
    let (description, report, ids) = train(&bpe(65_280, model), "hug pug pun bun hugs").unwrap();
    assert_eq!(report.stopped_early, Some(StopReason::MinFrequency));
    let tokens = description.model.tokens();
    let texts: Vec<_> = ids.iter().map(|&id| tokens.bytes(tokens.index_of(id).unwrap())).collect();
    assert_eq!(texts, [&b"hug"[..], b" p", b"ug", b" p", b"un ", b"b", b"un ", b"hug", b"s"]);
    let mut pairs: Vec<_> = ids.windows(2).collect();
    pairs.sort_unstable();
    assert!(pairs.windows(2).all(|two| two[0] != two[1]));
}

#[test]
fn a_second_document_is_refused_before_it_is_read() {
    let options = TrainOptions { return_ids: true, ..options(1) };
    let new = || Trainer::new(options.clone()).unwrap();
    let mut batches = new();
    batches.feed(&[], &Unwatched).unwrap();
    batches.feed(&["ab"], &Unwatched).unwrap();
    let failures = [
        new().feed(&["ab", "ab"], &Unwatched),
        new().feed_weighted(&["ab"], &[2], &Unwatched),
        batches.feed(&[""], &Unwatched),
        new().finish(&Unwatched).map(drop),
    ];
    for failure in failures {
        let error = failure.unwrap_err();
        assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
        assert!(error.to_string().contains("return_ids: needs one document"), "{error}");
    }
    let mut once = new();
    once.feed_weighted(&["ab"], &[1], &Unwatched).unwrap();
    assert_eq!(once.finish_with(&|_| Ok(true), &Unwatched).unwrap().2, Some(vec![256]));
}

#[test]
fn what_has_no_ids_at_the_end_is_refused() {
    let split = TrainOptions { pre_tokenizer: Split::Pattern(" ".to_owned()).stages(), ..options(1) };
    let wordpiece = TrainModel::WordPiece(WordPieceOptions {
        unk_token: "[UNK]".to_owned(),
        min_frequency: 1,
        max_token_length: None,
        score: crate::train::Score::Frequency,
        continuing_prefix: "##".to_owned(),
        max_chars: 100,
        template: None,
        characters: CharacterOptions::default(),
    });
    for options in [split, TrainOptions { model: wordpiece, ..options(1) }] {
        let error = train(&options, "ab").unwrap_err();
        assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
        assert_eq!(error.field.to_string(), "return_ids");
    }
}

#[test]
fn a_text_that_needs_too_much_memory_is_refused_before_it_is_read() {
    let text = "ab".repeat(500_000);
    let options = |memory| TrainOptions { memory: Some(memory), ..options(1) };
    let error = train(&options(10_000_000), &text).unwrap_err();
    let Kind::MemoryEstimate { bytes, available: Some(10_000_000), .. } = error.kind else {
        panic!("{error}")
    };
    assert!(train(&options(bytes), &text).is_ok());
    assert!(train(&options(bytes - 1), &text).is_err());
    // Three bytes become 33.
    let longer =
        TrainOptions { normalizer: vec![Normalizer::Nfkd(UnicodeTables::Current)], ..options(bytes) };
    let text = "\u{fdfa}".repeat(200_000);
    assert!(train(&longer, &text[..300_000]).is_err());
    assert!(train(&longer, &text[..30_000]).is_ok());
}
