//! Compares the learner with the naive twin, element by element, and its counts with a recount
//! after every merge.
use super::*;
use crate::description::{EndOfWord, EndOfWordForm};
use crate::train::table::Table;
use crate::train::{TieBreak, TrainAlphabet};
use crate::watch::Unwatched;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tokenmill_reference as naive;

impl Learner {
    /// The current corpus: symbols and weight of every pretoken that has a pair.
    fn corpus(&self) -> Vec<(Vec<usize>, u64)> {
        let mut corpus = Vec::new();
        let mut at = 1;
        while at < self.cells.len() {
            let weight = self.weight(at);
            let mut symbols = Vec::new();
            while self.cells[at].symbol != FENCE {
                let symbol = self.cells[at].symbol as usize;
                let next = at + self.lens[symbol] as usize;
                assert_eq!(self.cells[next - 1].symbol as usize, symbol, "both ends hold the number");
                symbols.push(symbol);
                at = next;
            }
            corpus.push((symbols, weight));
            at += 1;
        }
        corpus
    }

    /// Every tracked pair has the count of a recount and a list of all its positions, and every
    /// pair that could still merge is tracked.
    fn check(&self) {
        let counts: BTreeMap<_, _> = naive::pair_counts(&self.corpus()).into_iter().collect();
        for pair in self.pairs.iter() {
            let key = (pair.left as usize, pair.right as usize);
            assert_eq!(pair.count, counts.get(&key).copied().unwrap_or(0), "count of {key:?}");
            assert!(pair.positions.is_sorted());
            if self.follows(pair.count) {
                let alive = pair.positions.iter().filter(|&&at| self.is_at(at, pair.left, pair.right));
                let total: u64 = alive.map(|&at| self.weight(at as usize)).sum();
                assert_eq!(total, pair.count, "places of {key:?}");
            }
        }
        for (&(left, right), &count) in &counts {
            let (left, right) = (left as u32, right as u32);
            let wanted = self.follows(count) && self.fits(left, right);
            assert!(!wanted || self.pairs.find(left, right).is_some(), "({left}, {right}) is lost");
        }
    }

    fn weighted_length(&self) -> u64 {
        self.corpus().iter().map(|(symbols, weight)| symbols.len() as u64 * weight).sum()
    }
}

fn types(words: &[(String, u64)], by_first: bool) -> Types {
    let mut table = Table::new(by_first);
    for (at, (word, count)) in words.iter().enumerate() {
        table.add(word.as_bytes(), *count, at as u64).unwrap();
    }
    Types::from_table(&table, by_first, &mut Ticker::new(&Unwatched)).unwrap()
}

fn twin_of(options: &BpeOptions, types: &Types, alphabet: &Alphabet, merges: usize) -> naive::Training {
    let spelled = |bytes: &[u8]| {
        let mut symbols = Vec::new();
        alphabet.spell(bytes, |symbol| symbols.push(symbol as usize)).unwrap();
        symbols
    };
    naive::Training {
        alphabet: alphabet.symbols.clone(),
        sizes: alphabet.sizes.iter().map(|&size| size as usize).collect(),
        types: types.iter().map(|(bytes, count)| (spelled(bytes), count)).collect(),
        num_merges: merges,
        tie: match options.tie_break {
            TieBreak::Lexicographic => naive::Tie::Smallest,
            TieBreak::LexicographicLargest => naive::Tie::Largest,
            TieBreak::FirstSeen => naive::Tie::FirstSeen,
            TieBreak::HuggingFace if options.alphabet == TrainAlphabet::Bytes => {
                naive::Tie::Ranks(written_order())
            }
            TieBreak::TokenId | TieBreak::HuggingFace => naive::Tie::Ranks(Vec::new()),
        },
        min_frequency: options.min_frequency,
        max_size: options.max_token_length,
    }
}

