//! Canonical merges, in each form in which they are applied, and cuts, compared with the naive rule over all pairs.
use proptest::prelude::*;
use proptest::sample::Index;
use tokenmill_kernels::batch_merge::{Narrow, Wide, Widest, Width, wide_input, widest_input};
use tokenmill_kernels::short_table::key_at;

use super::{Compiled, merge_naively};
use crate::description::{Alphabet, BpeDescription, Description, Merge, Merges, Split, TokenList};
use crate::ids::{TokenId, to_u32};
use crate::model::bpe::canonical::table::SymbolTable;
use crate::model::bpe::canonical::windows;
use crate::model::bpe::{Bpe, BpeScratch, heap};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

/// Letters, characters of several bytes, and a byte that no character begins or continues with.
const ATOMS: [&[u8]; 10] =
    [b"a", b"b", b"c", "中".as_bytes(), "文".as_bytes(), "é".as_bytes(), b"\xb8", b"\xe4", b"\x96", b"\xff"];

/// How the tokens of a vocabulary are made from random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// Joins two tokens that were made before.
    joined: Vec<(Index, Index)>,
    /// Swaps tokens, so that some rank before their parts.
    swapped: Vec<(Index, Index)>,
    is_listed: bool,
    /// Lists tokens again, with other parts.
    again: Vec<(Index, Index)>,
    whole_pretokens: bool,
}

pub(crate) fn recipes(swaps: usize) -> impl Strategy<Value = Recipe> {
    let two = || any::<(Index, Index)>();
    let many = |most| prop::collection::vec(two(), 0..most);
    (many(40), prop::collection::vec(two(), 0..=swaps), any::<bool>(), many(4), any::<bool>()).prop_map(
        |(joined, swapped, is_listed, again, whole_pretokens)| Recipe {
            joined,
            swapped,
            is_listed,
            again,
            whole_pretokens,
        },
    )
}

pub(crate) fn compiled(recipe: &Recipe) -> Compiled {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut used: Vec<Vec<u8>> = ATOMS.concat().into_iter().map(|byte| vec![byte]).collect();
    let mut merges: Vec<[Vec<u8>; 2]> = Vec::new();
    for (left, right) in &recipe.joined {
        let parts = [left.get(&used).clone(), right.get(&used).clone()];
        let joined = parts.concat();
        if joined.len() <= 40 && !used.contains(&joined) {
            used.push(joined.clone());
            tokens.push(joined);
            merges.push(parts);
        }
    }
    for (a, b) in &recipe.swapped {
        if tokens.len() > 256 {
            let (a, b) = (a.index(tokens.len() - 256), b.index(tokens.len() - 256));
            tokens.swap(256 + a, 256 + b);
            merges.swap(a, b);
        }
    }
    for (token, cut) in &recipe.again {
        let token = token.get(&tokens);
        if token.len() > 1 {
            let (left, right) = token.split_at(1 + cut.index(token.len() - 1));
            let parts = [left.to_vec(), right.to_vec()];
            if parts.iter().all(|part| tokens.contains(part)) && !merges.contains(&parts) {
                merges.push(parts);
            }
        }
    }
    let id = |bytes: &[u8]| to_u32(tokens.iter().position(|token| token == bytes).unwrap());
    let listed = merges.iter().map(|[left, right]| Merge {
        left: id(left),
        right: id(right),
        result: id(&[left.as_slice(), right].concat()),
    });
    let merges = if recipe.is_listed { Merges::listed(listed.collect::<Vec<_>>()) } else { Merges::ById };
    let list = TokenList::from_entries((0..).zip(tokens.iter().cloned()).collect());
    let plain = BpeDescription::plain(Alphabet::Bytes, list, merges);
    Compiled::new(BpeDescription { whole_pretokens: recipe.whole_pretokens, ..plain })
}

/// Texts of all lengths around the limits of the rows.
pub(crate) fn texts() -> impl Strategy<Value = Vec<u8>> {
    let lengths = prop_oneof![1..=20usize, 20..=40usize, 60..=70usize, 100..=300usize];
    (lengths, 1..=ATOMS.len()).prop_flat_map(|(length, kinds)| {
        prop::collection::vec(0..kinds, length).prop_map(move |picks| {
            let mut text: Vec<u8> = picks.into_iter().flat_map(|i| ATOMS[i]).copied().collect();
            text.truncate(length);
            text
        })
    })
}

