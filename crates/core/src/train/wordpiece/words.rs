//! The words of the corpus as rows of symbols that are linked to their neighbours.
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};

/// In place of a symbol: this place is now part of the token before it.
const GONE: u32 = u32::MAX;

/// In place of a place: the word ends here.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Cell {
    symbol: u32,
    before: u32,
    after: u32,
    word: u32,
}

/// All words. A place is that of a symbol when no pair was merged yet.
#[derive(Debug, Default)]
pub(super) struct Words {
    cells: Vec<Cell>,
    /// How often each word occurs.
    counts: Vec<u64>,
}

/// An occurrence of a pair, and what is beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occurrence {
    /// The place and the symbol before it.
    pub(super) before: Option<(u32, u32)>,
    /// The symbol after it.
    pub(super) after: Option<u32>,
    /// How often the word occurs.
    pub(super) count: u64,
}

impl Words {
    /// Appends a word; rows of one symbol are left out.
    ///
    /// # Errors
    /// Out of memory; a training error for more than 2^32 symbols.
    pub(super) fn push(&mut self, symbols: &[u32], count: u64) -> Result<()> {
        if symbols.len() < 2 {
            return Ok(());
        }
        let start = self.cells.len();
        if start + symbols.len() >= NONE as usize {
            let reason = "the distinct words hold more than 2^32 characters; train on less text";
            return Err(Error::training(reason));
        }
        let word = self.counts.len() as u32;
        try_alloc::push(&mut self.counts, count)?;
        try_alloc::reserve(&mut self.cells, symbols.len())?;
        for (i, &symbol) in symbols.iter().enumerate() {
            let at = (start + i) as u32;
            let before = if i == 0 { NONE } else { at - 1 };
            let after = if i + 1 == symbols.len() { NONE } else { at + 1 };
            self.cells.push(Cell { symbol, before, after, word });
        }
        Ok(())
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The pair that begins at a place, and how often its word occurs.
    pub(super) fn pair_at(&self, at: u32) -> Option<(u32, u32, u64)> {
        let cell = self.cells[at as usize];
        let next = self.cells.get(cell.after as usize)?;
        Some((cell.symbol, next.symbol, self.counts[cell.word as usize]))
    }

    /// Replaces a pair by one symbol, if the pair begins at a place.
    pub(super) fn replace(&mut self, at: u32, (left, right): (u32, u32), symbol: u32) -> Option<Occurrence> {
        let cell = self.cells[at as usize];
        let next = *self.cells.get(cell.after as usize)?;
        if cell.symbol != left || next.symbol != right {
            return None;
        }
        self.cells[cell.after as usize].symbol = GONE;
        self.cells[at as usize] = Cell { symbol, after: next.after, ..cell };
        if let Some(after) = self.cells.get_mut(next.after as usize) {
            after.before = at;
        }
        Some(Occurrence {
            before: self.cells.get(cell.before as usize).map(|before| (cell.before, before.symbol)),
            after: self.cells.get(next.after as usize).map(|after| after.symbol),
            count: self.counts[cell.word as usize],
        })
    }
}
