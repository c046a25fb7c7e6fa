//! Sequences of splits against fancy-regex, one step after the other.
use proptest::prelude::*;

use super::cuts::check_all_cuts;
use super::growing::{check, check_backwards};
use super::{
    DEEPSEEK_V3, EDGES, Plan, Splitter, TIKTOKEN_CL100K, TIKTOKEN_R50K, expected, is_slow, pattern_named,
    spans,
};
use crate::pattern::SplitStep;
use crate::pattern::classes::class;

/// The punctuation of files, and N*.
const PUNCTUATION: &str = r"[!-/:-@\[-`{-~\p{P}]";

/// A sequence, and the regular expression of each step.
struct Sequence {
    splitter: Splitter,
    regexes: Vec<fancy_regex::Regex>,
    name: String,
}

impl Sequence {
    fn new(steps: &[String]) -> Self {
        let given: Vec<SplitStep> = steps.iter().map(|step| SplitStep::Pattern(step.clone())).collect();
        Self {
            splitter: Splitter::compile_steps(&given).unwrap().unwrap(),
            regexes: steps.iter().map(|step| fancy_regex::Regex::new(step).unwrap()).collect(),
            name: steps.join(" then "),
        }
    }

    fn expected(&self, text: &str) -> Vec<(usize, usize)> {
        let whole = if text.is_empty() { Vec::new() } else { vec![(0, text.len())] };
        self.regexes.iter().fold(whole, |spans, regex| {
            let parts = spans.iter().flat_map(|&(start, end)| {
                let parts = expected(regex, &text[start..end]).into_iter();
                parts.map(move |(from, to)| (start + from, start + to))
            });
            parts.collect()
        })
    }

    /// What goes for a text goes for every part of it.
    fn check_only_split(&self, text: &str) {
        let Some(split) = self.splitter.only_split(text) else { return };
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (number, &start) in starts.iter().enumerate() {
            for &end in &starts[number..] {
                let part = &text[start..end];
                assert_eq!(spans(split, part).unwrap(), self.expected(part), "{} on {part:?}", self.name);
            }
        }
    }

    fn check(&self, text: &str) {
        assert_eq!(spans(&self.splitter, text).unwrap(), self.expected(text), "{} on {text:?}", self.name);
        check_all_cuts(&self.splitter, &self.name, text);
        if self.splitter.grows() {
            check(&self.splitter, text, &[1]);
            check_backwards(&self.splitter, text, 0);
        }
    }
}