impl Compiled {
    pub(crate) fn naive(&self, text: &[u8]) -> Vec<TokenId> {
        let pairs = self.model.pairs(self.description.model.as_bpe().unwrap(), &self.vocabulary).unwrap();
        let bytes = self.model.general.bytes().unwrap();
        merge_naively(pairs, text.iter().map(|&byte| bytes[usize::from(byte)]).collect())
    }

    fn ids(&self, table: &SymbolTable, row: &[u32]) -> Vec<TokenId> {
        let ids: Vec<TokenId> = row.iter().map(|&symbol| table.ids[symbol as usize]).collect();
        assert!(ids.iter().all(|&id| self.vocabulary.contains(id)));
        ids
    }
}

fn encode(compiled: &Compiled, text: &[u8]) -> (Vec<TokenId>, Vec<u32>) {
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    let mut ticker = Ticker::new(&Unwatched);
    let (vocabulary, scratch) = (&compiled.vocabulary, &mut BpeScratch::default());
    compiled.model.encode(text, vocabulary, scratch, &mut ids, Some(&mut ends), &mut ticker).unwrap();
    (ids, ends)
}

/// Even if merging never uses it: the table of all pairs, which is made later, cannot hold both.
#[test]
fn a_merge_that_is_listed_twice_is_refused() {
    let tokens: Vec<Vec<u8>> =
        (0..=255_u8).map(|byte| vec![byte]).chain((2..=40).map(|length| vec![b'a'; length])).collect();
    let list = TokenList::from_entries((0..).zip(tokens).collect());
    let id = |length: usize| if length == 1 { u32::from(b'a') } else { to_u32(254 + length) };
    let merge = |left, right| Merge { left: id(left), right: id(right), result: id(left + right) };
    // The token of forty bytes, cut in every way.
    let listed: Vec<Merge> =
        (1..39).map(|length| merge(length, 1)).chain((1..40).map(|cut| merge(cut, 40 - cut))).collect();
    let compile = |listed: Vec<Merge>| {
        let model = BpeDescription::plain(Alphabet::Bytes, list.clone(), Merges::listed(listed));
        let description = Description::of_bpe(&Split::Whole, model);
        let vocabulary = Vocabulary::new(&description);
        let ticker = &mut Ticker::new(&Unwatched);
        Bpe::new(description.model.as_bpe().unwrap(), &vocabulary, ticker).map(|_| ())
    };
    compile(listed.clone()).unwrap();
    for merge in [listed[0], listed[38], listed[50]] {
        let error = compile(listed.iter().copied().chain([merge]).collect()).unwrap_err();
        assert!(error.to_string().contains("listed twice"), "{error}");
    }
}

fn encode_segment(compiled: &Compiled, text: &[u8]) -> Vec<TokenId> {
    let mut ids = Vec::new();
    let mut ticker = Ticker::new(&Unwatched);
    let scratch = &mut BpeScratch::default();
    compiled.model.encode_segment(text, scratch, &mut ids, &mut ticker).unwrap();
    ids
}

fn check_every_way(compiled: &Compiled, text: &[u8]) -> std::result::Result<(), TestCaseError> {
    let want = compiled.naive(text);
    prop_assert_eq!(&encode_segment(compiled, text), &want);
    let bytes: Vec<u8> =
        want.iter().flat_map(|&id| compiled.vocabulary.decoded(id).unwrap()).copied().collect();
    prop_assert_eq!(&bytes, text);
    let whole = compiled
        .vocabulary
        .find(text)
        .filter(|_| compiled.description.model.as_bpe().unwrap().whole_pretokens);
    let (ids, ends) = encode(compiled, text);
    let widths = ids.iter().map(|&id| compiled.vocabulary.decoded(id).unwrap().len());
    prop_assert_eq!(ends, super::ends_of(widths));
    prop_assert_eq!(&ids, &whole.map_or_else(|| want.clone(), |id| vec![id]));
    if compiled.model.segments_encode_as_pretokens() {
        prop_assert_eq!(&ids, &want);
    }
    let Some(canonical) = compiled.model.canonical() else { return Ok(()) };
    // The joined ids of the segments are those of the whole.
    let (mut joined, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let cut = canonical.cuts.next(text, at);
        prop_assert!(cut > at && cut <= text.len());
        joined.extend(encode_segment(compiled, &text[at..cut]));
        at = cut;
    }
    prop_assert_eq!(&joined, &want);
    for capacity in [1, 3, text.len()] {
        let (mut ends, mut from) = (vec![0; capacity], 0);
        while from < text.len() {
            let count = canonical.cuts.next_batch(text, from, &mut ends);
            prop_assert!((1..=capacity).contains(&count));
            for &end in &ends[..count] {
                prop_assert_eq!(end, canonical.cuts.next(text, from));
                from = end;
            }
        }
    }
    for part in [text, &text[text.len() / 2..], &text[..text.len().min(6)]] {
        let mut buffer = vec![7; part.len()];
        if let Some(count) = canonical.encode_byte_runs(part, &mut buffer) {
            prop_assert_eq!(&buffer[..count], compiled.naive(part));
        }
    }
    if text.len() <= Narrow::LONGEST {
        check_batch::<Narrow>(compiled, text, |row| key_at(row, 0, row.len()))?;
    }
    if text.len() <= Wide::LONGEST {
        check_batch::<Wide>(compiled, text, wide_input)?;
    }
    if text.len() <= Widest::LONGEST {
        check_batch::<Widest>(compiled, text, widest_input)?;
    }
    let (scratch, ticker) = (&mut BpeScratch::default(), &mut Ticker::new(&Unwatched));
    let table = &canonical.table;
    windows::merge_by_windows(table, text, windows::MAX_WORK, scratch, ticker).unwrap();
    prop_assert_eq!(compiled.ids(table, &scratch.symbols), want.clone());
    scratch.symbols = text.iter().copied().map(u32::from).collect();
    heap::merge(&table.merges, scratch, ticker).unwrap();
    heap::compact(scratch);
    prop_assert_eq!(compiled.ids(table, &scratch.symbols), want);
    Ok(())
}

