//! Golden cases of training, computed elsewhere by plain recounting; each names its row. First-seen
//! cases list pretokens in order of occurrence.
use super::{bpe, merges, train, train_counts};
use crate::description::{EndOfWord, EndOfWordForm, Merges};
use crate::train::{BpeOptions, StopReason, TieBreak, TrainAlphabet, TrainOptions};

use TieBreak::{FirstSeen, Lexicographic, LexicographicLargest, TokenId};

fn with(tie: TieBreak, merges: usize) -> TrainOptions {
    bpe(merges, BpeOptions { tie_break: tie, ..BpeOptions::default() })
}

fn with_mark(tie: TieBreak, merges: usize, form: EndOfWordForm) -> TrainOptions {
    let end_of_word = Some(EndOfWord { symbol: "</w>".to_owned(), form });
    let alphabet = TrainAlphabet::Chars;
    bpe(merges, BpeOptions { tie_break: tie, alphabet, end_of_word, ..BpeOptions::default() })
}

#[track_caller]
fn documents(tie: TieBreak, documents: &[&str], want: &[&str]) {
    assert_eq!(merges(&train(with(tie, want.len()), documents).unwrap()), want);
}

#[track_caller]
fn words(tie: TieBreak, words: &[(&str, u64)], want: &[&str]) {
    assert_eq!(merges(&train_counts(with(tie, want.len()), words)), want);
}

const WORK: [&str; 5] = ["I work", "I work", "I worked", "he works", "he worked"];

#[test]
fn row_1a_1b_sentences_smallest() {
    let want = [" +w 5", " w+o 5", " wo+r 5", " wor+k 5", "I+ work 3", "e+ work 2", "e+d 2", "h+e work 2"];
    documents(Lexicographic, &WORK, &want);
}

#[test]
fn row_1c_sentences_first_seen() {
    let want = [" +w 5", " w+o 5", " wo+r 5", " wor+k 5", "I+ work 3", "e+d 2", "h+e 2", "he+ work 2"];
    documents(FirstSeen, &WORK, &want);
}

const WORK_WORDS: [(&str, u64); 5] = [("I", 3), ("work", 2), ("worked", 2), ("he", 2), ("works", 1)];

#[test]
fn row_1d_1e_words_smallest() {
    let want = ["o+r 5", "or+k 5", "w+ork 5", "e+d 2", "h+e 2", "work+ed 2", "work+s 1"];
    words(Lexicographic, &WORK_WORDS, &want);
}

#[test]
fn row_1f_words_first_seen_and_largest() {
    let want = ["w+o 5", "wo+r 5", "wor+k 5", "work+e 2", "worke+d 2", "h+e 2", "work+s 1"];
    words(FirstSeen, &WORK_WORDS, &want);
    words(LexicographicLargest, &WORK_WORDS, &want);
}

#[test]
fn row_2_overlapping_counts() {
    documents(Lexicographic, &["aaabdaaabace"], &["a+a 4", "a+b 2", "aa+ab 2"]);
    documents(FirstSeen, &["aaabdaaabace"], &["a+a 4", "aa+a 2", "aaa+b 2"]);
}

#[test]
fn row_2b_ids_over_the_alphabet_of_the_text() {
    let options = bpe(3, BpeOptions { alphabet: TrainAlphabet::Chars, ..BpeOptions::default() });
    let (description, _) = train(options, &["aaabdaaabace"]).unwrap();
    let spelled: Vec<_> = description.model.tokens().iter().map(|(id, bytes)| (id, bytes.to_vec())).collect();
    let want = ["a", "b", "c", "d", "e", "aa", "ab", "aaab"];
    assert_eq!(spelled, (0..).zip(want.map(|token| token.as_bytes().to_vec())).collect::<Vec<_>>());
    let Merges::Listed(merges) = &description.model.as_bpe().unwrap().merges else { panic!() };
    let merges: Vec<_> =
        merges.iter().map(|m| (m.left as usize, m.right as usize, m.result as usize)).collect();
    let ids = tokenmill_reference::encode(&[0, 0, 0, 1, 3, 0, 0, 0, 1, 0, 2, 4], &merges);
    assert_eq!(ids, [7, 3, 7, 0, 2, 4]);
}

#[test]
fn row_3_six_tied_at_the_first() {
    let hard = [("low", 1), ("lower", 1), ("hard", 1), ("harder", 1)];
    words(FirstSeen, &hard, &["l+o 2", "lo+w 2", "e+r 2", "h+a 2", "ha+r 2", "har+d 2"]);
    words(Lexicographic, &hard, &["a+r 2", "ar+d 2", "e+r 2", "h+ard 2", "l+o 2", "lo+w 2"]);
}

const LOW: [(&str, u64); 4] = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)];

