//! Learning from counts gives what learning from the texts gives.
use super::{bpe, options, train};
use crate::description::{Normalizer, Split, UnicodeTables};
use crate::error::Kind;
use crate::pattern::named_splits::split_named;
use crate::train::{
    BpeOptions, CharacterOptions, CorpusFigures, Dialect, PretokenCounter, PretokenCounts, Score, Target,
    TieBreak, TrainAlphabet, TrainModel, TrainOptions, Trainer, UnigramOptions, WordPieceOptions,
};
use crate::watch::Unwatched;

const DOCUMENTS: [&str; 8] = [
    "the miller mills the meal<s>",
    "meal and mill, the mill",
    "",
    "low lower lowest, e\u{301} and \u{e9}<s>the",
    "the longest of all longest words, longestwordsofall",
    "<s>",
    "newest widest the lowest newest widest",
    "meal mill miller",
];

fn count(options: &TrainOptions, documents: &[&str], weights: &[u64]) -> (PretokenCounts, CorpusFigures) {
    let mut counter = PretokenCounter::new(options).unwrap();
    counter.feed_weighted(documents, weights, &Unwatched).unwrap();
    let figures = counter.figures();
    (counter.finish(&Unwatched).unwrap(), figures)
}

fn all_models() -> Vec<TrainOptions> {
    let chars = BpeOptions { alphabet: TrainAlphabet::Chars, ..BpeOptions::default() };
    let pieces = |score| WordPieceOptions {
        unk_token: "[UNK]".to_owned(),
        min_frequency: 2,
        max_token_length: None,
        score,
        continuing_prefix: "##".to_owned(),
        max_chars: 100,
        template: None,
        characters: CharacterOptions::default(),
    };
    let unigram = |dialect| UnigramOptions {
        dialect,
        unk_token: Some("<unk>".to_owned()),
        byte_fallback: false,
        user_defined_symbols: vec!["longest".to_owned()],
        characters: CharacterOptions::default(),
        max_token_length: 16,
    };
    let merging = TrainOptions {
        special_tokens: vec!["<s>".to_owned()],
        normalizer: vec![Normalizer::Nfc(UnicodeTables::Current)],
        pre_tokenizer: split_named("gpt2").unwrap().stages(),
        ..options(12)
    };
    let pruning = TrainOptions { target: Target::VocabSize(40), ..merging.clone() };
    let (cut, words) =
        (Dialect::Tokenizers, Dialect::SentencePiece { split_by_unicode_script: true, split_digits: false });
    let of = |options: &TrainOptions, model| TrainOptions { model, ..options.clone() };
    vec![
        of(&merging, TrainModel::Bpe(BpeOptions::default())),
        TrainOptions { pad_vocab_to_multiple_of: Some(64), ..of(&merging, TrainModel::Bpe(chars)) },
        of(&merging, TrainModel::WordPiece(pieces(Score::Frequency))),
        of(&merging, TrainModel::WordPiece(pieces(Score::Likelihood))),
        of(&pruning, TrainModel::Unigram(unigram(cut))),
        of(&TrainOptions { normalizer: Vec::new(), ..pruning }, TrainModel::Unigram(unigram(words))),
    ]
}

#[test]
fn the_vocabulary_and_the_report_are_those_of_the_texts() {
    for options in all_models() {
        if let TrainModel::Unigram(UnigramOptions { dialect: Dialect::SentencePiece { .. }, .. }) =
            options.model
        {
            // Its description needs the rules of that library; the pretokens do not.
            let (counts, _) = count(&options, &DOCUMENTS, &[]);
            assert!(counts.iter().all(|(pretoken, _)| pretoken != b"longest"), "a symbol is cut out");
            continue;
        }
        let (description, mut report) = train(options.clone(), &DOCUMENTS).unwrap();
        report.phases.clear();
        for parts in [1, 2, 5] {
            let (mut all, mut figures) = (PretokenCounts::default(), CorpusFigures::default());
            // The last part first.
            for part in DOCUMENTS.rchunks(DOCUMENTS.len().div_ceil(parts)) {
                let (counts, own) = count(&options, part, &[]);
                all = all.merged(&counts, &Unwatched).unwrap();
                figures.documents += own.documents;
                figures.bytes += own.bytes;
                figures.pretokens += own.pretokens;
            }
            assert_eq!(all.total(), u128::from(figures.pretokens));
            let (learned, mut said) =
                Trainer::learn_from(options.clone(), &all, &figures, &|_| Ok(true), &Unwatched).unwrap();
            assert_eq!(learned, description);
            said.phases.retain(|(name, _)| *name == "count");
            assert_eq!(said, report);
        }
    }
}

#[test]
fn weights_count_as_copies_and_a_sum_past_64_bits_is_an_error() {
    let options = TrainOptions { pre_tokenizer: split_named("gpt2").unwrap().stages(), ..options(1) };
    let (counts, figures) = count(&options, &["ab ab", "c"], &[1 << 32, (1 << 63) + 1]);
    let found: Vec<(&[u8], u64)> = counts.iter().collect();
    assert_eq!(found, [(&b" ab"[..], 1 << 32), (b"ab", 1 << 32), (b"c", (1 << 63) + 1)]);
    assert_eq!(
        (figures.documents, figures.pretokens),
        ((1 << 63) + 1 + (1 << 32), (1 << 63) + 1 + (1 << 33))
    );
    let mut counter = PretokenCounter::new(&options).unwrap();
    counter.feed_weighted(&["c"], &[u64::MAX], &Unwatched).unwrap();
    let error = counter.feed_weighted(&["c"], &[1], &Unwatched).unwrap_err();
    assert!(error.to_string().contains("the pretoken \"c\" occurs more than"), "{error}");
    assert!(counter.finish(&Unwatched).is_err(), "a batch counted in part is not built on");
}

#[test]
fn what_needs_the_text_is_refused() {
    let first_seen = bpe(1, BpeOptions { tie_break: TieBreak::FirstSeen, ..BpeOptions::default() });
    let whole = TrainOptions { return_ids: true, pre_tokenizer: Split::Whole.stages(), ..options(1) };
    for (options, field) in [(first_seen, "tie_break"), (whole, "return_ids")] {
        let (counts, figures) = (PretokenCounts::default(), CorpusFigures::default());
        let error = Trainer::learn_from(options, &counts, &figures, &|_| Ok(true), &Unwatched).unwrap_err();
        assert!(matches!(error.kind, Kind::Training { .. }), "{error}");
        assert_eq!(error.field.to_string(), field);
    }
}
