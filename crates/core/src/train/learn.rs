//! Exact greedy BPE with incrementally updated counts; the naive twin in `tokenmill-reference`
//! defines the result.
//!
//! All distinct pretokens are stored in one array of [`Cell`]s, one cell per base symbol, separated
//! by fences. A token covers as many cells as it has base symbols. Its first and last cell hold its
//! number, so both neighbours are found by length, without links. A merge touches only its
//! occurrences: time grows with the number of replacements, not with the length of the pretokens.
mod ids;
mod neighbour;
mod neighbours;

use tokenmill_kernels::try_alloc;

pub(super) use self::ids::Special;
use self::neighbour::{IGNORED, Neighbour, Newborn, STRANGER};
use super::alphabet::Alphabet;
use super::options::{BpeOptions, MergeFilter};
use super::pairs::{Pair, Pairs};
use super::queue::{Order, Queue, Waiting};
use super::shape::Shape;
use super::types::Types;
use crate::description::TokenList;
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId};
use crate::watch::Ticker;

/// One base symbol of a pretoken. Symbol and weight share a cache line, because a visit needs both.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// The token's number, in its first and last cell. Cells in between keep old values, but never
    /// one that looks like the start of a token: see [`GONE`].
    symbol: u32,
    /// The count of the pretoken, or [`HEAVY`].
    weight: u32,
}

/// Separates pretokens, and precedes the first and follows the last.
const FENCE: u32 = u32::MAX;
/// The former start of a token that is now the right part of a longer one. Without it a stale
/// position would look valid.
const GONE: u32 = u32::MAX - 1;
/// Marks a weight that does not fit a cell.
const HEAVY: u32 = u32::MAX;

/// Limit of the vocabulary's arena in bytes: offsets are `u32`.
const ARENA_LIMIT: u64 = u32::MAX as u64;

/// The conditions for a merge.
#[derive(Debug)]
struct Limits {
    min_frequency: u64,
    max_size: u64,
    /// The end-of-word mark. A token must not contain it except at its end, because it would be
    /// read as an end of word.
    mark: Option<Vec<u8>>,
}

/// The state between two merges.
#[derive(Debug)]
pub(super) struct Learner {
    cells: Vec<Cell>,
    /// First cell and weight of each [`HEAVY`] pretoken, ascending.
    heavy: Vec<(u32, u64)>,
    /// Alphabet and merges; the index of a token is its symbol.
    tokens: TokenList,
    first_id: TokenId,
    arena: u64,
    /// Cells per token.
    lens: Vec<u32>,
    /// Size of each token as counted by `max_token_length`.
    sizes: Vec<u32>,
    /// How the bytes of each token lie within characters; `None` unless tokens must not mix parts of several.
    shapes: Option<Vec<Shape>>,
    /// Was a pair refused because its token is not allowed?
    is_refused: bool,
    pairs: Pairs<Pair>,
    queue: Queue,
    order: Order,
    limits: Limits,
    neighbours: Vec<Neighbour>,
    touched: Vec<u32>,
    newborn: Vec<Newborn>,
    /// Positions of the new pairs, parallel to `newborn`; reused from step to step.
    births: Vec<Vec<u32>>,
}

/// A learned merge: the symbols of its parts, and its count when it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) count: u64,
}

/// Why no pair can merge any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Every pretoken is one token.
    Nothing,
    /// All remaining pairs are rarer than the minimum.
    Rare,
    /// All remaining pairs would make a token that is too long (or contains the end-of-word mark).
    Refused,
    /// Some would make a token that is not allowed.
    NotAllowed,
}

