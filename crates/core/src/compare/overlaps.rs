//! Where two models may merge differently: merges that only one has, and merges that share a token and change their
//! order.
//!
//! In: the trees of A and B. Out: pairs of tokens that do not stay apart in B, from which all pairs are reached that
//! stay apart in A and not in B.
use super::trees::Trees;
use crate::error::Result;
use crate::ids::to_u32;
use crate::watch::Ticker;

/// Two tokens that do not stay apart in B, because a merge joins what is at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Start {
    pub(super) x: u32,
    pub(super) y: u32,
    /// The place of that merge in B if it takes `x` itself: what makes a longer token of `x` must come after it.
    /// 0 if it takes something at the end of `x`, so that nothing must.
    pub(super) before_x: u32,
    /// As `before_x`, for `y`.
    pub(super) before_y: u32,
}

/// The products of B by the tokens that they are made from. Kept apart are those that A makes otherwise or not at all.
pub(super) struct Overlaps {
    /// By token: products of the same parts in A and B whose right part it is.
    ending: Lists,
    /// By token: products of the same parts in A and B whose left part it is.
    beginning: Lists,
    /// By token: all products of B whose left part it is; and whose right part it is.
    all_beginning: Lists,
    all_ending: Lists,
    /// The products of B that A makes from other parts, or not at all.
    changed: Vec<u32>,
}

impl Overlaps {
    pub(super) fn new(a: &Trees, b: &Trees) -> Self {
        let products = |is_wanted: &dyn Fn(usize) -> bool| -> Vec<(u32, u32, u32)> {
            let of = |token: usize| b.parts[token].filter(|_| is_wanted(token));
            (0..b.parts.len()).filter_map(|token| of(token).map(|(l, r)| (to_u32(token), l, r))).collect()
        };
        let (all, same) = (products(&|_| true), products(&|token| a.parts[token] == b.parts[token]));
        let changed = products(&|token| a.parts[token] != b.parts[token]);
        let tokens = b.parts.len();
        let lists = |products: &[(u32, u32, u32)], is_right: bool| {
            Lists::new(
                tokens,
                products.iter().map(|&(token, left, right)| (if is_right { right } else { left }, token)),
            )
        };
        Self {
            ending: lists(&same, true),
            beginning: lists(&same, false),
            all_beginning: lists(&all, false),
            all_ending: lists(&all, true),
            changed: changed.iter().map(|&(token, ..)| token).collect(),
        }
    }

    /// Products of the same parts in A and B whose right part is this token.
    pub(super) fn ending_in(&self, token: u32) -> &[u32] {
        self.ending.of(token)
    }

    /// Products of the same parts in A and B whose left part is this token.
    pub(super) fn beginning_with(&self, token: u32) -> &[u32] {
        self.beginning.of(token)
    }

    /// Gives every start to `found`, until it returns true.
    ///
    /// # Errors
    /// Those of `found` and of the watch.
    pub(super) fn each(
        &self,
        a: &Trees,
        b: &Trees,
        ticker: &mut Ticker<'_>,
        found: &mut dyn FnMut(Start, &mut Ticker<'_>) -> Result<bool>,
    ) -> Result<()> {
        let place = |token: u32| b.place[token as usize];
        for &product in &self.changed {
            let Some((x, y)) = b.parts[product as usize] else { continue };
            if found(Start { x, y, before_x: place(product), before_y: place(product) }, ticker)? {
                return Ok(());
            }
        }
        if self.of_changed(b, ticker, found)? {
            return Ok(());
        }
        // Two merges of one token, on its left and on its right, whose order changes.
        for token in 0..to_u32(b.parts.len()) {
            let (lefts, rights) = (self.ending.of(token), self.beginning.of(token));
            for &on_left in lefts {
                ticker.spend(rights.len() + 1)?;
                for &on_right in rights {
                    let (in_a, in_b) = (
                        a.place[on_left as usize].cmp(&a.place[on_right as usize]),
                        place(on_left).cmp(&place(on_right)),
                    );
                    if in_a == in_b {
                        continue;
                    }
                    let start = if in_b.is_gt() {
                        // B merges on the right first, which leaves the left part of the other one alone.
                        let Some((_, y)) = b.parts[on_right as usize] else { continue };
                        Start { x: on_left, y, before_x: 0, before_y: place(on_right) }
                    } else {
                        let Some((x, _)) = b.parts[on_left as usize] else { continue };
                        Start { x, y: on_right, before_x: place(on_left), before_y: 0 }
                    };
                    if found(start, ticker)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The overlaps of products that A makes from other parts: a merge of B with what is at their ends in B.
    fn of_changed(
        &self,
        b: &Trees,
        ticker: &mut Ticker<'_>,
        found: &mut dyn FnMut(Start, &mut Ticker<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let place = |token: u32| b.place[token as usize];
        // The changed products that have a token at their left end, by that token, with what takes it.
        let mut at_left_end = Vec::new();
        for &product in &self.changed {
            let mut at = product;
            while let Some((left, _)) = b.parts[at as usize] {
                at_left_end.push((left, (product, place(at))));
                at = left;
            }
        }
        let at_left_end = Lists::new(b.parts.len(), at_left_end.into_iter());
        for &product in &self.changed {
            let mut at = product;
            while let Some((_, right)) = b.parts[at as usize] {
                let taken = place(at);
                at = right;
                for &merge in self.all_beginning.of(right) {
                    ticker.spend(1)?;
                    let (Some((_, y)), place) = (b.parts[merge as usize], place(merge)) else { continue };
                    if place >= taken {
                        continue;
                    }
                    let with = |y, before_y| Start { x: product, y, before_x: 0, before_y };
                    if found(with(y, place), ticker)? {
                        return Ok(true);
                    }
                    for &(longer, taken) in at_left_end.of(y) {
                        if place <= taken && found(with(longer, 0), ticker)? {
                            return Ok(true);
                        }
                    }
                }
            }
            let mut at = product;
            while let Some((left, _)) = b.parts[at as usize] {
                let taken = place(at);
                at = left;
                for &merge in self.all_ending.of(left) {
                    ticker.spend(1)?;
                    let (Some((x, _)), place) = (b.parts[merge as usize], place(merge)) else { continue };
                    let start = Start { x, y: product, before_x: place, before_y: 0 };
                    if place <= taken && found(start, ticker)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// A list of items for each token.
struct Lists<T = u32> {
    items: Vec<T>,
    starts: Vec<u32>,
}

impl<T: Copy> Lists<T> {
    fn new(tokens: usize, items: impl Iterator<Item = (u32, T)>) -> Self {
        let mut items: Vec<(u32, T)> = items.collect();
        items.sort_by_key(|&(token, _)| token);
        let mut starts = vec![0; tokens + 1];
        for &(token, _) in &items {
            starts[token as usize + 1] += 1;
        }
        for token in 0..tokens {
            starts[token + 1] += starts[token];
        }
        Self { items: items.into_iter().map(|(_, item)| item).collect(), starts }
    }

    fn of(&self, token: u32) -> &[T] {
        let at = |token: usize| self.starts[token] as usize;
        &self.items[at(token as usize)..at(token as usize + 1)]
    }
}
