//! Counts the pretokens of a batch of documents, on one or more threads.
//!
//! In: documents. Out: a [`Table`] of distinct pretokens. Each thread keeps a table of its own from
//! batch to batch, so nothing is shared while counting, and tables are merged only at the end.
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokenmill_kernels::try_alloc;

use super::cutter::Cutter;
use super::table::Table;
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::error::Result;
use crate::normalize::Normalizers;
use crate::special::{LiteralMatcher, TextPart};
use crate::threads;
use crate::watch::{Ticker, Watch};

/// Bytes of text per unit of work, approximately.
const UNIT: usize = threads::BYTES_PER_THREAD;

/// Counts documents.
#[derive(Debug)]
pub(super) struct Counter {
    normalizers: Normalizers,
    cutter: Cutter,
    literals: LiteralMatcher,
    track_first: bool,
    /// One per thread that has ever taken part; at least one.
    tables: Vec<Table>,
    /// Bytes of the documents counted so far.
    bytes: u64,
    /// The position of the next document: the bytes of normalized text before it.
    position: u64,
    pretokens: u64,
}

/// A part of a document.
pub(super) enum Segment<'a> {
    /// Ordinary text, normalized; it may be empty.
    Ordinary(&'a str),
    /// A special token, by its number.
    Special(usize),
}

/// A document, or a part of one between special tokens, cut where a cut does not change the pretokens.
struct TextUnit<'a> {
    text: &'a str,
    position: u64,
    /// How often the document counts.
    weight: u64,
    /// May it contain special tokens?
    whole: bool,
}

impl TextUnit<'_> {
    /// Counts the pretokens of this unit into `table`; returns their number, each as often as the document counts.
    fn count(
        &self,
        cutter: &Cutter,
        literals: &LiteralMatcher,
        table: &mut Table,
        ticker: &mut Ticker<'_>,
    ) -> Result<u64> {
        let mut pretokens = 0;
        let mut buffers = Vec::new();
        let mut ordinary = |text: &str, position: u64, ticker: &mut Ticker<'_>| {
            cutter.for_each(text, &mut buffers, ticker, |pretoken, at| {
                pretokens += 1;
                table.add(pretoken, self.weight, position + at as u64)
            })
        };
        if self.whole {
            literals.for_each_part(self.text.as_bytes(), ticker, |segment, ticker| {
                let TextPart::Ordinary(span) = segment else { return Ok(()) };
                ordinary(&self.text[span.start..span.end], self.position + span.start as u64, ticker)
            })?;
        } else {
            ordinary(self.text, self.position, ticker)?;
        }
        Ok(self.weight.saturating_mul(pretokens))
    }
}

impl Counter {
    pub(super) fn new(
        normalizers: Normalizers,
        cutter: Cutter,
        literals: LiteralMatcher,
        track_first: bool,
    ) -> Self {
        let tables = vec![Table::new(track_first)];
        Self { normalizers, cutter, literals, track_first, tables, bytes: 0, position: 0, pretokens: 0 }
    }

    /// Bytes counted.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Pretokens counted.
    pub(super) fn pretokens(&self) -> u64 {
        self.pretokens
    }

    /// Adds a pretoken with any count, for tests.
    #[cfg(test)]
    pub(super) fn add(&mut self, pretoken: &str, count: u64) -> Result<()> {
        self.tables[0].add(pretoken.as_bytes(), count, self.position)?;
        self.position += pretoken.len() as u64;
        Ok(())
    }

