//! The model compared with its twins in `tokenmill-reference`, which are slow and obvious.
pub(crate) mod canonical;
mod dropout;
mod fields;
mod matcher;
mod repeats;
mod sentencepiece;
mod windows;

use tokenmill_kernels::PairTable;

use super::{Bpe, BpeScratch};
use crate::description::{AddedToken, Alphabet, BpeDescription, Description, Merges, Split, TokenList};
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::random::Random;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

/// Tokens whose ids are their indices.
fn token_list<T: AsRef<str>>(tokens: &[T]) -> TokenList {
    let entries = tokens.iter().enumerate();
    TokenList::from_entries(entries.map(|(i, t)| (to_u32(i), t.as_ref().as_bytes().to_vec())).collect())
}

/// A vocabulary in which ids are ranks.
pub(super) fn vocabulary_by_id(tokens: Vec<Vec<u8>>) -> Vocabulary {
    let list = TokenList::from_entries((0..).zip(tokens).collect());
    let description =
        Description::of_bpe(&Split::Whole, BpeDescription::plain(Alphabet::Bytes, list, Merges::ById));
    description.validate().unwrap();
    Vocabulary::new(&description)
}

/// The naive rule as it is written: of all pairs the one with the lowest rank, the leftmost of equal ones.
pub(super) fn merge_naively(pairs: &PairTable, mut symbols: Vec<TokenId>) -> Vec<TokenId> {
    let merge = |symbols: &[TokenId], at: usize| pairs.get(symbols[at], symbols[at + 1]);
    while let Some(((_, product), at)) = (1..symbols.len())
        .filter_map(|i| Some((merge(&symbols, i - 1)?, i - 1)))
        .min_by_key(|((rank, _), at)| (*rank, *at))
    {
        symbols[at] = product;
        symbols.remove(at + 1);
    }
    symbols
}

/// A compiled model and its tokens.
pub(crate) struct Compiled {
    pub(crate) description: Description,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) model: Bpe,
}

impl Compiled {
    fn new(model: BpeDescription) -> Self {
        Self::with_special(model, &[])
    }

    fn with_special(model: BpeDescription, special: &[(TokenId, &str)]) -> Self {
        let added_tokens = special.iter().map(|&(id, content)| AddedToken::special(id, content)).collect();
        let description = Description { added_tokens, ..Description::of_bpe(&Split::Whole, model) };
        description.validate().unwrap();
        let vocabulary = Vocabulary::new(&description);
        let model =
            Bpe::new(description.model.as_bpe().unwrap(), &vocabulary, &mut Ticker::new(&Unwatched)).unwrap();
        Self { description, vocabulary, model }
    }

    /// The ids, and where the part of each ends.
    fn spell(&self, text: &str) -> Result<(Vec<TokenId>, Vec<u32>)> {
        let (mut ids, mut ends, mut scratch) = (Vec::new(), Vec::new(), BpeScratch::default());
        let mut ticker = Ticker::new(&Unwatched);
        let pretoken = text.as_bytes();
        self.model.encode(
            pretoken,
            &self.vocabulary,
            &mut scratch,
            &mut ids,
            Some(&mut ends),
            &mut ticker,
        )?;
        Ok((ids, ends))
    }

    fn sample(&self, text: &str, probability: f64, random: &mut Random) -> (Vec<TokenId>, Vec<u32>) {
        let (mut ids, mut ends, mut scratch) = (Vec::new(), Vec::new(), BpeScratch::default());
        let mut ticker = Ticker::new(&Unwatched);
        let chance = (probability, random);
        let pretoken = text.as_bytes();
        let tables = (self.description.model.as_bpe().unwrap(), &self.vocabulary);
        let out = (&mut ids, Some(&mut ends));
        self.model.sample(pretoken, tables, &mut scratch, chance, out, &mut ticker).unwrap();
        (ids, ends)
    }

    fn written(&self, ids: &[TokenId]) -> String {
        let written = ids.iter().map(|&id| self.vocabulary.written(id).unwrap());
        written.collect::<Vec<_>>().join(" ")
    }
}

/// Where parts of these widths end.
fn ends_of(widths: impl Iterator<Item = usize>) -> Vec<u32> {
    widths
        .scan(0, |end, width| {
            *end += to_u32(width);
            Some(*end)
        })
        .collect()
}

/// A token that its own bytes merge past, and the merge that would make it, are reported; nothing else is.
#[test]
fn what_no_pretoken_holds_is_found() {
    use crate::description::Merge;

    // ab merges before bc, so that abc becomes ab c: neither bc c nor a bc ever gives it.
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.extend([b"ab".to_vec(), b"bc".to_vec(), b"abc".to_vec()]);
    let list = TokenList::from_entries((0..).zip(tokens).collect());
    let merge = |left, right, result| Merge { left, right, result };
    let (a, b, c) = (u32::from(b'a'), u32::from(b'b'), u32::from(b'c'));
    let merges = vec![merge(a, b, 256), merge(b, c, 257), merge(a, 257, 258)];
    let model = BpeDescription::plain(Alphabet::Bytes, list, Merges::listed(merges));
    let compiled = Compiled::new(model.clone());
    let mut ticker = Ticker::new(&Unwatched);
    let found = compiled.model.unbuilt(&model, &compiled.vocabulary, &mut ticker).unwrap();
    assert_eq!((found.never, found.whole_only), (vec![258], vec![]));
    let unused = compiled.model.unused_merges(&model, &compiled.vocabulary, &mut ticker).unwrap();
    assert_eq!(unused, [2]);
    let whole = BpeDescription { whole_pretokens: true, ..model };
    let compiled = Compiled::new(whole.clone());
    let found = compiled.model.unbuilt(&whole, &compiled.vocabulary, &mut ticker).unwrap();
    assert_eq!((found.never, found.whole_only), (vec![], vec![258]));
}
