//! Symbols that are characters, with every field of the description.
use proptest::prelude::*;
use proptest::sample::Index;
use tokenmill_reference::{Chars, encode_wide};

use super::{Compiled, ends_of, token_list};
use crate::description::{Alphabet, BpeDescription, EndOfWord, EndOfWordForm, Merge, Merges};
use crate::error::{Kind, Place};
use crate::ids::to_u32;

const CHARS: [char; 4] = ['a', 'b', 'é', '#'];

/// A random model, for the library and for the twin.
#[derive(Debug, Clone)]
struct Model {
    chars: Chars,
    merges: Vec<(usize, usize, usize)>,
    whole_pretokens: bool,
}

impl Model {
    fn compile(&self) -> Compiled {
        let Chars { tokens, prefix, suffix, unk, fuse_unk, byte_fallback } = &self.chars;
        let end_of_word =
            (!suffix.is_empty()).then(|| EndOfWord { symbol: suffix.clone(), form: EndOfWordForm::Suffix });
        let merge = |&(left, right, result): &(usize, usize, usize)| Merge {
            left: to_u32(left),
            right: to_u32(right),
            result: to_u32(result),
        };
        let merges = Merges::listed(self.merges.iter().map(merge));
        Compiled::new(BpeDescription {
            whole_pretokens: self.whole_pretokens,
            unk: unk.map(to_u32),
            fuse_unk: *fuse_unk,
            byte_fallback: *byte_fallback,
            continuing_prefix: Some(prefix.clone()).filter(|prefix| !prefix.is_empty()),
            ..BpeDescription::plain(Alphabet::Chars { end_of_word }, token_list(tokens), merges)
        })
    }

    /// The result by the definition; the error is the place of a character that no token stands for.
    fn twin(&self, text: &str) -> Result<(Vec<u32>, Vec<u32>), usize> {
        let whole = self.chars.tokens.iter().position(|token| token == text);
        if let (true, Some(token)) = (self.whole_pretokens, whole) {
            return Ok((vec![to_u32(token)], vec![to_u32(text.len())]));
        }
        let merged = encode_wide(&self.chars.symbols(text)?, &self.merges);
        let ids = merged.iter().map(|&(symbol, _)| to_u32(symbol)).collect();
        Ok((ids, ends_of(merged.iter().map(|&(_, width)| width))))
    }
}