    /// Counts documents, each as often as its weight says; without weights once.
    pub(super) fn feed(
        &mut self,
        documents: &[&str],
        weights: &[u64],
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<()> {
        let total: usize = documents.iter().map(|document| document.len()).sum();
        let mut ticker = Ticker::new(watch);
        let normalized = self.normalize(documents, threads::threads_for(total, threads), watch)?;
        let (pieces, position) = match &normalized {
            Some(segments) => self.pieces_of_segments(segments, weights, &mut ticker)?,
            None => (self.pieces(documents, weights, &mut ticker)?, self.position + total as u64),
        };
        let units = units(&pieces);
        let threads = threads::threads_for(total, threads).min(units.len().max(1));
        while self.tables.len() < threads {
            self.tables.push(Table::new(self.track_first));
        }
        let (cutter, literals) = (&self.cutter, &self.literals);
        let (done, all) = (AtomicU64::new(self.bytes), self.bytes.saturating_add(total as u64));
        let tables = &mut self.tables[..threads];
        let counts = threads::run_with(units.len(), tables, watch, |unit, table, watch| {
            let mut ticker = Ticker::new(watch);
            let mut pretokens = 0u64;
            for piece in &pieces[units[unit].clone()] {
                pretokens = piece.count(cutter, literals, table, &mut ticker)?.saturating_add(pretokens);
                done.fetch_add(piece.text.len() as u64, Relaxed);
            }
            watch.progress("count", done.load(Relaxed).min(all), 0);
            Ok(pretokens)
        })?;
        self.pretokens = counts.into_iter().fold(self.pretokens, u64::saturating_add);
        let weighted = documents
            .iter()
            .zip(weights)
            .map(|(document, weight)| weight.saturating_sub(1).saturating_mul(document.len() as u64));
        (self.bytes, self.position) = (weighted.fold(all, u64::saturating_add), position);
        Ok(())
    }

    /// The normalized text between the special tokens of each document; `None` if there is no
    /// normalizer. A literal that only normalization produces is ordinary text.
    fn normalize<'a>(
        &self,
        documents: &[&'a str],
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Option<Vec<Vec<Cow<'a, str>>>>> {
        if self.normalizers.is_empty() {
            return Ok(None);
        }
        let mut buffers: Vec<[Rewritten; 2]> = Vec::new();
        buffers.resize_with(threads.min(documents.len()).max(1), Default::default);
        let segments = threads::run_with(documents.len(), &mut buffers, watch, |i, buffers, watch| {
            let mut segments = Vec::new();
            let document = documents[i];
            self.literals.for_each_part(
                document.as_bytes(),
                &mut Ticker::new(watch),
                |segment, ticker| {
                    let TextPart::Ordinary(span) = segment else { return Ok(()) };
                    let text = &document[span.start..span.end];
                    let piece = AlignedText { text, origins: Origins::Untracked };
                    let normalized = self.normalizers.apply(piece, buffers, ticker)?.text;
                    let segment = if normalized == text {
                        text.into()
                    } else {
                        try_alloc::copy_text(normalized)?.into()
                    };
                    Ok(try_alloc::push(&mut segments, segment)?)
                },
            )?;
            Ok(segments)
        });
        segments.map(Some)
    }

    /// Calls `each` with the parts of a document, in order.
    pub(super) fn for_each_segment(
        &self,
        document: &str,
        ticker: &mut Ticker<'_>,
        mut each: impl FnMut(Segment<'_>, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut buffers = Default::default();
        self.literals.for_each_part(document.as_bytes(), ticker, |part, ticker| match part {
            TextPart::Literal(number, _) => each(Segment::Special(number), ticker),
            TextPart::Ordinary(span) => {
                let piece =
                    AlignedText { text: &document[span.start..span.end], origins: Origins::Untracked };
                each(Segment::Ordinary(self.normalizers.apply(piece, &mut buffers, ticker)?.text), ticker)
            }
        })
    }

    /// Merges all tables into one.
    pub(super) fn into_table(self, ticker: &mut Ticker<'_>) -> Result<Table> {
        let mut tables = self.tables;
        // The largest table absorbs the others.
        let largest = (0..tables.len()).max_by_key(|&table| tables[table].len()).unwrap_or(0);
        let mut all = tables.swap_remove(largest);
        for table in tables {
            all.absorb(&table, ticker)?;
        }
        Ok(all)
    }

    /// The text units of documents; long documents are cut.
    fn pieces<'a>(
        &self,
        documents: &[&'a str],
        weights: &[u64],
        ticker: &mut Ticker<'_>,
    ) -> Result<Vec<TextUnit<'a>>> {
        let mut pieces = try_alloc::vec(documents.len())?;
        let mut position = self.position;
        for (i, &text) in documents.iter().enumerate() {
            ticker.spend(16)?;
            let weight = weight_of(weights, i);
            if text.len() < 2 * UNIT {
                try_alloc::push(&mut pieces, TextUnit { text, position, weight, whole: true })?;
            } else {
                self.literals.for_each_part(text.as_bytes(), ticker, |segment, ticker| {
                    let TextPart::Ordinary(span) = segment else { return Ok(()) };
                    let position = position + span.start as u64;
                    self.cut(&text[span.start..span.end], (position, weight), &mut pieces, ticker)
                })?;
            }
            position += text.len() as u64;
        }
        Ok(pieces)
    }

    /// As [`Self::pieces`], for normalized segments; also returns the position after them.
    fn pieces_of_segments<'a>(
        &self,
        segments: &'a [Vec<Cow<'_, str>>],
        weights: &[u64],
        ticker: &mut Ticker<'_>,
    ) -> Result<(Vec<TextUnit<'a>>, u64)> {
        let mut pieces = try_alloc::vec(segments.len())?;
        let mut position = self.position;
        for (i, segments) in segments.iter().enumerate() {
            for segment in segments {
                ticker.spend(16)?;
                self.cut(segment, (position, weight_of(weights, i)), &mut pieces, ticker)?;
                position += segment.len() as u64;
            }
        }
        Ok((pieces, position))
    }

    /// Cuts ordinary text into pieces of about one unit.
    fn cut<'a>(
        &self,
        mut text: &'a str,
        (mut position, weight): (u64, u64),
        pieces: &mut Vec<TextUnit<'a>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        while text.len() >= 2 * UNIT {
            let Some(at) = self.cutter.safe_cut(text, UNIT).filter(|&at| at > 0 && at < text.len()) else {
                break;
            };
            ticker.spend(16 + at - UNIT.min(at))?;
            let (head, tail) = text.split_at(at);
            try_alloc::push(pieces, TextUnit { text: head, position, weight, whole: false })?;
            text = tail;
            position += at as u64;
        }
        Ok(try_alloc::push(pieces, TextUnit { text, position, weight, whole: false })?)
    }
}

/// How often a document counts.
fn weight_of(weights: &[u64], document: usize) -> u64 {
    weights.get(document).copied().unwrap_or(1)
}

/// Ranges of pieces of about one unit each.
fn units(pieces: &[TextUnit<'_>]) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (i, piece) in pieces.iter().enumerate() {
        bytes += piece.text.len();
        if bytes >= UNIT {
            units.push(start..i + 1);
            (start, bytes) = (i + 1, 0);
        }
    }
    if start < pieces.len() {
        units.push(start..pieces.len());
    }
    units
}
