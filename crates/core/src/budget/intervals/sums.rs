//! The number of ids of every prefix and every suffix of a text.
//!
//! In: a text, once; then ranges of its characters. Out: the number of ids of a range, if it contains a cut.
//!
//! The ids on one side of a cut do not depend on the other side. So for a range `[i, j)` that contains a cut,
//! `count(i, j) = count(suffix from i) + count(prefix up to j) - count(whole text)`.
use std::ops::Range;

use tokenmill_kernels::{prefetch, try_alloc};

use crate::engine::{Cut, Cuts, Engine, Special, Text};
use crate::error::{Error, Kind, Result};
use crate::ids::to_u32;
use crate::model::Scratch;
use crate::watch::Ticker;

use crate::budget::parts::PartEncoder;
use crate::budget::prefixes::PrefixReader;
use crate::budget::pretoken_model::{PairMemo, PretokenModel};
use crate::budget::pretokens::Pretokens;
use crate::budget::suffix_counts::SuffixCounts;
use crate::budget::suffixes::SuffixReader;

use super::places::Places;

/// If a prefix ends more characters than this after the last cut, or a suffix starts more than this before the next
/// one, its count is not stored, unless each character takes constant time.
const LONG: usize = 1 << 8;

/// Marks a count that is not stored.
const UNKNOWN: u32 = u32::MAX;

/// Counts of prefixes and suffixes, by character.
#[derive(Debug)]
pub(super) struct Sums {
    /// The count of the prefix that ends before the character.
    before: Vec<u32>,
    /// The count of the suffix that starts at the character.
    after: Vec<u32>,
    /// A bit per character: may the text be cut before it?
    cuts: Vec<u64>,
    /// How many characters a range must have before and after a cut for the cut to hold in it.
    margins: (usize, usize),
    /// See [`Cuts::parts_are_texts`].
    parts_are_texts: bool,
}

