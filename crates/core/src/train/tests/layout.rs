//! Ids, special tokens and documents.
use super::{bpe, merges, options, train};
use crate::description::{Alphabet, EndOfWord, EndOfWordForm, Merge, Merges, Roles, Split};
use crate::train::{BpeOptions, SpecialIds, StopReason, Target, TieBreak, TrainAlphabet, TrainOptions};

fn spelled(description: &crate::description::Description) -> Vec<(u32, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    description.model.tokens().iter().map(|(id, bytes)| (id, text(bytes))).collect()
}

fn added(description: &crate::description::Description) -> Vec<(u32, &str)> {
    assert!(description.added_tokens.iter().all(|token| token.is_special));
    description.added_tokens.iter().map(|token| (token.id, token.content.as_str())).collect()
}

#[test]
fn special_tokens_come_first_or_last() {
    for (place, first, special) in [(SpecialIds::First, 2, 0), (SpecialIds::Last, 0, 257)] {
        let options = TrainOptions {
            target: Target::VocabSize(259),
            special_tokens: vec!["<b>".to_owned(), "<a>".to_owned()],
            special_ids: place,
            ..options(0)
        };
        let (description, report) = train(options, &["xyxy"]).unwrap();
        assert_eq!(added(&description), [(special, "<b>"), (special + 1, "<a>")]);
        let tokens = description.model.tokens();
        assert!(
            (0..=255u8).all(|byte| tokens.bytes(byte.into()) == [byte]
                && tokens.id(byte.into()) == first + u32::from(byte))
        );
        let merge = Merge { left: first + 120, right: first + 121, result: first + 256 };
        assert_eq!(description.model.as_bpe().unwrap().merges, Merges::listed(vec![merge]));
        assert_eq!((tokens.len(), tokens.bytes(256), tokens.id(256)), (257, &b"xy"[..], first + 256));
        assert_eq!(report.stopped_early, None);
        assert_eq!((description.split(), description.roles), (Some(Split::Whole), Roles::default()));
        assert!(!description.model.as_bpe().unwrap().whole_pretokens);
    }
}

#[test]
fn characters_stand_in_code_point_order_with_the_mark_last() {
    let mut model = BpeOptions { alphabet: TrainAlphabet::Chars, ..BpeOptions::default() };
    let documents = ["né", "ab", "\u{1f98a}b"];
    let plain = train(bpe(0, model.clone()), &documents).unwrap().0;
    let chars = ["a", "b", "n", "é", "\u{1f98a}"];
    assert_eq!(spelled(&plain), (0..).zip(chars.map(str::to_owned)).collect::<Vec<_>>());

    let mark = |form| Some(EndOfWord { symbol: "</w>".to_owned(), form });
    model.end_of_word = mark(EndOfWordForm::Separate);
    let special = |model| TrainOptions { special_tokens: vec!["<s>".to_owned()], ..bpe(0, model) };
    let separate = train(special(model.clone()), &documents).unwrap().0;
    let want = ["a", "b", "n", "é", "\u{1f98a}", "</w>"];
    assert_eq!(spelled(&separate), (1..).zip(want.map(str::to_owned)).collect::<Vec<_>>());
    assert_eq!(separate.model.alphabet(), Some(&Alphabet::Chars { end_of_word: model.end_of_word.clone() }));

    // Plain symbols that occur, then symbols with the mark that occur.
    model.end_of_word = mark(EndOfWordForm::Suffix);
    let suffix = train(special(model), &documents).unwrap().0;
    let want = ["a", "n", "\u{1f98a}", "b</w>", "é</w>"];
    assert_eq!(spelled(&suffix), (1..).zip(want.map(str::to_owned)).collect::<Vec<_>>());
}

#[test]
fn the_unknown_token_follows_the_special_ones_unless_it_is_one() {
    let unk_token = Some("<unk>".to_owned());
    let model = BpeOptions { alphabet: TrainAlphabet::Chars, unk_token, ..BpeOptions::default() };
    let mut options = TrainOptions { special_tokens: vec!["<s>".to_owned()], ..bpe(0, model) };
    let (description, _) = train(options.clone(), &["a<unk>b"]).unwrap();
    assert_eq!(added(&description), [(0, "<s>"), (1, "<unk>")]);
    assert_eq!(description.model.unk(), Some(1));
    assert_eq!(spelled(&description), [(2, "a".to_owned()), (3, "b".to_owned())]);

    options.special_tokens = vec!["<unk>".to_owned(), "<s>".to_owned()];
    options.special_ids = SpecialIds::Last;
    let (description, _) = train(options, &["ab"]).unwrap();
    assert_eq!(added(&description), [(2, "<unk>"), (3, "<s>")]);
    assert_eq!(description.model.unk(), Some(2));
}

