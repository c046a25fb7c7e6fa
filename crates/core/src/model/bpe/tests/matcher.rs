//! What the matcher finds, and the properties of encodings that its users rest on.
use proptest::prelude::*;

use super::Compiled;
use super::canonical::{compiled, recipes, texts};
use crate::ids::TokenId;
use crate::model::bpe::Matcher;
use crate::watch::{Ticker, Unwatched};
use tokenmill_kernels::State;

fn matcher(compiled: &Compiled) -> Option<Matcher<'_>> {
    let ticker = &mut Ticker::new(&Unwatched);
    compiled.model.canonical().map(|canonical| canonical.matcher(&compiled.vocabulary, ticker).unwrap())
}

impl Compiled {
    fn bytes(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.vocabulary.decoded(id).unwrap()).copied().collect()
    }

    /// Does merging the bytes of these tokens leave them?
    fn is_valid(&self, ids: &[TokenId]) -> bool {
        self.naive(&self.bytes(ids)) == ids
    }

    /// The tokens that their own bytes merge to.
    fn built(&self) -> Vec<TokenId> {
        let ids = self.vocabulary.tokens().iter().map(|(id, _)| id);
        ids.filter(|&id| self.is_valid(&[id])).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn two_tokens_stay_apart_where_merging_leaves_them(recipe in recipes(6)) {
        let compiled = compiled(&recipe);
        let Some(matcher) = matcher(&compiled) else { return Ok(()) };
        let count = crate::ids::to_u32(compiled.model.canonical().unwrap().table.ids.len());
        let symbols = |ids: Vec<TokenId>| -> Vec<(u32, TokenId)> {
            let symbols = (0..count).map(|symbol| (symbol, matcher.id(symbol)));
            // A token that is listed again may have a symbol more that no text merges to.
            symbols.filter(|(symbol, id)| matcher.length(*symbol) > 0 && ids.contains(id)).collect()
        };
        // Of the bytes, only those that occur in longer tokens.
        let built = compiled.built();
        let longer: Vec<TokenId> = built.iter().copied().filter(|&id| compiled.bytes(&[id]).len() > 1).collect();
        let within = compiled.bytes(&longer);
        let bytes = built.iter().copied().filter(|&id| {
            let bytes = compiled.bytes(&[id]);
            bytes.len() == 1 && within.contains(&bytes[0])
        });
        let all = symbols(longer.iter().copied().chain(bytes).collect());
        for &(left, left_id) in &all {
            for &(right, right_id) in &all {
                let want = compiled.is_valid(&[left_id, right_id]);
                prop_assert_eq!(matcher.stays_apart(left, right), want, "{} {}", left_id, right_id);
                let (before, after) = (compiled.bytes(&[left_id]), compiled.bytes(&[right_id]));
                let by_bytes = matcher.bytes_stay_apart(before[before.len() - 1], after[0]);
                prop_assert!(!by_bytes || want, "{} {}", left_id, right_id);
            }
        }
    }

    #[test]
    fn it_finds_the_built_tokens_of_a_text(recipe in recipes(6), text in texts()) {
        let compiled = compiled(&recipe);
        let Some(matcher) = matcher(&compiled) else { return Ok(()) };
        let built: Vec<Vec<u8>> = compiled.built().into_iter().map(|id| compiled.bytes(&[id])).collect();
        let bytes = |symbol: u32| compiled.bytes(&[matcher.id(symbol)]);
        prop_assert_eq!(matcher.longest_length(), built.iter().map(Vec::len).max().unwrap());
        let mut state = State::START;
        for (at, &byte) in text.iter().enumerate() {
            state = matcher.step(state, byte);
            let mut want: Vec<&Vec<u8>> = built.iter().filter(|token| text[..=at].ends_with(token)).collect();
            want.sort_by_key(|token| std::cmp::Reverse(token.len()));
            let found: Vec<Vec<u8>> = matcher.endings(state).map(bytes).collect();
            prop_assert!(found.iter().eq(want));
            let mut want: Vec<&Vec<u8>> = built.iter().filter(|token| text[at..].starts_with(token)).collect();
            want.sort_by_key(|token| std::cmp::Reverse(token.len()));
            let longest = matcher.longest_at_start(&text[at..]);
            let found = std::iter::successors(longest, |&token| matcher.shorter_at_start(token));
            let found: Vec<Vec<u8>> = found.map(bytes).collect();
            prop_assert!(found.iter().eq(want));
        }
        prop_assert_eq!(matcher.longest_at_start(b""), None);
    }

    /// The corollaries of `docs/algorithms.md`, for the naive rule.
    #[test]
    fn the_corollaries_hold(recipe in recipes(6), text in texts(), at in any::<prop::sample::Index>()) {
        let compiled = compiled(&recipe);
        let text = &text[..text.len().min(60)];
        let row = compiled.naive(text);
        // I: one row for each text, whose bytes are the text.
        prop_assert_eq!(&compiled.bytes(&row), text);
        prop_assert!(compiled.is_valid(&row));
        // II: any part of it is valid, too.
        for from in 0..row.len() {
            for to in from + 1..=row.len() {
                prop_assert!(compiled.is_valid(&row[from..to]));
            }
        }
        // IIa: the last token of each prefix tells the row of the whole, and the first of each suffix does.
        let (mut end, mut back) = (text.len(), Vec::new());
        while end > 0 {
            let last = *compiled.naive(&text[..end]).last().unwrap();
            back.push(last);
            end -= compiled.bytes(&[last]).len();
        }
        back.reverse();
        prop_assert_eq!(&back, &row);
        let (mut start, mut forth) = (0, Vec::new());
        while start < text.len() {
            let first = compiled.naive(&text[start..])[0];
            forth.push(first);
            start += compiled.bytes(&[first]).len();
        }
        prop_assert_eq!(&forth, &row);
        // III and IIIa: two rows that share a token at their ends join to a row. The second begins with a token of
        // the first and is otherwise any text.
        let shared = row[at.index(row.len())];
        let place = row.iter().position(|&id| id == shared).unwrap();
        for tail in [text, &text[text.len() / 2..], &text[..1]] {
            let second = compiled.naive(&[&compiled.bytes(&[shared])[..], tail].concat());
            if second[0] == shared {
                let joined = [&row[..place], &second].concat();
                prop_assert!(compiled.is_valid(&joined));
                prop_assert!(compiled.is_valid(&[&row[..=place], &second[1..2.min(second.len())]].concat()));
            }
        }
    }
}
