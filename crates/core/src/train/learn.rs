//! Exact greedy BPE with counts that follow each merge; the naive twin in
//! `tokenmill-reference` is its definition.
//!
//! All distinct pretokens lie one behind the other in a row of [`Cell`]s, one per base symbol,
//! with a fence between them. A token covers as many cells as base symbols; its first and its
//! last cell hold its number, so both neighbours are found by length alone and there are no
//! links. A merge touches the places where it happens and nothing else: time grows with the
//! number of replacements, whatever the length of the pretokens.
mod neighbour;
mod neighbours;

use tokenmill_kernels::try_alloc;

use self::neighbour::{IGNORED, Neighbour, Newborn, STRANGER};
use super::alphabet::Alphabet;
use super::options::TrainOptions;
use super::pairs::{Pair, Pairs};
use super::queue::{Order, Queue, Waiting};
use super::types::Types;
use crate::description::TokenList;
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId};
use crate::watch::Ticker;

/// One place in the row: symbol and weight share a cache line, because a visit needs both.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// In the first and in the last cell of a token its number. In between whatever was there,
    /// but never something that looks like the start of a token: see [`GONE`].
    symbol: u32,
    /// How often this pretoken was counted, or [`HEAVY`].
    weight: u32,
}

/// Between pretokens, before the first and behind the last.
const FENCE: u32 = u32::MAX;
/// Where a token started that is now the right part of a longer one. Without it a list of
/// positions could take the place for alive.
const GONE: u32 = u32::MAX - 1;
/// A weight that does not fit a cell.
const HEAVY: u32 = u32::MAX;

/// The arena of the vocabulary is addressed by `u32`.
const ARENA_LIMIT: u64 = u32::MAX as u64;

/// Why a token may not be made.
#[derive(Debug)]
struct Limits {
    min_frequency: u64,
    max_size: u64,
    /// Tokens that spell this mark without being an end of word do not exist: they would be
    /// read as one.
    mark: Option<Vec<u8>>,
}

/// The state between two merges.
#[derive(Debug)]
pub(super) struct Learner {
    cells: Vec<Cell>,
    /// First cell and weight of each pretoken that is [`HEAVY`], ascending.
    heavy: Vec<(u32, u64)>,
    /// Alphabet and merges; the index of a token is its symbol.
    tokens: TokenList,
    first_id: TokenId,
    arena: u64,
    /// Cells per token.
    lens: Vec<u32>,
    /// Size of each token as `max_token_length` counts it.
    sizes: Vec<u32>,
    pairs: Pairs,
    queue: Queue,
    order: Order,
    limits: Limits,
    neighbours: Vec<Neighbour>,
    touched: Vec<u32>,
    newborn: Vec<Newborn>,
    /// Positions of the new pairs, beside `newborn`; kept from step to step for their memory.
    births: Vec<Vec<u32>>,
}

/// A merge that was learned: symbols of its parts, and its count when it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) count: u64,
}

/// What is left when nothing can merge any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Every pretoken is one token.
    Nothing,
    /// Only pairs rarer than the minimum.
    Rare,
    /// Only pairs whose token would be too long (or would spell the end-of-word mark).
    Refused,
}

impl Learner {
    /// Lays out the pretokens and counts their pairs. Cost: linear in the symbols of the distinct
    /// pretokens; 8 bytes each and 4 more per position of a pair.
    pub(super) fn new(
        options: &TrainOptions,
        types: &Types,
        alphabet: &Alphabet,
        first_id: TokenId,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let mut tokens = TokenList::default();
        for (id, symbol) in (first_id..).zip(&alphabet.symbols) {
            tokens.push(id, symbol);
        }
        let max_size = options.max_token_length.map_or(u64::MAX, |limit| limit as u64);
        let mut learner = Self {
            // A pretoken has no more symbols than bytes, an end-of-word symbol and a fence.
            cells: try_alloc::vec(types.bytes() + 2 * types.len() + 1)?,
            heavy: Vec::new(),
            first_id,
            arena: alphabet.symbols.iter().map(|symbol| symbol.len() as u64).sum(),
            lens: vec![1; tokens.len()],
            sizes: alphabet.sizes.clone(),
            neighbours: vec![STRANGER; tokens.len()],
            tokens,
            pairs: Pairs::default(),
            queue: Queue::default(),
            order: Order::new(options.tie_break, options.alphabet),
            limits: Limits {
                min_frequency: options.min_frequency,
                max_size,
                mark: options.end_of_word.as_ref().map(|mark| mark.symbol.clone().into_bytes()),
            },
            touched: Vec::new(),
            newborn: Vec::new(),
            births: Vec::new(),
        };
        learner.lay_out(types, alphabet, ticker)?;
        learner.count_pairs(ticker)?;
        Ok(learner)
    }