#[test]
fn special_tokens_are_cut_out_and_not_merged_across() {
    for tie in [TieBreak::Lexicographic, TieBreak::FirstSeen] {
        let options = TrainOptions {
            special_tokens: vec!["<s>".to_owned(), "<s>>".to_owned()],
            ..bpe(10, BpeOptions { tie_break: tie, ..BpeOptions::default() })
        };
        let trained = train(options, &["a<s>b<s>>b<s>>", "<s>", "<s"]).unwrap();
        assert_eq!(merges(&trained), ["<+s 1"], "only where it is no special token");
        assert_eq!((trained.1.pretokens, trained.1.distinct_pretokens), (4, 3));
        assert_eq!((trained.1.documents, trained.1.bytes), (3, 19));
    }
}

#[test]
fn pretokens_never_cross_documents() {
    let trained = train(options(10), &["a", "b", "", "a", "b"]).unwrap();
    assert!(merges(&trained).is_empty());
    assert_eq!(trained.1.stopped_early, Some(StopReason::NoPairLeft));
    assert_eq!(trained.1.documents, 5);
}

#[test]
fn pretokens_are_those_of_the_split() {
    let options =
        TrainOptions { pre_tokenizer: Split::Pattern(r"\w+|\s+".to_owned()).stages(), ..options(10) };
    let trained = train(options, &["ab ab", "ab"]).unwrap();
    assert_eq!(merges(&trained), ["a+b 3"]);
    assert_eq!((trained.1.pretokens, trained.1.distinct_pretokens), (4, 2));
}

#[test]
fn the_report_says_why_training_stopped() {
    let reason = |options| train(options, &["aaaa"]).unwrap().1.stopped_early;
    assert_eq!(reason(options(2)), None);
    assert_eq!(reason(options(3)), Some(StopReason::NoPairLeft));
    assert_eq!(
        reason(bpe(3, BpeOptions { min_frequency: 4, ..BpeOptions::default() })),
        Some(StopReason::MinFrequency)
    );
    let limited = bpe(3, BpeOptions { max_token_length: Some(2), ..BpeOptions::default() });
    assert_eq!(reason(limited), Some(StopReason::MaxTokenLength));
}

#[test]
fn limits_are_inclusive() {
    let three = bpe(1, BpeOptions { min_frequency: 3, ..BpeOptions::default() });
    assert_eq!(merges(&train(three, &["aaaa"]).unwrap()), ["a+a 3"]);
    let long = bpe(9, BpeOptions { max_token_length: Some(4), ..BpeOptions::default() });
    assert_eq!(merges(&train(long, &["abcdef"]).unwrap()), ["a+b 1", "ab+c 1", "abc+d 1", "e+f 1"]);
    // The length counts characters, without the end-of-word mark.
    let chars = BpeOptions {
        max_token_length: Some(2),
        alphabet: TrainAlphabet::Chars,
        end_of_word: Some(EndOfWord { symbol: "</w>".to_owned(), form: EndOfWordForm::Separate }),
        ..BpeOptions::default()
    };
    assert_eq!(merges(&train(bpe(9, chars), &["éé"]).unwrap()), ["é+</w> 1", "é+é</w> 1"]);
}

#[test]
fn nothing_to_train_on_gives_the_alphabet() {
    let (description, report) = train(options(10), &[]).unwrap();
    assert_eq!(description.model.tokens().len(), 256);
    assert_eq!(report.stopped_early, Some(StopReason::NoPairLeft));
    let names: Vec<_> = report.phases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["count", "sort", "pairs", "merge"]);
}

#[test]
fn ids_of_the_tokenizers_library_decide_ties_in_their_order() {
    // That library writes a space as U+0120, so it sorts after all printable characters.
    let huggingface = bpe(1, BpeOptions { tie_break: TieBreak::HuggingFace, ..BpeOptions::default() });
    assert_eq!(merges(&train(huggingface, &[" a", "bc"]).unwrap()), ["b+c 1"]);
    let by_id = bpe(1, BpeOptions { tie_break: TieBreak::TokenId, ..BpeOptions::default() });
    assert_eq!(merges(&train(by_id, &[" a", "bc"]).unwrap()), [" +a 1"]);
}
