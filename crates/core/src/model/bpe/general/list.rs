//! The merges of an id-ordered vocabulary as a list.
//!
//! Comes in: a vocabulary in which ids are ranks. Goes out: for every token of two or more symbols the two tokens
//! that it is made of, in order of ids. A list that gives other ids than the vocabulary must never be made.
use tokenmill_kernels::PairTable;

use crate::description::Merge;
use crate::ids::{NO_ID, TokenId};
use crate::model::bpe::heap::{NO_PAIR, PackedPairs};
use crate::model::bpe::scratch::BpeScratch;
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::{Ticker, Unwatched};

use super::merge::merge;
use super::pairs;
use super::symbols::byte_symbols;

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
/// It means the same as the ids if each token, merged by the ids below its own, ends as exactly two tokens; that
/// is checked on the way. Nothing is merged across the ends of a span that becomes one token, so the merges inside
/// are the same in every text (`docs/merging.md`).
///
/// # Errors
/// The id of the first token that merging does not build: a list cannot say what the ids say.
pub fn listed_merges(vocabulary: &Vocabulary) -> Result<Vec<Merge>, TokenId> {
    // Nothing cancels.
    let ticker = &mut Ticker::new(&Unwatched);
    let Ok(pairs) = pairs::by_id(vocabulary, None, &|_| false, ticker) else { return Err(NO_ID) };
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
        merge::<false, _>(&below, &mut scratch, output, ticker).map_err(|_| id)?;
        let &[left, right] = &ids[..] else { return Err(id) };
        merges.push(Merge { left, right, result: id });
    }
    Ok(merges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bpe::tests::vocabulary_by_id;

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