/// Merges a text in a batch with shorter, longer and empty ones.
fn check_batch<W: Width>(
    compiled: &Compiled,
    text: &[u8],
    row: impl Fn(&[u8]) -> W::Input,
) -> Result<(), TestCaseError> {
    let (half, third, sixth) = (text.len() / 2, text.len() / 3, text.len() / 6);
    let others =
        [&text[..half], text, &[], &text[third..], &text[..third], text, &text[sixth..half], &text[half..]];
    let mut ids = vec![7];
    let counts = compiled.model.canonical().unwrap().merge_batch::<W>(&others.map(row), &mut ids).unwrap();
    let mut rest = &ids[1..];
    for (other, count) in others.iter().zip(counts) {
        let (own, following) = rest.split_at(count);
        prop_assert_eq!(own, compiled.naive(other));
        rest = following;
    }
    prop_assert!(rest.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_way_equals_the_naive_rule(recipe in recipes(0), texts in prop::collection::vec(texts(), 1..8)) {
        let compiled = compiled(&recipe);
        for text in &texts {
            check_every_way(&compiled, text)?;
        }
    }

    #[test]
    fn ranks_in_any_order_are_merged_by_the_naive_rule(
        recipe in recipes(6),
        texts in prop::collection::vec(texts(), 1..8),
    ) {
        let compiled = compiled(&recipe);
        for text in &texts {
            check_every_way(&compiled, text)?;
        }
    }
}

proptest! {
    #[test]
    fn what_repeats_is_merged_by_the_naive_rule(
        recipe in recipes(3),
        parts in [prop::collection::vec(0..ATOMS.len(), 0..4), prop::collection::vec(0..ATOMS.len(), 1..4), prop::collection::vec(0..ATOMS.len(), 0..9)],
        times in 1..120_usize,
    ) {
        let [before, unit, after]: [Vec<u8>; 3] = parts.map(|atoms| atoms.iter().flat_map(|&atom| ATOMS[atom]).copied().collect());
        let text: Vec<u8> = [before, unit.repeat(times), after].concat();
        check_every_way(&compiled(&recipe), &text)?;
    }
}

/// Tokens of two or three letters, ranked in any order.
fn shuffled() -> impl Strategy<Value = Vec<String>> {
    let joined = (1..=2_usize, prop::collection::vec(any::<(Index, Index)>(), 3..14));
    let tokens = joined.prop_map(|(letters, joined)| {
        let mut tokens: Vec<String> =
            ["a", "b", "c"][..=letters].iter().map(|&letter| letter.to_owned()).collect();
        for (left, right) in joined {
            let token = format!("{}{}", left.get(&tokens), right.get(&tokens));
            if token.len() <= 9 && !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        tokens.into_iter().filter(|token| token.len() > 1).collect::<Vec<_>>()
    });
    tokens.prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Tokens often rank after tokens that are made of them.
    #[test]
    fn every_short_text_is_merged_by_the_naive_rule(tokens in shuffled()) {
        let compiled = by_id(&tokens.iter().map(String::as_str).collect::<Vec<_>>());
        let letters = 2 + usize::from(tokens.iter().any(|token| token.contains('c')));
        for length in 1..=if letters == 2 { 11_u32 } else { 7 } {
            for number in 0..letters.pow(length) {
                let letter = |place: u32| b'a' + (number / letters.pow(place) % letters) as u8;
                let text: Vec<u8> = (0..length).map(letter).collect();
                prop_assert_eq!(encode_segment(&compiled, &text), compiled.naive(&text), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }
}

#[test]
fn a_token_that_ranks_below_its_part_follows_it() {
    let numbers = |tokens: &[&str]| {
        let compiled = by_id(tokens);
        let table = &compiled.model.canonical.as_ref()?.table;
        let id = |token: &str| compiled.vocabulary.find(token.as_bytes()).unwrap();
        let number = |token: &&str| table.ids.iter().position(|&other| other == id(token)).unwrap();
        Some(tokens.iter().map(number).collect::<Vec<_>>())
    };
    // After cd come its followers bcd and cde in the order of their ranks, each with its own followers.
    assert_eq!(numbers(&["xbcd", "bcd", "cde", "cd", "fg"]), Some(vec![258, 257, 259, 256, 260]));
    // A follower would take the left part of its root, or another follower, or followers take a part from both
    // sides.
    assert_eq!(numbers(&["aba", "ab"]), None);
    assert_eq!(numbers(&["abab", "ab"]), None);
    assert_eq!(numbers(&["xab", "abx", "ab"]), None);
    assert_eq!(numbers(&["xab", "aby", "ab"]), Some(vec![257, 258, 256]));
}

pub(super) fn by_id(products: &[&str]) -> Compiled {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = bytes.chain(products.iter().map(|token| token.as_bytes().to_vec()));
    let list = TokenList::from_entries((0..).zip(tokens).collect());
    Compiled::new(BpeDescription::plain(Alphabet::Bytes, list, Merges::ById))
}

#[test]
fn a_token_that_merging_does_not_build_is_left_out() {
    // abc would be merged from a and bc, but ab merges first; abd is built.
    let compiled = by_id(&["ab", "bc", "abc", "bcd"]);
    let merges_of = |compiled: &Compiled| compiled.model.canonical.as_ref().unwrap().table.merges.len();
    assert_eq!(merges_of(&compiled), 4);
    // cd ranks after bcd, which is made of it.
    let compiled = by_id(&["ab", "bcd", "abx", "cd", "abcd"]);
    assert_eq!(merges_of(&compiled), 5);
    let compiled = by_id(&["ab", "bcde"]);
    assert_eq!(merges_of(&compiled), 1);
    assert!(!compiled.model.is_built.contains(257) && compiled.model.is_built.contains(256));
}

#[test]
fn texts_are_cut_where_no_token_goes_on() {
    let compiled = by_id(&["ab", "ж", "д", "жд", "дa", "é", "éx", "中文"]);
    let cuts = |text: &str| {
        let mut cuts = vec![];
        while *cuts.last().unwrap_or(&0) < text.len() {
            cuts.push(
                compiled.model.canonical().unwrap().cuts.next(text.as_bytes(), *cuts.last().unwrap_or(&0)),
            );
        }
        cuts
    };
    assert_eq!(cuts("abba"), [2, 3, 4]);
    assert_eq!(cuts("дждaж"), [2, 7, 9]);
    // No merge builds these characters from their bytes, so no text becomes the tokens that hold them.
    assert_eq!(cuts("中文"), [3, 6]);
    assert_eq!(cuts("\u{e9}x\u{e9}"), [3, 5]);
    assert_eq!(cuts(""), [0usize; 0]);
}

#[test]
fn byte_runs_are_encoded_up_to_one_in_which_too_many_bytes_may_merge() {
    let model = by_id(&["ж", "жд", "ab", "bc", "cd", "de"]).model;
    let encoded = |text: &str| {
        let mut buffer = [0; 40];
        model
            .canonical()
            .unwrap()
            .encode_byte_runs(text.as_bytes(), &mut buffer)
            .map(|count| buffer[..count].to_vec())
    };
    let [ж, ab] = [256, 258];
    assert_eq!(encoded(""), Some(vec![]));
    assert_eq!(encoded("я\u{10000}"), Some("я\u{10000}".bytes().map(u32::from).collect()));
    assert_eq!(encoded("яжя"), Some(vec![0xD1, 0x8F, ж, 0xD1, 0x8F]));
    assert_eq!(encoded("abcd"), Some(vec![ab, 260]));
    assert_eq!(encoded("xabx"), Some(vec![u32::from(b'x'), ab, u32::from(b'x')]));
    assert_eq!(encoded("abcde"), None);
    assert_eq!(encoded("яabcde"), None);
}