/// Rank of each byte by the character that byte-level files write for it, computed by sorting those
/// characters.
fn written_order() -> Vec<usize> {
    let mut free = 0x100;
    let mut written: Vec<(u32, usize)> = (0..256usize)
        .map(|byte| match byte {
            0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => (byte as u32, byte),
            _ => {
                free += 1;
                (free - 1, byte)
            }
        })
        .collect();
    written.sort_unstable();
    let mut ranks = vec![0; 256];
    for (rank, (_, byte)) in written.into_iter().enumerate() {
        ranks[byte] = rank;
    }
    ranks
}

/// Learns, checks every step, and compares with the twin.
fn compare(options: &BpeOptions, words: &[(String, u64)], merges: usize) {
    let mut ticker = Ticker::new(&Unwatched);
    let types = types(words, options.tie_break == TieBreak::FirstSeen);
    let alphabet = Alphabet::new(options, &types, &mut ticker).unwrap();
    let mut learner = Learner::new(options, &types, &alphabet, 0, &mut ticker).unwrap();
    learner.check();
    let mut got = Vec::new();
    while got.len() < merges {
        let (before, length) = (learner.corpus(), learner.weighted_length());
        let Some(merge) = learner.step(&|_| Ok(true), &mut ticker).unwrap() else { break };
        learner.check();
        // A merge shortens the corpus by the number of replaced occurrences, found by a scan from
        // the left without overlap.
        let pair = [merge.left as usize, merge.right as usize];
        let replaced: u64 = before.iter().map(|(symbols, weight)| replacements(symbols, pair) * weight).sum();
        assert!(replaced > 0);
        assert_eq!(learner.weighted_length(), length - replaced);
        got.push((pair[0], pair[1], merge.count));
    }
    let mut twin = twin_of(options, &types, &alphabet, merges);
    let want: Vec<_> = naive::train(&mut twin).into_iter().map(|m| (m.left, m.right, m.count)).collect();
    assert_eq!(got, want, "{options:?} {words:?}");
    twin.types.retain(|(symbols, _)| symbols.len() > 1);
    let corpus: Vec<_> = learner.corpus().into_iter().filter(|(symbols, _)| symbols.len() > 1).collect();
    assert_eq!(corpus, twin.types, "the corpus as merged");
}

fn replacements(symbols: &[usize], pair: [usize; 2]) -> u64 {
    let (mut at, mut found) = (0, 0);
    while at + 1 < symbols.len() {
        let here = symbols[at..at + 2] == pair;
        found += u64::from(here);
        at += if here { 2 } else { 1 };
    }
    found
}

const TIES: [TieBreak; 5] = [
    TieBreak::Lexicographic,
    TieBreak::LexicographicLargest,
    TieBreak::FirstSeen,
    TieBreak::TokenId,
    TieBreak::HuggingFace,
];

