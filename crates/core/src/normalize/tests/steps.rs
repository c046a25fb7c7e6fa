use super::*;
use crate::description::Pattern;

const NFC: Normalizer = Normalizer::Nfc(UnicodeTables::Reference);
const NFD: Normalizer = Normalizer::Nfd(UnicodeTables::Reference);
const NFKC: Normalizer = Normalizer::Nfkc(UnicodeTables::Reference);

fn replace(literal: &str, content: &str) -> Normalizer {
    Normalizer::Replace { pattern: Pattern::Literal(literal.to_owned()), content: content.to_owned() }
}

fn replace_regex(regex: &str, content: &str) -> Normalizer {
    Normalizer::Replace { pattern: Pattern::Regex(regex.to_owned()), content: content.to_owned() }
}

fn bert(lowercase: bool) -> Normalizer {
    Normalizer::Bert { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase }
}

#[test]
fn a_decomposed_character_is_all_of_its_parts() {
    check(&[NFD], "aéb", "ae\u{301}b", &[(0, 1), (1, 2), (1, 2), (2, 3)]);
}

#[test]
fn a_composed_character_stands_for_all_that_it_is_made_of() {
    check(&[NFC], "e\u{301}!", "é!", &[(0, 2), (2, 3)]);
    check(&[NFC], "\u{1112}\u{1161}\u{11ab}!", "한!", &[(0, 3), (3, 4)]);
    check(&[NFC], "a\u{301}\u{323}", "ạ\u{301}", &[(0, 3), (1, 3)]);
}

#[test]
fn marks_that_change_places_stand_for_each_other() {
    check(&[NFD], "a\u{301}\u{323}", "a\u{323}\u{301}", &[(0, 1), (1, 3), (1, 3)]);
}

#[test]
fn compatible_characters_become_plain() {
    check(&[NFKC], "ﬁ①", "fi1", &[(0, 1), (0, 1), (1, 2)]);
    // Newer than the reference's tables.
    check(&[NFKC], "\u{32ff}", "\u{32ff}", &[(0, 1)]);
    check(&[Normalizer::Nfkc(UnicodeTables::Current)], "\u{32ff}", "令和", &[(0, 1), (0, 1)]);
}

#[test]
fn lower_case_does_not_look_at_neighbours() {
    check(&[Normalizer::Lowercase], "ΑΣ", "ας".replace('ς', "σ").as_str(), &[(0, 1), (1, 2)]);
    check(&[Normalizer::Lowercase], "aİ", "ai\u{307}", &[(0, 1), (1, 2), (1, 2)]);
}

#[test]
fn white_space_is_stripped_where_asked() {
    let strip = |left, right| Normalizer::Strip { left, right };
    check(&[strip(true, true)], " \u{2003}a b\n", "a b", &[(2, 3), (3, 4), (4, 5)]);
    check(&[strip(false, true)], " a ", " a", &[(0, 1), (1, 2)]);
    check(&[strip(true, true)], " \n", "", &[]);
    check(&[strip(true, true)], "\u{200b}", "\u{200b}", &[(0, 1)]);
    // A part that is rewritten, and a part of a rewritten text.
    check(&[strip(true, false), Normalizer::Lowercase], " A", "a", &[(1, 2)]);
    check(&[Normalizer::Lowercase, strip(true, false)], " A", "a", &[(1, 2)]);
}

#[test]
fn marks_are_dropped_and_nothing_is_decomposed() {
    check(&[Normalizer::StripAccents], "éa\u{301}b", "éab", &[(0, 1), (1, 2), (3, 4)]);
}

#[test]
fn a_replacement_stands_for_the_whole_match() {
    check(&[replace("ab", "X")], "1ab2", "1X2", &[(0, 1), (1, 3), (3, 4)]);
    check(&[replace("ab", "XY")], "ab", "XY", &[(0, 2), (0, 2)]);
    check(&[replace("ab", "")], "1ab2", "12", &[(0, 1), (3, 4)]);
    check(&[replace_regex(r"\s+", " ")], "a \nb", "a b", &[(0, 1), (1, 3), (3, 4)]);
    check(&[replace_regex(r"(a)", r"\1")], "a", r"\1", &[(0, 1), (0, 1)]);
}

