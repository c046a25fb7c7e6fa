//! Pretokens to ids through the cache, in batches.
//!
//! In: a text, and the split that cuts it. Out: ids, in the order of the text, into a sink. First the split fills a
//! batch with lookups, whose entries are prefetched; then the hits are copied. Some misses are spelled at once; the
//! others wait, perhaps over several batches, and are spelled together.
//! It knows nothing of added tokens, nor of normalization: the speller normalizes a raw part that missed.
use tokenmill_kernels::short_table::{self, INLINE};

use super::batch::{Lookup, LookupBatch};
use super::cache::PretokenCache;
use super::keys::{WORD, hardly_repeats, is_short_enough_to_cache, key_of, key_of_long, key_of_long_word};
use super::misses::MissContext;
use super::speller::Speller;
use crate::aligned::{AlignedText, Origins};
use crate::engine::input::placed;
use crate::engine::raw::{MAX_SPACED, RawSegments, RawWords, WordFinder, WordScratch, WordSpans};
use crate::engine::sink::IdSink;
use crate::engine::summed::SummedWords;
use crate::error::{Error, Result};
use crate::model::Scratch;
use crate::normalize::Normalizers;
use crate::pattern::{Plan, ScanScratch, Splitter};
use crate::span::Span;
use crate::watch::Ticker;

/// Raw segments that are found at once.
const RAW_SEGMENTS: usize = 256;

/// The work of a lookup besides its bytes, in bytes.
const WORK_OF_LOOKUP: usize = 16;

/// The tables of a tokenizer, and what one worker holds while it encodes pretokens.
pub(in super::super) struct PretokenEncoder<'a, 'w> {
    pub(in super::super) speller: Speller<'a>,
    pub(in super::super) batch: &'a mut LookupBatch,
    pub(in super::super) cache: &'a mut PretokenCache,
    pub(in super::super) scratch: &'a mut Scratch,
    pub(in super::super) word_scratch: &'a mut WordScratch,
    pub(in super::super) ticker: &'a mut Ticker<'w>,
}

impl PretokenEncoder<'_, '_> {
    /// Splits a text without added tokens, and encodes its pretokens, or its raw pieces.
    ///
    /// # Errors
    /// An unknown-token error, positioned in the caller's text if the origins are tracked; errors of the split;
    /// cancellation.
    pub(in super::super) fn encode_split<S: IdSink>(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        split_scratch: &mut ScanScratch,
        sink: &mut S,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        // A raw piece may have other ids than a pretoken with its bytes.
        let mark = if self.speller.raw.is_some() { WORD } else { 0 };
        self.batch.begin_text(text);
        let split = splitter.for_each_ends(piece.text, split_scratch, |mut ends| {
            sink.take_ends(ends)?;
            while let Some(&next) = ends.first() {
                let batch = &mut *self.batch;
                let (start, before) = (batch.end, batch.length);
                let count = batch.push_short(text, ends, mark, self.cache);
                batch.work += splitter.work_of(batch.length - before, batch.end - start);
                ends = &ends[count..];
                if batch.is_full() {
                    self.resolve_batch(piece, sink, false)?;
                } else if count == 0 {
                    self.push_long(piece, (splitter, next), sink)?;
                    ends = &ends[1..];
                }
            }
            Ok(())
        });
        // An error in a pretoken that was found before the split failed comes first.
        self.resolve_batch(piece, sink, true)?;
        split
    }

    /// Encodes the raw segments of a text without added tokens. If `spaced` is not 0, the first
    /// one has so many bytes, and is encoded as if it came after a space.
    ///
    /// # Errors
    /// As [`Self::encode_split`], but for errors of a split.
    pub(in super::super) fn encode_raw_segments<S: IdSink>(
        &mut self,
        (segments, spaced): (&RawSegments, usize),
        piece: AlignedText<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        if spaced > 0 {
            self.encode_spaced(&text[..spaced], sink)?;
        }
        self.batch.begin_text(text);
        self.batch.restart(spaced);
        let (mut buffer, mut from) = ([0; RAW_SEGMENTS], spaced);
        while from < text.len() {
            let mut ends = segments.next_ends(text, from, &mut buffer);
            while let Some(&next) = ends.first() {
                let batch = &mut *self.batch;
                let start = batch.end;
                let mut count = batch.push_short(text, ends, 0, self.cache);
                if count == 0 && !batch.is_full() {
                    batch.push(key_of_long(&text[start..next]), next, self.cache);
                    count = 1;
                }
                batch.work += (batch.end - start) + WORK_OF_LOOKUP * count;
                ends = &ends[count..];
                if batch.is_full() {
                    self.resolve_batch(piece, sink, false)?;
                }
            }
            from = self.batch.end;
        }
        self.resolve_batch(piece, sink, true)
    }

