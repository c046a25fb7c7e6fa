//! Counting the ids of ranges of one text.
//!
//! In: a text, once; then ranges of it. Out: the number of ids of each range when encoded on its own. It must equal
//! what encoding the range gives.
//!
//! `sums` stores the counts of all prefixes and suffixes of the text, which give the count of any range that contains
//! a cut. `tree` serves texts that are a single pretoken. All other ranges are encoded.
mod places;
mod sums;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;
use std::sync::Arc;

use tokenmill_kernels::try_alloc;

use crate::engine::{Engine, Recognizer, Special, Text};
use crate::error::{Error, Result};
use crate::model::bpe::Matcher;
use crate::pattern::Plan;
use crate::threads;
use crate::watch::{Ticker, Watch};

use super::parts::PartEncoder;
use super::pretoken_model::PretokenModel;
use places::Places;
use sums::{Farthest, Sums};
use tree::{PrefixTree, TreeScratch};

/// Ranges per unit of work of a thread.
const RANGES: usize = 1 << 12;

/// How many ranges ahead the counts at the ends of a range are prefetched.
const AHEAD: usize = 6;

/// The unit of the positions of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode characters.
    Characters,
    /// Bytes of UTF-8.
    Bytes,
}

/// A text, prepared for counting the ids of ranges.
#[derive(Debug)]
pub struct IntervalCounter {
    engine: Arc<Engine>,
    special: Special,
    adds_special: bool,
    text: Box<str>,
    places: Places,
    known: Known,
    /// The number of ids of an empty text.
    of_empty: usize,
}

#[derive(Debug)]
enum Known {
    Sums(Sums),
    Tree(PrefixTree),
    Nothing,
}

impl IntervalCounter {
    /// Reads a text. Cost: linear in the text.
    ///
    /// # Errors
    /// As [`Engine::encode`].
    pub fn new(
        engine: Arc<Engine>,
        text: &str,
        special: Special,
        adds_special: bool,
        watch: &dyn Watch,
    ) -> Result<Self> {
        if u32::try_from(text.len()).is_err() {
            let reason = format!("{} bytes are over the limit of 2^32 for one text; cut it", text.len());
            return Err(Error::argument(reason));
        }
        let recognizer = engine.recognizer(&special)?;
        recognizer.check(text.as_bytes(), watch)?;
        let encoder = PartEncoder { engine: &engine, recognizer: &recognizer, watch };
        // Report errors for the whole text before counting parts of it.
        encoder.count(text, 0..text.len())?;
        let ticker = &mut Ticker::new(watch);
        let is_unsplit = engine.splitter().is_some_and(|splitter| splitter.plan() == Plan::Whole);
        let places = Places::new(text)?;
        let known = match PretokenModel::of(&engine, ticker)? {
            PretokenModel::Tokens(matcher) if is_unsplit && engine.grows(&special) => {
                Known::Tree(PrefixTree::new(text.as_bytes(), &matcher, ticker)?)
            }
            _ => Sums::new(encoder, &special, text, &places)?.map_or(Known::Nothing, Known::Sums),
        };
        let of_empty = encoder.count(text, 0..0)?;
        let text = try_alloc::copy_text(text)?.into_boxed_str();
        drop(recognizer);
        Ok(Self { engine, special, adds_special, text, places, known, of_empty })
    }

    /// The number of characters.
    pub fn characters(&self) -> usize {
        self.places.count()
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of ids of a range of the text.
    ///
    /// # Errors
    /// A budget error for a range that the text does not have; as [`Engine::encode`] for bytes inside a character.
    pub fn count(&self, start: usize, stop: usize, unit: Unit, watch: &dyn Watch) -> Result<usize> {
        self.check((start, stop), unit)?;
        let recognizer = self.engine.recognizer(&self.special)?;
        let matcher = self.matcher(watch)?;
        self.count_range((start, stop), unit, (&recognizer, matcher), &mut TreeScratch::default(), watch)
    }

    /// The matcher, if ranges are counted by a tree.
    fn matcher(&self, watch: &dyn Watch) -> Result<Option<Matcher<'_>>> {
        match (&self.known, PretokenModel::of(&self.engine, &mut Ticker::new(watch))?) {
            (Known::Tree(_), PretokenModel::Tokens(matcher)) => Ok(Some(matcher)),
            _ => Ok(None),
        }
    }

