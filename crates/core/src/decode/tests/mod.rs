//! A chain gives the same as the plain form, for any steps, and streams it.
mod denormalize;
mod rows;

use proptest::prelude::*;

use super::Chain;
use crate::description::{
    Alphabet, BpeDescription, Decoder, Decoding, Merges, ModelDescription, Pattern, PieceKind, PrependScheme,
    TokenList, UnigramDescription,
};
use crate::watch::{Ticker, Unwatched};

fn model() -> ModelDescription {
    ModelDescription::Bpe(BpeDescription::plain(Alphabet::Bytes, TokenList::default(), Merges::ById))
}

/// The text that each token emits, and the text that the end emits.
fn pieces(decoding: &Decoding, model: &ModelDescription, tokens: &[String]) -> Vec<String> {
    let mut row = Chain::compile(decoding, model).unwrap().unwrap().start();
    let mut ticker = Ticker::new(&Unwatched);
    let mut pieces = Vec::new();
    for token in tokens {
        let mut out = Vec::new();
        row.token(token, &mut out, &mut ticker).unwrap();
        pieces.push(String::from_utf8(out).expect("whole characters"));
    }
    let mut out = Vec::new();
    row.finish(&mut out, &mut ticker).unwrap();
    pieces.push(String::from_utf8(out).expect("whole characters"));
    pieces
}

fn tokens(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|&token| token.to_owned()).collect()
}

fn decode(steps: &[Decoder], row: &[&str]) -> String {
    pieces(&Decoding::Steps(steps.to_vec()), &model(), &tokens(row)).concat()
}

fn strip(content: char, start: usize, stop: usize) -> Decoder {
    Decoder::Strip { content, start, stop }
}

fn replace(literal: &str, content: &str) -> Decoder {
    Decoder::Replace { pattern: Pattern::Literal(literal.to_owned()), content: content.to_owned() }
}

fn metaspace(prepend: PrependScheme) -> Decoder {
    Decoder::Metaspace { replacement: '▁', prepend, split: true }
}

fn any_step() -> impl Strategy<Value = Decoder> {
    let short = "[ab_▁ é]{0,3}";
    prop_oneof![
        Just(Decoder::ByteLevel),
        Just(Decoder::ByteFallback),
        Just(Decoder::Fuse),
        ("#{0,2}|a|é", any::<bool>()).prop_map(|(prefix, cleanup)| Decoder::WordPiece { prefix, cleanup }),
        prop_oneof![Just(PrependScheme::Always), Just(PrependScheme::Never)].prop_map(metaspace),
        prop_oneof![Just("</w>"), Just(""), Just("a"), Just("▁▁")]
            .prop_map(|suffix| Decoder::Bpe { suffix: suffix.to_owned() }),
        ("(<p>|a|_)?", "[|▁]?", any::<bool>()).prop_map(|(pad, delimiter, cleanup)| Decoder::Ctc {
            pad,
            delimiter,
            cleanup
        }),
        (prop_oneof![Just('_'), Just(' '), Just('é')], 0usize..3, 0usize..3)
            .prop_map(|(content, start, stop)| strip(content, start, stop)),
        (short, short).prop_map(|(literal, content)| replace(&literal, &content)),
        Just(replace("▁", " ")),
        Just(replace("a▁a", "x")),
    ]
}

fn any_token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab_▁ éĠ]{0,5}",
        "(##|▁)?(do| not|a| '|s|\\.)(</w>|</w)?",
        "<0x(41|C3|A9|E4|B8|AD|F0|ff|\\+1|zz|é)>",
        "<0x[4C]",
        "[ÃĠ©äŠ]{1,2}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_chain_gives_what_rows_of_strings_give(
        steps in prop::collection::vec(any_step(), 0..5), row in prop::collection::vec(any_token(), 0..9)
    ) {
        let decoding = Decoding::Steps(steps);
        prop_assert_eq!(pieces(&decoding, &model(), &row).concat(), rows::decode(&decoding, &row));
        prop_assert_eq!(pieces(&Decoding::Spaced, &model(), &row).concat(), rows::decode(&Decoding::Spaced, &row));
    }
}

#[test]
fn word_pieces_are_cleaned_up_each_alone() {
    let steps = [Decoder::WordPiece { prefix: "##".to_owned(), cleanup: true }];
    assert_eq!(decode(&steps, &["##a", "##b", "n't", " ' "]), "##abn't '");
    assert_eq!(decode(&steps, &["do", "not", "'", "s", "."]), "do not ' s.");
}

#[test]
fn the_marks_of_the_first_token_go() {
    let row = ["▁▁a▁b", "▁c"];
    assert_eq!(decode(&[metaspace(PrependScheme::Always)], &row), "ab c");
    assert_eq!(decode(&[metaspace(PrependScheme::Never)], &row), "  a b c");
}