    /// Encodes a raw segment of at most [`MAX_SPACED`] bytes as if it came after a space.
    fn encode_spaced<S: IdSink>(&mut self, segment: &[u8], sink: &mut S) -> Result<()> {
        let mut buffer = [b' '; 1 + MAX_SPACED];
        let spaced = &mut buffer[..=segment.len()];
        spaced[1..].copy_from_slice(segment);
        self.encode_alone(spaced, sink)
    }

    /// Encodes the raw words of a text without added tokens.
    ///
    /// # Errors
    /// As [`Self::encode_split`], and those of the stages before the model.
    pub(in super::super) fn encode_raw_words<S: IdSink>(
        &mut self,
        (words, normalizers): (&WordFinder, &Normalizers),
        piece: AlignedText<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        self.batch.begin_text(text);
        let (mut found, mut from) = (WordSpans::default(), 0);
        while from < text.len() {
            let next = words.next((piece.text, normalizers), from, &mut found, self.ticker)?;
            let (mut starts, mut ends) = found.get();
            while !ends.is_empty() {
                let count = self.push_words(text, (starts, ends));
                (starts, ends) = (&starts[count..], &ends[count..]);
                if self.batch.is_full() {
                    self.resolve_batch(piece, sink, false)?;
                }
            }
            from = next;
        }
        self.resolve_batch(piece, sink, true)
    }

    /// Pushes raw words until the batch is full or after a long one; returns how many.
    fn push_words(&mut self, text: &[u8], (starts, ends): (&[usize], &[usize])) -> usize {
        let batch = &mut *self.batch;
        let before = batch.end;
        let mut count = batch.push_words(text, (starts, ends), self.cache);
        if count == 0
            && !batch.is_full()
            && let Some(&end) = ends.first()
        {
            // A long word takes the gap before it along: it begins where the lookup before it ended.
            batch.push(key_of_long_word(&text[before..end]), end, self.cache);
            count = 1;
        }
        batch.work += (batch.end - before) + WORK_OF_LOOKUP * count;
        count
    }

    /// Encodes the raw words of a text without added tokens, whose ids may depend on the words before them. Words that
    /// are too long to be cached are encoded at once.
    ///
    /// # Errors
    /// As [`Self::encode_raw_words`].
    pub(in super::super) fn encode_summed_words<S: IdSink>(
        &mut self,
        (words, normalizers): (&RawWords, &Normalizers),
        piece: AlignedText<'_>,
        sink: &mut SummedWords<'_, '_, S>,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        self.batch.begin_text(text);
        let (mut found, mut from) = (WordSpans::default(), 0);
        while from < text.len() {
            let next = words.finder().next((piece.text, normalizers), from, &mut found, self.ticker)?;
            let (mut starts, mut ends) = found.get();
            while let (Some(&start), Some(&end)) = (starts.first(), ends.first()) {
                let count = if is_short_enough_to_cache(&text[self.batch.end..end]) {
                    self.push_words(text, (starts, ends))
                } else {
                    self.resolve_batch(piece, sink, true)?;
                    let word = AlignedText { text: &piece.text[start..end], origins: Origins::Untracked };
                    let word = normalizers.apply(word, &mut self.word_scratch.normalized, self.ticker)?;
                    sink.encode(word.text.as_bytes(), self.ticker)?;
                    self.batch.restart(end);
                    1
                };
                (starts, ends) = (&starts[count..], &ends[count..]);
                if self.batch.is_full() {
                    self.resolve_batch(piece, sink, false)?;
                }
            }
            sink.check()?;
            from = next;
        }
        self.resolve_batch(piece, sink, true)?;
        sink.check()
    }

    /// Pushes a pretoken that is longer than a key as a whole, unless it hardly ever repeats or is a text that is
    /// not split. Then its segments are pushed instead, if it may be divided. If an unsplit text may repeat, none of
    /// its segments may be longer than a key.
    fn push_long<S: IdSink>(
        &mut self,
        piece: AlignedText<'_>,
        (splitter, end): (&Splitter, usize),
        sink: &mut S,
    ) -> Result<()> {
        let text = piece.text.as_bytes();
        let start = self.batch.end;
        let pretoken = Span::new(start, end);
        if self.speller.raw.is_some() {
            self.batch.work += splitter.work(pretoken.len());
            self.batch.push(key_of_long_word(pretoken.of(text)), end, self.cache);
            return Ok(());
        }
        let (is_whole, hardly_repeats) = (splitter.plan() == Plan::Whole, hardly_repeats(pretoken.of(text)));
        if (is_whole || hardly_repeats)
            && let Some(mut segments) = self.speller.segments(text, pretoken)
        {
            self.batch.work += splitter.work(0);
            let mut has_long = false;
            while !has_long && let Some(is_long) = self.batch.push_segments(text, &mut segments, self.cache) {
                has_long = is_long && !hardly_repeats;
                if !has_long && self.batch.is_full() {
                    self.resolve_batch(piece, sink, false)?;
                }
            }
            if !has_long {
                return Ok(());
            }
            // An unsplit text of at most 128 bytes may repeat as a whole. The lookup of a long segment takes about as
            // long as that of the whole, so the whole is pushed after all. The batch holds nothing but its segments.
            self.batch.restart(start);
        }
        self.batch.work += splitter.work(pretoken.len());
        self.batch.push(key_of_long(pretoken.of(text)), end, self.cache);
        Ok(())
    }

