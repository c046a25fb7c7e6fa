//! Candidates: the merges that a vocabulary lists or implies, by the token that they make.
//!
//! Comes in: a list in order of rank. Goes out: for each token, the ranks of the candidates that make it,
//! ascending. It must never say which of them a text uses: that is found by merging.
use tokenmill_kernels::prefetch;

use crate::ids::{TokenId, to_u32};

/// Candidates in order of rank.
pub(super) struct Candidates {
    /// The index of the token that each makes, in the list of tokens.
    pub(super) indices: Vec<u32>,
    /// The two tokens that each joins; `None` if any two may be joined.
    pub(super) parts: Option<Vec<(TokenId, TokenId)>>,
}

/// Candidates by the token that they make.
pub(super) struct CandidatesByToken {
    candidates: Candidates,
    /// By token: the rank of its first candidate, [`NONE`] where it has none.
    first: Vec<u32>,
    /// By rank: that of the next candidate that makes the same token. Empty where no token has two.
    next: Vec<u32>,
}

/// In place of a rank.
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
