//! How each token of a byte-pair encoding is made, and which tokens stay apart because of it.
//!
//! In: canonical merges in the order in which they are made. Out: what is at the ends of a token while it is merged.
//! Two tokens merge if something at the end of the one and something at the start of the other merge before anything
//! takes these.
use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::description::{MergeList, TokenList};
use crate::ids::to_u32;

/// No token, and the place of a token that merging does not make.
pub(super) const NONE: u32 = u32::MAX;

/// The canonical merges of a model. Tokens are named by their index in the token list.
pub(super) struct Trees {
    /// By token: the two tokens that it is made from; `None` for a byte, and for a token that is never made.
    pub(super) parts: Vec<Option<(u32, u32)>>,
    /// By token: the place of its merge among all merges, from 1 on; 0 for a byte, [`NONE`] if it is never made.
    pub(super) place: Vec<u32>,
    /// What two tokens become.
    pub(super) joined: HashMap<(u32, u32), u32, FixedState>,
}

impl Trees {
    /// The trees of merges that are in the order in which they are made. `None` if a part or a product is no token.
    pub(super) fn new(merges: &MergeList, tokens: &TokenList) -> Option<Self> {
        let mut trees = Self {
            parts: vec![None; tokens.len()],
            place: vec![NONE; tokens.len()],
            joined: HashMap::default(),
        };
        for byte in 0..=u8::MAX {
            trees.place[tokens.find(&[byte])?] = 0;
        }
        for (merge, place) in merges.iter().zip(1..) {
            let index = |id| tokens.index_of(id).map(to_u32);
            let (left, right, result) = (index(merge.left)?, index(merge.right)?, index(merge.result)?);
            trees.parts[result as usize] = Some((left, right));
            trees.place[result as usize] = place;
            trees.joined.insert((left, right), result);
        }
        Some(trees)
    }

    pub(super) fn place(&self, token: u32) -> u32 {
        self.place[token as usize]
    }

    /// Does merging make this token?
    pub(super) fn makes(&self, token: u32) -> bool {
        self.place(token) != NONE
    }

    /// The tokens that are at the right end of a token while it is merged, last made first. With each goes the place
    /// of the merge that takes it: [`NONE`] for the token itself, which no merge takes.
    fn right_end(&self, token: u32) -> impl Iterator<Item = (u32, u32)> {
        std::iter::successors(Some((token, NONE)), |&(token, _)| {
            self.parts[token as usize].map(|(_, right)| (right, self.place(token)))
        })
    }

    /// As [`Self::right_end`], at the left end.
    fn left_end(&self, token: u32) -> impl Iterator<Item = (u32, u32)> + Clone {
        std::iter::successors(Some((token, NONE)), |&(token, _)| {
            self.parts[token as usize].map(|(left, _)| (left, self.place(token)))
        })
    }

    /// Do two tokens that are made stay apart, and if not, what may keep them apart once they are parts of longer
    /// tokens?
    pub(super) fn look_at(&self, x: u32, y: u32) -> Look {
        let (mut right_before, mut left_before) = (NONE, NONE);
        let (mut both, mut is_apart) = (NONE, true);
        for (i, (u, right_taken)) in self.right_end(x).enumerate() {
            for (j, (v, left_taken)) in self.left_end(y).enumerate() {
                let Some(&product) = self.joined.get(&(u, v)) else { continue };
                let place = self.place(product);
                // Of equal merges the leftmost comes first: the one inside x before this one, this one before the
                // one inside y.
                if place >= right_taken || place > left_taken {
                    continue;
                }
                is_apart = false;
                match (i, j) {
                    (0, 0) => both = place,
                    (0, _) => right_before = right_before.min(place),
                    (_, 0) => left_before = left_before.min(place),
                    _ => return Look::Together,
                }
            }
        }
        if is_apart { Look::Apart } else { Look::Unless { x: right_before, y: left_before, either: both } }
    }

    /// Do two tokens stay apart?
    #[cfg(test)]
    pub(super) fn stay_apart(&self, x: u32, y: u32) -> bool {
        self.makes(x) && self.makes(y) && matches!(self.look_at(x, y), Look::Apart)
    }
}

/// What is known of two neighbours.
pub(super) enum Look {
    /// They stay apart.
    Apart,
    /// They do not, whatever longer tokens they are the inner ends of.
    Together,
    /// They merge, unless a merge takes `x` (or `y`, or one of both) before; places of merges, [`NONE`] if there is
    /// no such condition.
    Unless { x: u32, y: u32, either: u32 },
}