/// `None` for a part that cannot be spelled by itself.
fn if_spelled(count: Result<usize>) -> Result<Option<usize>> {
    match count {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind, Kind::UnknownToken { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The end of the longest range that fits.
#[derive(Debug)]
pub(super) struct Farthest {
    /// This stop fits.
    pub(super) sure: usize,
    /// Later stops that may also fit; no other stop does.
    pub(super) maybe: Range<usize>,
}

impl Sums {
    /// `None` if a text cannot be cut.
    pub(super) fn new(
        encoder: PartEncoder<'_>,
        special: &Special,
        text: &str,
        places: &Places,
    ) -> Result<Option<Self>> {
        let engine = encoder.engine;
        let cuts = engine.cuts(special);
        let parts_are_texts = cuts.parts_are_texts();
        if !parts_are_texts && !engine.has_text_cuts() {
            return Ok(None);
        }
        let count = places.count();
        let mut sums = Self {
            before: try_alloc::filled(UNKNOWN, count + 1)?,
            after: try_alloc::filled(UNKNOWN, count + 1)?,
            cuts: try_alloc::filled(0, count / 64 + 1)?,
            margins: if parts_are_texts { (0, 0) } else { (1, 2) },
            parts_are_texts,
        };
        let ticker = &mut Ticker::new(encoder.watch);
        sums.find_cuts(text, cuts, ticker)?;
        let is_canonical = matches!(PretokenModel::of(engine, ticker)?, PretokenModel::Tokens(_));
        if engine.grows(special) && is_canonical {
            sums.read_pretokens(engine, text, places, ticker)?;
        } else {
            sums.read_parts(encoder, cuts, text, places)?;
        }
        Ok(Some(sums))
    }

    fn find_cuts(&mut self, text: &str, cuts: Cuts<'_>, ticker: &mut Ticker<'_>) -> Result<()> {
        for (number, (at, _)) in text.char_indices().enumerate().skip(1) {
            ticker.spend(4)?;
            if cuts.at(text, at).is_some() {
                self.cuts[number / 64] |= 1 << (number % 64);
            }
        }
        Ok(())
    }

    /// For canonical merges where only a split looks across pretokens: constant time per character.
    fn read_pretokens(
        &mut self,
        engine: &Engine,
        text: &str,
        places: &Places,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let Some(splitter) = engine.splitter() else {
            return Err(Error::internal("a text grows without a splitter"));
        };
        let model = PretokenModel::of(engine, ticker)?;
        let (memo, scratch) = (&mut PairMemo::default(), &mut Scratch::default());
        let mut pretokens = Pretokens::default();
        let mut reader =
            PrefixReader { engine, splitter: Some(splitter), model, memo: &mut *memo, scratch, ticker };
        for (number, before) in self.before.iter_mut().enumerate() {
            let beginning = &text.as_bytes()[..places.byte(number)];
            pretokens.read(beginning, &mut reader)?;
            *before = to_u32(pretokens.count(beginning, &mut reader)?);
        }
        let mut suffixes = SuffixCounts::default();
        let PretokenModel::Tokens(matcher) = model else {
            return Err(Error::internal("suffixes without tokens"));
        };
        let mut reader = SuffixReader { engine, matcher, memo, ticker };
        for (number, after) in self.after.iter_mut().enumerate().rev() {
            let ending = &text.as_bytes()[places.byte(number)..];
            suffixes.read(ending, splitter, &mut reader)?;
            *after = suffixes.count(ending.len()).map_or(UNKNOWN, to_u32);
        }
        Ok(())
    }

    /// For all other texts: between two cuts, every prefix and every suffix is encoded, unless the part is long.
    fn read_parts(
        &mut self,
        encoder: PartEncoder<'_>,
        cuts: Cuts<'_>,
        text: &str,
        places: &Places,
    ) -> Result<()> {
        let count = places.count();
        let cut_at = |number: usize| {
            let found = if number == 0 { None } else { cuts.at(text, places.byte(number)) };
            found.map_or(Cut { at: places.byte(number), before: places.byte(number), seen: 0 }, |cut| {
                if self.parts_are_texts { Cut { before: cut.at, ..cut } } else { cut }
            })
        };
        let mut ids = Vec::new();
        let mut count_from = |from: Cut, to: usize| {
            ids.clear();
            encoder.append(Text::Str(text), from, places.byte(to), &mut ids)?;
            Ok::<_, Error>(ids.len())
        };
        // Prefixes: encode from the last cut that holds in the prefix.
        let (_, seen) = self.margins;
        let (mut before, mut last, mut known) = (std::mem::take(&mut self.before), 0, 0);
        let mut next = self.next_cut(1);
        for number in 0..=count {
            while let Some(cut) = next.filter(|&cut| cut + seen <= number) {
                known += count_from(cut_at(last), cut)?;
                (last, next) = (cut, self.next_cut(cut + 1));
                before[cut] = to_u32(known);
            }
            if number - last <= LONG && before[number] == UNKNOWN {
                let count = if_spelled(count_from(cut_at(last), number))?;
                before[number] = count.map_or(UNKNOWN, |count| to_u32(known + count));
            }
        }
        before[count] = to_u32(known + count_from(cut_at(last), count)?);
        // Cuts too near the end to hold in any prefix.
        while let Some(cut) = next.filter(|&cut| cut < count) {
            known += count_from(cut_at(last), cut)?;
            (last, next) = (cut, self.next_cut(cut + 1));
            before[cut] = to_u32(known);
        }
        self.before = before;
        // Suffixes: encode up to the first cut after their first character.
        let total = self.total();
        let mut first: Option<usize> = None;
        for number in (0..=count).rev() {
            if number < count && self.is_cut(number + 1) {
                first = Some(number + 1);
            }
            let (to, rest) = first.map_or((count, 0), |cut| (cut, total - self.before[cut]));
            if to - number <= LONG {
                let part = places.byte(number)..places.byte(to);
                let count = if_spelled(encoder.count(text, part))?;
                self.after[number] = count.map_or(UNKNOWN, |count| to_u32(count) + rest);
            }
        }
        Ok(())
    }

    fn total(&self) -> u32 {
        self.before.last().copied().unwrap_or_default()
    }

    fn is_cut(&self, number: usize) -> bool {
        self.cuts[number / 64] >> (number % 64) & 1 == 1
    }

    /// The first cut at or after a character.
    #[inline]
    fn next_cut(&self, number: usize) -> Option<usize> {
        let mut word = number / 64;
        let mut bits = self.cuts.get(word)? & (u64::MAX << (number % 64));
        while bits == 0 {
            word += 1;
            bits = *self.cuts.get(word)?;
        }
        Some(64 * word + bits.trailing_zeros() as usize)
    }

    /// The last cut before a character.
    fn last_cut(&self, before: usize) -> Option<usize> {
        let last = before.checked_sub(1)?;
        let mut word = last / 64;
        let mut bits = self.cuts[word] & (u64::MAX >> (63 - last % 64));
        while bits == 0 {
            word = word.checked_sub(1)?;
            bits = self.cuts[word];
        }
        Some(64 * word + 63 - bits.leading_zeros() as usize)
    }

    /// Prefetches the entries at both ends of a range.
    pub(super) fn prefetch(&self, start: usize, end: usize) {
        prefetch(&self.after, start);
        prefetch(&self.before, end);
        // About where the first cut is.
        prefetch(&self.before, start.saturating_add(4));
        prefetch(&self.cuts, start / 64);
    }

    /// The number of ids of a nonempty range; `None` if it contains no cut.
    #[inline]
    pub(super) fn count(
        &self,
        range: Range<usize>,
        encoder: PartEncoder<'_>,
        text: &str,
        places: &Places,
    ) -> Result<Option<usize>> {
        let Range { start, end } = range;
        let (before, after) = (self.before[end], self.after[start]);
        if start == 0 && before != UNKNOWN {
            return Ok(Some(before as usize));
        }
        if end + 1 == self.before.len() && after != UNKNOWN {
            return Ok(Some(after as usize));
        }
        let first = self.next_cut(start + self.margins.0).filter(|&cut| cut + self.margins.1 <= end);
        let Some(first) = first else { return Ok(None) };
        let total = self.total();
        let to_first = match after {
            UNKNOWN => to_u32(encoder.count(text, places.byte(start)..places.byte(first))?),
            _ => after - (total - self.before[first]),
        };
        let from_first = if before == UNKNOWN {
            let last = self.last_cut(end + 1 - self.margins.1).unwrap_or(first);
            let mut ids = Vec::new();
            let at = places.byte(last);
            let left = if self.parts_are_texts { at } else { places.byte(last - 1) };
            let cut = Cut { at, before: left, seen: at };
            encoder.append(Text::Str(text), cut, places.byte(end), &mut ids)?;
            self.before[last] - self.before[first] + to_u32(ids.len())
        } else {
            before - self.before[first]
        };
        Ok(Some((to_first + from_first) as usize))
    }

    /// The largest stop for which the range from `start` has at most `most` ids; `None` if the counts do not tell.
    pub(super) fn farthest(&self, start: usize, most: usize) -> Option<Farthest> {
        let count = self.before.len() - 1;
        let after = Some(self.after[start]).filter(|&after| after != UNKNOWN)?;
        // A range fits if the prefix up to its stop has at most this many ids.
        let limit = (most + self.total() as usize).checked_sub(after as usize);
        let shown = |cut: &usize| cut + self.margins.1 <= count;
        let fits = |number: usize| {
            let known = self.before[number];
            limit.is_some_and(|limit| known as usize <= limit)
        };
        if after as usize <= most {
            return Some(Farthest { sure: count, maybe: 0..0 });
        }
        let first = self.next_cut(start + self.margins.0.max(1)).filter(shown);
        let Some(first) = first.filter(|&cut| fits(cut)) else {
            // No range that reaches past the first cut fits.
            let end = first.map_or(count, |cut| cut + self.margins.1.max(1) - 1);
            return (end - start <= LONG).then_some(Farthest { sure: start, maybe: start + 1..end + 1 });
        };
        // Binary search for the last cut that fits: counts at cuts never decrease.
        let (mut low, mut high) = (first, count);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.last_cut(middle + 1).filter(|&cut| cut > low) {
                Some(cut) if fits(cut) => low = cut,
                Some(cut) => high = cut - 1,
                None => match self.next_cut(middle + 1).filter(|&cut| cut <= high) {
                    Some(cut) if fits(cut) => low = cut,
                    _ => high = low,
                },
            }
        }
        // Nothing past the next cut fits.
        let next = self.next_cut(low + 1).filter(shown);
        let end = next.map_or(count, |cut| cut + self.margins.1.max(1) - 1);
        let from = low + self.margins.1;
        if end.checked_sub(low)? > LONG && self.before[low..=end].contains(&UNKNOWN) {
            return None;
        }
        Some(match (from..=end).rev().find(|&stop| fits(stop)) {
            Some(stop) => Farthest { sure: stop, maybe: 0..0 },
            // The cut does not hold in a range that ends right after it.
            None => Farthest { sure: low, maybe: low + 1..from },
        })
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        4 * (self.before.capacity() + self.after.capacity()) + 8 * self.cuts.capacity()
    }
}