/// Published sequences, and how often the text is read for each.
fn published() -> Vec<(Vec<String>, usize)> {
    let (punctuation, gpt2) = (PUNCTUATION.to_owned(), pattern_named("gpt2"));
    let cjk = "[一-龥぀-ゟ゠-ヿ]+";
    let of = |steps: &[&str], passes| (steps.iter().map(|&step| step.to_owned()).collect(), passes);
    vec![
        of(&[r"\p{N}{1,3}", cjk, DEEPSEEK_V3], 1),
        of(&[r"\p{N}", &gpt2], 1),
        of(&[&format!("{punctuation}+"), &gpt2, r"\p{N}+", "[0-9][0-9][0-9]"], 2),
        of(&[r"\p{N}", &punctuation], 1),
        of(&[r"\p{N}+", &format!("{punctuation}+")], 1),
        of(&[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"], 3),
        of(&[r"\p{N}", &pattern_named("cl100k")], 1),
        of(&[r"\p{Han}+", &pattern_named("o200k")], 1),
        of(&[&punctuation, r"\p{N}{1,3}", &pattern_named("o200k")], 1),
    ]
}

/// Steps that are joined with the one after them, and some that are not.
const FIRST: [&str; 15] = [
    r"\p{N}",
    r"\p{N}{1,3}",
    r"\p{N}+",
    r"\p{N}{1,2}+",
    r"[0-9]{1,3}",
    PUNCTUATION,
    r"[\p{P}\p{S}]+",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"\p{Lu}+",
    "-",
    r"\p{L}{1,2}",
    r"[\r\n]",
    r"\s+",
    r"\S+",
    r"[s-v\p{M}]+",
];

fn last() -> Vec<String> {
    let known = ["gpt2", "cl100k", "o200k", "qwen2"].map(pattern_named);
    let more = [
        TIKTOKEN_CL100K,
        TIKTOKEN_R50K,
        DEEPSEEK_V3,
        r"\s+(?!\S)|x",
        r"\s+(?![^\n])|\S",
        r"\s+$|\p{L}+",
        r"[0-9][0-9][0-9]",
        r"\p{N}{1,2}",
        r"'s|\p{L}+(?:'s|ly)?",
        r"[A-LX]*[a-s]+|[A-LX]+[a-s]*|[\r\n]",
        r"[st][A-Z]+|[^a-s]",
        r"(?<=a)b|\p{N}+",
    ];
    known.into_iter().chain(more.map(str::to_owned)).collect()
}

#[test]
fn published_sequences_are_read_in_few_passes() {
    for (steps, passes) in published() {
        let sequence = Sequence::new(&steps);
        assert_eq!(sequence.splitter.passes(), passes, "{}", sequence.name);
        assert_eq!(sequence.splitter.plan(), Plan::Scanner, "{}", sequence.name);
    }
}

#[test]
fn every_short_text_is_split_step_by_step() {
    let characters: Vec<char> =
        if is_slow() { EDGES.to_vec() } else { EDGES.iter().copied().step_by(3).collect() };
    let all = published().into_iter().map(|(steps, _)| steps);
    let pairs =
        FIRST.into_iter().flat_map(|first| last().into_iter().map(move |last| vec![first.to_owned(), last]));
    let pairs = pairs.step_by(if is_slow() { 1 } else { 5 });
    for steps in all.chain(pairs) {
        let sequence = Sequence::new(&steps);
        for &a in &characters {
            for &b in &characters {
                sequence.check(&String::from_iter([a, b]));
                for &c in characters.iter().step_by(if is_slow() { 1 } else { 4 }) {
                    sequence.check(&String::from_iter([a, b, c]));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_slow() { 20_000 } else { 600 }))]

    #[test]
    fn any_text_is_split_step_by_step(
        first in prop::collection::vec(prop::sample::select(&FIRST[..]), 0..3),
        last in prop::collection::vec(prop::sample::select(last()), 1..3),
        after in prop::option::of(prop::sample::select(&FIRST[..])),
        picks in prop::collection::vec((0..EDGES.len(), 1..4_usize), 0..40),
        few in 1..EDGES.len(),
    ) {
        let first = first.into_iter().map(str::to_owned);
        let steps: Vec<String> = first.chain(last).chain(after.map(str::to_owned)).collect();
        let sequence = Sequence::new(&steps);
        let chars = picks.into_iter().flat_map(|(pick, times)| std::iter::repeat_n(EDGES[pick % few], times));
        let text: String = chars.collect();
        sequence.check(&text);
        let words = ['a', 'B', '中', ' ', '\n', '\'', 's', '1', '!'];
        sequence.check(&text.chars().map(|c| words[c as usize % words.len()]).collect::<String>());
    }
}

#[test]
fn a_split_that_is_enough_for_a_text_is_enough_for_its_parts() {
    let steps = [
        r"[/\r\n]{1,3}",
        r"\p{P}[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|\s+(?!\S)|\s",
        r"[\p{Lu}\p{M}]+|[^\x00-\x08\p{Han}\r\n]+",
    ];
    let odd = Sequence::new(&steps.map(str::to_owned));
    assert!(odd.splitter.passes() > 1);
    for text in ["sHr", "Hr", "abc", "中文", "a/b", "12", "!a"] {
        odd.check_only_split(text);
    }
    let digits = Sequence::new(&[r"\p{L}+|x\s+", r"\p{N}{1,2}|y\s", r"\p{P}{1,2}|z\s"].map(str::to_owned));
    assert_eq!(digits.splitter.passes(), 3);
    for (text, is_known) in [("word", true), ("12345", true), ("word12", false), ("\u{301}\u{301}", true)] {
        assert_eq!(digits.splitter.only_split(text).is_some(), is_known, "{text}");
        digits.check_only_split(text);
    }
}

#[test]
fn classes_are_steps_too() {
    let class = |text: &str, in_runs| SplitStep::Class { class: class(text), in_runs };
    let steps = [class(r"\p{N}", false), class(PUNCTUATION, true)];
    let splitter = Splitter::compile_steps(&steps).unwrap().unwrap();
    assert_eq!(splitter.passes(), 1);
    let patterns = [r"\p{N}".to_owned(), format!("{PUNCTUATION}+")];
    for text in ["", "a12,,.b", "1!2", "..", "a b"] {
        assert_eq!(spans(&splitter, text).unwrap(), Sequence::new(&patterns).expected(text));
    }
}

#[test]
fn an_error_of_a_step_names_it_and_the_place_in_the_text() {
    let steps = [r"\p{N}", r"(?:a|aa)+(b)\1|."].map(|step| SplitStep::Pattern(step.to_owned()));
    let splitter = Splitter::compile_steps(&steps).unwrap().unwrap();
    assert_eq!((splitter.passes(), splitter.plan()), (2, Plan::Backtracking));
    let text = format!("a1{}b", "a".repeat(40));
    let error = spans(&splitter, &text).unwrap_err().to_string();
    assert!(error.contains('2'), "{error}");
    let steps = [r"\p{N}", "("].map(|step| SplitStep::Pattern(step.to_owned()));
    let error = Splitter::compile_steps(&steps).unwrap_err().to_string();
    assert!(error.starts_with("[1]") || error.contains('1'), "{error}");
}