    /// Resolves the lookups of the batch and restarts it. While no miss is queued, ids are given to the sink at once;
    /// after the last batch, and when no more can wait, all ids are.
    fn resolve_batch<S: IdSink>(
        &mut self,
        piece: AlignedText<'_>,
        sink: &mut S,
        is_last: bool,
    ) -> Result<()> {
        if let Err(error) = self.resolve_lookups(piece, is_last) {
            // Otherwise ids of the failed batch would be emitted again.
            self.batch.discard();
            return Err(error);
        }
        let batch = &mut *self.batch;
        if batch.misses.len() == 0 {
            sink.push_ids(batch.ids())?;
            batch.waiting = 0;
        } else if batch.misses.is_resolved() {
            batch.misses.splice_into(batch.ids(), sink)?;
            batch.discard();
        }
        batch.restart(batch.end);
        Ok(())
    }

    fn resolve_lookups(
        &mut self,
        AlignedText { text, origins }: AlignedText<'_>,
        is_last: bool,
    ) -> Result<()> {
        let Self { speller, batch, cache, scratch, word_scratch, ticker } = self;
        let (length, before) = (std::mem::take(&mut batch.length), batch.waiting);
        ticker.spend(std::mem::take(&mut batch.work))?;
        let mut context =
            MissContext { speller: *speller, cache, scratch, word_scratch, ticker, text, origins };
        let (mut from, mut single, mut asked) = (0, 0, 0);
        while from < length {
            let (hits, is_miss) = batch.emit_hits(from, length, context.cache);
            (from, single) = (from + hits, single + hits);
            if from == length {
                break;
            }
            match batch.resolve((from, is_miss), length, text.as_bytes(), *speller, context.cache)? {
                Lookup::Hit => {}
                Lookup::Spelled(ids) => (single, asked) = (single + ids, asked + 1),
                Lookup::Miss(hash) => {
                    speller.static_table.prefetch(hash);
                    if batch.misses.should_probe() {
                        asked += batch.misses.resolve(&mut context)?;
                    }
                }
            }
            from += 1;
        }
        if (is_last || !batch.may_wait()) && !batch.misses.is_resolved() {
            asked += batch.misses.resolve_all(&mut context)?;
        }
        // Estimate of the calls of the model that hits saved: half as many as they have ids, without the first id of
        // each that `emit_hits` emitted. If at most an eighth of the lookups asked the model, `saved` is `asked`, so
        // that this batch never raises the miss rate.
        let saved = if asked > length / 8 { (batch.waiting - before - single) / 2 } else { asked };
        context.cache.record(length, asked, saved);
        Ok(())
    }

    /// Encodes one pretoken, without a batch.
    ///
    /// # Errors
    /// As [`Self::encode_split`].
    pub(in super::super) fn encode_one<S: IdSink>(
        &mut self,
        pretoken: AlignedText<'_>,
        sink: &mut S,
    ) -> Result<()> {
        self.encode_alone(pretoken.text.as_bytes(), sink).map_err(|error| placed(error, pretoken.origins))
    }

    /// Encodes a pretoken, or a raw segment, without a batch. Errors are positioned in it.
    fn encode_alone<S: IdSink>(&mut self, text: &[u8], sink: &mut S) -> Result<()> {
        let key = key_of(text);
        let hash = short_table::hash(key);
        if let Some(ids) = self.speller.look_up(key, hash, text, self.cache, &mut [0; INLINE]) {
            sink.push_ids(ids)?;
            let saved = usize::from(ids.len() > 1);
            self.cache.record(1, 0, saved);
            return Ok(());
        }
        let missed = std::str::from_utf8(text).map_err(|_| Error::internal("a pretoken is no text"))?;
        let (whole, scratch) = (Span::new(0, text.len()), (&mut *self.scratch, &mut *self.word_scratch));
        self.speller.spell((missed, whole), self.cache, scratch, self.ticker)?;
        self.cache.insert(key, hash, text, &self.scratch.ids);
        self.cache.record(1, 1, 0);
        Ok(sink.push_ids(&self.scratch.ids)?)
    }
}
