//! Every kind of step: its pieces and their origins, as in tokenizers 0.23.3.
mod hook;
mod only_splits;

use super::*;
use crate::description::{Behavior, Pattern, PrependScheme};
use crate::watch::Unwatched;

type Found = Vec<(String, usize, usize)>;

/// The pieces with their bytes in the caller's text.
fn cut_from(steps: &[PreTokenizer], piece: AlignedText<'_>) -> Result<Found> {
    found(&PreTokenizers::compile(steps, &Hooks::default())?, piece)
}

fn found(steps: &PreTokenizers, piece: AlignedText<'_>) -> Result<Found> {
    let mut found = Vec::new();
    steps.for_each(piece, &mut Vec::new(), &mut Ticker::new(&Unwatched), &mut |piece, _| {
        assert!(!piece.text.is_empty());
        let span = piece.span();
        found.push((piece.text.to_owned(), span.start, span.end));
        Ok(())
    })?;
    Ok(found)
}

fn cut(steps: &[PreTokenizer], text: &str) -> Found {
    cut_from(steps, AlignedText::original(text, 0)).unwrap()
}

/// The pieces of steps that only cut; each must be the text at its span.
fn texts(step: &PreTokenizer, text: &str) -> Vec<String> {
    let found = cut(std::slice::from_ref(step), text);
    found
        .into_iter()
        .inspect(|(piece, start, end)| assert_eq!(piece, &text[*start..*end]))
        .map(|f| f.0)
        .collect()
}

fn literal(literal: &str, behavior: Behavior, invert: bool) -> PreTokenizer {
    PreTokenizer::Split { pattern: Pattern::Literal(literal.to_owned()), behavior, invert }
}

fn regex(regex: &str, behavior: Behavior, invert: bool) -> PreTokenizer {
    PreTokenizer::Split { pattern: Pattern::Regex(regex.to_owned()), behavior, invert }
}

fn metaspace(prepend: PrependScheme, split: bool) -> PreTokenizer {
    PreTokenizer::Metaspace { replacement: '▁', prepend, split }
}

const BEHAVIORS: [Behavior; 5] = [
    Behavior::Removed,
    Behavior::Isolated,
    Behavior::MergedWithPrevious,
    Behavior::MergedWithNext,
    Behavior::Contiguous,
];

#[test]
fn matches_become_what_the_behavior_says() {
    let expected: [(&[&str], &[&str]); 5] = [
        (&["a", "b", "c"], &["-", "-", "-", "-", "-"]),
        (&["-", "a", "-", "-", "b", "-", "c", "-"], &["-", "a", "-", "-", "b", "-", "c", "-"]),
        (&["-", "a-", "-", "b-", "c-"], &["-a", "-", "-b", "-c", "-"]),
        (&["-a", "-", "-b", "-c", "-"], &["-", "a-", "-", "b-", "c-"]),
        (&["-", "a", "--", "b", "-", "c", "-"], &["-", "a", "--", "b", "-", "c", "-"]),
    ];
    for (behavior, (plain, inverted)) in BEHAVIORS.into_iter().zip(expected) {
        for (invert, expected) in [(false, plain), (true, inverted)] {
            // A literal, a regex on the scanner, a regex on each engine.
            for step in [
                literal("-", behavior, invert),
                regex("-", behavior, invert),
                regex("-|x{0}y", behavior, invert),
                regex("(?=-)-", behavior, invert),
            ] {
                assert_eq!(texts(&step, "-a--b-c-"), expected, "{step:?}");
            }
        }
    }
}

#[test]
fn an_empty_match_cuts_without_a_piece() {
    for behavior in BEHAVIORS {
        for invert in [false, true] {
            let removed = behavior == Behavior::Removed && invert;
            let step = regex("(?=b)", behavior, invert);
            let expected: &[&str] = if removed { &[] } else { &["a", "ba", "b"] };
            assert_eq!(texts(&step, "abab"), expected, "{step:?}");
            let step = literal("", behavior, invert);
            let expected: &[&str] = if removed { &[] } else { &["é", "b"] };
            assert_eq!(texts(&step, "éb"), expected, "{step:?}");
        }
    }
    assert_eq!(texts(&regex("(?:)|a+", Behavior::Isolated, false), "aab"), ["a", "a", "b"]);
}

