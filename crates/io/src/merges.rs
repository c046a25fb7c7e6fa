//! The rule of the reference for merges that a file lists more than once.
use std::collections::HashMap;

use tokenmill_core::description::Merge;
use tokenmill_core::ids::TokenId;

/// Of a pair that is listed several times the last place counts.
pub(crate) fn keep_last(mut merges: Vec<Merge>) -> Vec<Merge> {
    let mut last_place: HashMap<(TokenId, TokenId), usize> = HashMap::with_capacity(merges.len());
    for (place, merge) in merges.iter().enumerate() {
        last_place.insert((merge.left, merge.right), place);
    }
    if last_place.len() < merges.len() {
        let mut places = 0..;
        merges.retain(|merge| places.next().as_ref() == last_place.get(&(merge.left, merge.right)));
    }
    merges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_counts() {
        let merge = |left, right| Merge { left, right, result: 9 };
        let merges = vec![merge(0, 1), merge(1, 2), merge(0, 1)];
        assert_eq!(keep_last(merges), [merge(1, 2), merge(0, 1)]);
        assert_eq!(keep_last(vec![merge(0, 1), merge(1, 0)]), [merge(0, 1), merge(1, 0)]);
    }
}
