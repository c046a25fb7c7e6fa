use proptest::prelude::*;

use super::*;
use crate::description::HookName;
use crate::error::{Kind, Place};
use crate::hooks::Normalized;

fn name() -> HookName {
    HookName::Named("h".to_owned())
}

/// The output of a hook, and the characters of the input that each of its characters stands for.
fn through(
    text: &str,
    function: impl Fn(&str) -> Result<Normalized> + Send + Sync + 'static,
) -> Result<(String, Vec<(usize, usize)>)> {
    let mut hooks = Hooks::default();
    hooks.add_normalizer(name(), function);
    super::through(&Normalizers::compile(&[Normalizer::Hook(name())], &hooks)?, text)
}

#[track_caller]
fn check_text(old: &str, new: &str, want: &[(usize, usize)]) {
    let made = new.to_owned();
    let got = through(old, move |_| Ok(Normalized::Text(made.clone()))).unwrap();
    assert_eq!(got, (new.to_owned(), want.to_vec()), "{old:?}");
}

#[track_caller]
fn check_pieces(old: &str, pieces: &[(&str, usize, usize)], want: &[(usize, usize)]) {
    let made: Vec<_> = pieces.iter().map(|&(text, start, end)| (text.to_owned(), start, end)).collect();
    let got = through(old, move |_| Ok(Normalized::Pieces(made.clone()))).unwrap();
    assert_eq!(got, (pieces.iter().map(|piece| piece.0).collect(), want.to_vec()), "{old:?}");
}

#[test]
fn characters_that_stay_or_change_case_keep_their_places() {
    check_text("Aa bB", "aa bb", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    check_text("xAay", "xay", &[(0, 1), (2, 3), (3, 4)]);
    check_text("Straße", "STRASSE", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 5), (5, 6)]);
    check_text("ΣΑΣ", "σας", &[(0, 1), (1, 2), (2, 3)]);
    check_text("Ｈｉ\u{3000}ｱ", "Hi ア", &[(0, 1), (1, 2), (2, 3), (3, 4)]);
}

#[test]
fn composed_and_decomposed_characters_are_known_again() {
    check_text("ae\u{301}b", "aéb", &[(0, 1), (1, 3), (3, 4)]);
    check_text("aéb", "ae\u{301}b", &[(0, 1), (1, 2), (1, 2), (2, 3)]);
    check_text("\u{1112}\u{1161}\u{11ab}!", "한!", &[(0, 3), (3, 4)]);
    check_text("ﬁx", "fix", &[(0, 1), (0, 1), (1, 2)]);
    check_text("Éa", "ea", &[(0, 1), (1, 2)]);
}

#[test]
fn what_is_removed_has_no_place_and_what_is_put_there_stands_for_its_neighbour() {
    check_text("a  b ", "a b", &[(0, 1), (1, 2), (3, 4)]);
    check_text("ab", "a-b", &[(0, 1), (0, 1), (1, 2)]);
    check_text("ab", "▁ab", &[(0, 1), (0, 1), (1, 2)]);
    check_text("ab", "", &[]);
}

