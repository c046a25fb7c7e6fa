//! The verdict against brute force: all texts up to a length, by the naive rule, and every pair of tokens.
use std::collections::BTreeSet;

use super::merges::{Outcome, compare as compare_merges};
use super::trees::Trees;
use super::{Call, Proof, Witness, compare, shrink};
use crate::compile::compile;
use crate::description::{
    AddedToken, Alphabet, BpeDescription, Decoder, Decoding, Description, Merge, Merges, ModelDescription,
    Normalizer, PostProcessor, Split, Template, TemplatePiece, TokenList,
};
use crate::engine::{Engine, Special, Text};
use crate::ids::{TokenId, to_u32};
use crate::watch::{Ticker, Unwatched};

/// The large tests run in full only if this is set.
fn is_slow() -> bool {
    std::env::var_os("TOKENMILL_SLOW").is_some()
}

/// The pairs of vocabularies that are compared.
fn pairs() -> u64 {
    if is_slow() { 5_000 } else { 40 }
}

/// The length of the texts that are all tried.
fn longest() -> u32 {
    if is_slow() { 8 } else { 6 }
}

/// A row of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// Merges by the bytes of their parts, in order of rank.
type List = Vec<[Vec<u8>; 2]>;

/// Random merges over three letters, and the same list after a change.
fn lists(random: &mut Random) -> (List, List) {
    let mut tokens: Vec<Vec<u8>> = [b"a", b"b", b"c"].map(|letter| letter.to_vec()).to_vec();
    let mut list: List = Vec::new();
    for _ in 0..3 + random.below(10) {
        let parts = [tokens[random.below(tokens.len())].clone(), tokens[random.below(tokens.len())].clone()];
        let joined = parts.concat();
        if joined.len() <= 6 && !tokens.contains(&joined) {
            tokens.push(joined);
            list.push(parts);
        }
    }
    let mut other = list.clone();
    for _ in 0..=random.below(2) {
        if other.is_empty() {
            break;
        }
        let (at, to) = (random.below(other.len()), random.below(other.len()));
        match random.below(6) {
            // Neighbouring ranks.
            0..=2 if at + 1 < other.len() => other.swap(at, at + 1),
            // A token of other parts.
            3 => {
                let token = other[at].concat();
                let (left, right) = token.split_at(1 + random.below(token.len() - 1));
                if [left, right].iter().all(|part| tokens.iter().any(|token| token == part)) {
                    other[at] = [left.to_vec(), right.to_vec()];
                }
            }
            4 => drop(other.remove(at)),
            _ => {
                let moved = other.remove(at);
                other.insert(to.min(other.len()), moved);
            }
        }
    }
    (list, other)
}

/// A tokenizer of these merges; `tokens` has every token of both lists.
fn engine(list: &List, tokens: &[Vec<u8>], whole_pretokens: bool) -> Engine {
    let id = |bytes: &Vec<u8>| to_u32(tokens.iter().position(|token| token == bytes).unwrap());
    let merge = |parts: &[Vec<u8>; 2]| Merge {
        left: id(&parts[0]),
        right: id(&parts[1]),
        result: id(&parts.concat()),
    };
    let merges = Merges::listed(list.iter().map(merge).collect::<Vec<_>>());
    let model = BpeDescription {
        whole_pretokens,
        ..BpeDescription::plain(
            Alphabet::Bytes,
            TokenList::from_entries((0..).zip(tokens.to_vec()).collect()),
            merges,
        )
    };
    compile(Description::of_bpe(&Split::Whole, model)).unwrap()
}

fn tokens_of(lists: [&List; 2]) -> Vec<Vec<u8>> {
    let bytes = (0..=255).map(|byte| vec![byte]);
    let products: BTreeSet<Vec<u8>> = lists.into_iter().flatten().map(|parts| parts.concat()).collect();
    bytes.chain(products).collect()
}

