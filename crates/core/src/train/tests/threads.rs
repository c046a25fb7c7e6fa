//! The result does not depend on threads or on the batches of documents.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::{bpe, options};
use crate::description::{Description, Normalizer, Split, UnicodeTables};
use crate::error::{Kind, Result};
use crate::pattern::named_splits;
use crate::train::{BpeOptions, TieBreak, TrainOptions, Trainer, TrainingReport};
use crate::watch::{Unwatched, Watch, cancelled};

const TIES: [TieBreak; 3] = [TieBreak::Lexicographic, TieBreak::FirstSeen, TieBreak::HuggingFace];

/// Words of a small generator, so that types repeat across documents, with some special tokens.
fn text(bytes: usize, mut seed: u32) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut next = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % below
    };
    while text.len() < bytes {
        for _ in 0..=next(9) {
            text.push(['a', 'e', 't', 'o', 'n', 'é', '漢'][next(7) as usize]);
        }
        text.push_str([" ", " ", ", ", "\n", "<s>", " 12 ", "\u{3000}"][next(7) as usize]);
    }
    text
}

fn with(tie: TieBreak, threads: usize, split: &str) -> TrainOptions {
    TrainOptions {
        num_threads: threads,
        pre_tokenizer: named_splits::split_named(split).unwrap().stages(),
        special_tokens: vec!["<s>".to_owned()],
        ..bpe(300, BpeOptions { tie_break: tie, ..BpeOptions::default() })
    }
}

fn run(options: TrainOptions, batches: &[&[&str]]) -> (Description, TrainingReport) {
    let mut trainer = Trainer::new(options).unwrap();
    for batch in batches {
        trainer.feed(batch, &Unwatched).unwrap();
    }
    let (description, mut report) = trainer.finish(&Unwatched).unwrap();
    report.phases.clear();
    (description, report)
}

#[test]
fn threads_and_batches_change_nothing() {
    let long = text(1_300_000, 1);
    let short: Vec<String> = (0..200).map(|i| text(3000, i)).collect();
    let mut documents: Vec<&str> = short.iter().map(String::as_str).collect();
    documents.insert(70, &long);
    for split in ["gpt2", "whitespace"] {
        for tie in TIES {
            let one = run(with(tie, 1, split), &[&documents]);
            assert_eq!(one.1.merge_counts.len(), 300);
            for threads in [2, 3, 7] {
                assert!(run(with(tie, threads, split), &[&documents]) == one, "{threads} threads, {tie:?}");
            }
            let batches: Vec<&[&str]> = documents.chunks(97).collect();
            assert!(run(with(tie, 3, split), &batches) == one, "many batches, {tie:?}");
        }
    }
}

#[test]
fn weights_are_so_many_copies() {
    let long = text(400_000, 5);
    let documents = ["low lower<s>lowest", "new", "low", &long, "wide wider widest"];
    let weights = [3, 1, 5, 2, 4];
    let copies: Vec<&str> =
        documents.iter().zip(weights).flat_map(|(text, n)| std::iter::repeat_n(*text, n)).collect();
    for tie in TIES {
        for normalizer in [vec![], vec![Normalizer::Nfkc(UnicodeTables::Current)]] {
            let options = TrainOptions { normalizer, ..with(tie, 2, "gpt2") };
            let mut trainer = Trainer::new(options.clone()).unwrap();
            trainer.feed_weighted(&documents[..2], &weights.map(|n| n as u64)[..2], &Unwatched).unwrap();
            trainer.feed_weighted(&documents[2..], &weights.map(|n| n as u64)[2..], &Unwatched).unwrap();
            let (description, mut report) = trainer.finish(&Unwatched).unwrap();
            report.phases.clear();
            assert!((description, report) == run(options, &[&copies]), "{tie:?}");
        }
    }
}

#[test]
fn each_document_needs_a_weight() {
    for weights in [&[1][..], &[1, 0], &[1, 2, 3]] {
        let mut trainer = Trainer::new(with(TieBreak::Lexicographic, 1, "gpt2")).unwrap();
        let error = trainer.feed_weighted(&["low", "lower"], weights, &Unwatched).unwrap_err();
        assert!(error.to_string().contains("a weight of at least 1"), "{error}");
        trainer.feed(&["low"], &Unwatched).expect("nothing was counted");
    }
}

#[test]
fn the_order_of_documents_changes_nothing_without_first_seen() {
    let documents: Vec<String> = (0..50).map(|i| text(2000, i)).collect();
    let mut documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let one = run(with(TieBreak::Lexicographic, 1, "gpt2"), &[&documents]);
    documents.reverse();
    assert!(run(with(TieBreak::Lexicographic, 1, "gpt2"), &[&documents]) == one);
}

/// Cancels after `allowed` polls, and records who polls.
struct Stop {
    asked: AtomicU64,
    allowed: u64,
    caller: std::thread::ThreadId,
    stranger: AtomicBool,
}

impl Watch for Stop {
    fn poll(&self) -> Result<()> {
        if std::thread::current().id() != self.caller {
            self.stranger.store(true, Relaxed);
        }
        if self.asked.fetch_add(1, Relaxed) < self.allowed { Ok(()) } else { Err(cancelled()) }
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {
        if std::thread::current().id() != self.caller {
            self.stranger.store(true, Relaxed);
        }
    }
}

#[test]
fn the_calling_thread_is_asked_and_a_no_ends_all_threads() {
    let documents: Vec<String> = (0..6).map(|i| text(1_000_000, i)).collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    for threads in [1, 3] {
        let stop = Stop {
            asked: AtomicU64::new(0),
            allowed: 5,
            caller: std::thread::current().id(),
            stranger: AtomicBool::new(false),
        };
        let mut trainer = Trainer::new(with(TieBreak::Lexicographic, threads, "gpt2")).unwrap();
        let error = trainer.feed(&documents, &stop).unwrap_err();
        assert!(matches!(error.kind, Kind::Cancelled), "{error}");
        assert_eq!(stop.asked.into_inner(), 6, "nobody asks again after a no");
        assert!(!stop.stranger.into_inner());
        assert!(trainer.feed(&[], &Unwatched).is_err(), "a batch counted in part is not built on");
        assert!(trainer.finish(&Unwatched).is_err());
    }
}

#[test]
fn a_fault_of_the_split_ends_all_threads() {
    // Unbounded backtracking in one document of many.
    let split = Split::Pattern(r"(?:(?=a)a|a)*(?<!a)b|(x+x+)+\1y".to_owned());
    let bad = format!("{}{}", "c".repeat(300_000), "x".repeat(5000));
    let good = "c".repeat(300_000);
    let documents = [&good[..], &good, &bad, &good, &bad, &good];
    for threads in [1, 3] {
        let options = TrainOptions { pre_tokenizer: split.stages(), num_threads: threads, ..options(1) };
        let mut trainer = Trainer::new(options).unwrap();
        match trainer.feed(&documents, &Unwatched) {
            Err(error) => assert!(matches!(error.kind, Kind::Pattern { .. }), "{error}"),
            Ok(()) => panic!("the pattern has no bound on this text"),
        }
    }
}
