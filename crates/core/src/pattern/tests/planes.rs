//! The scanner by bit planes compared with the arms, match by match, at every level.
#![allow(clippy::disallowed_methods)] // no interpreter is there that the threads could wait for
use std::sync::{Mutex, MutexGuard};

use proptest::prelude::*;
use tokenmill_kernels::cpu;

use super::{DEEPSEEK_V3, EDGES, Splitter, TIKTOKEN_CL100K, TIKTOKEN_R50K, is_slow, pattern_named, splitter};
use crate::pattern::atoms::{self, Atoms};
use crate::pattern::planes::PlaneScanner;
use crate::pattern::planes::walk::for_each_ends;
use crate::pattern::{Engine, ScanScratch, SplitStep};
use crate::span::Span;

/// The patterns of Qwen 2.5 and 3 as their files contain them, Mistral's, o200k without suffix, and similar ones.
const FAMILY: [&str; 13] = [
    TIKTOKEN_CL100K,
    TIKTOKEN_R50K,
    // Digits by two, and any number of them.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s",
    // The longest numbers.
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,8}|[^\s\p{L}\p{N}]+|\s+(?!\S)|\s",
    // Case runs without contractions, single digits: tekken.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Marks are letters, so they are not other text.
    r"[^\r\n\p{L}\p{N}\p{M}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}\p{M}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Marks are both.
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // A word may start with white space only.
    r"[^\S\r\n]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+$|\s+(?!\S)|\s",
    // A word may start with no prefix; with a space only; with other text only.
    r"\p{L}+| ?\p{N}+|[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+",
    r"[^\s\p{L}\p{N}]?\p{L}+('s|'t)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Classes of another table.
    r"'s|'t| ?[a-zA-Z]+| ?[0-9]+| ?[^\sa-zA-Z0-9]+|\s+(?!\S)|\s+",
    r"[[^\r\n\p{L}\p{N}]ぁ-ゖ]?[\p{L}&&[^ぁ-ゖ]]+|\p{N}{1,3}| ?[[^\s\p{L}\p{N}]ぁ-ゖ]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