#[test]
fn what_is_not_known_again_stands_for_what_was_there() {
    // Equal numbers of characters map one to one.
    check_text("a漢字b", "a汉子b", &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    check_text("1日 2", "1day 2", &[(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (3, 4)]);
    check_text("漢字", "kan", &[(0, 2), (0, 2), (0, 2)]);
    // In another script, spaces tell the words apart.
    check_text("да не", "da ne", &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    check_text(
        "щи яд",
        "shchi yad",
        &[(0, 2); 5].into_iter().chain([(2, 3)]).chain([(3, 5); 3]).collect::<Vec<_>>(),
    );
}

#[test]
fn a_long_change_leaves_what_is_around_it_in_place() {
    let change = "漢".repeat(60);
    let old = format!("before {change} after {}", "words and more words ".repeat(40));
    let new = old.replace(&change, "x");
    let (_, got) = through(&old, {
        let new = new.clone();
        move |_| Ok(Normalized::Text(new.clone()))
    })
    .unwrap();
    for (i, place) in got.iter().enumerate().filter(|&(i, _)| i != 7) {
        let from = if i < 7 { i } else { i + 59 };
        assert_eq!(*place, (from, from + 1), "{i}");
    }
    assert_eq!(got[7], (7, 67));
}

#[test]
fn pieces_say_themselves_what_they_stand_for() {
    check_pieces(
        "日本 x",
        &[("nihon", 0, 2), (" x", 2, 4)],
        &[(0, 2), (0, 2), (0, 2), (0, 2), (0, 2), (2, 3), (3, 4)],
    );
    // Two pieces may stand for the same characters, or for none.
    check_pieces("éa", &[("e", 0, 1), ("´", 0, 1), ("", 1, 1), ("-", 1, 1)], &[(0, 1), (0, 1), (1, 1)]);
    check_pieces("ab", &[("<", 0, 0), ("ab", 0, 2), (">", 2, 2)], &[(0, 0), (0, 1), (1, 2), (2, 2)]);
}

#[test]
fn pieces_that_cannot_be_are_refused_where_they_stand() {
    let refused = |pieces: &[(&str, usize, usize)]| {
        let pieces: Vec<_> = pieces.iter().map(|&(text, start, end)| (text.to_owned(), start, end)).collect();
        let error = through("éab", move |_| Ok(Normalized::Pieces(pieces.clone()))).unwrap_err();
        let Kind::Hook { name, position, reason } = error.into_kind() else { panic!("another kind") };
        assert_eq!(name.as_deref(), Some("h"));
        (position, reason)
    };
    for (pieces, place, says) in [
        (&[("a", 2, 1)][..], 0, "ends before it starts"),
        (&[("a", 1, 2), ("b", 0, 2)][..], 2, "goes back"),
        (&[("a", 1, 3), ("b", 1, 2)][..], 2, "goes back"),
        (&[("a", 1, 4)][..], 0, "3 characters"),
        (&[("a", 4, 4)][..], 0, "3 characters"),
        (&[("a", 0, usize::MAX)][..], 0, "3 characters"),
    ] {
        let (position, reason) = refused(pieces);
        assert_eq!(position, Some(Place::Byte(place)), "{pieces:?}");
        assert!(reason.contains(says), "{reason}");
    }
}

#[test]
fn an_empty_text_is_not_shown_to_a_hook_and_the_same_text_changes_nothing() {
    assert_eq!(through("", |_| panic!("called")).unwrap(), (String::new(), vec![]));
    let mut hooks = Hooks::default();
    hooks.add_normalizer(name(), |text| Ok(Normalized::Text(text.to_owned())));
    let normalizers = Normalizers::compile(&[Normalizer::Hook(name())], &hooks).unwrap();
    let mut buffers = Default::default();
    let mut told = 0;
    let piece = AlignedText::original("ab", 5);
    let mut ticker = Ticker::new(&Unwatched);
    let mut tell = |_: &str, _: &str| {
        told += 1;
        Ok(())
    };
    let piece = normalizers.apply_telling(piece, &mut buffers, &mut ticker, &mut tell).unwrap();
    assert_eq!((piece.text, piece.span(), told), ("ab", Span::new(5, 7), 0));
}

#[test]
fn a_hook_stands_among_other_steps_and_places_go_through_all_of_them() {
    let mut hooks = Hooks::default();
    hooks.add_normalizer(name(), |text| {
        assert_eq!(text, "xÉ");
        Ok(Normalized::Pieces(vec![("-".to_owned(), 0, 1), ("É".to_owned(), 1, 2)]))
    });
    let steps =
        [Normalizer::Strip { left: true, right: true }, Normalizer::Hook(name()), Normalizer::Lowercase];
    let got = super::through(&Normalizers::compile(&steps, &hooks).unwrap(), "  xÉ ").unwrap();
    assert_eq!(got, ("-é".to_owned(), vec![(2, 3), (3, 4)]));
}

#[test]
fn a_hook_that_is_not_there_is_named() {
    let error = Normalizers::compile(&[Normalizer::Lowercase, Normalizer::Hook(name())], &Hooks::default());
    let error = error.unwrap_err();
    assert_eq!(error.field.to_string(), "[1].name");
    assert!(error.to_string().contains("tokenmill.register_hook(\"h\", function)"), "{error}");
}

#[test]
fn wholly_other_texts_take_linear_time() {
    let long = |unit: &str| unit.repeat((1 << 19) / unit.len());
    for (old, new) in [
        (long("a"), long("漢")),
        (long("a"), long("ab")),
        (long("ab"), long("ba")),
        (long("abc"), long("cab ")),
        (long("é漢"), long("x")),
        ("x".to_owned(), long("xy")),
        (long("xy"), "y".to_owned()),
    ] {
        let count = new.chars().count();
        let (_, places) = through(&old, move |_| Ok(Normalized::Text(new.clone()))).unwrap();
        assert_eq!(places.len(), count);
    }
}

proptest! {
    #[test]
    fn places_cover_and_never_go_back(
        old in "[aAbBéß漢 \u{301}ﬁ]{1,300}",
        new in "[aAbBéßsf漢字 \u{301}]{0,300}",
    ) {
        let made = new.clone();
        let (text, places) = through(&old, move |_| Ok(Normalized::Text(made.clone()))).unwrap();
        prop_assert_eq!(text, new);
        let count = old.chars().count();
        prop_assert!(places.iter().all(|&(start, end)| start < end && end <= count));
        prop_assert!(places.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn what_stays_keeps_its_place_when_others_are_replaced(count in 1u32..400, every in 2usize..9) {
        // Each character occurs once.
        let old: Vec<char> = (0x1_0000..0x1_0000 + count).filter_map(char::from_u32).collect();
        let new: String =
            old.iter().enumerate().map(|(i, &c)| if i % every == 0 { '漢' } else { c }).collect();
        let old: String = old.into_iter().collect();
        let (_, places) = through(&old, move |_| Ok(Normalized::Text(new.clone()))).unwrap();
        let own: Vec<_> = (0..places.len()).map(|i| (i, i + 1)).collect();
        prop_assert_eq!(places, own);
    }
}