    /// The numbers of ids of ranges.
    ///
    /// # Errors
    /// As [`Self::count`], with the number of the range as the field.
    pub fn count_many(
        &self,
        ranges: &[[i64; 2]],
        unit: Unit,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<i64>> {
        let recognizer = &self.engine.recognizer(&self.special)?;
        let matcher = self.matcher(watch)?;
        let units = ranges.len().div_ceil(RANGES);
        let threads = threads::threads_for(ranges.len().saturating_mul(64), threads).min(units.max(1));
        let mut scratches = try_alloc::filled(TreeScratch::default(), threads)?;
        let parts = threads::run_with(units, &mut scratches, watch, |number, scratch, watch| {
            let first = number * RANGES;
            let part = &ranges[first..ranges.len().min(first + RANGES)];
            try_alloc::collect::<i64, Error>(part.iter().enumerate().map(|(i, &[start, stop])| {
                let index = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
                if let Some(&range) = part.get(i + 2 * AHEAD) {
                    self.prefetch_places(range, unit);
                }
                if let Some(&range) = part.get(i + AHEAD) {
                    self.prefetch(range, unit);
                }
                let range = (index(start), index(stop));
                let count = self
                    .check(range, unit)
                    .and_then(|()| self.count_range(range, unit, (recognizer, matcher), scratch, watch));
                Ok(count.map_err(|error| error.at_index(first + i).at("ranges"))? as i64)
            }))
        })?;
        let mut counts = try_alloc::vec(ranges.len())?;
        for part in &parts {
            counts.extend_from_slice(part);
        }
        Ok(counts)
    }

    /// Prefetches the counts at both ends of a range.
    fn prefetch(&self, [start, stop]: [i64; 2], unit: Unit) {
        let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
        match (&self.known, unit) {
            (Known::Sums(sums), Unit::Characters) => sums.prefetch(place(start), place(stop)),
            (Known::Tree(tree), Unit::Bytes) => tree.prefetch(place(start), place(stop)),
            (Known::Tree(tree), Unit::Characters) => {
                tree.prefetch(self.places.byte(place(start)), self.places.byte(place(stop)));
            }
            _ => {}
        }
    }

    /// Prefetches the bytes at which both ends of a range of characters are.
    fn prefetch_places(&self, [start, stop]: [i64; 2], unit: Unit) {
        if unit == Unit::Characters {
            for place in [start, stop] {
                self.places.prefetch(usize::try_from(place).unwrap_or(usize::MAX));
            }
        }
    }

    /// The largest stop for which the range from `start` has at most `limit` ids.
    ///
    /// # Errors
    /// As [`Self::count`]; a budget error if the special tokens alone are over the limit.
    pub fn fits(&self, start: usize, limit: usize, unit: Unit, watch: &dyn Watch) -> Result<usize> {
        let end = match unit {
            Unit::Characters => self.places.count(),
            Unit::Bytes => self.text.len(),
        };
        self.check((start, end), unit)?;
        let Some(from) = self.character(start, unit) else {
            let reason = format!("byte {start} is inside a character; begin where a character does");
            return Err(Error::budget(None, None, reason));
        };
        let most = self.engine.most_of_text(limit, self.adds_special)?;
        let recognizer = &self.engine.recognizer(&self.special)?;
        let stop = self.farthest(from, most, recognizer, watch)?;
        Ok(match unit {
            Unit::Characters => stop,
            Unit::Bytes => self.places.byte(stop),
        })
    }

    fn farthest(
        &self,
        start: usize,
        most: usize,
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<usize> {
        match &self.known {
            Known::Sums(sums) => {
                if let Some(Farthest { sure, maybe }) = sums.farthest(start, most) {
                    for stop in maybe.rev() {
                        if self.count_characters(start..stop, recognizer, watch)? <= most {
                            return Ok(stop);
                        }
                    }
                    return Ok(sure);
                }
            }
            Known::Tree(tree) => {
                let stop = self.farthest_of_tree(tree, self.places.byte(start), most, watch)?;
                return Ok(self.places.character(stop).unwrap_or(start));
            }
            Known::Nothing => {}
        }
        let (text, rules) = ((&*self.text, self.places.byte(start)), (&self.special, recognizer));
        let end = self.engine.longest_from(text, most, rules, watch)?;
        Ok(self.places.character(end).unwrap_or(start))
    }

    /// As [`Self::fits`] for a text with a tree, in bytes.
    fn farthest_of_tree(
        &self,
        tree: &PrefixTree,
        start: usize,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let ticker = &mut Ticker::new(watch);
        let matcher = self.matcher(watch)?.ok_or_else(|| Error::internal("a tree of tokens without them"))?;
        let (text, longest) = (&*self.text, matcher.longest_length());
        let mut stop = match tree.farthest(start, most, longest) {
            Some(stop) => stop,
            None => PrefixTree::read_farthest(text.as_bytes(), start, most, &matcher, ticker)?,
        };
        let scratch = &mut TreeScratch::default();
        let mut fits = |stop: usize| {
            if !text.is_char_boundary(stop) {
                return Ok(false);
            }
            let range = start..stop;
            let is_whole = most > 0 && self.is_taken_whole(range.clone());
            let count = tree.count(text.as_bytes(), range, &matcher, scratch, ticker)?;
            Ok::<_, Error>(is_whole || count <= most)
        };
        // A pretoken that is taken whole is no longer than the longest token.
        stop = stop.max(text.len().min(start + longest));
        while stop > start && !fits(stop)? {
            stop -= 1;
        }
        Ok(stop)
    }

    /// Is a range of bytes taken whole, whatever merging leaves of it?
    fn is_taken_whole(&self, range: Range<usize>) -> bool {
        let (bytes, whole) = (&self.text.as_bytes()[range], self.engine.model().as_bpe());
        whole.and_then(|bpe| bpe.taken_whole(bytes, self.engine.vocabulary())).is_some()
    }

    fn check(&self, (start, stop): (usize, usize), unit: Unit) -> Result<()> {
        let (length, name) = match unit {
            Unit::Characters => (self.places.count(), "characters"),
            Unit::Bytes => (self.text.len(), "bytes"),
        };
        if start <= stop && stop <= length {
            return Ok(());
        }
        let shown = |place: usize| {
            if place == usize::MAX { "a place that no text has".to_owned() } else { place.to_string() }
        };
        let reason = format!(
            "there is no range from {} to {} in a text of {length} {name}; both count from its start",
            shown(start),
            shown(stop)
        );
        Err(Error::budget(None, None, reason))
    }

    /// The index of the character at a position; `None` inside a character.
    fn character(&self, place: usize, unit: Unit) -> Option<usize> {
        match unit {
            Unit::Characters => Some(place),
            Unit::Bytes => self.places.character(place),
        }
    }

    fn count_range(
        &self,
        (start, stop): (usize, usize),
        unit: Unit,
        (recognizer, matcher): (&Recognizer<'_>, Option<Matcher<'_>>),
        scratch: &mut TreeScratch,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let count = if let Known::Tree(tree) = &self.known {
            let byte = |place: usize| if unit == Unit::Bytes { place } else { self.places.byte(place) };
            let matcher = matcher.ok_or_else(|| Error::internal("a tree of tokens without them"))?;
            let ticker = &mut Ticker::new(watch);
            let (text, range) = (self.text.as_bytes(), byte(start)..byte(stop));
            if self.is_taken_whole(range.clone()) {
                1
            } else if unit == Unit::Bytes && std::str::from_utf8(&text[range.clone()]).is_err() {
                // Invalid UTF-8 is split off as pretokens of its own.
                self.count_bytes(range, recognizer, watch)?
            } else {
                tree.count(text, range, &matcher, scratch, ticker)?
            }
        } else {
            match (self.character(start, unit), self.character(stop, unit)) {
                (Some(start), Some(stop)) => self.count_characters(start..stop, recognizer, watch)?,
                _ => self.count_bytes(start..stop, recognizer, watch)?,
            }
        };
        Ok(self.engine.count_with_special_tokens(count, self.adds_special))
    }

    fn count_characters(
        &self,
        range: Range<usize>,
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<usize> {
        if range.is_empty() {
            return Ok(self.of_empty);
        }
        let encoder = PartEncoder { engine: &self.engine, recognizer, watch };
        if let Known::Sums(sums) = &self.known
            && let Some(count) = sums.count(range.clone(), encoder, &self.text, &self.places)?
        {
            return Ok(count);
        }
        encoder.count(&self.text, self.places.byte(range.start)..self.places.byte(range.end))
    }

    fn count_bytes(
        &self,
        range: Range<usize>,
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let encoder = PartEncoder { engine: &self.engine, recognizer, watch };
        encoder.count_bytes(Text::Bytes(self.text.as_bytes()), range)
    }

    /// Heap bytes held.
    pub fn memory(&self) -> usize {
        let known = match &self.known {
            Known::Sums(sums) => sums.memory(),
            Known::Tree(tree) => tree.memory(),
            Known::Nothing => 0,
        };
        self.text.len() + self.places.memory() + known
    }
}
