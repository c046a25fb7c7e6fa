//! Which neighbours merge, as a table from pairs to what they become.
use tokenmill_kernels::PairTable;

use crate::description::{Bpe, Lengths, Merge, Merges};
use crate::error::{Defect, Error, Result};
use crate::ids::{NO_ID, TokenId, narrow};
use crate::vocabulary::Vocabulary;

use super::merge;
use super::symbols::byte_symbols;

/// All pairs that merge, for a model whose merges do not go by score.
pub(super) fn all(description: &Bpe, vocabulary: &Vocabulary) -> Result<PairTable> {
    let is_special: &dyn Fn(TokenId) -> bool = &|id| vocabulary.is_special(id);
    match &description.merges {
        Merges::Listed(merges) => listed(merges, is_special),
        _ => by_id(vocabulary, description.continuing_prefix.as_deref(), is_special),
    }
}

/// The merges of a list, at their place in it. What a special token would come out of is left out:
/// text never becomes one.
fn listed(merges: &[Merge], is_special: &dyn Fn(TokenId) -> bool) -> Result<PairTable> {
    let ranked = merges.iter().enumerate().filter(|(_, merge)| !is_special(merge.result));
    let entries: Vec<_> =
        ranked.map(|(rank, merge)| ((merge.left, merge.right), (narrow(rank), merge.result))).collect();
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
) -> Result<PairTable> {
    let lengths = Lengths::of_tokens(vocabulary.tokens());
    let prefix = prefix.unwrap_or_default();
    let mut entries = Vec::new();
    let mut written = prefix.as_bytes().to_vec();
    for (id, bytes) in vocabulary.tokens().iter().filter(|(id, _)| !is_special(*id)) {
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
    table(&entries)
}

/// A table of entries that cannot be there twice, since tokens are not.
pub(super) fn table(entries: &[tokenmill_kernels::Entry]) -> Result<PairTable> {
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
    let Ok(pairs) = by_id(vocabulary, None, &|_| false) else { return Err(NO_ID) };
    let table = byte_symbols(vocabulary, &|_| false);
    let mut merges = Vec::new();
    let mut parts = Vec::new();
    for (id, bytes) in vocabulary.tokens().iter() {
        if bytes.len() == 1 {
            continue;
        }
        parts.clear();
        parts.extend(bytes.iter().map(|&byte| table[usize::from(byte)]));
        if parts.contains(&NO_ID) {
            return Err(id);
        }
        match *merge::merge_below(&pairs, &mut parts, id) {
            [left, right] => merges.push(Merge { left, right, result: id }),
            _ => return Err(id),
        }
    }
    Ok(merges)
}
