//! A long text that is not UTF-8, such as a string of Python, in blocks.
//!
//! In: code units. Out: the ids of the text. A block is decoded and encoded while it is in the processor's cache,
//! so the whole text is in memory as UTF-8 only if it has no cuts.
use std::ops::Range;

use tokenmill_kernels::{Prefetcher, ReorderBuffer, try_alloc};

use crate::error::Result;
use crate::ids::{TokenId, row_for};
use crate::threads;
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::encode::size_of_units;
use super::input::{Part, Special, Text};
use super::sink::{Counter, IdSink};
use super::source::CodeUnits;
use super::untrusted::UntrustedRanges;

/// Bytes of a block: it fits into the second-level cache beside the tables.
const BLOCK: usize = 64 << 10;

/// Code units that are decoded at a time.
const PART: usize = 32 << 10;

/// A cut is looked for this far before the end of a block; if there is none, farther before it.
const BACK: [usize; 3] = [1 << 8, 1 << 12, 1 << 16];

/// When threads share a text, a cut is looked for in a window of this many code units, then in the next one. A text
/// without a cut in [`WINDOWS`] windows has hardly any.
const WINDOW: usize = 1 << 10;
const WINDOWS: usize = 1 << 10;

impl Engine {
    /// May a text be encoded in blocks under this policy? Only if the stages look at nothing but pretokens.
    pub fn takes_blocks(&self, special: &Special) -> bool {
        *special == Special::Text && self.may_be_cut() && self.stages.added_in_raw.has_only_special()
    }