/// The rule as it is written: of all neighbours that merge the lowest rank, the leftmost first.
fn merge_naively(list: &List, text: &[u8]) -> Vec<Vec<u8>> {
    let mut row: Vec<Vec<u8>> = text.iter().map(|&byte| vec![byte]).collect();
    loop {
        let rank = |pair: &[Vec<u8>]| list.iter().position(|parts| parts == pair);
        let Some((_, at)) = row.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(pair)?, at))).min()
        else {
            return row;
        };
        let right = row.remove(at + 1);
        row[at].extend(right);
    }
}

fn all_texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut last = texts.clone();
    for _ in 0..longest() {
        last = last.iter().flat_map(|text| ["a", "b", "c"].map(|letter| format!("{text}{letter}"))).collect();
        texts.extend(last.iter().cloned());
    }
    texts
}

fn ids(engine: &Engine, text: &str, call: Call) -> Vec<TokenId> {
    let special = if call == Call::Text { Special::Text } else { Special::Parse };
    let mut ids = Vec::new();
    engine.encode(Text::Str(text), &special, 1, &Unwatched, &mut ids).unwrap();
    ids
}

/// Is the text one for which the two differ, and no longer if a character is left out?
fn check_text(a: &Engine, b: &Engine, text: &str, call: Call) {
    assert_ne!(ids(a, text, call), ids(b, text, call), "{text:?}");
    for (at, char) in text.char_indices() {
        let rest = [&text[..at], &text[at + char.len_utf8()..]].concat();
        assert_eq!(ids(a, &rest, call), ids(b, &rest, call), "{text:?} without the character at {at}");
    }
}

#[test]
fn the_verdict_on_small_vocabularies_is_never_wrong() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let texts = all_texts();
    let (mut same, mut different, mut unknown) = (0, 0, 0);
    for number in 0..pairs() {
        let (list_a, list_b) = lists(random);
        let tokens = tokens_of([&list_a, &list_b]);
        let whole = random.below(5) == 0;
        let (a, b) = (engine(&list_a, &tokens, whole), engine(&list_b, &tokens, whole));
        for (a, b) in [(&a, &b), (&b, &a)] {
            let found = compare(a, b, [], &Unwatched).unwrap();
            match (&found.proof, &found.witness) {
                (Some(_), None) => same += 1,
                (None, Some(Witness::Text { text, call })) => {
                    check_text(a, b, text, *call);
                    different += 1;
                    continue;
                }
                (None, None) => unknown += 1,
                other => panic!("{number}: {other:?}"),
            }
            // Neither is it said of the same that they differ, nor the reverse; what is unknown is left alone.
            let spell = |list: &List, text: &str| merge_naively(list, text.as_bytes());
            let taken = |list: &List, text: &str| {
                let is_token = whole && tokens.iter().any(|token| token == text.as_bytes());
                if is_token { vec![text.as_bytes().to_vec()] } else { spell(list, text) }
            };
            for text in &texts {
                assert_eq!(taken(&list_a, text), taken(&list_b, text), "{number}: {text}");
            }
        }
    }
    assert!(same > pairs() / 8 && different > pairs() / 8, "{same} same, {different} different");
    // Only merges that are not canonical have no proof.
    assert!(unknown * 10 < 2 * pairs(), "{unknown} unknown");
}

