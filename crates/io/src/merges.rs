//! The rule of the reference for merges that a file lists more than once.

use tokenmill_core::description::Merge;
use tokenmill_core::ids::TokenId;

use crate::tables::{Map, map_for};

/// Places of merges that are listed before, each with the place before it.
pub(crate) type Repeated = Vec<(usize, usize)>;

/// Of a pair that is listed several times the last place counts. The places of the repeated ones are those in what
/// was given.
pub(crate) fn keep_last(mut merges: Vec<Merge>) -> (Vec<Merge>, Repeated) {
    let mut last_place: Map<(TokenId, TokenId), usize> = map_for(merges.len());
    let mut repeated = Vec::new();
    for (place, merge) in merges.iter().enumerate() {
        if let Some(earlier) = last_place.insert((merge.left, merge.right), place) {
            repeated.push((place, earlier));
        }
    }
    if !repeated.is_empty() {
        let mut places = 0..;
        merges.retain(|merge| places.next().as_ref() == last_place.get(&(merge.left, merge.right)));
    }
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
