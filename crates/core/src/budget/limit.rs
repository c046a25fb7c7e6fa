//! Counting ids up to a limit.
//!
//! In: a text and a limit. Out: the number of its ids, or that it is more. No more of the text is read than the limit
//! needs, where a text can be cut, or where its beginning says how many ids no further text changes. All of it is
//! read where stages look at more than a pretoken.
use tokenmill_kernels::{Prefetcher, try_alloc};

use crate::engine::{Counter, Engine, Recognizer, Source, Special, Text, UntrustedRanges};
use crate::error::{Error, Place, Result};
use crate::model::Scratch;
use crate::special::TextPart;
use crate::threads;
use crate::watch::{Ticker, Watch};

use super::prefixes::PrefixReader;
use super::pretoken_model::{PairMemo, PretokenModel};
use super::pretokens::Pretokens;
use super::words::Words;

/// In place of a count that is over the limit.
pub const OVER_LIMIT: i64 = -1;

/// Rows of a batch that one thread takes at a time.
const ROWS: usize = 64;

/// Bytes that are read at a time, at least and at most.
const WINDOW: (usize, usize) = (1 << 8, 1 << 16);

/// A cut is looked for this far before the end of a window; if there is none, farther before it.
const BACK: [usize; 3] = [1 << 6, 1 << 10, 1 << 16];

impl Engine {
    /// How many ids a text has, with special tokens around them if `adds_special` is set. `None` if they are more
    /// than `limit`.
    ///
    /// # Errors
    /// As [`Engine::encode`], for what was read of the text.
    pub fn count_till_limit(
        &self,
        text: Source<'_>,
        special: &Special,
        adds_special: bool,
        limit: usize,
        watch: &dyn Watch,
    ) -> Result<Option<usize>> {
        let Some(most) = self.most_without_special_tokens(limit, adds_special) else { return Ok(None) };
        let count = self.count_at_most(text, special, most, watch)?;
        Ok(count.map(|count| self.count_with_special_tokens(count, adds_special)))
    }

