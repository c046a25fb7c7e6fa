//! Merges pretokens in which few bytes are repeated often: lines of dashes, indents, rulers.
//!
//! In: the bytes of a pretoken. Out: the symbols that merging leaves, in `symbols`. A row must never have more
//! repeats than [`Row`] holds.
//!
//! A repeat is one symbol and how often it stands in a row. Products come after their parts, so merging makes all
//! merges of one product before any of the next, from left to right. A product has one pair of parts. If they are the
//! same symbol, its merges are inside repeats, and those of a repeat are one division; if not, they are at borders, one
//! at each, as neighbours have different symbols. So the steps are as many as the products that occur, and not as many
//! as the bytes.
use tokenmill_kernels::{MergeTable, NO_MERGE, end_of_repeat, try_alloc};

use crate::error::Result;

/// Pretokens with more repeats than this are merged otherwise.
const MAX_START: usize = 8;

/// The bytes of a mean repeat from which this takes less time than to merge byte by byte.
const MIN_LENGTH: usize = 4;

/// Longer pretokens are merged by windows, which notice a cancellation. Nothing here does.
const MAX_LENGTH: usize = 1 << 20;

/// Rows that come to have more repeats are merged otherwise. None of a million random texts did.
const CAPACITY: usize = 24;

/// A symbol and how often it stands in a row.
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

    /// The bytes of a pretoken. `None` if they are not repeated often.
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

    /// Appends a symbol so many times. `None` if there is no space.
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

    /// Writes the row after all merges that make `product`. `None` if there is no space.
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
