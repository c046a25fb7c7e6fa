//! The distinct pretokens in an order that does not depend on counting.
use std::cmp::Ordering;

use tokenmill_kernels::try_alloc;

use super::table::{Table, too_long, too_many};
use crate::error::{Error, Result};
use crate::watch::Ticker;

/// Distinct pretokens with their counts; of a whole text, pretokens in order, of which some may be equal.
#[derive(Debug, Default)]
pub(super) struct Types {
    arena: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The primary sort key: the first eight bytes, or the position of the first occurrence.
    order: u64,
    offset: usize,
    count: u64,
    len: u32,
}

/// Length of the runs that are sorted at once (about a millisecond) and then merged.
const RUN: usize = 1 << 13;

impl Types {
    /// The pretokens of a table, sorted by first occurrence or by their bytes.
    pub(super) fn from_table(table: &Table, by_first: bool, ticker: &mut Ticker<'_>) -> Result<Self> {
        let mut arena = try_alloc::vec(table.bytes_bound())?;
        let mut entries = try_alloc::vec(table.len())?;
        table.for_each(|bytes, count, first| {
            ticker.spend(bytes.len() + 16)?;
            let order = if by_first { first } else { leading(bytes) };
            entries.push(Entry { order, offset: arena.len(), count, len: bytes.len() as u32 });
            arena.extend_from_slice(bytes);
            Ok(())
        })?;
        let text = |entry: &Entry| &arena[entry.offset..entry.offset + entry.len as usize];
        let entries = sort(
            entries,
            |a, b| {
                a.order
                    .cmp(&b.order)
                    .then_with(|| if by_first { Ordering::Equal } else { text(a).cmp(text(b)) })
            },
            ticker,
        )?;
        Ok(Self { arena, entries })
    }

    /// Pretokens as they stand, from what lies one after the other, where each begins and the last one ends, and the
    /// counts.
    pub(super) fn from_columns(
        bytes: &[u8],
        offsets: &[u64],
        counts: &[u64],
        ticker: &mut Ticker<'_>,
    ) -> Result<Self> {
        let mut entries = try_alloc::vec(counts.len())?;
        for (bounds, &count) in offsets.windows(2).zip(counts) {
            ticker.spend(16)?;
            let (start, end) = (bounds[0] as usize, bounds[1] as usize);
            let order = leading(&bytes[start..end]);
            entries.push(Entry { order, offset: start, count, len: (end - start) as u32 });
        }
        Ok(Self { arena: try_alloc::copy(bytes)?, entries })
    }

    /// The same in the order of their bytes.
    pub(super) fn into_sorted(self, ticker: &mut Ticker<'_>) -> Result<Self> {
        let Self { arena, entries } = self;
        let text = |entry: &Entry| &arena[entry.offset..entry.offset + entry.len as usize];
        let entries = sort(entries, |a, b| a.order.cmp(&b.order).then_with(|| text(a).cmp(text(b))), ticker)?;
        Ok(Self { arena, entries })
    }

    /// Adds a pretoken that counts once, after the others.
    pub(super) fn push(&mut self, text: &str, ticker: &mut Ticker<'_>) -> Result<()> {
        /// Bytes that are copied between two looks at the watch.
        const PART: usize = 1 << 20;
        let len = u32::try_from(text.len()).map_err(|_| too_long())?;
        let entry = Entry { order: leading(text.as_bytes()), offset: self.arena.len(), count: 1, len };
        try_alloc::push(&mut self.entries, entry)?;
        try_alloc::reserve(&mut self.arena, text.len())?;
        for part in text.as_bytes().chunks(PART) {
            ticker.spend(part.len())?;
            self.arena.extend_from_slice(part);
        }
        Ok(())
    }

    /// Number of different pretokens, if some may be equal.
    pub(super) fn distinct(&self, ticker: &mut Ticker<'_>) -> Result<usize> {
        let text = |entry: &Entry| &self.arena[entry.offset..entry.offset + entry.len as usize];
        let order = |a: &Entry, b: &Entry| a.order.cmp(&b.order).then_with(|| text(a).cmp(text(b)));
        let sorted = sort(try_alloc::copy(&self.entries)?, order, ticker)?;
        let repeats = sorted.windows(2).filter(|two| text(&two[0]) == text(&two[1])).count();
        Ok(sorted.len() - repeats)
    }

    /// Number of pretokens.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Total length in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Each pretoken with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries
            .iter()
            .map(|entry| (&self.arena[entry.offset..entry.offset + entry.len as usize], entry.count))
    }

    /// Checks that all symbols together, with one end mark per pretoken, fit 64 bits. No pair can
    /// be counted more often, so later counts need no check.
    pub(super) fn check_total(&self) -> Result<()> {
        let mut total = 0u64;
        for entry in &self.entries {
            let symbols = u64::from(entry.len) + 1;
            total =
                entry.count.checked_mul(symbols).and_then(|n| total.checked_add(n)).ok_or_else(too_many)?;
        }
        Ok(())
    }
}

/// The characters of a pretoken.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::internal("a pretoken was cut inside a character"))
}

fn leading(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(word)
}

/// A merge sort that polls the watch, which the one of the standard library cannot do.
fn sort<T: Copy>(
    mut items: Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<T>> {
    for run in items.chunks_mut(RUN) {
        run.sort_unstable_by(&order);
        ticker.spend(16 * run.len())?;
    }
    let mut width = RUN;
    let mut other = try_alloc::vec(if items.len() > RUN { items.len() } else { 0 })?;
    while width < items.len() {
        other.clear();
        for pair in items.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(l), Some(r)) = (left.first(), right.first()) {
                ticker.spend(8)?;
                let side = if order(r, l) == Ordering::Less { &mut right } else { &mut left };
                other.push(side[0]);
                *side = &side[1..];
            }
            other.extend_from_slice(left);
            other.extend_from_slice(right);
        }
        std::mem::swap(&mut items, &mut other);
        width *= 2;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn sorting_in_runs_sorts() {
        for n in [0, 1, RUN, RUN + 1, 3 * RUN, 5 * RUN - 7] {
            let items: Vec<usize> = (0..n).map(|i| i * 7919 % 40_961).collect();
            let mut want = items.clone();
            want.sort_unstable();
            assert_eq!(sort(items, usize::cmp, &mut Ticker::new(&Unwatched)).unwrap(), want);
        }
    }

    #[test]
    fn types_come_in_byte_order_with_equal_beginnings_told_apart() {
        let mut table = Table::new(false);
        let words: [&[u8]; 5] = [b"abcdefghz", b"abcdefgh", b"b", b"abcdefgha", b"a\0"];
        for (i, word) in words.iter().enumerate() {
            table.add(word, i as u64 + 1, 0).unwrap();
        }
        let types = Types::from_table(&table, false, &mut Ticker::new(&Unwatched)).unwrap();
        let got: Vec<_> = types.iter().map(|(bytes, _)| bytes.to_vec()).collect();
        let mut want = words.map(<[u8]>::to_vec).to_vec();
        want.sort();
        assert_eq!(got, want);
    }
}