#[test]
fn pairs_of_tokens_stay_apart_as_they_do_when_they_are_merged() {
    let random = &mut Random(0x2545_f491_4f6c_dd1d);
    let (mut same, mut differ) = (0, 0);
    for number in 0..pairs() * 2 {
        let (list_a, list_b) = lists(random);
        let tokens = tokens_of([&list_a, &list_b]);
        let engines = [engine(&list_a, &tokens, false), engine(&list_b, &tokens, false)];
        let list = TokenList::from_entries((0..).zip(tokens.clone()).collect());
        let trees = engines.each_ref().map(|engine| {
            Some(Trees::new(&engine.model().as_bpe()?.canonical()?.in_order(), &list).unwrap())
        });
        let [Some(a), Some(b)] = trees else { continue };
        // The bytes that no merge has are all alike.
        let known: Vec<u32> = (0..to_u32(tokens.len()))
            .filter(|&i| i >= 256 || b"abcz".contains(&tokens[i as usize][0]))
            .collect();
        let apart = |trees: &Trees, merges: &List| -> BTreeSet<(u32, u32)> {
            let mut apart = BTreeSet::new();
            for &x in &known {
                for &y in &known {
                    let (left, right) = (&tokens[x as usize], &tokens[y as usize]);
                    let are_apart = merge_naively(merges, &[left.as_slice(), right].concat())
                        == [left.clone(), right.clone()];
                    assert_eq!(trees.stay_apart(x, y), are_apart, "{number}: {merges:?} {left:?} {right:?}");
                    apart.extend(are_apart.then_some((x, y)));
                }
            }
            apart
        };
        let (apart_a, apart_b) = (apart(&a, &list_a), apart(&b, &list_b));
        let made = |trees: &Trees| {
            known.iter().copied().filter(|&token| trees.makes(token)).collect::<BTreeSet<_>>()
        };
        let want = made(&a).is_subset(&made(&b)) && apart_a.is_subset(&apart_b);
        let mut found = Vec::new();
        let collect = &mut |x, y| {
            found.push((x, y));
            Ok(false)
        };
        let outcome = compare_merges(&a, &b, collect, &mut Ticker::new(&Unwatched)).unwrap();
        assert_eq!(
            outcome,
            if want { Outcome::Same } else { Outcome::Differ },
            "{number}: {list_a:?} {list_b:?}"
        );
        for (x, y) in found {
            match y {
                Some(y) => assert!(apart_a.contains(&(x, y)) && !apart_b.contains(&(x, y)), "{number}"),
                None => assert!(a.makes(x) && !b.makes(x), "{number}"),
            }
        }
        if want { same += 1 } else { differ += 1 }
    }
    assert!(same > pairs() / 4 && differ > pairs() / 4, "{same} {differ}");
}

#[test]
fn what_is_shrunk_holds_and_nothing_of_it_can_go() {
    let random = &mut Random(77);
    for _ in 0..200 {
        let items: Vec<usize> = (0..random.below(40)).map(|_| random.below(4)).collect();
        let (wanted, number) = (random.below(4), random.below(4));
        let mut holds = |items: &[usize]| Ok(items.iter().filter(|&&item| item == wanted).count() >= number);
        if !holds(&items).unwrap() {
            continue;
        }
        let left = shrink::shrink(items, &mut holds).unwrap();
        assert_eq!(left, vec![wanted; number]);
    }
    assert_eq!(shrink::shrink_text("xéyé", |text| Ok(text.contains('é'))).unwrap(), "é");
}

fn letters() -> Description {
    engine(&Vec::new(), &tokens_of([&Vec::new(), &Vec::new()]), false).description().clone()
}

fn compared(a: Description, b: Description) -> (Engine, Engine, super::Comparison) {
    let (a, b) = (compile(a).unwrap(), compile(b).unwrap());
    let found = compare(&a, &b, [], &Unwatched).unwrap();
    (a, b, found)
}

#[test]
fn equal_descriptions_and_steps_without_effect_are_the_same() {
    let idle = Description { normalizer: vec![Normalizer::Prepend(String::new())], ..letters() };
    for (a, b) in [(letters(), letters()), (letters(), idle.clone()), (idle, letters())] {
        let (_, _, found) = compared(a, b);
        assert_eq!((found.proof, found.witness), (Some(Proof::Descriptions), None));
    }
}

