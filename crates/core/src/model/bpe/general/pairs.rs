//! The table of all pairs of tokens that merge, and the merges of an id-ordered vocabulary as a list.
//!
//! In: a list of merges, or a vocabulary in which ids are ranks. Out: a table from pairs to their rank and product.
//! A pair must not be left out because normal merging never uses it: dropout may. A list must give exactly the ids
//! that the vocabulary gives.
use tokenmill_kernels::{Automaton, Entry, NO_KEY, PairTable, State};

use super::merge::{SCAN_LIMIT, merge};
use super::symbols::byte_symbols;
use crate::description::{BpeDescription, Lengths, Merge, MergeList, Merges, TokenList};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::bpe::heap::{NO_PAIR, PackedPairs};
use crate::model::bpe::scratch::BpeScratch;
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

/// For tokens of up to this many bytes every split is looked up, which is quadratic in the length.
const LOOKED_UP: usize = 256;

/// All pairs that merge, for a model whose merges do not go by score.
pub(super) fn all(
    description: &BpeDescription,
    vocabulary: &Vocabulary,
    ticker: &mut Ticker<'_>,
) -> Result<PairTable> {
    let is_special: &dyn Fn(TokenId) -> bool = &|id| vocabulary.is_special(id);
    match &description.merges {
        Merges::Listed(merges) => listed(merges, is_special),
        _ => by_id(vocabulary, description.continuing_prefix.as_deref(), is_special, ticker),
    }
}

/// The merges of a list, ranked by their places in it. Merges that make a special token are left out: text never
/// becomes one.
fn listed(merges: &MergeList, is_special: &dyn Fn(TokenId) -> bool) -> Result<PairTable> {
    let ranked = merges.iter().enumerate().filter(|(_, merge)| !is_special(merge.result));
    let entries: Vec<_> =
        ranked.map(|(rank, merge)| ((merge.left, merge.right), (to_u32(rank), merge.result))).collect();
    PairTable::new(&entries).map_err(|pair| {
        let at = merges.iter().rposition(|merge| (merge.left, merge.right) == pair).unwrap_or_default();
        let reason = format!("the pair of ids {} and {} is listed twice", pair.0, pair.1);
        Error::format(Defect::Duplicate, reason).at_index(at).at("merges").at("model")
    })
}

/// Every way to split a token into two tokens, at the rank of its id. If there is a prefix for continuing tokens,
/// the right token is written with it.
pub(super) fn by_id(
    vocabulary: &Vocabulary,
    prefix: Option<&str>,
    is_special: &dyn Fn(TokenId) -> bool,
    ticker: &mut Ticker<'_>,
) -> Result<PairTable> {
    table(&splits_by_id(vocabulary, prefix, is_special, LOOKED_UP, ticker)?)
}

/// The entries of [`by_id`]. Tokens of more than `looked_up` bytes are split in one pass.
fn splits_by_id(
    vocabulary: &Vocabulary,
    prefix: Option<&str>,
    is_special: &dyn Fn(TokenId) -> bool,
    looked_up: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Entry>> {
    let lengths = Lengths::of_tokens(vocabulary.tokens());
    let prefix = prefix.unwrap_or_default();
    let mut entries = Vec::new();
    let mut written = prefix.as_bytes().to_vec();
    let mut finder: Option<SplitFinder> = None;
    for (id, bytes) in vocabulary.tokens().iter().filter(|(id, _)| !is_special(*id)) {
        ticker.spend(16 * bytes.len())?;
        if bytes.len() > looked_up {
            let finder = finder.get_or_insert_with(|| SplitFinder::new(vocabulary.tokens(), prefix));
            finder.for_each(bytes, |left, right| entries.push(((left, right), (id, id))));
            continue;
        }
        for place in 1..bytes.len() {
            let (left, right) = bytes.split_at(place);
            if !lengths.has(left.len()) || !lengths.has(prefix.len() + right.len()) {
                continue;
            }
            let Some(left) = vocabulary.find(left) else { continue };
            let right = if prefix.is_empty() {
                vocabulary.find(right)
            } else {
                written.truncate(prefix.len());
                written.extend_from_slice(right);
                vocabulary.find(&written)
            };
            if let Some(right) = right {
                entries.push(((left, right), (id, id)));
            }
        }
    }
    Ok(entries)
}

/// Finds all ways to split a token into two tokens, in one pass over its bytes.
struct SplitFinder<'a> {
    tokens: &'a TokenList,
    lefts: Automaton,
    /// Tokens that may be the right part, without the prefix.
    rights: Automaton,
    prefix: usize,
    /// By place in the token: the index of the token that is everything before it, if there is one.
    left_at: Vec<u32>,
}

impl<'a> SplitFinder<'a> {
    fn new(tokens: &'a TokenList, prefix: &str) -> Self {
        let numbered = || (0..).zip(tokens.iter().map(|(_, bytes)| bytes));
        let rights =
            numbered().filter_map(|(i, bytes)| bytes.strip_prefix(prefix.as_bytes()).map(|rest| (i, rest)));
        Self {
            tokens,
            lefts: Automaton::new(numbered()),
            rights: Automaton::new(rights),
            prefix: prefix.len(),
            left_at: Vec::new(),
        }
    }

