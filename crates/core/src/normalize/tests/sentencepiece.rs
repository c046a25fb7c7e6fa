use std::sync::Arc;

use proptest::prelude::*;

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

/// Normalizes place by place.
fn by_places(rules: &SentencePieceRules, keys: &[(String, String)], text: &str) -> String {
    let place = |rest: &str| -> (usize, String) {
        let symbols = rules.user_defined.iter().filter(|symbol| rest.starts_with(symbol.as_str()));
        if let Some(symbol) = symbols.max_by_key(|symbol| symbol.len()) {
            return (symbol.len(), symbol.clone());
        }
        let found = keys.iter().filter(|(key, _)| rest.starts_with(key.as_str()));
        let first = rest.chars().next().unwrap();
        found
            .max_by_key(|(key, _)| key.len())
            .map_or_else(|| (first.len_utf8(), first.to_string()), |(key, new)| (key.len(), new.clone()))
    };
    let space = if rules.escape_whitespaces { "▁" } else { " " };
    let (mut at, mut normalized) = (0, String::new());
    while rules.remove_extra_whitespaces && at < text.len() && place(&text[at..]).1 == " " {
        at += place(&text[at..]).0;
    }
    if at == text.len() {
        return normalized;
    }
    if rules.add_dummy_prefix && !rules.treat_whitespace_as_suffix {
        normalized.push_str(space);
    }
    let mut follows_space = rules.remove_extra_whitespaces;
    while at < text.len() {
        let (length, new) = place(&text[at..]);
        let new = if follows_space { new.trim_start_matches(' ') } else { &new };
        normalized.push_str(&new.replace(' ', space));
        follows_space =
            rules.remove_extra_whitespaces && if new.is_empty() { follows_space } else { new.ends_with(' ') };
        at += length;
    }
    while rules.remove_extra_whitespaces && normalized.ends_with(space) {
        normalized.truncate(normalized.len() - space.len());
    }
    if rules.add_dummy_prefix && rules.treat_whitespace_as_suffix {
        normalized.push_str(space);
    }
    normalized
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_is_kept_at_once_is_what_is_kept_place_by_place(
        keys in prop::collection::btree_map("[abc é\u{301}▁中]{1,3}", prop_oneof!["[a é▁]{0,2}", Just(" ".to_owned())], 0..5),
        symbols in prop::collection::vec("[ab é中]{1,2}", 0..2),
        flags in any::<[bool; 5]>(),
        texts in prop::collection::vec("[abc é\u{301}▁中]{0,12}", 1..8),
    ) {
        let keys: Vec<(String, String)> = keys.into_iter().collect();
        let entries: Vec<(&str, &str)> = keys.iter().map(|(key, new)| (&**key, &**new)).collect();
        let rules = SentencePieceRules {
            charsmap: if keys.is_empty() { Arc::default() } else { blob(&entries).into() },
            user_defined: if flags[0] { symbols } else { Vec::new() },
            add_dummy_prefix: flags[1],
            remove_extra_whitespaces: flags[2],
            escape_whitespaces: flags[3],
            treat_whitespace_as_suffix: flags[4],
        };
        let normalizers = compiled(&[Normalizer::SentencePiece(rules.clone())]).unwrap();
        for text in &texts {
            let want = by_places(&rules, &keys, text);
            for origins in [Origins::Same(0), Origins::Untracked] {
                let mut buffers = Default::default();
                let piece = AlignedText { text, origins };
                let got = normalizers.apply(piece, &mut buffers, &mut Ticker::new(&Unwatched)).unwrap();
                prop_assert_eq!(got.text, &want, "{:?} {:?}", text, &rules);
            }
        }
    }
}
