//! Merges the bytes of a long pretoken by windows, in linear time for all vocabularies except those designed to
//! prevent it.
//!
//! In: the bytes of a pretoken. Out: the symbols that merging leaves, in `scratch.symbols`. They must never contain
//! two neighbours that merge to something else when they are merged alone.
//!
//! The symbols that merging leaves are the only row in which any two neighbours stay as they are when they are
//! merged alone. The symbols that are left of a window of the pretoken have this property too. So windows are
//! merged alone, and where two windows have the same symbol at the same place, the row continues with the symbols
//! of the second one. `docs/merging.md` has the proof.
use tokenmill_kernels::batch_merge::{Widest, Width, widest_input};
use tokenmill_kernels::{cpu, end_of_repeat, try_alloc};

use crate::error::Result;
use crate::model::bpe::heap;
use crate::model::bpe::scratch::BpeScratch;
use crate::watch::Ticker;

use super::repeats;
use super::table::{SymbolTable, start};

/// The number of windows that are merged side by side. Twice as many are slower: their rows are long, and do not fit
/// into the first cache with what they look up.
const WINDOWS: usize = 8;

/// The distance in bytes between the starts of windows that are merged side by side: for symbols of up to [`SHORT`]
/// bytes, and for longer ones. Windows overlap in the other bytes. The symbols around the cuts are of no use: those
/// that begin or end where a window was cut are often not symbols of the text, but those one or two symbols farther
/// are.
const STRIDE: usize = 44;
const CLOSE_STRIDE: usize = 32;

/// The largest mean length of a symbol for which windows overlap enough at [`STRIDE`].
const SHORT: usize = 5;

/// If windows did not agree, a rest of the text of up to this length is merged at once.
const SHORT_REST: usize = 128;

/// The number of bytes for which windows are merged one by one after a batch of windows did not agree: the first
/// time, and at most. It doubles each time, until a batch agrees again.
const MIN_SINGLE: usize = 128;
const MAX_SINGLE: usize = 4096;

/// Symbols of a batch that end less than this many bytes before its end are dropped.
const MARGIN: usize = 8;

/// The next window may be smaller if the last one had at least this many symbols. With fewer symbols, a smaller
/// window may hold too few of them to agree.
const MANY: usize = 4;

/// If the windows so far have more bytes than this for each byte of text, the next window is all of the text. Most
/// texts take two or three; a vocabulary can be designed so that windows rarely agree.
pub(in crate::model::bpe) const MAX_WORK: usize = 32;

/// The bytes of a repeat that are appended at once, and the bytes that can be compared in the time of merging one.
const REPEAT: usize = 1 << 20;
const COMPARED: usize = 64;

/// Writes the symbols of a pretoken to `scratch.symbols`. Windows are given up after `max_work` for each byte.
pub(in crate::model::bpe) fn merge_by_windows(
    table: &SymbolTable,
    pretoken: &[u8],
    max_work: usize,
    scratch: &mut BpeScratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let mut kept = std::mem::take(&mut scratch.merged);
    kept.clear();
    let mut prefix = Prefix { table, text: pretoken, kept, end: 0 };
    let result = prefix.extend_to_end(pretoken.len().saturating_mul(max_work), scratch, ticker);
    // The buffer of the windows and that of the result are swapped, so that the scratch keeps the memory of both.
    scratch.merged = std::mem::replace(&mut scratch.symbols, prefix.kept);
    result
}

/// The symbols from the start of the text on, as far as they are known. Any two neighbours stay as they are when
/// they are merged alone.
struct Prefix<'a> {
    table: &'a SymbolTable,
    text: &'a [u8],
    kept: Vec<u32>,
    /// Where the last symbol ends in the text.
    end: usize,
}

