//! Handles merges that a file lists more than once, as the reference does.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use tokenmill_core::description::Merge;

use crate::tables::{Map, Set, map_for};

/// Indices of merges that were listed before, each with the index of the previous occurrence.
pub(crate) type Repeated = Vec<(usize, usize)>;

/// Removes all but the last occurrence of each pair. The returned indices refer to the input.
pub(crate) fn keep_last(mut merges: Vec<Merge>) -> (Vec<Merge>, Repeated) {
    let pair = |merge: &Merge| u64::from(merge.left) << 32 | u64::from(merge.right);
    if are_different(merges.iter().map(pair)) {
        return (merges, Vec::new());
    }
    let mut last_place: Map<u64, usize> = map_for(merges.len());
    let mut repeated = Vec::new();
    for (place, merge) in merges.iter().enumerate() {
        if let Some(earlier) = last_place.insert(pair(merge), place) {
            repeated.push((place, earlier));
        }
    }
    let mut places = 0..;
    merges.retain(|merge| places.next().as_ref() == last_place.get(&pair(merge)));
    (merges, repeated)
}

/// Bits of the filter per pair: nearly all pairs have a bit of their own.
const BITS: usize = 16;

/// Are all pairs distinct? Only pairs that share a bit with another one are compared.
fn are_different(pairs: impl ExactSizeIterator<Item = u64> + Clone) -> bool {
    let hasher = RandomState::default();
    let words = (pairs.len() * BITS).next_power_of_two().max(64) / 64;
    let bit = |pair: u64| {
        let hash = hasher.hash_one(pair) as usize;
        (hash / 64 % words, 1_u64 << (hash % 64))
    };
    let (mut once, mut twice) = (vec![0; words], vec![0; words]);
    for (word, bit) in pairs.clone().map(bit) {
        twice[word] |= once[word] & bit;
        once[word] |= bit;
    }
    let mut seen: Set<u64> = Set::default();
    let is_shared = |&pair: &u64| {
        let (word, bit) = bit(pair);
        twice[word] & bit != 0
    };
    pairs.filter(is_shared).all(|pair| seen.insert(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pairs_are_met_among_many() {
        let pairs = (0..100_000_u64).map(|i| i * i % (1 << 40));
        let mut pairs: Vec<u64> = pairs.collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert!(are_different(pairs.iter().copied()));
        for place in [0, 1, pairs.len() / 2, pairs.len() - 1] {
            let again = pairs.iter().copied().chain([pairs[place]]).collect::<Vec<_>>();
            assert!(!are_different(again.into_iter()));
        }
        assert!(are_different([].into_iter()) && !are_different([7, 7].into_iter()));
    }

    #[test]
    fn the_last_place_counts() {
        let merge = |left, right| Merge { left, right, result: 9 };
        let merges = vec![merge(0, 1), merge(1, 2), merge(0, 1)];
        assert_eq!(keep_last(merges), (vec![merge(1, 2), merge(0, 1)], vec![(2, 0)]));
        let merges = vec![merge(0, 1), merge(1, 0)];
        assert_eq!(keep_last(merges.clone()), (merges, Vec::new()));
    }
}