fn models() -> impl Strategy<Value = Model> {
    let marks = (prop::sample::select(vec!["", "#", "##"]), prop::sample::select(vec!["", "</", "é"]));
    let flags = any::<[bool; 4]>();
    let present = prop::collection::vec(prop::bool::weighted(0.7), 64);
    let picks = prop::collection::vec((any::<Index>(), any::<Index>()), 0..24);
    (marks, flags, present, picks).prop_map(|((prefix, suffix), flags, present, picks)| {
        let [has_unk, fuse_unk, byte_fallback, whole_pretokens] = flags;
        let mut present = present.into_iter();
        let mut is_there = move || present.next() == Some(true);
        let mut tokens: Vec<String> = Vec::new();
        let add = |token: String, tokens: &mut Vec<String>| {
            tokens.iter().position(|other| *other == token).unwrap_or_else(|| {
                tokens.push(token);
                tokens.len() - 1
            })
        };
        let unk = has_unk.then(|| add("<unk>".to_owned(), &mut tokens));
        for char in CHARS {
            for form in [
                format!("{char}"),
                format!("{prefix}{char}"),
                format!("{char}{suffix}"),
                format!("{prefix}{char}{suffix}"),
            ] {
                if is_there() {
                    add(form, &mut tokens);
                }
            }
        }
        for byte in "abé#z</".bytes() {
            if is_there() {
                add(format!("<0x{byte:02X}>"), &mut tokens);
            }
        }
        let mut merges: Vec<(usize, usize, usize)> = Vec::new();
        for (left, right) in picks {
            if tokens.is_empty() {
                break;
            }
            let (left, right) = (left.index(tokens.len()), right.index(tokens.len()));
            let Some(rest) = tokens[right].strip_prefix(prefix).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            if merges.iter().any(|&(a, b, _)| (a, b) == (left, right)) {
                continue;
            }
            let result = add(format!("{}{rest}", tokens[left]), &mut tokens);
            merges.push((left, right, result));
        }
        let (prefix, suffix) = (prefix.to_owned(), suffix.to_owned());
        Model {
            chars: Chars { tokens, prefix, suffix, unk, fuse_unk, byte_fallback },
            merges,
            whole_pretokens,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn every_field_means_what_the_definition_says(
        model in models(),
        texts in prop::collection::vec("[abé#z]{1,8}|[ab]{60,120}", 8),
    ) {
        let compiled = model.compile();
        for text in texts {
            match (compiled.spell(&text), model.twin(&text)) {
                (Ok(ours), Ok(want)) => prop_assert_eq!(ours, want, "{}", text),
                (Err(error), Err(at)) => match error.into_kind() {
                    Kind::UnknownToken { position, .. } => prop_assert_eq!(position, Place::Byte(at)),
                    other => prop_assert!(false, "{:?}", other),
                },
                (ours, want) => prop_assert!(false, "{:?} is not {:?} for {}", ours, want, text),
            }
        }
    }
}

fn chars(tokens: &[&str], merges: &[(u32, u32, u32)]) -> BpeDescription {
    let merges = merges.iter().map(|&(left, right, result)| Merge { left, right, result });
    BpeDescription::plain(Alphabet::Chars { end_of_word: None }, token_list(tokens), Merges::listed(merges))
}

#[test]
fn the_bytes_of_a_character_end_within_it() {
    let model = BpeDescription { byte_fallback: true, ..chars(&["a", "<0xC3>", "<0xA9>"], &[]) };
    assert_eq!(Compiled::new(model).spell("aéa").unwrap(), (vec![0, 1, 2, 0], vec![1, 2, 3, 4]));
}

#[test]
fn the_bytes_of_marks_stand_for_nothing_in_the_text() {
    let tokens = ["a", "<0x23>", "<0xC3>", "<0xA9>", "<0x2F>"];
    let end_of_word = Some(EndOfWord { symbol: "/".to_owned(), form: EndOfWordForm::Suffix });
    let model = BpeDescription {
        byte_fallback: true,
        continuing_prefix: Some("#".to_owned()),
        alphabet: Alphabet::Chars { end_of_word },
        ..chars(&tokens, &[])
    };
    let ours = Compiled::new(model).spell("aé").unwrap();
    assert_eq!(ours, (vec![0, 1, 2, 3, 4], vec![1, 1, 2, 3, 3]));
}

#[test]
fn special_tokens_never_come_out_of_a_text() {
    let model = BpeDescription { unk: Some(3), ..chars(&["a", "b", "ab", "?"], &[(0, 1, 2)]) };
    let free = Compiled::new(model.clone());
    assert_eq!(free.spell("ab").unwrap().0, [2]);
    let bound =
        Compiled::with_special(BpeDescription { whole_pretokens: true, ..model.clone() }, &[(2, "ab")]);
    assert_eq!(bound.spell("ab").unwrap().0, [0, 1]);
    let bound = Compiled::with_special(model, &[(0, "a")]);
    assert_eq!(bound.spell("ab").unwrap().0, [3, 1]);
    let bytes =
        BpeDescription { alphabet: Alphabet::Bytes, merges: Merges::ById, ..chars(&["a", "b", "ab"], &[]) };
    let bound = Compiled::with_special(bytes, &[(2, "ab")]);
    assert_eq!(bound.spell("ab").unwrap().0, [0, 1]);
}

#[test]
fn a_byte_that_is_no_symbol_is_spelled_as_it_is_written() {
    // Byte 0x20 is written U+0120, which is C4 A0 in UTF-8.
    let tokens = ["a", "<0xC4>", "<0xA0>", "<unk>"];
    let model = BpeDescription {
        byte_fallback: true,
        unk: Some(3),
        alphabet: Alphabet::Bytes,
        ..chars(&tokens, &[])
    };
    assert_eq!(Compiled::new(model).spell("a b").unwrap(), (vec![0, 1, 2, 3], vec![1, 2, 2, 3]));
}

#[test]
fn merges_by_id_go_over_marked_characters_too() {
    let tokens = ["a", "##b", "##c", "ab", "##bc", "abc"];
    let model = BpeDescription {
        continuing_prefix: Some("##".to_owned()),
        merges: Merges::ById,
        ..chars(&tokens, &[])
    };
    let compiled = Compiled::new(model);
    assert_eq!(compiled.spell("abc").unwrap(), (vec![5], vec![3]));
    assert_eq!(compiled.spell("abbc").unwrap(), (vec![3, 4], vec![2, 4]));
}
