//! The rule of the reference for merges that a file lists more than once.

use foldhash::fast::RandomState;
use tokenmill_core::description::Merge;

use crate::tables::{Map, Set, map_for};

/// Places of merges that are listed before, each with the place before it.
pub(crate) type Repeated = Vec<(usize, usize)>;

/// Of a pair that is listed several times the last place counts. The places of the repeated ones are those in what
/// was given.
pub(crate) fn keep_last(mut merges: Vec<Merge>) -> (Vec<Merge>, Repeated) {
    let mut seen: Set<u64> = Set::with_capacity_and_hasher(merges.len(), RandomState::default());
    let pair = |merge: &Merge| u64::from(merge.left) << 32 | u64::from(merge.right);
    if merges.iter().all(|merge| seen.insert(pair(merge))) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_counts() {
        let merge = |left, right| Merge { left, right, result: 9 };
        let merges = vec![merge(0, 1), merge(1, 2), merge(0, 1)];
        assert_eq!(keep_last(merges), (vec![merge(1, 2), merge(0, 1)], vec![(2, 0)]));
        let merges = vec![merge(0, 1), merge(1, 0)];
        assert_eq!(keep_last(merges.clone()), (merges, Vec::new()));
    }
}
