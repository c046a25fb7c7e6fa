//! Texts that grow, compared with encoding each of them at once.
use std::sync::Arc;

use proptest::prelude::*;
use tokenmill_kernels::Prefetcher;

use super::{Appender, GrowingText, Prepender};
use crate::compile::compile;
use crate::description::{AddedToken, Alphabet, BpeDescription, Description, Merges, TokenList};
use crate::engine::{CodeUnits, Engine, Source, Special, Text};
use crate::error::Result;
use crate::pattern::named_splits;
use crate::watch::Unwatched;

const TOKENS: [&str; 24] = [
    "th", "he", "the", " t", " the", "  ", "    ", "\n\n", "12", "123", "'s", "ab", "ba", "aba", "bab",
    "abab", "aa", "aaaa", "\u{e9}x", " A", "AB", "\n ", "!!", "s ",
];

/// A vocabulary with a split. Some tokens begin or end inside characters.
pub(in crate::budget) fn engine(split: &str, whole_pretokens: bool, is_char: bool) -> Arc<Engine> {
    let bytes = (0..=255_u8).map(|byte| vec![byte]);
    let inside = [&b"\xe8\xaa"[..], b"\x9e", b"\xaa\x9e", b"a\xe8", b"\x9e\xe8", b"\x9e\xe8\xaa"];
    let tokens = TOKENS.iter().map(|token| token.as_bytes()).chain(inside).map(<[u8]>::to_vec);
    let tokens: Vec<Vec<u8>> = if is_char {
        let characters = "abehstABx12 '!\n\u{e9}\u{8a9e}".chars().map(|c| c.to_string().into_bytes());
        characters.chain(TOKENS.iter().map(|token| token.as_bytes().to_vec())).collect()
    } else {
        bytes.chain(tokens).collect()
    };
    let mut seen = std::collections::HashSet::new();
    let tokens = tokens.into_iter().filter(|token| seen.insert(token.clone()));
    let list = TokenList::from_entries((0..).zip(tokens).collect());
    let alphabet = if is_char { Alphabet::Chars { end_of_word: None } } else { Alphabet::Bytes };
    let model = BpeDescription::plain(alphabet, list, Merges::ById);
    let model = BpeDescription { whole_pretokens, ..model };
    compile(Description::of_bpe(&named_splits::split_from(split), model)).unwrap().into()
}

/// What is done to a text that grows.
#[derive(Debug, Clone)]
enum Step {
    Push(Vec<u8>),
    /// Cuts the text to this part of its length.
    Cut(prop::sample::Index),
    Snapshot,
    Restore,
}

fn steps(is_text: bool) -> impl Strategy<Value = Vec<Step>> {
    let pieces = "the|'s| |  |\\n|\\r|[0-9]{1,4}|\u{e9}|\u{8a9e}|\u{1F98A}|A|\\.|ab|b|aaaa|\\PC|!!";
    let text = pieces.prop_map(String::into_bytes);
    let piece = if is_text {
        text.boxed()
    } else {
        prop_oneof![
            3 => text,
            1 => prop::collection::vec(prop::sample::select(vec![0xe8, 0xaa, 0x9e, b'a', 0xff, 0xf0, 0x9f]), 1..3),
        ]
        .boxed()
    };
    let step = prop_oneof![
        20 => piece.prop_map(Step::Push),
        2 => any::<prop::sample::Index>().prop_map(Step::Cut),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Restore),
    ];
    prop::collection::vec(step, 0..60)
}

fn check<G: GrowingText>(
    mut grown: G,
    engine: &Engine,
    steps: &[Step],
    is_text: bool,
) -> std::result::Result<(), TestCaseError> {
    let (mut text, mut kept) = (Vec::new(), None);
    // What is stable, and the ids that must stay.
    let mut stable: Vec<(usize, Vec<u32>)> = Vec::new();
    for step in steps {
        match step {
            Step::Push(piece) => {
                let at = if G::AT_START { 0 } else { text.len() };
                text.splice(at..at, piece.iter().copied());
                let piece = match std::str::from_utf8(piece) {
                    Ok(piece) if is_text => Text::Str(piece),
                    _ => Text::Bytes(piece),
                };
                grown.push(piece, &Unwatched).unwrap();
            }
            Step::Cut(at) if is_text => {
                let whole = String::from_utf8(text.clone()).unwrap();
                let count = at.index(whole.chars().count() + 1);
                grown.truncate_characters(count, &Unwatched).unwrap();
                let removed = if G::AT_START { whole.chars().count() - count } else { 0 };
                text = whole.chars().skip(removed).take(count).collect::<String>().into_bytes();
                prop_assert_eq!(grown.characters(), Some(count));
            }
            Step::Cut(at) => {
                let length = at.index(text.len() + 1);
                grown.truncate(length, &Unwatched).unwrap();
                let start = if G::AT_START { text.len() - length } else { 0 };
                text = text[start..start + length].to_vec();
            }
            Step::Snapshot => kept = Some((grown.snapshot(), text.clone())),
            Step::Restore => {
                if let Some((snapshot, then)) = &kept {
                    let can = grown.restore(*snapshot, &Unwatched).is_ok();
                    // It may refuse only where the text then is not there any more.
                    prop_assert!(can || !then.is_empty());
                    if can {
                        text.clone_from(then);
                    }
                }
            }
        }
        prop_assert_eq!(grown.text(), &text);
        let mut want = Vec::new();
        engine.encode(Text::Bytes(&text), &Special::Text, 1, &Unwatched, &mut want).unwrap();
        prop_assert_eq!(grown.count(), want.len());
        prop_assert_eq!(grown.ids(&Unwatched).unwrap(), want.clone());
        if !matches!(step, Step::Push(_)) {
            stable.clear();
        }
        for (_, ids) in &stable {
            let stay = if G::AT_START { want.ends_with(ids) } else { want.starts_with(ids) };
            prop_assert!(stay);
        }
        let (bytes, count) = grown.stable(&Unwatched).unwrap();
        prop_assert!(bytes <= text.len() && count <= want.len());
        let settled = if G::AT_START { &want[want.len() - count..] } else { &want[..count] };
        let spelled: usize = settled.iter().map(|&id| engine.vocabulary().decoded(id).unwrap().len()).sum();
        prop_assert_eq!(spelled, bytes);
        stable.push((bytes, settled.to_vec()));
    }
    Ok(())
}

