use super::*;
use crate::aligned::Rewritten;
use crate::description::HookName;
use crate::hooks::Cuts;

fn name() -> HookName {
    HookName::Unnamed(7)
}

fn hooks(function: impl Fn(&str) -> Cuts + Send + Sync + 'static) -> Hooks {
    let mut hooks = Hooks::default();
    hooks.add_splitter(name(), move |text| Ok(function(text)));
    hooks
}

fn cut_by(cuts: Cuts, text: &str) -> Result<Found> {
    let hooks = hooks(move |_| cuts.clone());
    found(&PreTokenizers::compile(&[PreTokenizer::Hook(name())], &hooks)?, AlignedText::original(text, 10))
}

fn pieces(pieces: &[&str]) -> Cuts {
    Cuts::Pieces(pieces.iter().map(|&piece| piece.to_owned()).collect())
}

fn want(parts: &[(&str, usize, usize)]) -> Found {
    parts.iter().map(|&(text, start, end)| (text.to_owned(), start, end)).collect()
}

#[test]
fn spans_are_characters_and_what_is_between_them_is_left_out() {
    let got = cut_by(Cuts::Spans(vec![(0, 2), (2, 2), (3, 4), (4, 4)]), "é漢 x").unwrap();
    assert_eq!(got, want(&[("é漢", 10, 15), ("x", 16, 17)]));
    assert_eq!(cut_by(Cuts::Spans(vec![]), "ab").unwrap(), want(&[]));
}

#[test]
fn pieces_are_looked_for_in_order() {
    let got = cut_by(pieces(&["東京", "", "に", "行く"]), "東京 に行く").unwrap();
    assert_eq!(got, want(&[("東京", 10, 16), ("に", 17, 20), ("行く", 20, 26)]));
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    for (cuts, place, says) in [
        (Cuts::Spans(vec![(2, 1)]), 10, "ends before it starts"),
        (Cuts::Spans(vec![(0, 2), (1, 3)]), 13, "starts before the end of the one before it, 2"),
        (Cuts::Spans(vec![(0, 4)]), 10, "3 characters"),
        (Cuts::Spans(vec![(0, 1), (4, 4)]), 12, "3 characters"),
        (Cuts::Spans(vec![(0, usize::MAX)]), 10, "3 characters"),
        (pieces(&["é", "b", "a"]), 14, "piece 2, \"a\", does not stand"),
    ] {
        let error = cut_by(cuts.clone(), "éab").unwrap_err();
        let Kind::Hook { name: None, position, reason } = error.into_kind() else { panic!("another kind") };
        assert_eq!(position, Some(Place::Byte(place)), "{cuts:?}");
        assert!(reason.contains(says), "{reason}");
    }
}

#[test]
fn places_are_the_callers_after_a_step_that_rewrites() {
    let hooks = hooks(|text| {
        assert_eq!(text, "▁ab▁c");
        Cuts::Spans(vec![(0, 2), (2, 3), (4, 5)])
    });
    let metaspace =
        PreTokenizer::Metaspace { replacement: '▁', prepend: PrependScheme::Always, split: false };
    let steps = PreTokenizers::compile(&[metaspace, PreTokenizer::Hook(name())], &hooks).unwrap();
    let got = found(&steps, AlignedText::original("ab c", 0)).unwrap();
    assert_eq!(got, want(&[("▁a", 0, 1), ("b", 1, 2), ("c", 3, 4)]));
}

#[test]
fn an_error_of_a_hook_has_a_place_only_where_there_is_one() {
    let mut text = Rewritten::default();
    text.start(AlignedText { text: "ab", origins: crate::aligned::Origins::Untracked });
    text.put("ab", AlignedText { text: "ab", origins: crate::aligned::Origins::Untracked }, Span::new(0, 2));
    let hooks = hooks(|_| Cuts::Spans(vec![(2, 1)]));
    let steps = PreTokenizers::compile(&[PreTokenizer::Hook(name())], &hooks).unwrap();
    let error = found(&steps, text.piece()).unwrap_err();
    assert!(matches!(error.kind, Kind::Hook { position: None, .. }), "{error}");
}
