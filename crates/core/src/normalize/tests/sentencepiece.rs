use super::charsmap::blob;
use super::*;
use crate::description::SentencePieceRules;

fn rules() -> SentencePieceRules {
    SentencePieceRules {
        charsmap: blob(&[("ﬁ", "fi"), ("\u{3000}", " "), ("u\u{303}", "ũ"), ("\u{1}", "")]).into(),
        user_defined: vec!["ab".to_owned(), "\u{3000}x".to_owned()],
        add_dummy_prefix: true,
        remove_extra_whitespaces: true,
        escape_whitespaces: true,
        treat_whitespace_as_suffix: false,
    }
}

fn normalizer(change: impl FnOnce(&mut SentencePieceRules)) -> [Normalizer; 1] {
    let mut rules = rules();
    change(&mut rules);
    [Normalizer::SentencePiece(rules)]
}

/// The start of each byte of the new text in the old one, and the end of the last.
#[track_caller]
fn check_bytes(steps: &[Normalizer], text: &str, want: &str, starts: &[usize]) {
    let normalizers = compiled(steps).unwrap();
    let mut buffers = Default::default();
    let piece = normalizers
        .apply(AlignedText::original(text, 0), &mut buffers, &mut Ticker::new(&Unwatched))
        .unwrap();
    assert_eq!(piece.text, want);
    let spans: Vec<Span> = (0..want.len()).map(|at| piece.origins.span(Span::new(at, at + 1))).collect();
    let want: Vec<Span> = starts.windows(2).map(|pair| Span::new(pair[0], pair[1])).collect();
    assert_eq!(spans, want);
}

#[test]
fn spaces_are_collapsed_and_a_mark_put_in_front() {
    let steps = normalizer(|_| ());
    check_bytes(&steps, " \u{3000}é  a ", "▁é▁a", &[4, 4, 4, 4, 4, 6, 6, 6, 8, 9]);
    check_bytes(&steps, "  ", "", &[]);
    check_bytes(&steps, "", "", &[]);
    // A mark at the end counts as a space.
    check_bytes(&steps, "a▁ ", "▁a", &[0, 0, 0, 0, 1]);
}

#[test]
fn the_longest_key_is_replaced_and_what_vanishes_belongs_to_what_is_before() {
    let steps = normalizer(|_| ());
    check_bytes(&steps, "ﬁ\u{1}x", "▁fix", &[0, 0, 0, 0, 0, 4, 5]);
    check_bytes(&steps, "u\u{303}\u{336}", "▁ũ\u{336}", &[0, 0, 0, 0, 0, 3, 3, 5]);
}

#[test]
fn user_defined_symbols_are_kept() {
    let steps = normalizer(|_| ());
    check_bytes(&steps, "\u{3000}xab", "▁\u{3000}xab", &[0, 0, 0, 0, 0, 0, 0, 4, 4, 6]);
}

#[test]
fn the_flags_do_what_they_say() {
    let steps = normalizer(|rules| rules.remove_extra_whitespaces = false);
    check_bytes(&steps, "  a ", "▁▁▁a▁", &[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 4]);
    let steps = normalizer(|rules| rules.treat_whitespace_as_suffix = true);
    check_bytes(&steps, " a b ", "a▁b▁", &[1, 2, 2, 2, 3, 4, 4, 4, 4]);
    let steps = normalizer(|rules| rules.escape_whitespaces = false);
    check_bytes(&steps, "a  b ", " a b", &[0, 0, 1, 3, 4]);
    let steps = normalizer(|rules| rules.add_dummy_prefix = false);
    check_bytes(&steps, " a", "a", &[1, 2]);
}