#[test]
fn a_replacement_of_nothing_stands_for_the_character_before() {
    let offsets = [(0, 0), (0, 1), (0, 1), (1, 2), (1, 2)];
    check(&[replace("", "A")], "Hi", "AHAiA", &offsets);
    check(&[replace_regex("", "A")], "Hi", "AHAiA", &offsets);
    check(&[replace("", "A")], "", "", &[]);
    // The reference panics.
    check(&[replace_regex("^", "x"), Normalizer::Lowercase], "B", "xb", &[(0, 0), (0, 1)]);
}

#[test]
fn what_is_prepended_stands_for_the_first_character() {
    let prepend = [Normalizer::Prepend("xy".to_owned())];
    check(&prepend, "ab", "xyab", &[(0, 1), (0, 1), (0, 1), (1, 2)]);
    check(&prepend, "", "", &[]);
}

#[test]
fn bytes_become_their_stand_ins() {
    check(&[Normalizer::ByteLevel], "é ", "Ã©Ġ", &[(0, 1), (0, 1), (1, 2)]);
}

#[test]
fn odd_blanks_become_spaces_and_controls_go() {
    check(&[Normalizer::Nmt], "\u{1}a\t\u{200b}\u{85}", "a  \u{85}", &[(1, 2), (2, 3), (3, 4), (4, 5)]);
}

#[test]
fn text_is_cleaned_as_bert_does() {
    check(&[bert(true)], "\u{200b}A\u{200b}É\u{200b}", "ae", &[(1, 2), (3, 4)]);
    check(&[bert(false)], "中\tÉ", " 中  É", &[(0, 1), (0, 1), (0, 1), (1, 2), (2, 3)]);
    // The typing error in the ranges of ideographs.
    check(&[bert(false)], "\u{2b820}", "\u{2b820}", &[(0, 1)]);
    check(&[bert(false)], "\u{2b920}", " \u{2b920} ", &[(0, 1), (0, 1), (0, 1)]);
}

#[test]
fn bytes_of_an_ideograph_stay_in_order_between_its_spaces() {
    let normalizers = compiled(&[bert(false)]).unwrap();
    let mut buffers = Default::default();
    let piece = AlignedText::original("a中b", 0);
    let piece = normalizers.apply(piece, &mut buffers, &mut Ticker::new(&Unwatched)).unwrap();
    assert_eq!(piece.text, "a 中 b");
    let spans = (0..piece.text.len()).map(|at| piece.origins.span(Span::new(at, at + 1)));
    let spans: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
    assert_eq!(spans, [(0, 1), (1, 2), (1, 2), (2, 3), (3, 4), (3, 4), (4, 5)]);
}

#[test]
fn text_that_no_step_changes_is_not_rewritten() {
    let steps = [
        NFC,
        NFKC,
        Normalizer::Lowercase,
        Normalizer::StripAccents,
        Normalizer::Nmt,
        replace("z", "y"),
        bert(true),
    ];
    let normalizers = compiled(&steps).unwrap();
    let mut buffers = Default::default();
    let text = "plain text, 한국어";
    let ticker = &mut Ticker::new(&Unwatched);
    // The steps of BERT decompose Hangul.
    let ascii = normalizers.apply(AlignedText::original(&text[..10], 3), &mut buffers, ticker).unwrap();
    assert!(matches!(ascii.origins, Origins::Same(3)));
    let first = compiled(&steps[..6]).unwrap();
    let all = first.apply(AlignedText::original(text, 3), &mut buffers, ticker).unwrap();
    assert!(matches!(all.origins, Origins::Same(3)));
}

#[test]
fn an_invalid_pattern_names_its_step() {
    let error = compiled(&[NFC, replace_regex("(", "")]).unwrap_err();
    assert_eq!(error.field.to_string(), "[1]");
}