/// The same text as code units of 16 bits, of which a part of a character is U+FFFD.
struct Sixteen(Vec<u16>);

impl CodeUnits for Sixteen {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> usize {
        3 * self.0.len()
    }

    fn append(&self, units: std::ops::Range<usize>, text: &mut String) -> Result<usize> {
        let mut end = units.start;
        for unit in char::decode_utf16(self.0[units.start..].iter().copied()) {
            if end >= units.end {
                break;
            }
            let char = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
            text.push(char);
            end += char.len_utf16();
        }
        Ok(end)
    }

    fn ahead(&self, from: usize) -> Prefetcher {
        Prefetcher::new(&self.0[from..])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn counting_stops_at_the_limit(
        split in prop::sample::select(vec!["gpt2", "cl100k", "o200k", "none", r"(?:a|b)++c|(?s:.)"]),
        pieces in prop::collection::vec(("the|'s| |\\n|[0-9]{1,4}|\u{e9}|\u{8a9e}|ab|<s>|<|s>|\\PC", 1..40_usize), 0..60),
        special in prop::sample::select(vec![Special::Text, Special::Parse, Special::Raise]),
        near in -3..4_isize,
        tail in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let engine = engine(split, false, false);
        let added = vec![AddedToken::special(9_000, "<s>"), AddedToken::special(9_001, "<s>the")];
        let description = Description { added_tokens: added, ..engine.description().clone() };
        let engine = compile(description).unwrap();
        let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        let bytes = [text.as_bytes(), &tail].concat();
        let units = Sixteen(text.encode_utf16().collect());
        let sources = [
            (Source::Text(Text::Str(&text)), text.as_bytes()),
            (Source::Text(Text::Bytes(&bytes)), &bytes[..]),
            (Source::Units(&units), text.as_bytes()),
        ];
        for (source, bytes) in sources {
            let whole = engine.count(Text::Bytes(bytes), &special, 1, &Unwatched);
            let limit = whole.as_ref().map_or(9, |&count| count.saturating_add_signed(near));
            let found = engine.count_till_limit(source, &special, false, limit, &Unwatched);
            match (whole, found) {
                (Ok(count), Ok(found)) => prop_assert_eq!(found, Some(count).filter(|&count| count <= limit)),
                // A special token after the limit is not seen.
                (Err(_), Ok(found)) => prop_assert_eq!(found, None),
                (Err(whole), Err(found)) => prop_assert_eq!(whole.to_string(), found.to_string()),
                (Ok(_), Err(error)) => prop_assert!(false, "{}", error),
            }
        }
    }

    #[test]
    fn a_text_that_grows_has_the_ids_of_the_whole(
        split in prop::sample::select(vec!["gpt2", "cl100k", "o200k", "none", "whitespace", r"\p{Lu}+", r"(?:a|b)++c|(?s:.)"]),
        whole_pretokens in any::<bool>(),
        steps in steps(true),
    ) {
        let engine = engine(split, whole_pretokens, false);
        check(Appender::new(engine.clone(), Special::Text).unwrap(), &engine, &steps, true)?;
        check(Prepender::new(engine.clone(), Special::Text).unwrap(), &engine, &steps, true)?;
    }

    #[test]
    fn so_do_bytes_that_grow(
        split in prop::sample::select(vec!["gpt2", "cl100k", "none"]),
        whole_pretokens in any::<bool>(),
        steps in steps(false),
    ) {
        let engine = engine(split, whole_pretokens, false);
        check(Appender::new(engine.clone(), Special::Text).unwrap(), &engine, &steps, false)?;
        check(Prepender::new(engine.clone(), Special::Text).unwrap(), &engine, &steps, false)?;
    }
}

/// A space without a token of its own becomes a byte token, which comes before unknown text that waits for its
/// neighbour.
#[test]
fn byte_tokens_after_unknown_text_are_no_cut() {
    let tokens = ["<unk>", "<0x20>", "x"].map(|token| token.as_bytes().to_vec());
    let tokens = TokenList::from_entries((0..).zip(tokens).collect());
    let plain = BpeDescription::plain(Alphabet::Chars { end_of_word: None }, tokens, Merges::listed(vec![]));
    let model = BpeDescription { unk: Some(0), fuse_unk: true, byte_fallback: true, ..plain };
    let engine = compile(Description::of_bpe(&named_splits::split_from("none"), model)).unwrap();
    let mut ids = Vec::new();
    let text = Text::Str("\u{904} x");
    engine.encode(text, &Special::Parse, 1, &Unwatched, &mut ids).unwrap();
    assert_eq!(ids, [1, 0, 2]);
    assert!(!engine.has_text_cuts());
}
