//! Every error of options and text.
use super::{bpe, options, train};
use crate::description::{EndOfWord, EndOfWordForm, Split};
use crate::error::{Error, Kind};
use crate::train::{BpeOptions, Target, TrainAlphabet, TrainOptions, Trainer};
use crate::watch::Unwatched;

fn mark(symbol: &str) -> EndOfWord {
    EndOfWord { symbol: symbol.to_owned(), form: EndOfWordForm::Separate }
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|&one| one.to_owned()).collect()
}

#[track_caller]
fn names(error: &Error, field: &str) {
    assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
    assert_eq!(error.field.to_string(), field, "{error}");
}

#[test]
fn options_that_contradict_each_other_are_refused_by_name() {
    let good = options(1);
    let bytes = BpeOptions::default();
    let chars = BpeOptions { alphabet: TrainAlphabet::Chars, ..bytes.clone() };
    let marked = BpeOptions { end_of_word: Some(mark("</w>")), ..chars.clone() };
    let wrong = [
        (TrainOptions { special_tokens: strings(&["a", ""]), ..good.clone() }, "special_tokens[1]"),
        (TrainOptions { special_tokens: strings(&["a", "b", "a"]), ..good.clone() }, "special_tokens[2]"),
        (TrainOptions { target: Target::VocabSize(255), ..good.clone() }, "vocab_size"),
        (
            TrainOptions {
                target: Target::VocabSize(257),
                special_tokens: strings(&["a", "b"]),
                ..good.clone()
            },
            "vocab_size",
        ),
        (TrainOptions { target: Target::VocabSize(1 << 32), ..good.clone() }, "vocab_size"),
        (bpe(1, BpeOptions { min_frequency: 0, ..bytes.clone() }), "min_frequency"),
        (bpe(1, BpeOptions { max_token_length: Some(0), ..bytes.clone() }), "max_token_length"),
        (TrainOptions { num_threads: 0, ..good }, "num_threads"),
        (bpe(1, BpeOptions { end_of_word: Some(mark("</w>")), ..bytes.clone() }), "end_of_word"),
        (bpe(1, BpeOptions { unk_token: Some("<unk>".to_owned()), ..bytes }), "unk_token"),
        (bpe(1, BpeOptions { unk_token: Some(String::new()), ..chars.clone() }), "unk_token"),
        (bpe(1, BpeOptions { end_of_word: Some(mark("")), ..chars }), "end_of_word"),
        (TrainOptions { special_tokens: strings(&["</w>"]), ..bpe(1, marked) }, "special_tokens"),
    ];
    for (options, field) in wrong {
        names(&Trainer::new(options).unwrap_err(), field);
    }
}

#[test]
fn a_size_that_just_fits_is_taken() {
    let options =
        TrainOptions { target: Target::VocabSize(257), special_tokens: strings(&["a"]), ..options(0) };
    let (description, report) = train(options, &["xyxy"]).unwrap();
    assert_eq!(description.model.tokens().len(), 256);
    assert_eq!(report.stopped_early, None);
}

#[test]
fn a_pattern_that_does_not_compile_is_a_pattern_error() {
    let options = TrainOptions { pre_tokenizer: Split::Pattern("(".to_owned()).stages(), ..options(1) };
    assert!(matches!(Trainer::new(options).unwrap_err().kind, Kind::Pattern { .. }));
}

#[test]
fn what_only_the_text_can_tell() {
    let chars = BpeOptions { alphabet: TrainAlphabet::Chars, ..BpeOptions::default() };
    let small = TrainOptions { target: Target::VocabSize(2), ..bpe(1, chars.clone()) };
    names(&train(small, &["abc"]).unwrap_err(), "vocab_size");
    for form in [EndOfWordForm::Separate, EndOfWordForm::Suffix] {
        let end_of_word = Some(EndOfWord { symbol: "_".to_owned(), form });
        let options = bpe(1, BpeOptions { end_of_word, ..chars.clone() });
        for text in ["a_", "_a"] {
            names(&train(options.clone(), &[text]).unwrap_err(), "end_of_word");
        }
        assert!(train(options, &["a"]).is_ok());
    }
}

#[test]
fn counts_past_64_bits_are_an_error_and_not_a_wrap() {
    let mut trainer = Trainer::new(options(1)).unwrap();
    trainer.counter.add("ab", u64::MAX).unwrap();
    assert!(matches!(trainer.finish(&Unwatched).unwrap_err().kind, Kind::Training { .. }), "pairs together");
    let mut trainer = Trainer::new(options(1)).unwrap();
    trainer.counter.add("ab", u64::MAX).unwrap();
    assert!(matches!(trainer.counter.add("ab", 1).unwrap_err().kind, Kind::Training { .. }));
}