/// One to four letters, among them bytes whose order differs between the tie-breaks.
fn words() -> impl Strategy<Value = Vec<(String, u64)>> {
    let alphabets = prop_oneof![Just(vec!['a']), Just(vec!['a', 'b']), Just(vec![' ', 'a', 'é', '\n'])];
    alphabets.prop_flat_map(|letters| {
        let word = prop::collection::vec(prop::sample::select(letters), 1..24)
            .prop_map(|letters| letters.into_iter().collect::<String>());
        // Weights around the limit of a cell, and small ones, which tie.
        let weight = prop_oneof![8 => 1u64..4, 1 => (1u64 << 32) - 2..(1 << 32) + 2];
        prop::collection::vec((word, weight), 0..12)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes_equal_the_twin(
        words in words(),
        tie in prop::sample::select(TIES.to_vec()),
        min_frequency in 1u64..5,
        max in prop_oneof![Just(None), (1usize..9).prop_map(Some)],
    ) {
        let options = BpeOptions {
            tie_break: tie,
            min_frequency,
            max_token_length: max,
            ..BpeOptions::default()
        };
        compare(&options, &words, 40);
    }

    #[test]
    fn characters_equal_the_twin(
        words in words(),
        tie in prop::sample::select(TIES.to_vec()),
        form in prop::sample::select(vec![None, Some(EndOfWordForm::Separate), Some(EndOfWordForm::Suffix)]),
        min_frequency in 1u64..4,
        max in prop_oneof![Just(None), (1usize..6).prop_map(Some)],
    ) {
        let options = BpeOptions {
            tie_break: tie,
            alphabet: TrainAlphabet::Chars,
            end_of_word: form.map(|form| EndOfWord { symbol: "</w>".to_owned(), form }),
            min_frequency,
            max_token_length: max,
            ..BpeOptions::default()
        };
        compare(&options, &words, 40);
    }
}

#[test]
fn long_runs_of_one_letter_equal_the_twin() {
    for tie in TIES {
        let options = BpeOptions { tie_break: tie, ..BpeOptions::default() };
        let words: Vec<(String, u64)> = (1..40).map(|n| ("a".repeat(n), (n as u64 * 7) % 5 + 1)).collect();
        compare(&options, &words, 20);
    }
}

#[test]
fn lists_that_are_handed_over_are_complete() {
    // More positions per new pair than the learner keeps memory for.
    let options = BpeOptions { tie_break: TieBreak::FirstSeen, ..BpeOptions::default() };
    let text: String = (0..6000u32).map(|i| char::from(b'a' + ((i * i / 7) % 3) as u8)).collect();
    compare(&options, &[(text, 1)], 12);
}

#[test]
fn a_token_never_spells_the_end_of_word_inside_a_word() {
    for form in [EndOfWordForm::Separate, EndOfWordForm::Suffix] {
        let options = BpeOptions {
            alphabet: TrainAlphabet::Chars,
            end_of_word: Some(EndOfWord { symbol: "</w>".to_owned(), form }),
            ..BpeOptions::default()
        };
        let types = types(&[("x</w>y</w>".to_owned(), 3), ("</w>".to_owned(), 2)], false);
        let mut ticker = Ticker::new(&Unwatched);
        let alphabet = Alphabet::new(&options, &types, &mut ticker).unwrap();
        let mut learner = Learner::new(&options, &types, &alphabet, 0, &mut ticker).unwrap();
        while learner.step(&|_| Ok(true), &mut ticker).unwrap().is_some() {}
        assert_eq!(learner.left_over(), Left::Refused);
        let tokens = learner.into_tokens();
        let mut spelled: Vec<&[u8]> = tokens.iter().map(|(_, bytes)| bytes).collect();
        for token in &spelled {
            let text = std::str::from_utf8(token).unwrap();
            assert!(!text.strip_suffix("</w>").unwrap_or(text).contains("</w>"), "{text}");
        }
        spelled.sort_unstable();
        assert!(spelled.windows(2).all(|two| two[0] != two[1]), "no token is spelled twice");
    }
}

#[test]
fn work_stops_when_the_watch_says_so() {
    struct Stop(std::sync::atomic::AtomicU32);
    impl crate::watch::Watch for Stop {
        fn poll(&self) -> Result<()> {
            let before = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if before < 3 { Ok(()) } else { Err(crate::watch::cancelled()) }
        }
        fn progress(&self, _: &'static str, _: u64, _: u64) {}
    }
    let options = BpeOptions::default();
    let text: String = (0..60_000u32).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
    let types = types(&[(text, 1)], false);
    let stop = Stop(0.into());
    let mut ticker = Ticker::new(&stop);
    let alphabet = Alphabet::new(&options, &types, &mut ticker).unwrap();
    let failed = Learner::new(&options, &types, &alphabet, 0, &mut ticker).and_then(|mut learner| {
        while learner.step(&|_| Ok(true), &mut ticker)?.is_some() {}
        Ok(())
    });
    assert!(matches!(failed.unwrap_err().kind, crate::error::Kind::Cancelled));
    assert_eq!(stop.0.into_inner(), 4, "nobody asks again after a no");
}
