//! Slots, windows and padding, with the values of tokenizers 0.23.3.
use super::*;
use crate::description::{Padding, PaddingLength, Side, Template, TemplatePiece, TemplateToken};
use crate::description::{Truncation, TruncationStrategy};
use crate::watch::{Ticker, Unwatched};

fn sequence(second: bool, type_id: u32) -> TemplatePiece {
    TemplatePiece::Sequence { second, type_id }
}

fn special(name: &str, type_id: u32) -> TemplatePiece {
    TemplatePiece::Special { name: name.to_owned(), type_id }
}

fn token(name: &str, ids: &[TokenId]) -> TemplateToken {
    let tokens = ids.iter().map(|id| format!("{name}{id}")).collect();
    TemplateToken { name: name.to_owned(), ids: ids.to_vec(), tokens }
}

fn template(single: Vec<TemplatePiece>, pair: Vec<TemplatePiece>) -> PostProcessor {
    let special_tokens = vec![token("c", &[8]), token("s", &[9, 10])];
    PostProcessor::Template(Template { single, pair, special_tokens })
}

fn named(id: TokenId) -> (String, TokenId) {
    (format!("<{id}>"), id)
}

/// Slots as `A0`, `B1` and `9:0`.
fn shown(slots: &[Slot]) -> String {
    let one = |slot: &Slot| match slot {
        Slot::Sequence { second, type_id } => format!("{}{type_id}", if *second { 'B' } else { 'A' }),
        Slot::Special { id, type_id } => format!("{id}:{type_id}"),
    };
    slots.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn all_slots(processors: &[PostProcessor]) -> [String; 4] {
    let compiled = PostProcessors::compile(processors).unwrap();
    [(false, false), (false, true), (true, false), (true, true)]
        .map(|(is_pair, adds)| shown(compiled.slots(is_pair, adds)))
}

#[test]
fn every_processor_is_a_row_of_slots() {
    assert_eq!(all_slots(&[]), ["A0", "A0", "A0 B1", "A0 B1"]);
    let bert = PostProcessor::Bert { sep: named(9), cls: named(8) };
    assert_eq!(all_slots(&[bert]), ["A0", "8:0 A0 9:0", "A0 B1", "8:0 A0 9:0 B1 9:1"]);
    let roberta =
        PostProcessor::Roberta { sep: named(9), cls: named(8), trim_offsets: true, add_prefix_space: true };
    assert_eq!(all_slots(&[roberta]), ["A0", "8:0 A0 9:0", "A0 B0", "8:0 A0 9:0 9:0 B0 9:0"]);
    let twice = template(
        vec![special("c", 5), sequence(false, 3), sequence(false, 4), special("s", 6)],
        vec![sequence(true, 2), sequence(false, 1)],
    );
    assert_eq!(all_slots(&[twice]), ["A3 A4", "8:5 A3 A4 9:6 10:6", "B2 A1", "B2 A1"]);
}

#[test]
fn a_template_that_names_what_is_not_there_is_refused() {
    let error = PostProcessors::compile(&[template(vec![special("x", 0)], vec![])]).unwrap_err();
    assert_eq!(error.field.to_string(), "[0].single[0]");
    let error = PostProcessors::compile(&[template(vec![sequence(true, 0)], vec![])]).unwrap_err();
    assert_eq!(error.field.to_string(), "[0].single[0]");
    let one = template(vec![special("c", 0), sequence(false, 0), special("s", 0)], vec![]);
    let error = PostProcessors::compile(&[one.clone(), one]).unwrap_err();
    assert!(error.to_string().contains("3 encodings"), "{error}");
}

fn truncation(max_length: usize, stride: usize, strategy: TruncationStrategy, direction: Side) -> Truncation {
    Truncation { direction, max_length, strategy, stride }
}

/// Windows as spans, `first | second`.
fn cut(lengths: &[usize], truncation: &Truncation) -> Result<Vec<String>> {
    let compiled = PostProcessors::compile(&[]).unwrap();
    let slots = compiled.slots(lengths.len() > 1, true);
    let windows = windows(slots, lengths, Some(truncation), &mut Ticker::new(&Unwatched))?;
    let one = |part: &OutputPart| match part {
        OutputPart::Tokens { range, .. } => format!("{}..{}", range.start, range.end),
        _ => unreachable!(),
    };
    Ok(windows.iter().map(|window| window.iter().map(one).collect::<Vec<_>>().join(" | ")).collect())
}

#[test]
fn windows_step_from_either_end() {
    let longest = TruncationStrategy::LongestFirst;
    let right = truncation(4, 1, longest, Side::Right);
    assert_eq!(cut(&[9], &right).unwrap(), ["0..4", "3..7", "6..9"]);
    let left = truncation(4, 1, longest, Side::Left);
    assert_eq!(cut(&[9], &left).unwrap(), ["5..9", "2..6", "0..3"]);
    assert_eq!(cut(&[4], &left).unwrap(), ["0..4"]);
    assert_eq!(cut(&[3], &truncation(0, 0, longest, Side::Right)).unwrap(), ["0..0", "0..3"]);
}

#[test]
fn the_longest_of_a_pair_gives_way_first() {
    let five = truncation(5, 0, TruncationStrategy::LongestFirst, Side::Right);
    assert_eq!(cut(&[10, 10], &five).unwrap()[0], "0..2 | 0..3");
    assert_eq!(cut(&[2, 10], &five).unwrap()[0], "0..2 | 0..3");
    assert_eq!(cut(&[10, 2], &five).unwrap()[0], "0..3 | 0..2");
    let windows = cut(&[4, 5], &truncation(5, 0, TruncationStrategy::LongestFirst, Side::Right)).unwrap();
    let want = ["0..2 | 0..3", "2..4 | 0..3", "2..4 | 3..5", "0..2 | 3..5"];
    assert_eq!(windows, want);
}

#[test]
fn what_cannot_be_cut_is_an_error() {
    let message =
        |lengths: &[usize], truncation: Truncation| cut(lengths, &truncation).unwrap_err().to_string();
    let only = |strategy| truncation(3, 0, strategy, Side::Right);
    assert!(message(&[5], only(TruncationStrategy::OnlySecond)).contains("needs a pair"));
    // An error that a sequence causes has its index.
    let first = message(&[2, 5], only(TruncationStrategy::OnlyFirst));
    assert!(first.starts_with("[0]: the first sequence has 2 ids"));
    let second = message(&[5, 2], only(TruncationStrategy::OnlySecond));
    assert!(second.starts_with("[1]: the second sequence has 2 ids"));
    let longest = |max, stride| truncation(max, stride, TruncationStrategy::LongestFirst, Side::Right);
    assert!(message(&[5], longest(3, 3)).starts_with("stride=3 is not below 3"));
    assert!(message(&[5, 5], longest(5, 2)).starts_with("[0]: stride=2 is not below 2"));
    assert!(message(&[1 << 40], longest(2, 1)).contains("too many"));
    let product = message(&[1 << 12, 1 << 12], longest(4, 0));
    assert!(product.starts_with("[1]: ") && product.contains("windows are too many"), "{product}");
    let bert = PostProcessors::compile(&[PostProcessor::Bert { sep: named(9), cls: named(8) }]).unwrap();
    let error = windows(bert.slots(false, true), &[5], Some(&longest(1, 0)), &mut Ticker::new(&Unwatched));
    assert!(error.unwrap_err().to_string().contains("no room for the 2 special tokens"));
}

#[test]
fn padding_rounds_up_and_leaves_longer_ones_alone() {
    let padding = |length, multiple_of| Padding {
        length,
        direction: Side::Left,
        multiple_of,
        id: 7,
        type_id: 1,
        token: "<pad>".to_owned(),
    };
    assert_eq!(padded_length(&padding(PaddingLength::Longest, Some(8)), 9).unwrap(), 16);
    assert_eq!(padded_length(&padding(PaddingLength::Fixed(5), Some(0)), 9).unwrap(), 5);
    assert!(padded_length(&padding(PaddingLength::Fixed(usize::MAX), Some(8)), 9).is_err());
    let pad = Pad::new(&padding(PaddingLength::Fixed(3), None), 0).unwrap();
    let tokens = |length| OutputPart::Tokens { second: false, range: Span::new(0, length), type_id: 0 };
    let mut parts = vec![tokens(1)];
    pad.apply(&mut parts);
    assert_eq!(parts, [OutputPart::Padding { count: 2, id: 7, type_id: 1 }, tokens(1)]);
    let mut parts = vec![tokens(4)];
    pad.apply(&mut parts);
    assert_eq!(parts, [tokens(4)]);
}

#[test]
fn white_space_at_the_ends_of_a_token_is_found() {
    let of = |part: &str, in_bytes, written: &str| {
        white_space_at_ends(part.as_bytes(), in_bytes, || written.to_owned())
    };
    assert_eq!(of(" a", true, ""), (1, 0));
    assert_eq!(of("  ", true, ""), (2, 0));
    assert_eq!(of("\u{a0}a", true, ""), (0, 0));
    assert_eq!(of("Ġa Ġ", false, "Ġa Ġ"), (2, 3));
    assert_eq!(of("Ġa", false, "<unk>"), (0, 0));
    assert_eq!(of(" \t<m>\n\u{a0}", false, " \t<m>\n\u{a0}"), (2, 3));
}
