//! Merging the bytes of a long pretoken in time that is linear for all vocabularies but those made against it.
//!
//! The symbols that are left are the only row in which every two neighbours stay apart when they are merged alone, and
//! the symbols that are left of a window of the pretoken are such neighbours. So windows are merged alone, and where two
//! of them have the same symbol at the same place, the row goes over from one to the other. `docs/merging.md`
//! has the proof.
use tokenmill_kernels::batch_merge::{Widest, Width, widest_input};
use tokenmill_kernels::{cpu, end_of_repeat, try_alloc};

use crate::error::Result;
use crate::watch::Ticker;

use super::canonical::{Canonical, TOGETHER, start};
use super::{Scratch, merge};

/// Bytes between the starts of two windows that are merged side by side, by whether symbols are [`SHORT`]. Windows share
/// the other bytes, of which those around the cuts are of no use: symbols that begin or end where a window was cut are
/// often no symbols of the text, but those that are a symbol or two from there are.
const STEP: usize = 44;
const CLOSE: usize = 32;

/// Bytes of a symbol, in the mean, up to which windows share enough of them at [`STEP`].
const SHORT: usize = 5;

/// What is left of a text is merged at once where it is no longer than this and windows did not agree.
const ENOUGH: usize = 128;

/// Bytes for which windows are merged one by one after some side by side did not agree: at first, and at most. Each time
/// it is for twice as many, until some agree again.
const APART: usize = 128;
const MOST_APART: usize = 4096;

/// So many bytes before the end of a window what is left of it is not taken.
const MARGIN: usize = 8;

/// The next window may be smaller where one had so many symbols. Where it had fewer, these may be all that the text is
/// made of.
const MANY: usize = 4;

/// Bytes of windows for each byte before the next window is all of the text. Texts take two or three; vocabularies can be
/// made for which windows seldom agree.
pub(super) const WORK: usize = 32;

/// Bytes of a repeat that are taken at once, and bytes that are compared in the time of one that is merged.
const REPEAT: usize = 1 << 20;
const COMPARED: usize = 64;

/// Puts what is left of a pretoken into `scratch.symbols`. `most` is the work for each byte before windows are given up.
pub(super) fn merge_by_windows(
    merges: &Canonical,
    pretoken: &[u8],
    most: usize,
    scratch: &mut Scratch,
    ticker: &mut Ticker<'_>,
) -> Result<()> {
    let mut kept = std::mem::take(&mut scratch.merged);
    kept.clear();
    let mut row = Row { merges, text: pretoken, kept, end: 0 };
    let result = row.fill(pretoken.len().saturating_mul(most), scratch, ticker);
    // What the windows were merged in and what is left change places, so that the memory of both is kept.
    scratch.merged = std::mem::replace(&mut scratch.symbols, row.kept);
    result
}

/// Symbols from the start of a text on. Every two neighbours stay apart.
struct Row<'a> {
    merges: &'a Canonical,
    text: &'a [u8],
    kept: Vec<u32>,
    /// Where they end.
    end: usize,
}

