//! The words of the corpus: symbols in doubly linked lists, all in one array.
use tokenmill_kernels::try_alloc;

use crate::error::{Error, Result};

/// In place of a symbol: the position belongs to the symbol before it, which was merged.
const GONE: u32 = u32::MAX;

/// In place of a position: the word ends here.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Cell {
    symbol: u32,
    before: u32,
    after: u32,
    word: u32,
}

/// All words. A position is the index of a character; a merged symbol has that of its first one.
#[derive(Debug, Default)]
pub(super) struct Words {
    cells: Vec<Cell>,
    /// How often each word occurs.
    counts: Vec<u64>,
}

/// An occurrence of a pair, and what is beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occurrence {
    /// The position and the symbol before it.
    pub(super) before: Option<(u32, u32)>,
    /// The symbol after it.
    pub(super) after: Option<u32>,
    /// How often the word occurs.
    pub(super) count: u64,
}

impl Words {
    /// Appends a word. A word of one symbol is left out: it has no pair.
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

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The pair that begins at a position, and how often its word occurs.
    pub(super) fn pair_at(&self, at: u32) -> Option<(u32, u32, u64)> {
        let cell = self.cells[at as usize];
        let next = self.cells.get(cell.after as usize)?;
        Some((cell.symbol, next.symbol, self.counts[cell.word as usize]))
    }

    /// Replaces a pair by one symbol, if the pair begins at this position.
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
