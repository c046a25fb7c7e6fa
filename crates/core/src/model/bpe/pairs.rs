//! Which neighbours merge, as a table from pairs to what they become.
use tokenmill_kernels::{Automaton, Entry, NO_KEY, PairTable, State};

use crate::description::{Bpe, Lengths, Merge, Merges, TokenList};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::symbols::byte_symbols;
use super::{Scratch, merge};

/// Bytes of a token up to which every cut is looked up. That is quadratic in the length.
const LOOKED_UP: usize = 256;

/// All pairs that merge, for a model whose merges do not go by score.
pub(super) fn all(description: &Bpe, vocabulary: &Vocabulary, ticker: &mut Ticker<'_>) -> Result<PairTable> {
    let is_special: &dyn Fn(TokenId) -> bool = &|id| vocabulary.is_special(id);
    match &description.merges {
        Merges::Listed(merges) => listed(merges, is_special),
        _ => by_id(vocabulary, description.continuing_prefix.as_deref(), is_special, ticker),
    }
}

/// The merges of a list, at their place in it. What a special token would come out of is left out:
/// text never becomes one.
fn listed(merges: &[Merge], is_special: &dyn Fn(TokenId) -> bool) -> Result<PairTable> {
    let ranked = merges.iter().enumerate().filter(|(_, merge)| !is_special(merge.result));
    let entries: Vec<_> =
        ranked.map(|(rank, merge)| ((merge.left, merge.right), (to_u32(rank), merge.result))).collect();
    PairTable::new(&entries).map_err(|pair| {
        let at = merges.iter().rposition(|merge| (merge.left, merge.right) == pair).unwrap_or_default();
        let reason = format!("the pair of ids {} and {} is listed twice", pair.0, pair.1);
        Error::format(Defect::Duplicate, reason).at_index(at).at("merges").at("model")
    })
}

/// Every way to split a token in two tokens, at the rank of its id. With a prefix the right one is
/// written with it.
fn by_id(
    vocabulary: &Vocabulary,
    prefix: Option<&str>,
    is_special: &dyn Fn(TokenId) -> bool,
    ticker: &mut Ticker<'_>,
) -> Result<PairTable> {
    table(&cuts_by_id(vocabulary, prefix, is_special, LOOKED_UP, ticker)?)
}