#[test]
fn bert_drops_white_space_and_isolates_punctuation() {
    let found = texts(&PreTokenizer::Bert, "Hey, you $5 €6\u{2e5d}\u{1c}a");
    assert_eq!(found, ["Hey", ",", "you", "$", "5", "€6\u{2e5d}\u{1c}a"]);
    assert_eq!(texts(&PreTokenizer::Bert, " \u{3000}\n"), [""; 0]);
}

#[test]
fn punctuation_is_that_of_ascii_and_of_unicode_8() {
    let step = PreTokenizer::Punctuation(Behavior::Removed);
    assert_eq!(texts(&step, "a$b`c€d。e\u{2e43}f\u{166d}g"), ["a", "b", "c€d", "e\u{2e43}f", "g"]);
    let step = PreTokenizer::Punctuation(Behavior::Contiguous);
    assert_eq!(texts(&step, "a?!b"), ["a", "?!", "b"]);
}

#[test]
fn words_and_white_space() {
    let found = texts(&PreTokenizer::Whitespace, "a\u{200d}b ²½c--d e\u{301}");
    assert_eq!(found, ["a\u{200d}b", "²½", "c", "--", "d", "e\u{301}"]);
    let found = texts(&PreTokenizer::WhitespaceSplit, " a\u{1c}b\u{3000}c\u{85}d ");
    assert_eq!(found, ["a\u{1c}b", "c", "d"]);
}

#[test]
fn digits_delimiters_and_lengths() {
    let step = |individual| PreTokenizer::Digits { individual };
    assert_eq!(texts(&step(false), "a12²b\u{11de0}"), ["a", "12²", "b", "\u{11de0}"]);
    assert_eq!(texts(&step(true), "a12²Ⅷ"), ["a", "1", "2", "²", "Ⅷ"]);
    assert_eq!(texts(&PreTokenizer::CharDelimiter('é'), "éaééb"), ["a", "b"]);
    assert_eq!(texts(&PreTokenizer::FixedLength(2), "aébcd"), ["aé", "bc", "d"]);
    assert_eq!(texts(&PreTokenizer::FixedLength(usize::MAX), "aé"), ["aé"]);
    let error =
        PreTokenizers::compile(&[PreTokenizer::Bert, PreTokenizer::FixedLength(0)], &Hooks::default())
            .unwrap_err();
    assert!(matches!(error.kind, Kind::Format { .. }), "{error}");
    assert!(error.to_string().contains("[1].length"), "{error}");
}

#[test]
fn scripts_lose_what_has_none_in_front() {
    let step = PreTokenizer::UnicodeScripts;
    assert_eq!(cut(std::slice::from_ref(&step), " 1 a"), [("1 ".to_owned(), 1, 3), ("a".to_owned(), 3, 4)]);
    assert_eq!(texts(&step, "アa漢字ー かb"), ["ア", "a", "漢字ー か", "b"]);
    assert_eq!(texts(&step, "\u{e000}x\u{e000}"), ["x\u{e000}"]);
    assert_eq!(texts(&step, " \u{e000}"), [""; 0]);
}

#[test]
fn metaspace_marks_spaces_and_the_start() {
    let found = |prepend, split, text: &str| cut(&[metaspace(prepend, split)], text);
    let piece = |text: &str, start, end| (text.to_owned(), start, end);
    for prepend in [PrependScheme::First, PrependScheme::Always, PrependScheme::Never] {
        let expected = [piece("▁a", 0, 2), piece("▁", 2, 3), piece("▁b", 3, 5)];
        assert_eq!(found(prepend, true, " a  b"), expected);
        assert_eq!(found(prepend, false, " a  b"), [piece("▁a▁▁b", 0, 5)]);
        let first = if prepend == PrependScheme::Never { "é" } else { "▁é" };
        assert_eq!(found(prepend, true, "é▁b"), [piece(first, 0, 2), piece("▁b", 2, 6)]);
    }
}