    /// The ids of a text in code units, as from [`Engine::encode`] under [`Special::Text`], if
    /// [`Self::takes_blocks`] allows it. The position in an error counts from the start of the block.
    ///
    /// # Errors
    /// As [`Engine::encode`], and [`CodeUnits::append`].
    pub fn encode_units(
        &self,
        units: &dyn CodeUnits,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<TokenId>> {
        let mut ids = row_for(units.bytes())?;
        let threads = threads::threads_for(units.bytes(), threads);
        if threads == 1 {
            self.for_each_block(BLOCK, units, 0..units.len(), watch, &mut ids)?;
            return Ok(ids);
        }
        let rows = ReorderBuffer::append_to(ids);
        let (row, put) = (|| rows.spare(), |range, row| rows.put(range, row));
        self.for_each_range(units, threads, watch, row, put)?;
        Ok(rows.finish()?)
    }

    /// As [`Engine::count`], for a text in code units, as in [`Self::encode_units`].
    ///
    /// # Errors
    /// As [`Self::encode_units`].
    pub fn count_units(&self, units: &dyn CodeUnits, threads: usize, watch: &dyn Watch) -> Result<usize> {
        let threads = threads::threads_for(units.bytes(), threads);
        if threads == 1 {
            let mut counter = Counter::default();
            self.for_each_block(BLOCK, units, 0..units.len(), watch, &mut counter)?;
            return Ok(counter.0);
        }
        let count = |_, counter: Counter| counter.0;
        let counts = self.for_each_range(units, threads, watch, Counter::default, count)?;
        Ok(counts.iter().sum())
    }

    /// On several threads, with a sink for each range; returns `done(number, sink)` of each range, in order.
    fn for_each_range<S: IdSink, T: Send>(
        &self,
        units: &dyn CodeUnits,
        threads: usize,
        watch: &dyn Watch,
        sink: impl Fn() -> S + Sync,
        done: impl Fn(usize, S) -> T + Sync,
    ) -> Result<Vec<T>> {
        let ranges = self.ranges(units, size_of_units(units.len(), threads), watch)?;
        threads::run(ranges.len(), threads, watch, |number, watch| {
            let mut sink = sink();
            self.for_each_block(BLOCK, units, ranges[number].clone(), watch, &mut sink)?;
            Ok(done(number, sink))
        })
    }

    fn for_each_block<S: IdSink>(
        &self,
        size: usize,
        units: &dyn CodeUnits,
        range: Range<usize>,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        let (recognizer, trusted) = (self.recognizer(&Special::Text)?, UntrustedRanges::none());
        let mut text = try_alloc::string(4 * size)?;
        let mut follows = range.start > 0;
        let mut enough = size;
        let (mut at, mut ahead) = (range.start, Prefetcher::default());
        loop {
            let (before, length) = (ahead, text.len());
            while text.len() < enough {
                if at >= range.end {
                    let rest = Part { text: Text::Str(&text), follows };
                    return self.encode_ids(rest, &recognizer, trusted, Prefetcher::default(), watch, sink);
                }
                at = units.append(at..range.end.min(at + PART.min(size)), &mut text)?;
                ahead = units.ahead(at);
            }
            let cut = |back: &usize| self.safe_cut(&text, text.len().saturating_sub(*back));
            match BACK.iter().find_map(cut) {
                Some(cut) => {
                    // The next block is prefetched while this one is encoded.
                    let bytes = before.bytes_before(ahead);
                    let next = ahead.paced(bytes, text.len() - length);
                    let block = Part { text: Text::Str(&text[..cut]), follows };
                    self.encode_ids(block, &recognizer, trusted, next, watch, sink)?;
                    follows = true;
                    text.drain(..cut);
                    enough = size;
                }
                // Without a cut the block grows.
                None => enough = 2 * text.len(),
            }
        }
    }

    /// Ranges of about `size` units that may be encoded separately: they tile the text.
    fn ranges(&self, units: &dyn CodeUnits, size: usize, watch: &dyn Watch) -> Result<Vec<Range<usize>>> {
        let mut ranges = Vec::new();
        let (mut start, mut at) = (0, size);
        let (mut window, mut ticker) = (String::new(), Ticker::new(watch));
        while at < units.len() && at - start < size + WINDOWS * WINDOW {
            window.clear();
            let end = units.append(at..units.len().min(at + WINDOW), &mut window)?;
            ticker.spend(window.len())?;
            // The window may begin in the middle of a character, so its first character is skipped.
            let first = window.chars().next().map_or(0, char::len_utf8);
            let cut = self.safe_cut(&window, first + 1).map(|cut| window[..cut].chars().count());
            match cut {
                // If a character has several units, characters cannot be counted as units, so the next window is
                // tried.
                Some(cut) if window.chars().count() == end - at => {
                    try_alloc::push(&mut ranges, start..at + cut)?;
                    start = at + cut;
                    at = start + size;
                }
                _ => at = end,
            }
        }
        try_alloc::push(&mut ranges, start..units.len())?;
        Ok(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::description::{Alphabet, BpeDescription, Description, Merges, Split, TokenList};
    use crate::pattern::named_splits;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    fn engine(split: &Split) -> Engine {
        let bytes = (0..=255_u8).map(|byte| vec![byte]);
        let more = ["th", "he", "the", " t", " the", "  ", "\n\n", "12", "123", "'s"];
        let tokens = bytes.chain(more.into_iter().map(|token| token.as_bytes().to_vec()));
        let tokens = TokenList::from_entries((0..).zip(tokens).collect());
        let model = BpeDescription::plain(Alphabet::Bytes, tokens, Merges::ById);
        compile(Description::of_bpe(split, model)).unwrap()
    }

    /// Code units as in some strings of Python: a character above U+FFFF is a pair of units, and half of a pair is
    /// U+FFFD.
    struct Sixteen(Vec<u16>);

    impl CodeUnits for Sixteen {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn bytes(&self) -> usize {
            3 * self.0.len()
        }

        fn append(&self, units: Range<usize>, text: &mut String) -> Result<usize> {
            let mut end = units.start;
            for unit in char::decode_utf16(self.0[units.start..].iter().copied()) {
                if end >= units.end {
                    break;
                }
                let char = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
                text.push(char);
                end += char.len_utf16();
            }
            Ok(end)
        }

        fn ahead(&self, from: usize) -> Prefetcher {
            Prefetcher::new(&self.0[from..])
        }
    }

    proptest! {
        #[test]
        fn blocks_and_ranges_give_the_ids_of_the_whole(
            pieces in proptest::collection::vec("the|'s| |\\n|\\r|[0-9]{1,4}|é|語|🦊|A|\\.|\\PC", 0..60),
            size in 1..40_usize,
            split in prop_oneof![Just("gpt2"), Just("cl100k"), Just("o200k"), Just("none")],
        ) {
            let engine = engine(&named_splits::split_from(split));
            prop_assert!(engine.takes_blocks(&Special::Text));
            let text = pieces.concat();
            let units = Sixteen(text.encode_utf16().collect());
            let mut whole = Vec::new();
            engine.encode(Text::Str(&text), &Special::Text, 1, &Unwatched, &mut whole).unwrap();
            let mut ids = Vec::new();
            engine.for_each_block(size, &units, 0..units.len(), &Unwatched, &mut ids).unwrap();
            prop_assert_eq!(&ids, &whole);
            ids.clear();
            let ranges = engine.ranges(&units, size, &Unwatched).unwrap();
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges.last().unwrap().end, units.len());
            prop_assert!(ranges.windows(2).all(|two| two[0].end == two[1].start));
            for range in ranges {
                engine.for_each_block(size, &units, range, &Unwatched, &mut ids).unwrap();
            }
            prop_assert_eq!(&ids, &whole);
        }
    }

    #[test]
    fn threads_share_a_long_text() {
        let engine = engine(&named_splits::split_from("cl100k"));
        let text = "the 語 12345 🦊's\n\n  ".repeat(100_000);
        let units = Sixteen(text.encode_utf16().collect());
        let mut whole = Vec::new();
        engine.encode(Text::Str(&text), &Special::Text, 1, &Unwatched, &mut whole).unwrap();
        for threads in [1, 2, 3] {
            assert_eq!(engine.encode_units(&units, threads, &Unwatched).unwrap(), whole);
            assert_eq!(engine.count_units(&units, threads, &Unwatched).unwrap(), whole.len());
        }
    }
}