#[test]
fn the_last_suffix_is_nothing() {
    let steps = |suffix: &str| [Decoder::Bpe { suffix: suffix.to_owned() }];
    assert_eq!(decode(&steps("</w>"), &["lo", "w</w>", "er</w>"]), "low er");
    assert_eq!(decode(&steps(""), &["ab", "", "c", ""]), " a b   c ");
    let given = pieces(&Decoding::Steps(steps("</w>").to_vec()), &model(), &tokens(&["low</w>", "er</w>"]));
    assert_eq!(given, ["low", " er", ""]);
}

#[test]
fn a_run_of_bytes_is_text_or_replaced_byte_for_byte() {
    let row = ["<0x+1>", "<0xE4>", "<0xb8>", "<0xAD>", "a", "<0xFF>", "<0x41>"];
    assert_eq!(decode(&[Decoder::ByteFallback], &row), "\u{1}中a\u{fffd}\u{fffd}");
    let decoding = Decoding::Steps(vec![Decoder::ByteFallback]);
    let given = pieces(&decoding, &model(), &tokens(&["<0x41>", "<0xC3>", "<0xC3>", "<0xA9>", "b"]));
    assert_eq!(given, ["", "", "\u{fffd}\u{fffd}\u{fffd}", "\u{fffd}", "b", ""]);
}

#[test]
fn the_usual_chain_lets_text_out_at_once() {
    let steps = vec![replace("▁", " "), Decoder::ByteFallback, Decoder::Fuse, strip(' ', 1, 0)];
    let row = tokens(&["▁the", "▁▁", "<0xC3>", "<0xA9>", "cat"]);
    assert_eq!(pieces(&Decoding::Steps(steps), &model(), &row), ["the", "  ", "", "", "écat", ""]);
}

#[test]
fn what_makes_the_reference_panic_has_a_result() {
    assert_eq!(decode(&[strip('_', 1, 1)], &["_"]), "");
    assert_eq!(decode(&[strip('_', 0, 1)], &[""]), "");
    assert_eq!(decode(&[strip('_', 1, 1)], &["_a_", "__"]), "a");
}

#[test]
fn an_empty_literal_stands_between_all_characters() {
    assert_eq!(decode(&[replace("", "X")], &["ab", ""]), "XaXbX");
}

#[test]
fn many_invalid_bytes_take_linear_time() {
    let row = vec!["<0xC3>".to_owned(); 100_000];
    let text = pieces(&Decoding::Steps(vec![Decoder::ByteFallback]), &model(), &row).concat();
    assert_eq!(text.chars().count(), row.len());
}

#[test]
fn a_chain_that_explodes_is_refused() {
    let steps = vec![replace("a", "aaaaaaaa"); 40];
    let error = Chain::compile(&Decoding::Steps(steps), &model()).unwrap_err();
    assert!(error.to_string().contains("longer"), "{error}");
}

#[test]
fn sentence_pieces_know_what_they_are() {
    let pieces_and_kinds = [
        ("<unk>", PieceKind::Unknown),
        ("<s>", PieceKind::Control),
        ("<0xE4>", PieceKind::Byte),
        ("<0x41>", PieceKind::Byte),
        ("▁", PieceKind::Normal),
        ("▁a", PieceKind::Normal),
    ];
    let list = pieces_and_kinds.iter().zip(0..).map(|((piece, _), id)| (id, piece.as_bytes().to_vec()));
    let model = ModelDescription::Unigram(UnigramDescription {
        tokens: TokenList::from_entries(list.collect()).into(),
        scores: vec![0.0; 6],
        kinds: pieces_and_kinds.iter().map(|(_, kind)| *kind).collect(),
        unk: Some(0),
        unk_score: -10.0,
        byte_fallback: true,
        single_precision: true,
    });
    let decode = |dummy: bool, removal: bool, row: &[&str]| {
        let step = Decoder::SentencePiece {
            unk_surface: " ⁇ ".to_owned(),
            add_dummy_prefix: dummy,
            remove_extra_whitespaces: removal,
            treat_whitespace_as_suffix: false,
        };
        pieces(&Decoding::Steps(vec![step]), &model, &tokens(row)).concat()
    };
    assert_eq!(decode(true, false, &["▁", "▁", "▁a"]), "  a");
    assert_eq!(decode(true, true, &["▁", "▁", "▁a"]), "a");
    assert_eq!(decode(false, false, &["▁", "▁a"]), "  a");
    assert_eq!(decode(true, true, &["<s>", "▁a", "<unk>", "<0x41>", "<0xE4>", "▁a"]), "a ⁇ A\u{fffd} a");
}
