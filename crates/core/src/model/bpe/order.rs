//! Numbers for products that increase from parts to products, where ranks do not.
//!
//! Where a token is merged from one of a higher rank it can only be made behind that, and is made at once then: it
//! *follows* it. `docs/merging.md` says when merging by the numbers that come of this is the same as by ranks, and
//! proves it.
use std::collections::BTreeMap;

use super::canonical::{BYTES, NOT_BUILT};

/// What is merged from one of a higher rank. A product is given by its place among all, in order of rank.
struct Follower {
    /// What it follows in the end, and what at once.
    root: usize,
    behind: usize,
    /// The part that was there before.
    taken: u32,
    /// That is the right one.
    is_right: bool,
}

/// Those products that merging makes, in order of their new numbers. `parts` has of each product what merging makes it
/// from: bytes, and behind them the places of products; `places` are these products, each behind its parts. `None` where
/// no numbers say in which order merging makes them.
pub(super) fn in_order(parts: &[(u32, u32)], places: &[usize]) -> Option<Vec<usize>> {
    let mut followers = BTreeMap::new();
    // Nearly none follows, so that the map is seldom asked.
    let mut follows = vec![false; parts.len()];
    for &place in places {
        let (left, right) = parts[place];
        let root = |part: u32| match self::place(part) {
            Some(place) if follows[place] => root(&followers, part),
            place => place,
        };
        if root(left).max(root(right)) < Some(place) {
            continue;
        }
        if root(left) == root(right) {
            return None;
        }
        let is_right = root(left) > root(right);
        let (later, taken) = if is_right { (left, right) } else { (right, left) };
        let (root, behind) = (root(later)?, self::place(later)?);
        followers.insert(place, Follower { root, behind, taken, is_right });
        follows[place] = true;
    }
    if !is_sound(&followers, parts) {
        return None;
    }
    // By what they follow, those of higher ranks first.
    let mut following: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&place, follower) in followers.iter().rev() {
        following.entry(follower.behind).or_default().push(place);
    }
    let mut ordered = Vec::with_capacity(places.len());
    let mut next = Vec::new();
    for root in (0..parts.len()).filter(|&place| parts[place] != NOT_BUILT && !follows[place]) {
        next.push(root);
        // Of two that follow the same one that with the lower rank comes first, with all that follows it.
        while let Some(place) = next.pop() {
            ordered.push(place);
            next.extend(following.get(&place).into_iter().flatten());
        }
    }
    Some(ordered)
}

/// The place of a symbol, and of a byte nothing.
fn place(symbol: u32) -> Option<usize> {
    symbol.checked_sub(BYTES).map(|place| place as usize)
}

/// The place of what it follows in the end, or its own, and of a byte nothing.
fn root(followers: &BTreeMap<usize, Follower>, symbol: u32) -> Option<usize> {
    let place = place(symbol)?;
    Some(followers.get(&place).map_or(place, |follower| follower.root))
}

/// Does what follows take nothing that another place of its root takes, or is?
fn is_sound(followers: &BTreeMap<usize, Follower>, parts: &[(u32, u32)]) -> bool {
    let of = |follower: &Follower| (follower.root, follower.taken, follower.is_right);
    let mut taken: Vec<(usize, u32, bool)> = followers.values().map(of).collect();
    taken.sort_unstable();
    let takes_the_next = taken.iter().any(|&(root, taken, is_right)| is_right && parts[root].0 == taken);
    let takes_on_both_sides =
        taken.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1) && two[0].2 != two[1].2);
    !takes_the_next && !takes_on_both_sides
}