    /// The counts of [`Self::count_till_limit`] for many texts; [`OVER_LIMIT`] for more than `limit`, 0 for a
    /// missing text.
    ///
    /// # Errors
    /// As [`Self::count_till_limit`], with the row as the field.
    pub fn count_batch_till_limit(
        &self,
        texts: &[Option<Source<'_>>],
        special: &Special,
        adds_special: bool,
        limit: usize,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<i64>> {
        let bytes = texts.iter().flatten().map(|text| text.size().min(limit.saturating_mul(8))).sum();
        let threads = threads::threads_for(bytes, threads);
        let units = texts.len().div_ceil(ROWS);
        let parts = threads::run(units, threads, watch, |unit, watch| {
            watch.poll()?;
            let rows = unit * ROWS..texts.len().min((unit + 1) * ROWS);
            let counts = rows.map(|row| {
                let Some(text) = texts[row] else { return Ok(0) };
                let count = self.count_till_limit(text, special, adds_special, limit, watch);
                let count = count.map_err(|error| error.at_index(row).at("texts"))?;
                Ok(count.map_or(OVER_LIMIT, |count| count as i64))
            });
            try_alloc::collect::<i64, Error>(counts)
        })?;
        let mut counts = try_alloc::vec(texts.len())?;
        for part in &parts {
            counts.extend_from_slice(part);
        }
        Ok(counts)
    }

    fn count_at_most(
        &self,
        text: Source<'_>,
        special: &Special,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<Option<usize>> {
        let mut reader = Reader { source: text, buffer: String::new(), at: 0 };
        let done = match self.splitter() {
            Some(splitter) if self.may_be_cut() && splitter.is_scanner() => {
                self.count_in_parts(&mut reader, special, most, watch)?
            }
            _ if !self.grows(special) && self.has_text_cuts() => {
                self.count_words(&mut reader, special, most, watch)?
            }
            _ if self.grows(special) => self.count_stable(&mut reader, special, most, watch)?,
            _ => Counting::NeedsAll,
        };
        match done {
            Counting::Done(count) => Ok(Some(count).filter(|&count| count <= most)),
            Counting::NeedsAll => {
                let mut buffer = String::new();
                let text = text.read(&mut buffer, watch)?;
                Ok(Some(self.count(text, special, 1, watch)?).filter(|&count| count <= most))
            }
        }
    }

    /// Counts part by part: the text is cut where the ids of both parts are certainly those of the whole.
    fn count_in_parts(
        &self,
        reader: &mut Reader<'_>,
        special: &Special,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<Counting> {
        let recognizer = self.recognizer(special)?;
        let longest = self.vocabulary().added().iter().map(|token| token.content.len()).max().unwrap_or(0);
        let mut counter = Counter::default();
        // About four bytes are a token.
        let size = |left: usize| left.saturating_mul(4).clamp(WINDOW.0, WINDOW.1) + longest;
        let mut wanted = size(most);
        // Errors name the byte of the text.
        let moved = |error: Error, by: usize| {
            error.placed(|place| if let Place::Byte(at) = place { Place::Byte(at + by) } else { place })
        };
        let mut read = 0;
        while let Some((window, is_all)) = reader.window(wanted, watch)? {
            recognizer.check(window.as_bytes(), watch).map_err(|error| moved(error, read))?;
            let cut =
                if is_all { Some(window.len()) } else { self.last_cut(window, longest, &recognizer, watch)? };
            let Some(cut) = cut else {
                wanted = 2 * window.len();
                continue;
            };
            let (part, trusted) = (Text::Str(&window[..cut]), UntrustedRanges::none());
            self.encode_ids(part, &recognizer, trusted, Prefetcher::default(), watch, &mut counter)
                .map_err(|error| moved(error, read))?;
            if counter.count() > most || is_all {
                return Ok(Counting::Done(counter.count()));
            }
            reader.consume(cut);
            read += cut;
            wanted = size(most - counter.count());
        }
        Ok(Counting::NeedsAll)
    }

    /// The last place near the end of a window, which goes on, where the text may be cut. No literal that begins
    /// before it may reach beyond the window.
    fn last_cut(
        &self,
        window: &str,
        longest: usize,
        recognizer: &Recognizer<'_>,
        watch: &dyn Watch,
    ) -> Result<Option<usize>> {
        let Some(splitter) = self.splitter() else { return Ok(None) };
        let end = window.len().saturating_sub(longest.max(1));
        let mut last = None;
        recognizer.for_each_part_of(window, &mut Ticker::new(watch), |part| match part {
            TextPart::Literal(_, span) if span.start <= end => last = Some(span.start).filter(|&at| at > 0),
            TextPart::Ordinary(span) if span.start <= end => {
                let text = &window[span.start..span.end];
                let mut cuts = BACK.iter().filter_map(|back| {
                    let from = end.min(span.end).saturating_sub(span.start + back);
                    let cuts = std::iter::successors(splitter.safe_cut(text, from), |&at| {
                        splitter.safe_cut(text, at + 1)
                    });
                    cuts.take_while(|&at| span.start + at <= end).last()
                });
                last = cuts.next().map(|at| span.start + at).or(last);
            }
            _ => {}
        })?;
        Ok(last)
    }

    /// Counts the ids that no further text changes, until they are too many.
    fn count_stable(
        &self,
        reader: &mut Reader<'_>,
        special: &Special,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<Counting> {
        let _ = special;
        let ticker = &mut Ticker::new(watch);
        let model = PretokenModel::of(self, ticker)?;
        let memo = &mut PairMemo::default();
        let mut prefixes = PrefixReader {
            engine: self,
            splitter: self.splitter(),
            model,
            memo,
            scratch: &mut Scratch::default(),
            ticker,
        };
        let mut pretokens = Pretokens::default();
        let mut wanted = most.saturating_mul(4).clamp(WINDOW.0, WINDOW.1);
        while let Some((window, is_all)) = reader.window(wanted, watch)? {
            let text = window.as_bytes();
            pretokens.read(text, &mut prefixes)?;
            let count = pretokens.count(text, &mut prefixes)?;
            if is_all {
                return Ok(Counting::Done(count));
            }
            if count > most {
                let (_, stable) = pretokens.stable(self, text.len(), &mut Ticker::new(watch))?;
                if stable > most {
                    return Ok(Counting::Done(stable));
                }
            }
            wanted = 2 * text.len();
        }
        Ok(Counting::NeedsAll)
    }

    /// Counts word by word.
    fn count_words(
        &self,
        reader: &mut Reader<'_>,
        special: &Special,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<Counting> {
        let mut words = Words::default();
        let mut wanted = most.saturating_mul(4).clamp(WINDOW.0, WINDOW.1);
        while let Some((window, is_all)) = reader.window(wanted, watch)? {
            words.read(window.as_bytes(), (self, special), watch)?;
            let (_, stable) = words.stable();
            if is_all || stable > most {
                return Ok(Counting::Done(if is_all { words.count() } else { stable }));
            }
            wanted = 2 * window.len();
        }
        Ok(Counting::NeedsAll)
    }
}

/// How counting ended.
enum Counting {
    /// With the number of ids of the text, or of a part that has too many.
    Done(usize),
    /// There are bytes that are no text, or no way to stop early: the whole text must be counted at once.
    NeedsAll,
}

/// A text that is read as far as it is needed.
struct Reader<'a> {
    source: Source<'a>,
    /// What is read of a text in code units, from the last [`Self::consume`] on.
    buffer: String,
    /// The place in the source: of the next byte to be encoded, or of the next unit to be read.
    at: usize,
}

impl Reader<'_> {
    /// The text from here on: at least `bytes` bytes of it if there are as many, and whether that is all. `None` for
    /// bytes that are no text.
    fn window(&mut self, bytes: usize, watch: &dyn Watch) -> Result<Option<(&str, bool)>> {
        match &self.source {
            Source::Text(text) => {
                let rest = text.as_bytes().get(self.at..).unwrap_or_default();
                let window = &rest[..rest.len().min(bytes.saturating_add(3))];
                let valid = match std::str::from_utf8(window) {
                    Ok(valid) => valid,
                    Err(error) if error.error_len().is_none() && window.len() < rest.len() => {
                        std::str::from_utf8(&window[..error.valid_up_to()]).unwrap_or_default()
                    }
                    Err(_) => return Ok(None),
                };
                Ok(Some((valid, valid.len() == rest.len())))
            }
            Source::Units(units) => {
                while self.buffer.len() < bytes && self.at < units.len() {
                    watch.poll()?;
                    let more = (bytes - self.buffer.len()).min(1 << 20);
                    try_alloc::reserve_text(&mut self.buffer, 4 * more)?;
                    let end = units.len().min(self.at + more);
                    self.at = units.append(self.at..end, &mut self.buffer)?;
                }
                Ok(Some((&self.buffer, self.at == units.len())))
            }
        }
    }

    /// Goes on after the first `bytes` bytes of the window.
    fn consume(&mut self, bytes: usize) {
        match self.source {
            Source::Text(_) => self.at += bytes,
            Source::Units(_) => drop(self.buffer.drain(..bytes)),
        }
    }
}