    fn lay_out(&mut self, types: &Types, alphabet: &Alphabet, ticker: &mut Ticker<'_>) -> Result<()> {
        let fence = Cell { symbol: FENCE, weight: 0 };
        self.cells.push(fence);
        for (bytes, count) in types.iter() {
            ticker.spend(bytes.len() + 4)?;
            let start = self.cells.len();
            let weight = u32::try_from(count).unwrap_or(HEAVY);
            alphabet.spell(bytes, |symbol| self.cells.push(Cell { symbol, weight }))?;
            if self.cells.len() < start + 2 {
                // A single symbol has no pair.
                self.cells.truncate(start);
                continue;
            }
            self.cells.push(fence);
            if self.cells.len() > GONE as usize {
                return Err(Error::training(
                    "the distinct pretokens hold more than 2^32 symbols; train on less text, or \
                     choose a split that cuts it finer",
                ));
            }
            if weight == HEAVY {
                try_alloc::push(&mut self.heavy, (start as u32, count))?;
            }
        }
        Ok(())
    }

    fn count_pairs(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        // Numbers in the order of appearance; counts first, so that lists get their exact size.
        let mut seen = Pairs::default();
        let mut occurrences: Vec<u32> = Vec::new();
        let mut numbers: Vec<u32> = try_alloc::vec(self.cells.len())?;
        for at in 1..self.cells.len() {
            ticker.spend(4)?;
            let (left, right) = (self.cells[at - 1].symbol, self.cells[at].symbol);
            if left == FENCE || right == FENCE || !self.fits(left, right) {
                numbers.push(IGNORED);
                continue;
            }
            let number = if let Some(number) = seen.find(left, right) {
                number
            } else {
                try_alloc::push(&mut occurrences, 0)?;
                seen.add(Pair { count: 0, left, right, positions: Box::default() })?
            };
            seen.get_mut(number).count += self.weight(at - 1);
            occurrences[number as usize] += 1;
            numbers.push(number);
        }
        let room_for = |(pair, &n): (&Pair, &u32)| -> Result<Vec<u32>> {
            Ok(try_alloc::vec(if self.follows(pair.count) { n as usize } else { 0 })?)
        };
        let mut positions = try_alloc::collect(seen.iter().zip(&occurrences).map(room_for))?;
        for (at, &number) in (0u32..).zip(&numbers) {
            ticker.spend(1)?;
            if number != IGNORED && self.follows(seen.get(number).count) {
                positions[number as usize].push(at);
            }
        }
        drop(numbers);
        let born = seen.iter().map(|pair| Newborn { left: pair.left, right: pair.right, count: pair.count });
        for (newborn, positions) in born.zip(positions) {
            ticker.spend(16)?;
            self.follow(newborn, positions.into_boxed_slice())?;
        }
        Ok(())
    }

    fn follows(&self, count: u64) -> bool {
        count >= self.limits.min_frequency
    }

    /// May these two be one token, by its length?
    fn fits(&self, left: u32, right: u32) -> bool {
        let size = |symbol: u32| u64::from(self.sizes[symbol as usize]);
        size(left) + size(right) <= self.limits.max_size
    }

    /// Would the token spell the end-of-word mark without being an end of word?
    fn spells_mark(&self, left: u32, right: u32) -> bool {
        let Some(mark) = &self.limits.mark else { return false };
        let (left, right) = (self.tokens.bytes(left as usize), self.tokens.bytes(right as usize));
        // No token contains it but at its end, so only the seam and the end are new. A right part
        // that ends with it is an end of word already.
        let joined = [left, right].concat();
        let inner = if right.ends_with(mark) { joined.len() - mark.len() } else { joined.len() };
        joined[..inner].windows(mark.len()).any(|window| window == mark)
    }

    fn weight(&self, at: usize) -> u64 {
        match self.cells[at].weight {
            HEAVY => {
                let behind = self.heavy.partition_point(|&(start, _)| start as usize <= at);
                self.heavy[behind - 1].1
            }
            weight => u64::from(weight),
        }
    }

    /// Is the pair (left, right) at this place now?
    fn is_at(&self, at: u32, left: u32, right: u32) -> bool {
        let at = at as usize;
        self.cells[at].symbol == left && self.cells[at + self.lens[left as usize] as usize].symbol == right
    }

    /// Follows a pair from now on, if it is frequent enough.
    fn follow(&mut self, newborn: Newborn, positions: Box<[u32]>) -> Result<()> {
        let Newborn { left, right, count } = newborn;
        if !self.follows(count) {
            return Ok(());
        }
        let position = if self.order.by_position() {
            positions.iter().copied().find(|&at| self.is_at(at, left, right)).unwrap_or(u32::MAX)
        } else {
            0
        };
        let key = self.order.key(left, right, position, &self.tokens);
        let pair = self.pairs.add(Pair { count, left, right, positions })?;
        self.queue.push(Waiting { count, key, left, right, pair }, &self.order, &self.tokens)
    }