impl Row<'_> {
    /// Goes on to the end of the text.
    fn fill(&mut self, limit: usize, scratch: &mut Scratch, ticker: &mut Ticker<'_>) -> Result<()> {
        let mut work = 0;
        // Windows of a size that is merged in vectors, until they do not agree.
        let (mut size, mut step) = (Widest::LONGEST, STEP);
        // Up to here smaller windows did not agree. They are tried again behind it, so that nothing is tried twice.
        let mut failed = 0;
        // Up to here windows are merged one by one, and for so many bytes the next time.
        let (mut alone, mut apart) = (0, APART);
        while self.end < self.text.len() {
            if work > limit && size < self.text.len() {
                self.kept.clear();
                self.end = 0;
                size = self.text.len();
            }
            let (count, end) = (self.kept.len(), self.end);
            let may_be_together = size == Widest::LONGEST && self.end >= alone && !self.is_run(size);
            let is_together = may_be_together && self.text.len() - self.last_start() > size;
            let spent = if is_together { TOGETHER * size } else { size };
            ticker.spend(spent)?;
            work += spent;
            // A window has no more symbols than bytes.
            let most = spent.min(self.text.len() - self.last_start());
            try_alloc::reserve(&mut self.kept, most)?;
            let goes_on =
                if is_together { self.go_on_together(step) } else { self.go_on(size, scratch, ticker)? };
            if !goes_on {
                failed = failed.max(end).max(self.end);
                // The row up to where they did not agree may have come to what repeats itself.
                let repeated = if self.end > end { self.repeat(size, ticker)? } else { 0 };
                work += repeated;
                if repeated > 0 {
                    continue;
                }
                let rest = self.text.len() - self.last_start();
                if is_together && rest <= ENOUGH {
                    size = rest;
                } else if is_together && step == STEP {
                    step = CLOSE;
                } else if is_together {
                    alone = self.end + apart;
                    apart = MOST_APART.min(2 * apart);
                } else {
                    size *= 2;
                }
                continue;
            }
            if is_together {
                apart = APART;
            }
            let symbols = self.kept.len() - count;
            step = if self.end - end <= SHORT * symbols { STEP } else { CLOSE };
            if symbols >= MANY && self.end > failed {
                size = Widest::LONGEST.max(size / 2);
            }
            work += self.repeat(size, ticker)?;
        }
        Ok(())
    }

    fn length(&self, symbol: u32) -> usize {
        self.merges.lengths[symbol as usize] as usize
    }

    /// Where the last symbol starts: a window begins with it.
    fn last_start(&self) -> usize {
        self.end - self.kept.last().map_or(0, |&last| self.length(last))
    }

    /// Is the next window one byte again and again? Then others that begin elsewhere seldom agree with it, and one is
    /// enough to see what repeats.
    fn is_run(&self, size: usize) -> bool {
        let start = self.last_start();
        let end = self.text.len().min(start + size);
        end_of_repeat(&self.text[..end], end.min(start + 1), 1) == end
    }

    fn push(&mut self, symbol: u32) {
        self.end += self.length(symbol);
        self.kept.push(symbol);
    }

    /// Takes back what ends behind a place, but for so many symbols.
    fn take_back(&mut self, to: usize, least: usize) {
        while self.end > to && self.kept.len() > least {
            self.end = self.last_start();
            self.kept.pop();
        }
    }

    /// What a window that began with the last symbol has left: does it begin with it still?
    fn agrees(&self, left: &[u32]) -> bool {
        self.kept.last().is_none_or(|last| left.first() == Some(last))
    }

    /// Goes on by the symbols of a window of so many bytes. Otherwise some are taken back, if they are not what the
    /// window begins with.
    fn go_on(&mut self, size: usize, scratch: &mut Scratch, ticker: &mut Ticker<'_>) -> Result<bool> {
        let from = self.last_start();
        let window = &self.text[from..self.text.len().min(from + size)];
        let [merged];
        let left = if window.len() <= Widest::LONGEST {
            [merged] = Widest::merge(cpu::level(), &self.merges.table, [widest_input(window)]);
            Widest::symbols(&merged)
        } else {
            merge::merge_by_heap(&self.merges.table, start(window, scratch)?, ticker)?;
            merge::collect_into_first(scratch);
            &scratch.symbols
        };
        let count = self.kept.len();
        if !self.agrees(left) {
            self.take_back(self.end.saturating_sub(size), 0);
            return Ok(false);
        }
        for &symbol in &left[count.min(1)..] {
            self.push(symbol);
        }
        if self.end < self.text.len() {
            self.take_back(self.end - size / 4, count);
        }
        Ok(self.kept.len() > count)
    }

    /// Goes on by the symbols of windows that are merged side by side, as far as they agree; is that all of them?
    fn go_on_together(&mut self, step: usize) -> bool {
        let (from, end) = (self.last_start(), self.text.len());
        // To the end of the text, if that is near: then the windows share as much as they can.
        let rest = end - from - Widest::LONGEST;
        let others = rest.div_ceil(step);
        let count = TOGETHER.min(others + 1);
        let starts: [usize; TOGETHER] = std::array::from_fn(|window| match (window, others) {
            (0, _) => from,
            (_, 0..TOGETHER) => self.character(from + rest * window.min(others) / others),
            _ => self.character(from + step * window),
        });
        let ends = starts.map(|start| end.min(start + Widest::LONGEST));
        let row = |at: usize| widest_input(if at < count { &self.text[starts[at]..ends[at]] } else { &[] });
        let (level, table) = (cpu::level(), &self.merges.table);
        if count <= 4 {
            let merged = Widest::merge::<4>(level, table, std::array::from_fn(row));
            self.join(&starts[..count], &ends, &merged)
        } else {
            let merged = Widest::merge::<TOGETHER>(level, table, std::array::from_fn(row));
            self.join(&starts[..count], &ends, &merged)
        }
    }

    /// Where the next character begins: what is left of one that is cut is no symbol of the text.
    fn character(&self, place: usize) -> usize {
        let is_within = |&&byte: &&u8| byte & 0xc0 == 0x80;
        place + self.text[place..].iter().take(3).take_while(is_within).count()
    }

    /// Goes on by the symbols of windows, from one to the next where they have the same.
    fn join(&mut self, starts: &[usize], ends: &[usize], merged: &[<Widest as Width>::Merged]) -> bool {
        let mut windows =
            starts.iter().zip(ends).zip(merged).map(|(at, merged)| (at, Widest::symbols(merged)));
        let Some(((_, &(mut end)), mut row)) = windows.next().filter(|&(_, left)| self.agrees(left)) else {
            return false;
        };
        let count = self.kept.len();
        row = &row[count.min(1)..];
        let mut is_whole = true;
        for ((&start, &next_end), next) in windows {
            if let Some(rest) = self.go_over(row, start, next) {
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
            self.take_back(end - MARGIN, count);
        }
        is_whole && self.kept.len() > count
    }

    /// Goes on by a row up to where another one, which starts within it, has the same symbol: what the other one has
    /// from there on. Nothing, and all of the row, where they never agree.
    fn go_over<'r>(&mut self, row: &[u32], start: usize, mut other: &'r [u32]) -> Option<&'r [u32]> {
        let mut at = start;
        for &symbol in row {
            while at < self.end
                && let Some((&first, rest)) = other.split_first()
            {
                at += self.length(first);
                other = rest;
            }
            if at == self.end && other.first() == Some(&symbol) {
                return Some(other);
            }
            self.push(symbol);
        }
        None
    }

    /// Where the last two symbols are the same, and the text repeats what they stand for, puts it as often, but for the
    /// last times: there something else may be merged. Tells the work.
    fn repeat(&mut self, size: usize, ticker: &mut Ticker<'_>) -> Result<usize> {
        let &[.., one, symbol] = &self.kept[..] else { return Ok(0) };
        if one != symbol || self.end == self.text.len() {
            return Ok(0);
        }
        let length = self.length(symbol);
        // Not all of it at once, so that a wish to stop is heard.
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