impl Learner {
    /// Lays out the pretokens and counts their pairs. Cost: linear in the symbols of the distinct
    /// pretokens. Memory: 8 bytes per symbol, and 4 more per position of a pair.
    pub(super) fn new(
        options: &BpeOptions,
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
            // At most one symbol per byte, an end-of-word symbol and a fence per pretoken.
            cells: try_alloc::vec(types.bytes() + 2 * types.len() + 1)?,
            heavy: Vec::new(),
            first_id,
            arena: alphabet.symbols.iter().map(|symbol| symbol.len() as u64).sum(),
            lens: vec![1; tokens.len()],
            sizes: alphabet.sizes.clone(),
            shapes: options
                .whole_characters
                .then(|| alphabet.symbols.iter().map(|symbol| Shape::of_byte(symbol[0])).collect()),
            is_refused: false,
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
        // Pairs are numbered in order of appearance. They are counted first, so that position lists
        // are allocated with their exact size.
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
                seen.add((left, right), Pair { count: 0, left, right, positions: Box::default() })?
            };
            seen.get_mut(number).count += self.weight(at - 1);
            occurrences[number as usize] += 1;
            numbers.push(number);
        }
        let list_for = |(pair, &n): (&Pair, &u32)| -> Result<Vec<u32>> {
            Ok(try_alloc::vec(if self.follows(pair.count) { n as usize } else { 0 })?)
        };
        let mut positions = try_alloc::collect(seen.iter().zip(&occurrences).map(list_for))?;
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

    /// Is the joined token within the length limit, and within a character or of whole ones if it has to be?
    fn fits(&self, left: u32, right: u32) -> bool {
        let size = |symbol: u32| u64::from(self.sizes[symbol as usize]);
        size(left) + size(right) <= self.limits.max_size && self.joins_characters(left, right)
    }

    fn joins_characters(&self, left: u32, right: u32) -> bool {
        let joins = |shapes: &Vec<Shape>| shapes[left as usize].joined(shapes[right as usize]).is_some();
        self.shapes.as_ref().is_none_or(joins)
    }

    /// Would the joined token contain the end-of-word mark other than at its end?
    fn spells_mark(&self, left: u32, right: u32) -> bool {
        let Some(mark) = &self.limits.mark else { return false };
        let (left, right) = (self.tokens.bytes(left as usize), self.tokens.bytes(right as usize));
        // No token contains the mark except at its end, so only the seam and the end of `left` are
        // new. If `right` ends with the mark, that occurrence is a valid end of word.
        let joined = [left, right].concat();
        let inner = if right.ends_with(mark) { joined.len() - mark.len() } else { joined.len() };
        joined[..inner].windows(mark.len()).any(|window| window == mark)
    }

    fn weight(&self, at: usize) -> u64 {
        match self.cells[at].weight {
            HEAVY => {
                let next = self.heavy.partition_point(|&(start, _)| start as usize <= at);
                self.heavy[next - 1].1
            }
            weight => u64::from(weight),
        }
    }

    /// Is the pair (left, right) at this position now?
    fn is_at(&self, at: u32, left: u32, right: u32) -> bool {
        let at = at as usize;
        self.cells[at].symbol == left && self.cells[at + self.lens[left as usize] as usize].symbol == right
    }

    /// Starts to track a pair, if it is frequent enough.
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
        let pair = self.pairs.add((left, right), Pair { count, left, right, positions })?;
        self.queue.push(Waiting { count, key, left, right, pair }, &self.order, &self.tokens)
    }

    /// Makes the next merge; `None` if there is none.
    pub(super) fn step(
        &mut self,
        allows: &MergeFilter<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Learned>> {
        let Some(best) = self.choose(allows, ticker)? else { return Ok(None) };
        let result = self.join(best.left, best.right)?;
        self.replace(best.pair, result, ticker)?;
        self.settle(ticker)?;
        Ok(Some(Learned { left: best.left, right: best.right, count: best.count }))
    }

    /// Makes a merge that is known, whether or not the pair occurs.
    pub(super) fn make(&mut self, left: u32, right: u32, ticker: &mut Ticker<'_>) -> Result<()> {
        let result = self.join(left, right)?;
        if let Some(pair) = self.pairs.find(left, right) {
            self.replace(pair, result, ticker)?;
            self.settle(ticker)?;
        }
        ticker.spend(32)
    }

    /// Sets the conditions for the merges that follow.
    pub(super) fn limit(&mut self, options: &BpeOptions) {
        self.limits.min_frequency = options.min_frequency;
        self.limits.max_size = options.max_token_length.map_or(u64::MAX, |limit| limit as u64);
    }

    /// Pops the best pair, after refreshing outdated entries.
    fn choose(&mut self, allows: &MergeFilter<'_>, ticker: &mut Ticker<'_>) -> Result<Option<Waiting>> {
        loop {
            ticker.spend(32)?;
            let Some(mut top) = self.queue.pop(&self.order, &self.tokens) else { return Ok(None) };
            let count = self.pairs.get(top.pair).count;
            if !self.follows(count)
                || !self.fits(top.left, top.right)
                || self.spells_mark(top.left, top.right)
            {
                self.pairs.get_mut(top.pair).positions = Box::default();
                continue;
            }
            let mut current = count == top.count;
            top.count = count;
            if self.order.by_position() {
                // Positions ascend, and a stale one never becomes valid again, so the scan
                // continues from the key.
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
                let bytes = |symbol: u32| self.tokens.bytes(symbol as usize);
                if allows(&[bytes(top.left), bytes(top.right)].concat())? {
                    return Ok(Some(top));
                }
                self.pairs.get_mut(top.pair).positions = Box::default();
                self.is_refused = true;
                continue;
            }
            self.queue.push(top, &self.order, &self.tokens)?;
        }
    }

    /// Adds the concatenation of two tokens; returns its symbol.
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
        if let Some(shapes) = &mut self.shapes {
            let joined = shapes[l].joined(shapes[r]);
            shapes.push(joined.ok_or_else(|| Error::internal("a merge across characters"))?);
        }
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
                    // The previous occurrence was merged in this step, and counted (result, left).
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
        // Set by definition. For a pair of equal parts one replacement may remove several
        // overlapping occurrences, so the updates do not sum to 0.
        self.pairs.get_mut(merged).count = 0;
        Ok(())
    }

    /// The reason why there is no next merge.
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
            if self.is_refused {
                return Left::NotAllowed;
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