    /// Calls `found` with the two ids of every split, leftmost first.
    fn for_each(&mut self, token: &[u8], mut found: impl FnMut(TokenId, TokenId)) {
        let length = |index: u32| self.tokens.bytes(index as usize).len();
        self.left_at.clear();
        self.left_at.push(NO_KEY);
        let mut state = Some(State::START);
        for &byte in token {
            state = state.and_then(|at| self.lefts.child(at, byte));
            // The longest token that ends here may be everything before this place.
            let left = state.map_or(NO_KEY, |at| self.lefts.longest(at));
            let is_left = left != NO_KEY && length(left) == self.left_at.len();
            self.left_at.push(if is_left { left } else { NO_KEY });
        }
        let end = token.iter().fold(State::START, |at, &byte| self.rights.step(at, byte));
        let mut right = self.rights.longest(end);
        while right != NO_KEY {
            let left = self.left_at[token.len() - (length(right) - self.prefix)];
            if left != NO_KEY {
                found(self.tokens.id(left as usize), self.tokens.id(right as usize));
            }
            right = self.rights.shorter(right);
        }
    }
}

/// A table of entries in which no pair occurs twice, because no token does.
pub(super) fn table(entries: &[Entry]) -> Result<PairTable> {
    PairTable::new(entries).map_err(|_| {
        Error::format(Defect::Duplicate, "two tokens have the same bytes").at("vocab").at("model")
    })
}

/// The pairs of a table whose rank is below a limit.
struct Below<'a> {
    pairs: &'a PairTable,
    limit: u32,
}

impl PackedPairs for Below<'_> {
    #[inline]
    fn get_packed(&self, left: u32, right: u32) -> u64 {
        let pair = self.pairs.get_packed(left, right);
        if pair >> 32 < u64::from(self.limit) { pair } else { NO_PAIR }
    }
}

/// The list of merges.
///
/// It means the same as the ids if each token, merged with only the ids below its own, ends as exactly two tokens;
/// that is checked here. Nothing merges across the ends of a span that becomes one token, so the merges inside it
/// are the same in every text (`docs/merging.md`).
///
/// # Errors
/// The id of the first token that merging does not build: no list means the same then.
pub fn listed_merges(vocabulary: &Vocabulary) -> std::result::Result<Vec<Merge>, TokenId> {
    // Nothing cancels.
    let ticker = &mut Ticker::new(&Unwatched);
    let Ok(pairs) = by_id(vocabulary, None, &|_| false, ticker) else { return Err(NO_ID) };
    let table = byte_symbols(vocabulary, &|_| false);
    let mut merges = Vec::new();
    let (mut scratch, mut ids) = (BpeScratch::default(), Vec::new());
    for (id, bytes) in vocabulary.tokens().iter().filter(|(_, bytes)| bytes.len() != 1) {
        scratch.symbols.clear();
        scratch.symbols.extend(bytes.iter().map(|&byte| table[usize::from(byte)]));
        if scratch.symbols.contains(&NO_ID) {
            return Err(id);
        }
        ids.clear();
        let (below, output) = (Below { pairs: &pairs, limit: id }, Output { ids: &mut ids, ends: None });
        merge::<false, _>(&below, &mut scratch, output, SCAN_LIMIT, ticker).map_err(|_| id)?;
        let &[left, right] = &ids[..] else { return Err(id) };
        merges.push(Merge { left, right, result: id });
    }
    Ok(merges)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::bpe::tests::vocabulary_by_id;
    use crate::watch::Unwatched;

    proptest! {
        #[test]
        fn one_pass_splits_a_token_where_looking_up_does(
            tokens in prop::collection::hash_set("[ab#]{1,7}|a{1,12}|(ab){1,6}|#(ab){1,6}", 1..40),
            prefix in prop::option::of("#{0,2}"),
            limit in 0usize..8,
            special in 0u32..40,
        ) {
            let vocabulary = vocabulary_by_id(tokens.into_iter().map(String::into_bytes).collect());
            let splits = |limit| {
                let ticker = &mut Ticker::new(&Unwatched);
                splits_by_id(&vocabulary, prefix.as_deref(), &|id| id == special, limit, ticker).unwrap()
            };
            prop_assert_eq!(splits(limit), splits(usize::MAX));
        }
    }

    #[test]
    fn long_tokens_are_listed_in_little_more_than_linear_time() {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        for letter in b'a'..=b'p' {
            tokens.extend((1..=16).map(|power| vec![letter; 1 << power]));
        }
        let merges = listed_merges(&vocabulary_by_id(tokens)).unwrap();
        assert_eq!(merges.len(), 16 * 16);
        assert!(merges.iter().all(|merge| merge.left == merge.right));
    }
}