/// The extended family: prefixed words, and characters that no arm matches except as a prefix.
const EXTENDED: [&str; 6] = [
    DEEPSEEK_V3,
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{Nd}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'s|'t|[^\r\n\p{L}\p{Nd}\p{P}\p{S}]?[\p{L}\p{M}]+|\p{Nd}{1,2}| ?[\p{P}\p{S}]+[\r\n]*|\s+(?!\S)|\s+",
    r"[!-/][a-z]+| ?\p{L}+| ?[\p{P}\p{S}]+|\s*[\r\n]|\s+(?!\S)|\s",
    r"[!'][A-Za-z]+|[^\r\n\p{N}\p{P}\p{S}]?\p{L}+| ?\p{N}+|[\p{P}\p{S}]+[\r\n]*|\s+(?!\S)|\s+",
    // Case, and numbers that nothing matches.
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

/// Sequences with parts: those of DeepSeek-V3, StarCoder and the first steps of Falcon, and similar ones.
fn sequences() -> Vec<Vec<String>> {
    let (gpt2, cl100k, o200k) = (pattern_named("gpt2"), pattern_named("cl100k"), pattern_named("o200k"));
    let punctuation = r"[!-/:-@\[-`{-~\p{P}]+";
    let of = |steps: &[&str]| steps.iter().map(|&step| step.to_owned()).collect();
    vec![
        of(&[r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3]),
        of(&["[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3]),
        of(&[r"\p{N}", &gpt2]),
        of(&[punctuation, &gpt2]),
        of(&[r"\p{N}+", &gpt2]),
        of(&[r"\p{N}{1,2}", &cl100k]),
        of(&[r"[\p{Han}&&\p{L}]+", &cl100k]),
        of(&[r"\p{N}{1,3}", r"[ぁ-ゖ+-]+", &cl100k]),
        of(&[r"\p{N}", &o200k.replace('/', "")]),
        of(&[r"[\p{Lu}\x00-\x08]+", EXTENDED[3]]),
        // A suffix where words are of another part.
        of(&[
            r"[\p{Han}&&\p{L}]+",
            r"[^\r\n\p{L}\p{N}]?\p{L}+(?i:'s|'t|'re|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        ]),
        of(&[r"\p{S}+", r"\p{L}+(?:'s|'LL)?|\p{N}+|[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+$|\s+(?!\S)|\s+"]),
        // Nothing matches what is in the other part.
        of(&[r"[^\p{L}\p{M}\p{P}\p{S}\s]+", DEEPSEEK_V3]),
    ]
}

/// Patterns that look similar but do not belong to the family.
const OTHERS: [&str; 11] = [
    // Something is left out.
    r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    // Rules for white space that are in another order, or different.
    r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s*[\r\n]+|\s+",
    r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+",
    r" ?\p{L}+| ?\p{N}+|\s+(?!\S)| ?[^\s\p{L}\p{N}]+|\s+",
    // Numbers with a prefix and a limit, words with one, other text before words.
    r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r" ?\p{L}{1,9}| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Literals that begin with other characters.
    r"'s|xa|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'1|'s| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    // A prefix that would hide a change of case; a word that takes some other text only.
    r"[^\r\n\p{Lu}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{Lu}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"[\p{P}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
];

/// The level is set for the whole process.
fn levels() -> (MutexGuard<'static, ()>, Vec<cpu::Level>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    (ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner), cpu::available())
}

struct Pair {
    pattern: String,
    splitter: Splitter,
}

fn has_planes(splitter: &Splitter) -> bool {
    match &splitter.engine {
        Engine::Scanner(scanner) => scanner.tables.is_some(),
        Engine::CustomScanner(scanner) => scanner.tables.is_some(),
        _ => false,
    }
}

fn family() -> Vec<Pair> {
    let known = ["gpt2", "cl100k", "qwen2", "o200k"].map(pattern_named);
    known
        .into_iter()
        .chain(FAMILY.into_iter().chain(EXTENDED).map(str::to_owned))
        .map(|pattern| vec![pattern])
        .chain(sequences())
        .map(|steps| {
            let given: Vec<SplitStep> = steps.iter().map(|step| SplitStep::Pattern(step.clone())).collect();
            let splitter = Splitter::compile_steps(&given).unwrap().unwrap();
            let pattern = steps.join(" then ");
            assert!(has_planes(&splitter), "{pattern} is run by the {}", splitter.plan());
            Pair { pattern, splitter }
        })
        .collect()
}

/// The ends of pretokens by planes, however short the text is, and by arms.
fn both_ways<A: Atoms>(scanner: &PlaneScanner<A>, text: &str) -> (Vec<usize>, Vec<usize>) {
    let (mut planes, mut arms) = (Vec::new(), Vec::new());
    let tables = scanner.tables.as_ref().unwrap();
    let mut emit = |ends: &[usize]| {
        planes.extend(ends);
        Ok(())
    };
    for_each_ends(tables, &scanner.arms, text, &mut ScanScratch::default(), &mut emit).unwrap();
    let mut emit = |span: Span, _| {
        arms.push(span.end);
        Ok(())
    };
    scanner.arms.for_each_match(text, &mut emit).unwrap();
    (planes, arms)
}

impl Pair {
    fn check_here(&self, text: &str) {
        let (planes, arms) = match &self.splitter.engine {
            Engine::Scanner(scanner) => both_ways(scanner, text),
            Engine::CustomScanner(scanner) => both_ways(scanner, text),
            _ => unreachable!("the family runs on scanners"),
        };
        if planes != arms {
            let same = planes.iter().zip(&arms).take_while(|(a, b)| a == b).count();
            let from = same.checked_sub(1).map_or(0, |before| arms[before]);
            let around: String = text[from..].chars().take(80).collect();
            panic!(
                "{} at {}: from byte {from}, {:?} instead of {:?} in {around:?} of {} bytes",
                self.pattern,
                cpu::level(),
                planes.get(same),
                arms.get(same),
                text.len()
            );
        }
    }

    fn check(&self, levels: &[cpu::Level], text: &str) {
        for &level in levels {
            cpu::force(Some(level)).unwrap();
            self.check_here(text);
        }
        cpu::force(None).unwrap();
    }
}

/// A character of each atom.
fn one_of_each() -> Vec<char> {
    let mut seen = Vec::new();
    let mut each = Vec::new();
    for c in EDGES {
        let atom = atoms::of(u32::from(c));
        if !seen.contains(&atom) {
            seen.push(atom);
            each.push(c);
        }
    }
    assert_eq!(each.len(), atoms::ATOMS);
    each
}

#[test]
fn patterns_outside_of_the_family_are_left_to_the_arms() {
    for pattern in OTHERS {
        let splitter = splitter(pattern);
        assert_eq!(splitter.plan(), super::Plan::Scanner, "{pattern}");
        assert!(!has_planes(&splitter), "{pattern}");
    }
}

#[test]
fn white_space_at_the_end_of_a_part_is_left_to_the_arms() {
    for steps in [vec![r"\p{N}", TIKTOKEN_CL100K], vec!["[一-龥]+", TIKTOKEN_CL100K]] {
        let steps: Vec<SplitStep> = steps.iter().map(|&step| SplitStep::Pattern(step.to_owned())).collect();
        let splitter = Splitter::compile_steps(&steps).unwrap().unwrap();
        assert!(splitter.is_scanner() && !has_planes(&splitter));
    }
}

#[test]
fn planes_agree_on_every_pair_and_triple_at_every_phase() {
    let (_lock, levels) = levels();
    let each = one_of_each();
    let pairs = family();
    // All triples of atoms in one text, at every offset in a block.
    let mut triples = String::new();
    for &a in &each {
        for &b in &each {
            for &c in &each {
                triples.extend([a, b, c]);
            }
        }
    }
    let step = if is_slow() { 1 } else { 7 };
    for filler in ["a", " ", "中"] {
        for phase in (0..64).step_by(step) {
            let text = filler.repeat(phase) + &triples;
            for pair in &pairs {
                pair.check(&levels, &text);
            }
        }
    }
}

#[test]
fn planes_agree_where_the_text_ends() {
    let (_lock, levels) = levels();
    let pairs = family();
    let end = "don't 12345 STOP  \n \n  it's!!\n/'ll\u{301}中A\r\n  \0.aé\0\0\u{3097}";
    for filler in ["a", " ", "\n", "1", "!", "A", "中", "\u{301}", "\0"] {
        for length in (0..140).step_by(if is_slow() { 1 } else { 3 }) {
            let text = filler.repeat(length) + end;
            for (at, _) in text.char_indices().filter(|&(at, _)| at + end.len() >= text.len()) {
                for pair in &pairs {
                    pair.check(&levels[levels.len() - 1..], &text[..at]);
                }
            }
        }
    }
}

#[test]
fn planes_agree_on_every_character_in_context() {
    let (_lock, levels) = levels();
    let all = (0..=0x10_FFFF).filter_map(char::from_u32);
    let chars: Vec<char> =
        all.filter(|&c| is_slow() || u32::from(c) % 61 == 0 || u32::from(c) < 0x3000).collect();
    let pairs = family();
    for chunk in chars.chunks(1000) {
        let text = chunk.iter().fold(String::new(), |text, c| {
            text + &format!("{c}\na{c}.{c}a {c}b{c} 1{c}{c}A'{c}\t'{c}x,,{c}\n/{c}")
        });
        for pair in &pairs {
            pair.check(&levels, &text);
        }
    }
}

#[test]
fn planes_agree_on_long_runs() {
    let (_lock, levels) = levels();
    let size = if is_slow() { 1 << 20 } else { 1 << 16 };
    let units = [
        "a",
        "A",
        " ",
        "\n",
        "1",
        "!",
        "'",
        "中",
        "\u{301}",
        "é",
        "\t",
        "\r\n",
        " \n",
        "\n ",
        "中A",
        "aA",
        "'s",
        "!\u{301}",
        "!\n",
        "!\n/",
        "\n  ",
        "a'",
        "A\u{301}",
        "'S ",
        "12a",
        "ʰA",
        "  \u{3000}",
        "😀",
        "\u{200B}",
        "\u{200B}a",
        ".aé",
        ".a",
        "\u{3097}",
        "ま・",
        "1中",
    ];
    let pairs = family();
    for unit in units {
        let text = unit.repeat(size / unit.len());
        for (before, after) in [("", ""), ("x ", "a"), (" \n", " \n"), ("!", "'s")] {
            for pair in &pairs {
                pair.check(&levels[levels.len() - 1..], &format!("{before}{text}{after}"));
            }
        }
    }
}

/// Eight blocks are computed together, and what one leaves open is decided by a later block, or a later batch.
#[test]
fn planes_agree_where_runs_cross_blocks_and_batches() {
    let (_lock, levels) = levels();
    let pairs = family();
    let step = if is_slow() { 1 } else { 11 };
    let runs = [" ", "\n", "\n ", " \n", "1", "!", "!\n", ".a", "A", "中", "\t", "\u{3097}"];
    for run in runs {
        for length in [1, 3, 62, 65, 130, 520, 1100] {
            for phase in (0..70).chain(440..520).step_by(step) {
                let text = "It's a row of words, ".repeat(phase / 21 + 1);
                let text = &text[text.len() - phase..];
                let run = run.repeat(length / run.chars().count() + 1);
                // The run is at the end, before text, before a line end, and both.
                for after in ["", "x 12 y.", "\n", "  \n  x"] {
                    let text = format!("{text}\n{run}{after}");
                    for pair in &pairs {
                        pair.check(&levels, &text);
                    }
                }
            }
        }
    }
}

fn edgy_text(characters: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let mut plain: Vec<char> = ('a'..='z').collect();
    plain.extend("    ,.A".chars());
    let piece = prop_oneof![
        8 => prop::sample::select(&EDGES[..]).prop_map(String::from),
        8 => prop::sample::select(plain).prop_map(String::from),
        2 => (prop::sample::select(&EDGES[..]), 2..70_usize).prop_map(|(c, n)| String::from(c).repeat(n)),
        4 => prop::sample::select(
            &["'s", "'LL", "'ſ", "'s's", "it's", "'re", "\r\n", "  ", " a", "\n\n", "don't", "HTTPServer", "!\n/", " \n ", "!a", " !ab", ".aé", "・", "ま゛", "\0a", "\u{3097}", "中's", "+'LL", "\n 1", "\n 中"][..]
        ).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, characters).prop_map(|pieces| pieces.concat())
}

#[test]
fn planes_agree_on_edgy_texts() {
    let (_lock, levels) = levels();
    let pairs = family();
    let cases = if is_slow() { 50_000 } else { 2_000 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in edgy_text(0..300))| {
        for pair in &pairs {
            pair.check(&levels, &text);
        }
    });
}

/// The texts of `TOKENMILL_DATA`, if that is set.
fn corpora(bytes: usize) -> Vec<(&'static str, String)> {
    let Some(folder) = std::env::var_os("TOKENMILL_DATA") else { return Vec::new() };
    let read = |name| {
        let path = std::path::Path::new(&folder).join("corpus").join(format!("{name}.txt"));
        let mut text = std::fs::read(path).ok()?;
        text.truncate(bytes);
        Some((name, String::from_utf8_lossy(&text).into_owned()))
    };
    ["english", "code", "multilingual", "cjk"].into_iter().filter_map(read).collect()
}

#[test]
fn planes_agree_on_corpora() {
    let (_lock, levels) = levels();
    for (_, text) in corpora(if is_slow() { usize::MAX } else { 1 << 20 }) {
        for pair in family() {
            pair.check(&levels, &text);
        }
    }
}
