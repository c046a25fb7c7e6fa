//! The algorithms compared with the naive rule, over random vocabularies.
use proptest::prelude::*;

use super::*;
use crate::model::bpe::tests::Compiled;
use crate::model::bpe::tests::canonical::{compiled, recipes, texts};
use crate::watch::Unwatched;

type Encode = fn(&Matcher<'_>, &[u8], &mut AlgorithmScratch, &mut Ticker<'_>) -> Result<()>;

fn ids(encode: Encode, matcher: &Matcher<'_>, text: &[u8], scratch: &mut AlgorithmScratch) -> Vec<TokenId> {
    scratch.row.clear();
    encode(matcher, text, scratch, &mut Ticker::new(&Unwatched)).unwrap();
    scratch.row.iter().map(|&symbol| matcher.id(symbol)).collect()
}

impl Compiled {
    fn spelled(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.vocabulary.decoded(id).unwrap()).copied().collect()
    }

    /// The fewest tokens, each of which its own bytes merge to, that spell a text: by trying all.
    fn fewest(&self, text: &[u8]) -> usize {
        let is_built = |part: &[u8]| self.vocabulary.find(part).is_some_and(|id| self.naive(part) == [id]);
        let mut fewest = vec![0];
        for end in 1..=text.len() {
            let starts = (0..end).filter(|&start| is_built(&text[start..end]));
            fewest.push(starts.map(|start| fewest[start] + 1).min().unwrap());
        }
        fewest[text.len()]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn they_give_what_they_promise(recipe in recipes(6), texts in prop::collection::vec(texts(), 1..6)) {
        let compiled = compiled(&recipe);
        let (scratch, ticker) = (&mut AlgorithmScratch::default(), &mut Ticker::new(&Unwatched));
        let description = compiled.description.model.as_bpe().unwrap();
        for text in &texts {
            let want = compiled.naive(text);
            let (mut by_heap, bpe) = (Vec::new(), &mut crate::model::bpe::BpeScratch::default());
            let tables = (description, &compiled.vocabulary);
            compiled.model.encode_by_heap(text, tables, bpe, &mut by_heap, ticker).unwrap();
            prop_assert_eq!(&by_heap, &want);
            let Some(canonical) = compiled.model.canonical() else { continue };
            let matcher = canonical.matcher(&compiled.vocabulary, ticker).unwrap();
            prop_assert_eq!(&ids(table::encode, &matcher, text, scratch), &want);
            prop_assert_eq!(&ids(backtracking::encode, &matcher, text, scratch), &want);
            let greedy = ids(greedy::encode, &matcher, text, scratch);
            prop_assert_eq!(&compiled.spelled(&greedy), text);
            let minimal = ids(minimal::encode, &matcher, text, scratch);
            prop_assert_eq!(&compiled.spelled(&minimal), text);
            prop_assert!(minimal.len() <= greedy.len().min(want.len()));
            let short = &text[..text.len().min(40)];
            let fewest = ids(minimal::encode, &matcher, short, scratch).len();
            prop_assert_eq!(fewest, compiled.fewest(short));
        }
    }
}
