//! Finds the canonical merges of a vocabulary: the bytes of each token are merged by the merges of shorter tokens.
//!
//! In: candidates in order of rank. Out: for each token that its own bytes merge to, the one candidate that makes
//! it, numbered so that every product comes after its parts. A candidate that no text uses must never be kept, and
//! merging by the numbers must never give other ids than merging by ranks. `docs/merging.md` has the proof.
use std::collections::BTreeMap;

use tokenmill_kernels::batch_merge::{Narrow, Wide, Widest, Width, wide_input, widest_input};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, cpu, prefetch, sorting};

use super::table::{BYTES, Built, MERGE_BATCH, NOT_BUILT, start};
use crate::description::TokenList;
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::model::bpe::heap;
use crate::model::bpe::scratch::BpeScratch;
use crate::watch::Ticker;

/// How many entries ahead of an insertion its memory is prefetched.
const AHEAD: usize = 8;

/// The canonical merges of these candidates, and for each token whether its bytes merge to it. `None` if two
/// candidates have the same parts, or if no order of numbers agrees with the ranks.
pub(super) fn build(
    candidates: Candidates,
    tokens: &TokenList,
    bytes: &[TokenId; 256],
    ticker: &mut Ticker<'_>,
) -> Result<Option<(Built, Vec<bool>)>> {
    let is_byte = |(id, token): (TokenId, &[u8])| matches!(*token, [byte] if bytes[usize::from(byte)] == id);
    let count = candidates.indices.len();
    let of_products = candidates.indices.iter().map(|&index| tokens.id(index as usize));
    let ids = bytes.iter().copied().chain(of_products).collect();
    let candidates = CandidatesByToken::new(candidates, tokens.len());
    if candidates.has_duplicates() {
        return Ok(None);
    }
    let merges = MergeTable::with_capacity(count.min(tokens.len()));
    let mut builder = Builder {
        tokens,
        built: Built { merges, parts: vec![NOT_BUILT; count], ids },
        is_built: tokens.iter().map(is_byte).collect(),
        pending: Vec::new(),
        candidates,
    };
    // A token is merged from shorter ones, so all tokens of one length are merged before any of them is inserted.
    let products = (0..tokens.len()).filter(|&index| builder.candidates.has(index));
    let (products, ends) = grouped(products.map(|index| (tokens.bytes(index).len(), to_u32(index))));
    let starts = std::iter::once(0).chain(ends.iter().copied());
    for (length, (start, &end)) in starts.zip(&ends).enumerate() {
        let same = &products[start as usize..end as usize];
        if length <= Narrow::LONGEST {
            builder.merge_short::<Narrow>(same, |bytes| key_at(bytes, 0, bytes.len()), ticker)?;
        } else if length <= Wide::LONGEST {
            builder.merge_short::<Wide>(same, wide_input, ticker)?;
        } else if length <= Widest::LONGEST {
            builder.merge_short::<Widest>(same, widest_input, ticker)?;
        } else {
            builder.merge_long(same, ticker)?;
        }
        if builder.insert_pending().is_none() {
            return Ok(None);
        }
    }
    ticker.watch().poll()?;
    let Builder { built, is_built, candidates, .. } = builder;
    if is_in_order(&built.parts) {
        return Ok(Some((built, is_built)));
    }
    let ranks =
        products.iter().flat_map(|&index| candidates.of(index as usize)).map(|(rank, _)| rank as usize);
    let ranks: Vec<usize> = ranks.filter(|&rank| built.parts[rank] != NOT_BUILT).collect();
    Ok(renumbered(&built, &ranks).map(|built| (built, is_built)))
}

/// Do ranks increase from parts to products?
fn is_in_order(parts: &[(u32, u32)]) -> bool {
    let is_after = |(product, &(left, right)): (u32, &(u32, u32))| left.max(right) < product;
    (BYTES..).zip(parts).filter(|&(_, &parts)| parts != NOT_BUILT).all(is_after)
}

/// The items grouped by the small number before each, in a stable order, and the end of each group.
fn grouped<T: Copy + Default>(items: impl Iterator<Item = (usize, T)> + Clone) -> (Vec<T>, Vec<u32>) {
    let mut ends = vec![0; items.clone().map(|(number, _)| number).max().map_or(0, |most| most + 1)];
    items.clone().for_each(|(number, _)| ends[number] += 1);
    let mut before = 0;
    for end in &mut ends {
        // At first the start of a group; it moves to the end of the group while the items are written.
        before += std::mem::replace(end, before);
    }
    let mut sorted = vec![T::default(); before as usize];
    for (number, item) in items {
        let end = &mut ends[number];
        sorted[*end as usize] = item;
        *end += 1;
    }
    (sorted, ends)
}

