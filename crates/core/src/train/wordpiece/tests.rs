//! Compared with the naive twin, piece by piece.
use proptest::prelude::*;
use tokenmill_reference::{WordPieceScore, train_wordpiece};

use super::*;
use crate::description::{ModelDescription, PreTokenizer, Split};
use crate::train::{BertTemplate, CharacterOptions, SpecialIds, TrainModel, Trainer};
use crate::watch::Unwatched;

fn options(score: Score, target: Target) -> TrainOptions {
    with(model(score), target)
}

fn model(score: Score) -> WordPieceOptions {
    WordPieceOptions {
        unk_token: "[UNK]".to_owned(),
        min_frequency: 1,
        max_token_length: None,
        score,
        continuing_prefix: "##".to_owned(),
        max_chars: 100,
        template: None,
        characters: CharacterOptions::default(),
    }
}

fn with(model: WordPieceOptions, target: Target) -> TrainOptions {
    TrainOptions { model: TrainModel::WordPiece(model), ..TrainOptions::new(target, &Split::Whole) }
}

/// The learned tokens, without the special ones, and the counts of the merges.
fn learned(options: TrainOptions, words: &[(String, u64)]) -> (Vec<String>, Vec<u64>) {
    let mut trainer = Trainer::new(options).unwrap();
    let texts: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let counts: Vec<u64> = words.iter().map(|(_, count)| *count).collect();
    trainer.feed_weighted(&texts, &counts, &Unwatched).unwrap();
    let (description, report) = trainer.finish(&Unwatched).unwrap();
    description.validate().unwrap();
    let ModelDescription::WordPiece(model) = description.model else { panic!("not WordPiece") };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (model.tokens.iter().map(|(_, bytes)| text(bytes)).collect(), report.merge_counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Few letters, so that pieces are made in several ways, and letters of the prefix.
    #[test]
    fn pieces_are_those_of_the_definition(
        words in prop::collection::vec(("[ab]{1,9}|[abc]{1,6}|[a#]{1,6}|(ab){1,5}|[a-dé漢]{1,8}", 1..9_u64), 0..12),
        merges in 0..40_usize,
        min_frequency in 1..4_u64,
    ) {
        let scores =
            [(Score::Frequency, WordPieceScore::Frequency), (Score::Likelihood, WordPieceScore::Likelihood)];
        for (score, naive) in scores {
            let options = with(WordPieceOptions { min_frequency, ..model(score) }, Target::NumMerges(merges));
            let want = train_wordpiece(&words, "##", naive, merges, min_frequency);
            prop_assert_eq!(learned(options, &words), want, "{:?}", score);
        }
    }
}

#[test]
fn a_size_counts_special_tokens_alphabet_and_new_pieces() {
    let words = [("abab".to_owned(), 3), ("abc".to_owned(), 2)];
    for size in 7..10 {
        let (written, _) = learned(options(Score::Frequency, Target::VocabSize(size)), &words);
        assert_eq!(written.len() + 1, size);
    }
    let small = Trainer::new(options(Score::Frequency, Target::VocabSize(3))).and_then(|mut trainer| {
        trainer.feed(&["abab"], &Unwatched)?;
        trainer.finish(&Unwatched)
    });
    assert_eq!(small.unwrap_err().field.to_string(), "vocab_size");
}

#[test]
fn text_is_cut_as_for_bert_on_any_number_of_threads() {
    let text = "Hello, world! Héllo wörld, wonderful worlds of words. ".repeat(20_000);
    let train = |threads| {
        let options = TrainOptions {
            pre_tokenizer: vec![PreTokenizer::Bert],
            num_threads: threads,
            ..options(Score::Frequency, Target::VocabSize(60))
        };
        let mut trainer = Trainer::new(options).unwrap();
        trainer.feed(&[&text], &Unwatched).unwrap();
        trainer.finish(&Unwatched).unwrap()
    };
    let (one, report) = train(1);
    assert_eq!((report.pretokens, report.distinct_pretokens), (12 * 20_000, 11));
    assert_eq!(one, train(3).0);
}

#[test]
fn wrong_options_are_refused_by_name() {
    let template = |cls: &str| {
        let template = Some(BertTemplate { cls: cls.to_owned(), sep: "[UNK]".to_owned() });
        WordPieceOptions { template, ..model(Score::Frequency) }
    };
    let frequency = || model(Score::Frequency);
    for (wrong, field) in [
        (WordPieceOptions { min_frequency: 0, ..frequency() }, "min_frequency"),
        (WordPieceOptions { max_token_length: Some(0), ..frequency() }, "max_token_length"),
        (WordPieceOptions { max_chars: 0, ..frequency() }, "max_input_chars_per_word"),
        (WordPieceOptions { unk_token: String::new(), ..frequency() }, "unk_token"),
        (template("[CLS]"), "post_processor"),
    ] {
        let wrong = with(wrong, Target::NumMerges(1));
        assert_eq!(Trainer::new(wrong).unwrap_err().field.to_string(), field);
    }
    let last =
        TrainOptions { special_ids: SpecialIds::Last, ..with(template("[UNK]"), Target::NumMerges(1)) };
    let mut trainer = Trainer::new(last).unwrap();
    trainer.feed(&["ab"], &Unwatched).unwrap();
    let (description, _) = trainer.finish(&Unwatched).unwrap();
    assert_eq!((description.added_tokens[0].id, description.post_processor.len()), (4, 1));
}
