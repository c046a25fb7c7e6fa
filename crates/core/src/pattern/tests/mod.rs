//! The tests of the whole module; those of a single file are at its end.
mod automata;
mod cuts;
mod engines;
mod growing;
mod oracle;
mod planes;
mod plans;
mod rewrites;
mod sequences;
mod translate;

use std::collections::BTreeSet;

use super::{Plan, Splitter, named_splits};
use crate::description::Split;
use crate::error::Error;

/// The large tests run in full only if this is set.
fn is_slow() -> bool {
    std::env::var_os("TOKENMILL_SLOW").is_some()
}

/// tiktoken's own spelling of cl100k.
const TIKTOKEN_CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
/// tiktoken's own spelling of gpt2.
const TIKTOKEN_R50K: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";

/// Spellings and variants of users, all of which run on the scanner.
const VARIANTS: [&str; 37] = [
    TIKTOKEN_CL100K,
    TIKTOKEN_R50K,
    // GPT-2 as it was first published.
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    // Digits by two, as users of cl100k like them.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    // The portable spelling of tiktoken's cl100k.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|(?>\p{N}{1,3})| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s",
    // Case runs without contractions, single digits.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Marks as letters, punctuation and symbols named.
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // A prefix class that overlaps the body.
    r"[\p{M}\p{L}]?[\p{M}\p{N}]+|\s+",
    // The same with case runs, every class overlapping every other.
    r"[\p{Lu}\p{M}]?[\p{Lu}\p{M}\p{Lo}]*[\p{Ll}\p{Lo}]+|[\p{Lu}\p{M}]?[\p{Lu}\p{M}\p{Lo}]+[\p{Ll}\p{Lo}]*",
    // Text between matches.
    r"\p{Lu}+",
    r"\p{N}{1,3}|'s",
    r"\s+(?!\S)",
    r"\s+$",
    r"\s++(?!\S)",
    r"\s*[\r\n]+",
    r"\s*[\r\n]|\s+$|\S",
    r"\s*[\r\n]++|\s",
    r"(?:'s|'t)|(\p{L}+)|(?:\p{N})+",
    r"(?i:'S|x)|\S",
    r"(?i:'(?:s|K|ſ)|l(?:d|ve))|\p{L}|-",
    r"\p{L}+(?:'s|ly)?|\r\n|\x{2028}",
    r"\p{L}{1,2}(?i:'s|'re)?| |'",
    r"[^\S\r\n]+|\S+",
    r" ?\p{Ll}+'?|\p{Lu}",
    // Classes that cut through the shipped atoms. deepseek-v3, its three splits.
    DEEPSEEK_V3,
    r"[一-龥぀-ゟ゠-ヿ]+",
    // falcon, bloom, words.
    r"[0-9][0-9][0-9]",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"\w+|[^\w\s]+",
    // Mandatory and optional prefixes.
    r"[st][A-Z]+|[^a-s]",
    r"[A-Za-z][sS]{1,2}'?|\s[dx]+",
    // Line ends, as `\s+$` of other dialects is read.
    r"\s+(?![^\n])|\S",
    r"\s+(?![^\n])|\s+(?!\S)|\s",
    // Sequences that fail late, with what they could be part of.
    r"\d{2}[a-s]|\d",
    r"[s-v]{3}|[t'][s ]\n",
    // A part of the upper case letters.
    r"[A-LX]*[a-s]+|[A-LX]+[a-s]*|[\r\n]",
    r"[\p{L}&&[^\p{Han}]]+|[\p{Han}]+|\s+(?!\S)",
];

/// The third split of deepseek-v3.
const DEEPSEEK_V3: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// The pattern that goes by this name.
fn pattern_named(name: &str) -> String {
    match named_splits::split_named(name) {
        Some(Split::Pattern(pattern)) => pattern,
        other => panic!("{name} is {other:?}"),
    }
}

/// Each known pattern once, then the variants.
fn scanner_patterns() -> impl Iterator<Item = String> {
    let known = named_splits::NAMES.into_iter().filter(|&name| name != "none").map(pattern_named);
    known.collect::<BTreeSet<_>>().into_iter().chain(VARIANTS.map(str::to_owned))
}

fn splitter(pattern: &str) -> Splitter {
    Splitter::compile(&Split::Pattern(pattern.to_owned())).unwrap()
}

/// The pretokens of `text`, or the error after them.
fn spans(splitter: &Splitter, text: &str) -> Result<Vec<(usize, usize)>, Error> {
    let mut spans = Vec::new();
    splitter.for_each(text, |span| {
        spans.push((span.start, span.end));
        Ok(())
    })?;
    Ok(spans)
}

/// The pretokens by fancy-regex: matches, and the gaps between them.
fn expected(regex: &fancy_regex::Regex, text: &str) -> Vec<(usize, usize)> {
    let mut cuts = vec![0, text.len()];
    for found in regex.find_iter(text) {
        let found = found.expect("within the limit");
        cuts.extend([found.start(), found.end()]);
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// At least one character of every atom, and all that a pattern singles out.
const EDGES: [char; 58] = [
    's', 't', 'r', 'e', 'v', 'm', 'l', 'd', 'x', 'S', 'L', 'E', 'D', 'X', 'ſ', '\u{212A}', 'K', 'é', 'É',
    'ß', 'ǅ', 'ʰ', 'ª', '中', 'ま', 'ا', '1', '7', '٣', '९', 'Ⅷ', '½', '²', '\u{301}', '\u{903}', '\u{20DD}',
    '\'', '’', '/', '_', '-', '.', '"', '+', '€', '😀', '\u{FFFD}', '\u{200B}', '\u{200D}', '\0', ' ', '\t',
    '\n', '\r', '\u{85}', '\u{A0}', '\u{3000}', '\u{2028}',
];

#[test]
fn the_classes_are_those_of_the_edition_that_is_named() {
    assert_eq!(super::UNICODE_EDITION, (16, 0, 0));
    let is_letter = |char: char| {
        let splitter = Splitter::compile(&Split::Pattern(r"\p{L}+".to_owned())).unwrap();
        let text = format!("a{char}");
        let mut count = 0;
        let each = |_| {
            count += 1;
            Ok(())
        };
        splitter.for_each(&text, each).unwrap();
        count == 1
    };
    // A letter of Unicode 16, and one of 17.
    assert!(is_letter('\u{1c89}'));
    assert!(!is_letter('\u{88f}'));
}