/// The merges found so far. The candidate of rank `r` makes symbol `256 + r`.
struct Builder<'a> {
    tokens: &'a TokenList,
    /// Its `parts` are by rank.
    built: Built,
    /// For each token: do its bytes merge to it?
    is_built: Vec<bool>,
    /// Tokens whose bytes merge to two symbols, with these symbols.
    pending: Vec<(u32, [u32; 2])>,
    candidates: CandidatesByToken,
}

impl Builder<'_> {
    /// Merges the bytes of tokens that fit into rows of a width.
    fn merge_short<W: Width>(
        &mut self,
        products: &[u32],
        row: impl Fn(&[u8]) -> W::Input,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        for batch in products.chunks(MERGE_BATCH) {
            ticker.spend(MERGE_BATCH * W::LONGEST)?;
            let bytes = |index: u32| self.tokens.bytes(index as usize);
            let row_at = |at: usize| batch.get(at).map(|&index| row(bytes(index))).unwrap_or_default();
            let rows = std::array::from_fn(row_at);
            let merged = W::merge::<MERGE_BATCH>(cpu::level(), &self.built.merges, rows);
            let pending = batch.iter().zip(&merged).filter_map(|(&index, merged)| {
                let row = W::symbols(merged).first_chunk().filter(|_| W::symbols(merged).len() == 2);
                row.map(|&row| (index, row))
            });
            self.pending.extend(pending);
        }
        Ok(())
    }

    fn merge_long(&mut self, products: &[u32], ticker: &mut Ticker<'_>) -> Result<()> {
        let scratch = &mut BpeScratch::default();
        for &index in products {
            start(self.tokens.bytes(index as usize), &mut scratch.symbols)?;
            heap::merge(&self.built.merges, scratch, ticker)?;
            heap::compact(scratch);
            if let &[left, right] = &scratch.symbols[..] {
                self.pending.push((index, [left, right]));
            }
        }
        Ok(())
    }

    /// Inserts the pending merges. `None` if two candidates are merged from the same parts.
    ///
    /// The table may hold merges that rank after this candidate. That does no harm: when a token is tested, its own
    /// merge is the last step, after all others.
    fn insert_pending(&mut self) -> Option<()> {
        let Built { merges, parts, ids } = &mut self.built;
        let pending = std::mem::take(&mut self.pending);
        for (at, &(index, [left, right])) in pending.iter().enumerate() {
            if let Some(&(index, [left, right])) = pending.get(at + AHEAD) {
                merges.prefetch(left, right);
                self.candidates.prefetch(index as usize);
            }
            let found = (ids[left as usize], ids[right as usize]);
            let candidates = self.candidates.of(index as usize);
            let mut matching = candidates.filter(|(_, parts)| parts.is_none_or(|parts| parts == found));
            let Some((rank, _)) = matching.next() else { continue };
            if matching.next().is_some() || !merges.insert(left, right, BYTES + rank) {
                return None;
            }
            parts[rank as usize] = (left, right);
            self.is_built[index as usize] = true;
        }
        Some(())
    }
}

/// Candidates in order of rank.
pub(super) struct Candidates {
    /// By rank: the index in the token list of the token that the candidate makes.
    pub(super) indices: Vec<u32>,
    /// By rank: the two tokens that the candidate joins; `None` if any two may be joined.
    pub(super) parts: Option<Vec<(TokenId, TokenId)>>,
}

/// Candidates by the token that they make.
pub(super) struct CandidatesByToken {
    candidates: Candidates,
    /// By token: the rank of its first candidate; [`NONE`] if it has none.
    first: Vec<u32>,
    /// By rank: the rank of the next candidate for the same token. Empty if no token has two.
    next: Vec<u32>,
}

/// Stands for a missing rank.
const NONE: u32 = u32::MAX;