#[test]
fn templates_that_add_nothing_and_flags_without_a_normalizer_are_the_same() {
    let sequence = |second| TemplatePiece::Sequence { second, type_id: u32::from(second) };
    let single = vec![sequence(false)];
    let pair = vec![sequence(false), sequence(true)];
    let with = |pair| Description {
        post_processor: vec![PostProcessor::Template(Template {
            single: single.clone(),
            pair,
            ..Default::default()
        })],
        ..letters()
    };
    let (_, _, found) = compared(letters(), with(pair.clone()));
    assert_eq!((found.proof, found.witness), (Some(Proof::Descriptions), None));
    let (_, _, found) = compared(letters(), with(pair.into_iter().rev().collect()));
    assert!(matches!(found.witness, Some(Witness::Text { call: Call::Pair, .. })));

    let tokens = |normalized, literals: [&str; 2]| {
        let [first, second] = [256, 257].map(|id| AddedToken::special(id, literals[id as usize - 256]));
        Description { added_tokens: vec![AddedToken { normalized, ..first }, second], ..letters() }
    };
    let (_, _, found) = compared(tokens(false, ["<s>", "</s>"]), tokens(true, ["<s>", "</s>"]));
    assert_eq!((found.proof, found.witness), (Some(Proof::Descriptions), None));
    // Of two that overlap, the one that is not normalized is found first.
    let (a, b, found) = compared(tokens(false, ["ab", "bc"]), tokens(true, ["ab", "bc"]));
    let Some(Witness::Text { text, call }) = found.witness else { panic!("{found:?}") };
    check_text(&a, &b, &text, call);
    assert_eq!(text, "abc");
}

#[test]
fn lists_with_more_ways_to_merge_and_ids_are_the_same() {
    let parts = |left: &str, right: &str| [left, right].map(|part| part.as_bytes().to_vec());
    let every_way = vec![parts("a", "b"), parts("b", "c"), parts("ab", "c"), parts("a", "bc")];
    let tokens = tokens_of([&every_way, &Vec::new()]);
    let of = |list: &List| engine(list, &tokens, false).description().clone();
    let mut by_id = of(&Vec::new());
    if let ModelDescription::Bpe(model) = &mut by_id.model {
        (model.merges, model.whole_pretokens) = (Merges::ById, true);
    }
    let (_, _, found) = compared(by_id.clone(), of(&every_way));
    assert_eq!((found.proof, found.witness), (Some(Proof::Merges), None));
    // In another order, and without the last merge, "abc" has other ids.
    let swapped = [1, 0, 2].map(|at: usize| every_way[at].clone());
    let (a, b, found) = compared(by_id, of(&swapped.to_vec()));
    let Some(Witness::Text { text, call }) = found.witness else { panic!("{found:?}") };
    check_text(&a, &b, &text, call);
}

#[test]
fn each_stage_that_differs_has_a_witness() {
    let other = Description { normalizer: vec![Normalizer::Lowercase], ..letters() };
    let (a, b, found) = compared(letters(), other);
    let Some(Witness::Text { text, call }) = found.witness else { panic!("{found:?}") };
    check_text(&a, &b, &text, call);
    assert_eq!(text.chars().count(), 1);

    let other = Description { added_tokens: vec![AddedToken::special(256, "<s>")], ..letters() };
    let (a, b, found) = compared(other, letters());
    let Some(Witness::Text { text, call }) = found.witness else { panic!("{found:?}") };
    check_text(&a, &b, &text, call);
    assert_eq!((text.as_str(), call), ("<s>", Call::Parsed));

    let steps = |decoder: Decoder| Description {
        decoding: Decoding::Steps(vec![decoder, Decoder::Fuse]),
        ..letters()
    };
    let strip = Decoder::Strip { content: 'a', start: 1, stop: 0 };
    let (a, b, found) = compared(steps(Decoder::Fuse), steps(strip));
    let Some(Witness::Ids { ids, skip_special }) = found.witness else { panic!("{found:?}") };
    let decode = |engine: &Engine| {
        let options = crate::engine::DecodeOptions { skip_special, ..Default::default() };
        engine.decode(&ids, options, &Unwatched).unwrap()
    };
    assert_ne!(decode(&a), decode(&b));
    assert_eq!(ids, [97]);
}

#[test]
fn texts_that_were_given_are_tried_first() {
    let (a, b) = (
        compile(letters()).unwrap(),
        compile(Description { normalizer: vec![Normalizer::Lowercase], ..letters() }).unwrap(),
    );
    let found = compare(&a, &b, ["nothing here", "but X here"], &Unwatched).unwrap();
    assert_eq!(found.witness, Some(Witness::Text { text: "X".to_owned(), call: Call::Text }));
    assert_eq!(found.tried, [("texts that were given", 2)]);
}
