//! Sorting with little code, for lists that are short or sorted once.
//!
//! The sorts of the standard library are compiled anew for each type and each order, six kilobytes each time. These
//! sort numbers, by an order that they call, and then put the items where the numbers say.
use std::cmp::Ordering;

/// Sorts as `slice::sort_by` does: items that are equal keep their order. Cost: n log n.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = order_of(items.len(), &mut |a, b| compare(&items[a], &items[b]));
    for start in 0..items.len() {
        // A cycle of moves: each item goes where the one before it was.
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// As [`sort_by`], in the order of the items.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// As [`sort_by`], in the order of a key.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// The numbers below `count`, sorted.
fn order_of(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_sorted_as_the_standard_library_sorts(items in prop::collection::vec((0u8..9, any::<u16>()), 0..200)) {
            let (mut all, mut by_key, mut by) = (items.clone(), items.clone(), items.clone());
            sort(&mut all);
            sort_by_key(&mut by_key, |item| item.0);
            sort_by(&mut by, |a, b| b.0.cmp(&a.0));
            let mut want = items.clone();
            want.sort_unstable();
            prop_assert_eq!(all, want);
            let mut want = items.clone();
            want.sort_by_key(|item| item.0);
            prop_assert_eq!(by_key, want);
            let mut want = items;
            want.sort_by_key(|item| std::cmp::Reverse(item.0));
            prop_assert_eq!(by, want);
        }
    }
}