#[test]
fn the_first_piece_is_the_one_at_the_start_of_the_callers_text() {
    let first = metaspace(PrependScheme::First, true);
    let found = |piece| cut_from(std::slice::from_ref(&first), piece).unwrap();
    assert_eq!(found(AlignedText::original("a", 3))[0].0, "a");
    // The text after a normalizer that stripped its left end.
    let text = AlignedText::original(" a", 0);
    let mut stripped = Rewritten::default();
    stripped.start(text);
    stripped.keep(text, Span::new(1, 2));
    assert_eq!(found(stripped.piece()), [("a".to_owned(), 1, 2)]);
    // In a chain only the first piece is at the start of the text.
    let found = cut(&[literal("-", Behavior::Removed, false), first], "a-b");
    assert_eq!(found, [("▁a".to_owned(), 0, 1), ("b".to_owned(), 2, 3)]);
}

#[test]
fn a_space_before_every_piece_and_bytes_as_characters() {
    let steps =
        [literal("-", Behavior::Isolated, false), PreTokenizer::PrefixSpace, PreTokenizer::ByteAlphabet];
    let piece = |text: &str, start, end| (text.to_owned(), start, end);
    let expected = [piece("Ġa", 0, 1), piece("Ġ-", 1, 2), piece("ĠbĠcÃ©", 2, 7)];
    assert_eq!(cut(&steps, "a-b cé"), expected);
    assert_eq!(cut(&steps, " é"), [piece("ĠÃ©", 0, 3)]);
    // Each byte has its own origin, in the caller's text and in a part of it.
    let steps = [PreTokenizer::PrefixSpace, PreTokenizer::ByteAlphabet, PreTokenizer::FixedLength(1)];
    assert_eq!(cut(&steps, "éa"), [piece("Ġ", 0, 2), piece("Ã", 0, 1), piece("©", 1, 2), piece("a", 2, 3)]);
}

#[test]
fn an_error_of_a_pattern_says_where_in_the_callers_text() {
    let hard = regex(r"(?:a|aa)+(b)\1", Behavior::Removed, false);
    let steps = [literal("-", Behavior::Isolated, false), metaspace(PrependScheme::Always, false), hard];
    let text = format!("éé-{}b", "a".repeat(30_000));
    let error = cut_from(&steps, AlignedText::original(&text, 10)).unwrap_err();
    match error.into_kind() {
        Kind::Pattern { searched_from: Some(Place::Byte(at)), .. } => assert_eq!(at, 15),
        other => panic!("another kind: {other:?}"),
    }
}

#[test]
fn only_metaspace_first_asks_for_origins() {
    let needs = |step| {
        PreTokenizers::compile(&[PreTokenizer::Bert, step], &Hooks::default()).unwrap().needs_origins()
    };
    assert!(needs(metaspace(PrependScheme::First, false)));
    assert!(!needs(metaspace(PrependScheme::Always, true)));
}

#[test]
fn long_texts_take_linear_time() {
    let steps = [
        PreTokenizer::Bert,
        PreTokenizer::Punctuation(Behavior::MergedWithNext),
        PreTokenizer::Whitespace,
        PreTokenizer::Digits { individual: true },
        PreTokenizer::FixedLength(3),
        PreTokenizer::UnicodeScripts,
        metaspace(PrependScheme::Always, true),
        metaspace(PrependScheme::First, false),
        PreTokenizer::ByteAlphabet,
        literal("ab", Behavior::Contiguous, true),
        regex(r"\p{L}+", Behavior::Contiguous, false),
    ];
    for unit in [" ", "a", "é", "-", "1", "▁", "ab", "a ", "\u{e000}"] {
        let text = unit.repeat((1 << 20) / unit.len());
        for step in &steps {
            cut(std::slice::from_ref(step), &text);
        }
    }
}
