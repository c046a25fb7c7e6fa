//! Numbers for products that increase from parts to products, where ranks do not.
//!
//! Comes in: the canonical merges, by rank. Goes out: the same merges with new products, or nothing where no
//! numbers say in which order they are made. Merging by the new numbers must never give other ids than merging by
//! ranks.
//!
//! A token that is merged from one of a higher rank can only be made after that one, and is made at once then: it
//! *follows* it. `docs/merging.md` says when merging by the numbers that come of this is the same as by ranks, and
//! proves it.
use std::collections::BTreeMap;

use tokenmill_kernels::{MergeTable, NO_MERGE};

use crate::ids::to_u32;

use super::table::{BYTES, Built, NOT_BUILT};

/// How many entries ahead of an insertion its memory is prefetched.
const AHEAD: usize = 8;

/// A product that is merged from one of a higher rank.
struct Follower {
    /// The rank of the product that it follows in the end, and of the one that it follows directly.
    root: usize,
    followed: usize,
    /// The other part, which was made before.
    taken: u32,
    /// Is that the right one?
    takes_right: bool,
}

/// These merges with new numbers. `ranks` has every product that merging makes, each after its parts.
pub(super) fn renumbered(built: &Built, ranks: &[usize]) -> Option<Built> {
    let ranks = in_order(&built.parts, ranks)?;
    let mut numbers: Vec<u32> = (0..BYTES).chain(built.parts.iter().map(|_| NO_MERGE)).collect();
    for (number, &rank) in (BYTES..).zip(&ranks) {
        numbers[BYTES as usize + rank] = number;
    }
    let with_numbers = |&rank: &usize| {
        let (left, right) = built.parts[rank];
        (numbers[left as usize], numbers[right as usize])
    };
    let parts: Vec<(u32, u32)> = ranks.iter().map(with_numbers).collect();
    let mut merges = MergeTable::with_capacity(parts.len());
    for (at, &(left, right)) in parts.iter().enumerate() {
        if let Some(&(left, right)) = parts.get(at + AHEAD) {
            merges.prefetch(left, right);
        }
        merges.insert(left, right, BYTES + to_u32(at));
    }
    let symbols = (0..BYTES as usize).chain(ranks.iter().map(|&rank| BYTES as usize + rank));
    let ids = symbols.map(|symbol| built.ids[symbol]).collect();
    Some(Built { merges, parts, ids })
}

/// `ranks` in the order of the new numbers. `parts` has the two parts of each product, by rank.
fn in_order(parts: &[(u32, u32)], ranks: &[usize]) -> Option<Vec<usize>> {
    let mut followers = BTreeMap::new();
    // Nearly no product follows another, so that the map is seldom looked at.
    let mut follows = vec![false; parts.len()];
    for &rank in ranks {
        let (left, right) = parts[rank];
        let root = |part: u32| match rank_of(part) {
            Some(rank) if follows[rank] => root_of(&followers, part),
            rank => rank,
        };
        if root(left).max(root(right)) < Some(rank) {
            continue;
        }
        if root(left) == root(right) {
            return None;
        }
        let takes_right = root(left) > root(right);
        let (later, taken) = if takes_right { (left, right) } else { (right, left) };
        let (root, followed) = (root(later)?, rank_of(later)?);
        followers.insert(rank, Follower { root, followed, taken, takes_right });
        follows[rank] = true;
    }
    if !is_sound(&followers, parts) {
        return None;
    }
    // By the product that they follow, higher ranks first.
    let mut followers_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&rank, follower) in followers.iter().rev() {
        followers_of.entry(follower.followed).or_default().push(rank);
    }
    let mut ordered = Vec::with_capacity(ranks.len());
    let mut stack = Vec::new();
    for root in (0..parts.len()).filter(|&rank| parts[rank] != NOT_BUILT && !follows[rank]) {
        stack.push(root);
        // Of two that follow the same product the one of the lower rank comes first, with all its own followers.
        while let Some(rank) = stack.pop() {
            ordered.push(rank);
            stack.extend(followers_of.get(&rank).into_iter().flatten());
        }
    }
    Some(ordered)
}

/// The rank of a product; a byte has none.
fn rank_of(symbol: u32) -> Option<usize> {
    symbol.checked_sub(BYTES).map(|rank| rank as usize)
}

/// The rank of the product that a symbol follows in the end, or its own; a byte has none.
fn root_of(followers: &BTreeMap<usize, Follower>, symbol: u32) -> Option<usize> {
    let rank = rank_of(symbol)?;
    Some(followers.get(&rank).map_or(rank, |follower| follower.root))
}

/// Is it true of every root that no follower takes the left part of the root on its right, and that none takes on
/// its left what one takes on its right?
fn is_sound(followers: &BTreeMap<usize, Follower>, parts: &[(u32, u32)]) -> bool {
    let of = |follower: &Follower| (follower.root, follower.taken, follower.takes_right);
    let mut taken: Vec<(usize, u32, bool)> = followers.values().map(of).collect();
    taken.sort_unstable();
    let takes_the_next = taken.iter().any(|&(root, taken, on_right)| on_right && parts[root].0 == taken);
    let takes_on_both_sides =
        taken.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1) && two[0].2 != two[1].2);
    !takes_the_next && !takes_on_both_sides
}