impl CandidatesByToken {
    pub(super) fn new(candidates: Candidates, tokens: usize) -> Self {
        let (mut first, mut next) = (vec![NONE; tokens], Vec::new());
        for (rank, &index) in candidates.indices.iter().enumerate().rev() {
            let following = std::mem::replace(&mut first[index as usize], to_u32(rank));
            if following != NONE {
                next.resize(candidates.indices.len(), NONE);
                next[rank] = following;
            }
        }
        Self { candidates, first, next }
    }

    /// Does any candidate make this token?
    #[inline]
    pub(super) fn has(&self, index: usize) -> bool {
        self.first[index] != NONE
    }

    /// The ranks of the candidates that make this token, ascending, and the two tokens that each joins.
    #[inline]
    pub(super) fn of(&self, index: usize) -> impl Iterator<Item = (u32, Option<(TokenId, TokenId)>)> + Clone {
        let next = |rank: u32| self.next.get(rank as usize).copied().filter(|&rank| rank != NONE);
        let first = Some(self.first[index]).filter(|&rank| rank != NONE);
        let ranks = std::iter::successors(first, move |&rank| next(rank));
        ranks.map(|rank| (rank, self.candidates.parts.as_ref().map(|parts| parts[rank as usize])))
    }

    /// Prefetches what [`Self::of`] reads.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        if let Some(parts) = &self.candidates.parts {
            prefetch(parts, self.first[index] as usize);
        }
    }

    /// Are the same two parts listed twice for a token?
    pub(super) fn has_duplicates(&self) -> bool {
        // Most tokens have one candidate.
        let heads =
            self.candidates.indices.iter().zip(&self.next).enumerate().filter(|&(rank, (&index, &next))| {
                next != NONE && self.first[index as usize] as usize == rank
            });
        heads
            .map(|(_, (&index, _))| index)
            .any(|index| has_equal(self.of(index as usize).filter_map(|(_, parts)| parts)))
    }
}

/// More items than this are sorted before they are compared.
const FEW: usize = 16;

/// Are two of these equal?
fn has_equal<T: Ord>(items: impl Iterator<Item = T> + Clone) -> bool {
    if items.clone().nth(FEW).is_none() {
        let mut rest = items;
        while let Some(item) = rest.next() {
            if rest.clone().any(|other| other == item) {
                return true;
            }
        }
        return false;
    }
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.windows(2).any(|pair| pair[0] == pair[1])
}

/// A product P with a part Q of higher rank. P can only be made after Q, and is then made at once: P follows Q.
struct Follower {
    /// The rank of the product at the start of the chain that it follows, and of the one that it follows directly.
    root: usize,
    followed: usize,
    /// The other part, which was made earlier.
    taken: u32,
    /// Is the other part on the right?
    takes_right: bool,
}

/// These merges with new numbers; `None` if no numbers give the order in which they are made. `ranks` has every
/// product that merging makes, each after its parts.
fn renumbered(built: &Built, ranks: &[usize]) -> Option<Built> {
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
    // Hardly any product follows another, so the map is rarely looked at.
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
    // Followers by the product that they follow, higher ranks first.
    let mut followers_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&rank, follower) in followers.iter().rev() {
        followers_of.entry(follower.followed).or_default().push(rank);
    }
    let mut ordered = Vec::with_capacity(ranks.len());
    let mut stack = Vec::new();
    for root in (0..parts.len()).filter(|&rank| parts[rank] != NOT_BUILT && !follows[rank]) {
        stack.push(root);
        // Of two followers of one product, the one of lower rank comes first, with all its own followers.
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

/// The rank of the root that a symbol follows, or its own rank; `None` for a byte.
fn root_of(followers: &BTreeMap<usize, Follower>, symbol: u32) -> Option<usize> {
    let rank = rank_of(symbol)?;
    Some(followers.get(&rank).map_or(rank, |follower| follower.root))
}

/// Holds if no follower has the left part of its root on its right, and no two followers of one root have the same
/// other part, one on its right and one on its left.
fn is_sound(followers: &BTreeMap<usize, Follower>, parts: &[(u32, u32)]) -> bool {
    let of = |follower: &Follower| (follower.root, follower.taken, follower.takes_right);
    let mut taken: Vec<(usize, u32, bool)> = followers.values().map(of).collect();
    sorting::sort(&mut taken);
    let takes_the_next = taken.iter().any(|&(root, taken, on_right)| on_right && parts[root].0 == taken);
    let takes_on_both_sides =
        taken.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1) && two[0].2 != two[1].2);
    !takes_the_next && !takes_on_both_sides
}