/// The entries of [`by_id`]. Tokens of more than `looked_up` bytes are cut in one pass.
fn cuts_by_id(
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
    let mut cuts: Option<Cuts> = None;
    for (id, bytes) in vocabulary.tokens().iter().filter(|(id, _)| !is_special(*id)) {
        ticker.spend(16 * bytes.len())?;
        if bytes.len() > looked_up {
            let cuts = cuts.get_or_insert_with(|| Cuts::new(vocabulary.tokens(), prefix));
            cuts.for_each(bytes, |left, right| entries.push(((left, right), (id, id))));
            continue;
        }
        for cut in 1..bytes.len() {
            let (left, right) = bytes.split_at(cut);
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

/// Finds all cuts of a token into two tokens, in one pass over its bytes.
struct Cuts<'a> {
    tokens: &'a TokenList,
    lefts: Automaton,
    /// Those that may stand on the right, without the prefix.
    rights: Automaton,
    prefix: usize,
    /// By cut: the index of the token on the left, if there is one.
    left_at: Vec<u32>,
}

impl<'a> Cuts<'a> {
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

    /// Calls `found` for the ids on both sides of every cut, the leftmost first.
    fn for_each(&mut self, token: &[u8], mut found: impl FnMut(TokenId, TokenId)) {
        let length = |index: u32| self.tokens.bytes(index as usize).len();
        self.left_at.clear();
        self.left_at.push(NO_KEY);
        let mut state = Some(State::START);
        for &byte in token {
            state = state.and_then(|at| self.lefts.go_on(at, byte));
            // Of the tokens that end here the longest may start at the start.
            let left = state.map_or(NO_KEY, |at| self.lefts.longest(at));
            let is_left = left != NO_KEY && length(left) == self.left_at.len();
            self.left_at.push(if is_left { left } else { NO_KEY });
        }
        let end = token.iter().fold(State::START, |at, &byte| self.rights.step(at, byte));
        let mut right = self.rights.longest(end);
        while right != NO_KEY {
            let cut = token.len() - (length(right) - self.prefix);
            if self.left_at[cut] != NO_KEY {
                found(self.tokens.id(self.left_at[cut] as usize), self.tokens.id(right as usize));
            }
            right = self.rights.shorter(right);
        }
    }
}

/// A table of entries that cannot be there twice, since tokens are not.
pub(super) fn table(entries: &[Entry]) -> Result<PairTable> {
    PairTable::new(entries).map_err(|_| {
        Error::format(Defect::Duplicate, "two tokens have the same bytes").at("vocab").at("model")
    })
}

/// The merges of an id-ordered vocabulary as a list: for every token of two or more symbols the
/// two tokens it is made of, in order of ids.
///
/// The list means the same as the id rule when each token, merged by the ids below its own,
/// ends as exactly two tokens; that is checked on the way. Within a span that ends up as one
/// token no merge crosses its ends, so the token's history is the same in every text.
///
/// # Errors
/// The id of the first token that merging does not build: a list cannot say what the id rule says.
pub fn listed_merges(vocabulary: &Vocabulary) -> std::result::Result<Vec<Merge>, TokenId> {
    // Nobody watches, so that nothing cancels.
    let ticker = &mut Ticker::new(&Unwatched);
    let Ok(pairs) = by_id(vocabulary, None, &|_| false, ticker) else { return Err(NO_ID) };
    let table = byte_symbols(vocabulary, &|_| false);
    let mut merges = Vec::new();
    let mut scratch = Scratch::default();
    for (id, bytes) in vocabulary.tokens().iter() {
        if bytes.len() == 1 {
            continue;
        }
        let parts = &mut scratch.symbols;
        parts.clear();
        parts.extend(bytes.iter().map(|&byte| table[usize::from(byte)]));
        if parts.contains(&NO_ID) {
            return Err(id);
        }
        if merge::merge_below(&pairs, id, &mut scratch, ticker).is_err() {
            return Err(id);
        }
        match scratch.symbols[..] {
            [left, right] => merges.push(Merge { left, right, result: id }),
            _ => return Err(id),
        }
    }
    Ok(merges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Alphabet, Description, Split};
    use proptest::prelude::*;

    fn vocabulary(tokens: Vec<Vec<u8>>) -> Vocabulary {
        let entries = (0..).zip(tokens).collect();
        let model = Bpe::plain(Alphabet::Bytes, TokenList::from_entries(entries), Merges::ById);
        let description = Description::of_bpe(&Split::Whole, model);
        description.validate().unwrap();
        Vocabulary::new(&description)
    }

    proptest! {
        #[test]
        fn one_pass_cuts_a_token_where_looking_up_does(
            tokens in prop::collection::hash_set("[ab#]{1,7}|a{1,12}|(ab){1,6}|#(ab){1,6}", 1..40),
            prefix in prop::option::of("#{0,2}"),
            limit in 0usize..8,
            special in 0u32..40,
        ) {
            let vocabulary = vocabulary(tokens.into_iter().map(String::into_bytes).collect());
            let cuts = |limit| {
                let ticker = &mut Ticker::new(&Unwatched);
                cuts_by_id(&vocabulary, prefix.as_deref(), &|id| id == special, limit, ticker).unwrap()
            };
            prop_assert_eq!(cuts(limit), cuts(usize::MAX));
        }
    }

    #[test]
    fn long_tokens_are_listed_in_little_more_than_linear_time() {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        for letter in b'a'..=b'p' {
            tokens.extend((1..=16).map(|power| vec![letter; 1 << power]));
        }
        let merges = listed_merges(&vocabulary(tokens)).unwrap();
        assert_eq!(merges.len(), 16 * 16);
        assert!(merges.iter().all(|merge| merge.left == merge.right));
    }
}