impl Prefix<'_> {
    fn extend_to_end(
        &mut self,
        limit: usize,
        scratch: &mut BpeScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let mut work = 0;
        // Windows have a size that is merged in vectors, until they do not agree.
        let (mut size, mut stride) = (Widest::LONGEST, STRIDE);
        // Smaller windows did not agree up to this byte. They are tried again only after it, so that nothing is
        // tried twice.
        let mut failed = 0;
        // Windows are merged one by one up to this byte, and next time for this many bytes.
        let (mut single_until, mut single) = (0, MIN_SINGLE);
        while self.end < self.text.len() {
            if work > limit && size < self.text.len() {
                self.kept.clear();
                self.end = 0;
                size = self.text.len();
            }
            let (count, end) = (self.kept.len(), self.end);
            let may_be_batch = size == Widest::LONGEST && self.end >= single_until && !self.is_run(size);
            let is_batch = may_be_batch && self.text.len() - self.last_start() > size;
            let spent = if is_batch { WINDOWS * size } else { size };
            ticker.spend(spent)?;
            work += spent;
            // A window has no more symbols than bytes.
            let most = spent.min(self.text.len() - self.last_start());
            try_alloc::reserve(&mut self.kept, most)?;
            let agrees = if is_batch {
                self.extend_by_batch(stride)
            } else {
                self.extend_by_window(size, scratch, ticker)?
            };
            if !agrees {
                failed = failed.max(end).max(self.end);
                // The symbols up to where windows did not agree may have reached a part that repeats.
                let repeated = if self.end > end { self.repeat(size, ticker)? } else { 0 };
                work += repeated;
                if repeated > 0 {
                    continue;
                }
                let rest = self.text.len() - self.last_start();
                if is_batch && rest <= SHORT_REST {
                    size = rest;
                } else if is_batch && stride == STRIDE {
                    stride = CLOSE_STRIDE;
                } else if is_batch {
                    single_until = self.end + single;
                    single = MAX_SINGLE.min(2 * single);
                } else {
                    size *= 2;
                }
                continue;
            }
            if is_batch {
                single = MIN_SINGLE;
            }
            let symbols = self.kept.len() - count;
            stride = if self.end - end <= SHORT * symbols { STRIDE } else { CLOSE_STRIDE };
            if symbols >= MANY && self.end > failed {
                size = Widest::LONGEST.max(size / 2);
            }
            work += self.repeat(size, ticker)?;
        }
        Ok(())
    }

    /// Where the last symbol starts: a window begins with it.
    fn last_start(&self) -> usize {
        self.end - self.kept.last().map_or(0, |&last| self.table.length(last))
    }

    /// Is the next window a repetition of one byte? Windows with different starts rarely agree then, and one is
    /// enough to find the repetition.
    fn is_run(&self, size: usize) -> bool {
        let start = self.last_start();
        let end = self.text.len().min(start + size);
        end_of_repeat(&self.text[..end], end.min(start + 1), 1) == end
    }

    fn push(&mut self, symbol: u32) {
        self.end += self.table.length(symbol);
        self.kept.push(symbol);
    }

    /// Removes symbols that end after `to`, but keeps at least `min_count`.
    fn truncate(&mut self, to: usize, min_count: usize) {
        while self.end > to && self.kept.len() > min_count {
            self.end = self.last_start();
            self.kept.pop();
        }
    }

    /// Does the row of a window that begins with the last symbol still begin with it?
    fn agrees(&self, row: &[u32]) -> bool {
        self.kept.last().is_none_or(|last| row.first() == Some(last))
    }

    /// Appends the symbols of a window of this size; returns whether there were any. The last quarter of the window
    /// is left to the next one, because the text after it may change the merges there. If the window does not begin
    /// with the last symbol, the symbols that end in the last `size` bytes are removed.
    fn extend_by_window(
        &mut self,
        size: usize,
        scratch: &mut BpeScratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool> {
        let from = self.last_start();
        let window = &self.text[from..self.text.len().min(from + size)];
        let [merged];
        let row = if window.len() <= Widest::LONGEST {
            [merged] = Widest::merge(cpu::level(), &self.table.merges, [widest_input(window)]);
            Widest::symbols(&merged)
        } else {
            if !repeats::merge(&self.table.merges, window, &mut scratch.symbols)? {
                start(window, &mut scratch.symbols)?;
                heap::merge(&self.table.merges, scratch, ticker)?;
                heap::compact(scratch);
            }
            &scratch.symbols
        };
        let count = self.kept.len();
        if !self.agrees(row) {
            self.truncate(self.end.saturating_sub(size), 0);
            return Ok(false);
        }
        for &symbol in &row[count.min(1)..] {
            self.push(symbol);
        }
        if self.end < self.text.len() {
            self.truncate(self.end - size / 4, count);
        }
        Ok(self.kept.len() > count)
    }

    /// Appends the symbols of a batch of windows, as far as they agree; returns whether all of them do.
    fn extend_by_batch(&mut self, stride: usize) -> bool {
        let (from, end) = (self.last_start(), self.text.len());
        // At the end of the text the windows of the batch overlap as much as they can.
        let rest = end - from - Widest::LONGEST;
        let others = rest.div_ceil(stride);
        let count = WINDOWS.min(others + 1);
        let starts: [usize; WINDOWS] = std::array::from_fn(|window| match (window, others) {
            (0, _) => from,
            (_, 0..WINDOWS) => self.next_character(from + rest * window.min(others) / others),
            _ => self.next_character(from + stride * window),
        });
        let ends = starts.map(|start| end.min(start + Widest::LONGEST));
        let row = |at: usize| widest_input(if at < count { &self.text[starts[at]..ends[at]] } else { &[] });
        let (level, merges) = (cpu::level(), &self.table.merges);
        if count <= 4 {
            let merged = Widest::merge::<4>(level, merges, std::array::from_fn(row));
            self.extend_by_windows(&starts[..count], &ends, &merged)
        } else {
            let merged = Widest::merge::<WINDOWS>(level, merges, std::array::from_fn(row));
            self.extend_by_windows(&starts[..count], &ends, &merged)
        }
    }

    /// Where the next character begins: a character that is cut is not a symbol of the text.
    fn next_character(&self, place: usize) -> usize {
        let is_within = |&&byte: &&u8| byte & 0xc0 == 0x80;
        place + self.text[place..].iter().take(3).take_while(is_within).count()
    }

    /// Appends the symbols of windows, going from one to the next where they have the same symbol; returns whether
    /// all of them agree.
    fn extend_by_windows(
        &mut self,
        starts: &[usize],
        ends: &[usize],
        merged: &[<Widest as Width>::Merged],
    ) -> bool {
        let mut windows =
            starts.iter().zip(ends).zip(merged).map(|(at, merged)| (at, Widest::symbols(merged)));
        let Some(((_, &(mut end)), mut row)) = windows.next().filter(|&(_, row)| self.agrees(row)) else {
            return false;
        };
        let count = self.kept.len();
        row = &row[count.min(1)..];
        let mut is_whole = true;
        for ((&start, &next_end), next) in windows {
            if let Some(rest) = self.stitch(row, start, next) {
                (row, end) = (rest, next_end);
            } else {
                (row, is_whole) = (&[], false);
                break;
            }
        }
        for &symbol in row {
            self.push(symbol);
        }
        if self.end < self.text.len() {
            self.truncate(end - MARGIN, count);
        }
        is_whole && self.kept.len() > count
    }

    /// Appends the symbols of a row up to where another row, which starts within it, has the same symbol; returns
    /// the rest of the other row, from that symbol on. If they never agree, appends the whole row and returns
    /// `None`.
    fn stitch<'r>(&mut self, row: &[u32], start: usize, mut other: &'r [u32]) -> Option<&'r [u32]> {
        let mut at = start;
        for &symbol in row {
            while at < self.end
                && let Some((&first, rest)) = other.split_first()
            {
                at += self.table.length(first);
                other = rest;
            }
            if at == self.end && other.first() == Some(&symbol) {
                return Some(other);
            }
            self.push(symbol);
        }
        None
    }

    /// If the last two symbols are equal and the text repeats their bytes, appends the symbol as often, except in
    /// the last `size` bytes of the repetition: the text after it may change the merges there. Returns the work.
    fn repeat(&mut self, size: usize, ticker: &mut Ticker<'_>) -> Result<usize> {
        let &[.., one, symbol] = &self.kept[..] else { return Ok(0) };
        if one != symbol || self.end == self.text.len() {
            return Ok(0);
        }
        let length = self.table.length(symbol);
        // In parts, so that a cancellation is noticed.
        let ahead = self.text.len().min(self.end + REPEAT);
        let seen = end_of_repeat(&self.text[..ahead], self.end, length);
        let times = (seen - self.end).saturating_sub(size) / length;
        try_alloc::reserve(&mut self.kept, times)?;
        self.kept.extend(std::iter::repeat_n(symbol, times));
        let work = times + (seen - self.end) / COMPARED;
        self.end += times * length;
        ticker.spend(work)?;
        Ok(work)
    }
}