    /// Makes the next merge; `None` when there is none.
    pub(super) fn step(&mut self, ticker: &mut Ticker<'_>) -> Result<Option<Learned>> {
        let Some(best) = self.choose(ticker)? else { return Ok(None) };
        let result = self.join(best.left, best.right)?;
        self.replace(best.pair, result, ticker)?;
        self.settle(ticker)?;
        Ok(Some(Learned { left: best.left, right: best.right, count: best.count }))
    }

    /// Takes the best pair off the queue, refreshing entries that have fallen behind.
    fn choose(&mut self, ticker: &mut Ticker<'_>) -> Result<Option<Waiting>> {
        loop {
            ticker.spend(32)?;
            let Some(mut top) = self.queue.pop(&self.order, &self.tokens) else { return Ok(None) };
            let count = self.pairs.get(top.pair).count;
            if !self.follows(count) || self.spells_mark(top.left, top.right) {
                self.pairs.get_mut(top.pair).positions = Box::default();
                continue;
            }
            let mut current = count == top.count;
            top.count = count;
            if self.order.by_position() {
                // Ascending, and what is stale stays stale: go on from where the key stood.
                let positions = &self.pairs.get(top.pair).positions;
                let from = positions.partition_point(|&at| u64::from(at) < top.key);
                for &at in &positions[from..] {
                    ticker.spend(2)?;
                    if self.is_at(at, top.left, top.right) {
                        current &= u64::from(at) == top.key;
                        top.key = u64::from(at);
                        break;
                    }
                }
            }
            if current {
                return Ok(Some(top));
            }
            self.queue.push(top, &self.order, &self.tokens)?;
        }
    }

    /// Adds the token made of two; its symbol.
    fn join(&mut self, left: u32, right: u32) -> Result<u32> {
        let (l, r) = (left as usize, right as usize);
        self.arena += (self.tokens.bytes(l).len() + self.tokens.bytes(r).len()) as u64;
        if self.arena > ARENA_LIMIT {
            let reason = "the tokens together pass 4 GiB; set max_token_length or choose a split";
            return Err(Error::training(reason));
        }
        let symbol = self.tokens.len() as u32;
        let id = self.first_id.checked_add(symbol).filter(|&id| id < NO_ID);
        let id = id.ok_or_else(|| Error::training("more than 2^32 - 1 tokens"))?;
        self.tokens.try_push_joined(id, l, r)?;
        self.lens.push(self.lens[l] + self.lens[r]);
        self.sizes.push(self.sizes[l] + self.sizes[r]);
        self.neighbours.push(STRANGER);
        Ok(symbol)
    }

    /// Replaces every occurrence of a pair, from the left and without overlap.
    fn replace(&mut self, merged: u32, result: u32, ticker: &mut Ticker<'_>) -> Result<()> {
        let pair = self.pairs.get_mut(merged);
        let (left, right) = (pair.left, pair.right);
        let positions = std::mem::take(&mut pair.positions);
        let (left_len, right_len) = (self.lens[left as usize] as usize, self.lens[right as usize] as usize);
        for &start in &positions {
            ticker.spend(8)?;
            let at = start as usize;
            let seam = at + left_len;
            if self.cells[at].symbol != left || self.cells[seam].symbol != right {
                continue;
            }
            let end = seam + right_len;
            let weight = self.weight(at);
            let before = self.cells[at - 1].symbol;
            if before != FENCE {
                let previous = start - self.lens[before as usize];
                if before == result {
                    // The place before was merged in this step and counted (result, left).
                    let newborn = self.new_right(result, left);
                    self.unborn(newborn, weight);
                } else {
                    let old = self.old_left(before, left);
                    self.lower(old, merged, weight);
                }
                let newborn = self.new_left(before, result);
                self.bear(newborn, weight, previous)?;
            }
            let after = self.cells[end].symbol;
            if after != FENCE {
                let old = self.old_right(right, after);
                self.lower(old, merged, weight);
                let newborn = self.new_right(result, after);
                self.bear(newborn, weight, start)?;
            }
            self.cells[seam].symbol = GONE;
            self.cells[at].symbol = result;
            self.cells[end - 1].symbol = result;
        }
        // By definition. With equal parts the overlapping count falls by more than one for each
        // replacement, so the differences do not lead there.
        self.pairs.get_mut(merged).count = 0;
        Ok(())
    }

    /// Why there is no next merge.
    pub(super) fn left_over(&self) -> Left {
        let mut left_over = Left::Nothing;
        let mut at = 1;
        while at < self.cells.len() {
            let left = self.cells[at].symbol;
            if left == FENCE {
                at += 1;
                continue;
            }
            at += self.lens[left as usize] as usize;
            let right = self.cells[at].symbol;
            if right == FENCE {
                continue;
            }
            if self.fits(left, right) && !self.spells_mark(left, right) {
                return Left::Rare;
            }
            left_over = Left::Refused;
        }
        left_over
    }

    /// Alphabet and merges, with their ids.
    pub(super) fn into_tokens(self) -> TokenList {
        self.tokens
    }
}

#[cfg(test)]
mod tests;