#[test]
fn row_4_without_a_mark() {
    let first = [
        "e+s 9",
        "es+t 9",
        "l+o 7",
        "lo+w 7",
        "n+e 6",
        "ne+w 6",
        "new+est 6",
        "w+i 3",
        "wi+d 3",
        "wid+est 3",
    ];
    words(FirstSeen, &LOW, &first);
    let small = [
        "e+s 9",
        "es+t 9",
        "l+o 7",
        "lo+w 7",
        "e+w 6",
        "ew+est 6",
        "n+ewest 6",
        "d+est 3",
        "i+dest 3",
        "w+idest 3",
    ];
    words(Lexicographic, &LOW, &small);
    let large = [
        "s+t 9",
        "e+st 9",
        "o+w 7",
        "l+ow 7",
        "w+est 6",
        "n+e 6",
        "ne+west 6",
        "w+i 3",
        "wi+d 3",
        "wid+est 3",
    ];
    words(LexicographicLargest, &LOW, &large);
}

#[test]
fn row_4d_the_mark_as_a_symbol() {
    let want = [
        "e+s 9",
        "es+t 9",
        "est+</w> 9",
        "l+o 7",
        "lo+w 7",
        "n+e 6",
        "ne+w 6",
        "new+est</w> 6",
        "low+</w> 5",
        "w+i 3",
    ];
    let trained = train_counts(with_mark(FirstSeen, 10, EndOfWordForm::Separate), &LOW);
    assert_eq!(merges(&trained), want);
}

#[test]
fn row_4e_the_mark_glued_to_the_last_character() {
    let want = [
        "e+s 9",
        "es+t</w> 9",
        "l+o 7",
        "n+e 6",
        "ne+w 6",
        "new+est</w> 6",
        "lo+w</w> 5",
        "w+i 3",
        "wi+d 3",
        "wid+est</w> 3",
    ];
    let trained = train_counts(with_mark(FirstSeen, 10, EndOfWordForm::Suffix), &LOW);
    assert_eq!(merges(&trained), want);
}

#[test]
fn row_5_a_minimum_ends_training() {
    for (tie, want) in [
        (FirstSeen, ["u+g 3", "h+ug 2", " +p 2", "u+n 2", "un+  2"]),
        (Lexicographic, ["u+g 3", " +p 2", "h+ug 2", "n+  2", "u+n  2"]),
        (LexicographicLargest, ["u+g 3", "ug+  2", "ug +p 2", "u+n 2", "un+  2"]),
    ] {
        let options = bpe(50, BpeOptions { tie_break: tie, min_frequency: 2, ..BpeOptions::default() });
        let trained = train(options, &["hug pug pun bun hugs"]).unwrap();
        assert_eq!(merges(&trained), want, "{tie:?}");
        assert_eq!(trained.1.stopped_early, Some(StopReason::MinFrequency));
    }
}

#[test]
fn row_5c_weights() {
    let hug = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
    words(FirstSeen, &hug, &["u+g 20", "u+n 16", "h+ug 15", "p+un 12", "p+ug 5"]);
}

const EATS: [&str; 4] = ["he eats", "he eats", "I eat", "you eat"];

#[test]
fn row_6a_sentences() {
    documents(FirstSeen, &EATS, &[" +e 4", " e+a 4", " ea+t 4", "h+e 2"]);
    documents(Lexicographic, &EATS, &[" +e 4", " e+a 4", " ea+t 4", " eat+s 2"]);
    documents(LexicographicLargest, &EATS, &["e+a 4", "ea+t 4", " +eat 4", "h+e 2"]);
}

#[test]
fn row_6b_6c_words() {
    let bare = [("he", 2), ("eats", 2), ("I", 1), ("eat", 2), ("you", 1)];
    words(FirstSeen, &bare, &["e+a 4", "ea+t 4", "h+e 2", "eat+s 2"]);
    words(LexicographicLargest, &bare, &["e+a 4", "ea+t 4", "h+e 2", "eat+s 2"]);
    words(Lexicographic, &bare, &["a+t 4", "e+at 4", "eat+s 2", "h+e 2"]);
    let spaced = [("he", 2), (" eats", 2), ("I", 1), (" eat", 2), ("you", 1)];
    words(FirstSeen, &spaced, &[" +e 4", " e+a 4", " ea+t 4", "h+e 2"]);
}

#[test]
fn row_6d_words_with_a_mark() {
    let bare = [("he", 2), ("eats", 2), ("I", 1), ("eat", 2), ("you", 1)];
    let trained = train_counts(with_mark(FirstSeen, 4, EndOfWordForm::Separate), &bare);
    assert_eq!(merges(&trained), ["e+a 4", "ea+t 4", "h+e 2", "he+</w> 2"]);
}

#[test]
fn row_8_the_trap_of_runs() {
    words(TokenId, &[("aa", 3), ("aaaab", 5)], &["a+a 18", "aa+b 5", "aa+aab 5"]);
}

#[test]
fn row_9_counts_have_64_bits() {
    for tie in [FirstSeen, Lexicographic, LexicographicLargest, TokenId, TieBreak::HuggingFace] {
        words(tie, &[("ab", 3_000_000_000)], &["a+b 3000000000"]);
        words(tie, &[("ab", 1 << 40)], &["a+b 1099511627776"]);
    }
}
