//! Merges pretokens in which few bytes are repeated often: lines of dashes, indents, rulers.
//!
//! In: the bytes of a pretoken. Out: the symbols that merging leaves, in `symbols`. Two neighbours in a row must never
//! be repeats of the same symbol.
//!
//! A repeat is a symbol and the number of times that it occurs in a row. All merges to one product come before those to
//! the next, and each product has one pair of parts. So a step makes all merges to one product at once:
//! - if its parts are the same symbol, each repeat of that symbol becomes half as many products, and perhaps a last one
//!   of the symbol;
//! - if they differ, they merge only where a repeat of the first part ends and one of the second begins.
//!
//! There is one step for each product that occurs, however many bytes there are.
use tokenmill_kernels::{MergeTable, NO_MERGE, end_of_repeat, try_alloc};

use crate::error::Result;

/// Pretokens with more repeats than this are merged otherwise.
const MAX_START: usize = 8;

/// If a mean repeat has fewer bytes, merging byte by byte takes less time.
const MIN_LENGTH: usize = 4;

/// Longer pretokens are merged by windows: these notice a cancellation, and nothing here does.
const MAX_LENGTH: usize = 1 << 20;

/// The most repeats of a row. If merging makes more, the pretoken is merged byte by byte; in a million random texts it
/// never did.
const CAPACITY: usize = 24;

/// A symbol, and the number of times that it occurs in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Repeat {
    symbol: u32,
    count: usize,
    /// The product of the symbol and itself.
    with_itself: u32,
    /// The product of the symbol and that of the next repeat; [`NO_MERGE`] in the last one.
    with_next: u32,
}

/// A row of repeats. Neighbours have different symbols.
#[derive(Debug)]
struct Row {
    repeats: [Repeat; CAPACITY],
    len: usize,
}

impl Row {
    fn new() -> Self {
        Self { repeats: [Repeat::default(); _], len: 0 }
    }

    /// The row of the bytes of a pretoken. `None` if the repeats are too many or too short.
    fn of_bytes(pretoken: &[u8], table: &MergeTable) -> Option<Self> {
        let (mut row, mut from) = (Self::new(), 0);
        while let Some(&byte) = pretoken.get(from) {
            if row.len == MAX_START {
                return None;
            }
            let end = end_of_repeat(pretoken, from + 1, 1);
            row.push(u32::from(byte), end - from, table)?;
            from = end;
        }
        (pretoken.len() >= MIN_LENGTH * row.len).then_some(row)
    }

    fn as_slice(&self) -> &[Repeat] {
        &self.repeats[..self.len]
    }

    /// Appends `count` times this symbol. `None` if the row is full.
    fn push(&mut self, symbol: u32, count: usize, table: &MergeTable) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        match self.repeats[..self.len].last_mut() {
            Some(last) if last.symbol == symbol => last.count += count,
            last => {
                if let Some(last) = last {
                    last.with_next = table.get(last.symbol, symbol);
                }
                let with_itself = table.get(symbol, symbol);
                *self.repeats.get_mut(self.len)? = Repeat { symbol, count, with_itself, with_next: NO_MERGE };
                self.len += 1;
            }
        }
        Some(())
    }

    /// The lowest product of two neighbours; [`NO_MERGE`] if no two merge.
    fn lowest(&self) -> u32 {
        let of_one = |repeat: &Repeat| match repeat.count {
            1 => repeat.with_next,
            _ => repeat.with_itself.min(repeat.with_next),
        };
        self.as_slice().iter().map(of_one).min().unwrap_or(NO_MERGE)
    }

    /// Writes the row that all merges to `product` leave to `merged`. `None` if that row is full.
    fn merge_into(&self, merged: &mut Self, product: u32, table: &MergeTable) -> Option<()> {
        merged.len = 0;
        // The first symbol of a repeat may be merged with the one before.
        let mut taken = 0;
        for &Repeat { symbol, count, with_itself, with_next } in self.as_slice() {
            let count = count - taken;
            taken = 0;
            if with_itself == product {
                merged.push(product, count / 2, table)?;
                merged.push(symbol, count % 2, table)?;
            } else if with_next == product && count > 0 {
                merged.push(symbol, count - 1, table)?;
                merged.push(product, 1, table)?;
                taken = 1;
            } else {
                merged.push(symbol, count, table)?;
            }
        }
        Some(())
    }
}

/// Writes the symbols of a pretoken to `symbols`, and returns true; returns false if merging byte by byte takes less
/// time.
#[inline]
pub(in crate::model::bpe) fn merge(
    table: &MergeTable,
    pretoken: &[u8],
    symbols: &mut Vec<u32>,
) -> Result<bool> {
    // Most pretokens have no such repeats, and show it at once.
    let may_repeat = |bytes: &[u8]| bytes.windows(2).filter(|pair| pair[0] != pair[1]).count() < MAX_START;
    let begin = &pretoken[..pretoken.len().min(MIN_LENGTH * MAX_START)];
    if pretoken.len() > MAX_LENGTH || !may_repeat(begin) {
        return Ok(false);
    }
    let Some(row) = merged_row(table, pretoken) else { return Ok(false) };
    symbols.clear();
    for &Repeat { symbol, count, .. } in row.as_slice() {
        try_alloc::reserve(symbols, count)?;
        symbols.extend(std::iter::repeat_n(symbol, count));
    }
    Ok(true)
}

fn merged_row(table: &MergeTable, pretoken: &[u8]) -> Option<Row> {
    let (mut row, mut merged) = (Row::of_bytes(pretoken, table)?, Row::new());
    loop {
        let product = row.lowest();
        if product == NO_MERGE {
            return Some(row);
        }
        row.merge_into(&mut merged, product, table)?;
        std::mem::swap(&mut row, &mut merged);
    }
}
