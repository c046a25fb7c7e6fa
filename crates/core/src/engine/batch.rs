//! Many texts at once: flat ids and the offset of each row.
use std::ops::Range;

use tokenmill_kernels::{ReorderBuffer, try_alloc};

use crate::error::Result;
use crate::ids::{TokenId, row_for};
use crate::threads;
use crate::watch::{Ticker, Watch};

use super::input::Special;
use super::recognizer::Recognizer;
use super::sink::{Counter, IdSink};
use super::source::Source;
use super::untrusted::{UntrustedOfRow, UntrustedRanges};
use super::{DecodeOptions, Engine};

/// Rows per unit of work are chosen so that a unit has about this much text, in bytes.
const UNIT_BYTES: usize = 64 << 10;

impl Engine {
    /// Encodes every text, with the tokens of the post-processor around it if `adds_special` is set; row `i` is
    /// `ids[row_offsets[i]..row_offsets[i + 1]]`. The row of a missing text is empty.
    ///
    /// # Errors
    /// As [`Engine::encode`]; an error in a text has its row as the field.
    pub fn encode_batch(
        &self,
        texts: &[Option<Source<'_>>],
        special: &Special,
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<(Vec<TokenId>, Vec<i64>)> {
        let recognizers = [&self.recognizer(special)?];
        self.encode_batch_untrusted(
            texts,
            &|_, _, _| Ok(UntrustedRanges::default()),
            &recognizers,
            adds_special,
            threads,
            watch,
        )
    }

    /// As [`Self::encode_batch`], for texts of which some bytes are untrusted, as in [`Engine::encode_untrusted`]:
    /// those that `untrusted` gives for the row. `recognizers` has one for all rows, or one for each row.
    ///
    /// # Errors
    /// As [`Self::encode_batch`].
    pub fn encode_batch_untrusted(
        &self,
        texts: &[Option<Source<'_>>],
        untrusted: UntrustedOfRow<'_>,
        recognizers: &[&Recognizer<'_>],
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<(Vec<TokenId>, Vec<i64>)> {
        let texts = Rows { texts, untrusted, recognizers };
        let (units, bytes) = units(texts.texts)?;
        let threads = threads::threads_for(bytes, threads);
        let encode = |rows: &mut Encoded, unit: Range<usize>, watch: &dyn Watch| -> Result<()> {
            // Each row has its own ticker, and a short row spends too little to poll the watch.
            watch.poll()?;
            let mut buffer = String::new();
            for row in unit {
                let start = rows.ids.len();
                if self.encode_row(texts, row, &mut buffer, watch, &mut rows.ids)? {
                    self.add_special_tokens(&mut rows.ids, start, adds_special)?;
                }
                rows.offsets.push(rows.ids.len() as i64);
            }
            Ok(())
        };
        if threads == 1 {
            let mut rows = Encoded { ids: row_for(bytes)?, offsets: try_alloc::vec(texts.texts.len() + 1)? };
            rows.offsets.push(0);
            units.into_iter().try_for_each(|unit| encode(&mut rows, unit, watch))?;
            return Ok((rows.ids, rows.offsets));
        }
        let all = ReorderBuffer::append_to(row_for(bytes)?);
        let parts = threads::run(units.len(), threads, watch, |unit, watch| {
            let mut rows = Encoded { ids: all.spare(), offsets: try_alloc::vec(units[unit].len())? };
            encode(&mut rows, units[unit].clone(), watch)?;
            all.put(unit, rows.ids);
            Ok(rows.offsets)
        })?;
        let mut row_offsets = try_alloc::vec(texts.texts.len() + 1)?;
        row_offsets.push(0);
        for part in parts {
            let start = row_offsets.last().copied().unwrap_or_default();
            row_offsets.extend(part.iter().map(|end| start + end));
        }
        Ok((all.finish()?, row_offsets))
    }

    /// Gives the ids of a row's text to a sink, without special tokens around them; returns false if there is no
    /// text. `buffer` is for a text that must be decoded first.
    fn encode_row<S: IdSink>(
        &self,
        rows: Rows<'_>,
        row: usize,
        buffer: &mut String,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<bool> {
        let Rows { texts, untrusted, recognizers } = rows;
        let Some(text) = texts[row] else { return Ok(false) };
        let ahead = text.prefetcher_for(texts.get(row + 1).copied().flatten());
        let recognizer = match recognizers {
            [for_all] => for_all,
            for_each => for_each[row],
        };
        let encoded = text.read(buffer, watch).and_then(|text| {
            let untrusted = untrusted(row, text, watch)?;
            self.encode_ids(text, recognizer, &untrusted, ahead, watch, sink)
        });
        encoded.map(|()| true).map_err(|error| error.at_index(row).at("texts"))
    }

    /// The number of ids of every text; 0 for a missing one.
    ///
    /// # Errors
    /// As [`Engine::encode_batch`].
    pub fn count_batch(
        &self,
        texts: &[Option<Source<'_>>],
        special: &Special,
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<i64>> {
        let recognizers = [&self.recognizer(special)?];
        self.count_batch_untrusted(
            texts,
            &|_, _, _| Ok(UntrustedRanges::default()),
            &recognizers,
            adds_special,
            threads,
            watch,
        )
    }

    /// As [`Self::count_batch`], for texts of which some bytes are untrusted.
    ///
    /// # Errors
    /// As [`Self::encode_batch_untrusted`].
    pub fn count_batch_untrusted(
        &self,
        texts: &[Option<Source<'_>>],
        untrusted: UntrustedOfRow<'_>,
        recognizers: &[&Recognizer<'_>],
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<i64>> {
        let texts = Rows { texts, untrusted, recognizers };
        let (units, bytes) = units(texts.texts)?;
        let threads = threads::threads_for(bytes, threads);
        let parts = threads::run(units.len(), threads, watch, |unit, watch| {
            watch.poll()?;
            let mut buffer = String::new();
            let rows = units[unit].clone().map(|row| {
                let mut counter = Counter::default();
                let is_there = self.encode_row(texts, row, &mut buffer, watch, &mut counter)?;
                Ok(if is_there { self.count_with_special_tokens(counter.0, adds_special) as i64 } else { 0 })
            });
            try_alloc::collect(rows)
        })?;
        let mut counts = try_alloc::vec(texts.texts.len())?;
        for part in &parts {
            counts.extend_from_slice(part);
        }
        Ok(counts)
    }

    /// Decodes every row of ids to bytes: for each unit of rows their bytes, joined, and where each row ends.
    ///
    /// # Errors
    /// As [`Engine::decode`], with the row at fault as the field.
    pub fn decode_batch(
        &self,
        rows: &[&[TokenId]],
        options: DecodeOptions,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<DecodedRows>> {
        let bytes = rows.iter().map(|row| row.len() * 4).sum();
        let unit = rows.len().div_ceil(threads::threads_for(bytes, threads) * 4).max(1);
        threads::run(rows.len().div_ceil(unit), threads::threads_for(bytes, threads), watch, |i, watch| {
            let mut ticker = Ticker::new(watch);
            let unit = i * unit..((i + 1) * unit).min(rows.len());
            let mut decoded = DecodedRows { bytes: Vec::new(), ends: try_alloc::vec(unit.len())? };
            for row in unit {
                ticker.spend(16)?;
                self.decode_counted(rows[row], options, &mut ticker, &mut decoded.bytes)
                    .map_err(|error| error.at_index(row).at("batch"))?;
                decoded.ends.push(decoded.bytes.len());
            }
            Ok(decoded)
        })
    }
}

/// The bytes of some rows, joined.
#[derive(Debug, Default)]
pub struct DecodedRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl DecodedRows {
    /// The bytes of each row.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

/// Ranges of consecutive rows with about [`UNIT_BYTES`] of text each, and the size of all rows in bytes.
pub(super) fn units(texts: &[Option<Source<'_>>]) -> Result<(Vec<Range<usize>>, usize)> {
    let mut units = Vec::new();
    let (mut start, mut bytes, mut total) = (0, 0, 0);
    for (row, text) in texts.iter().enumerate() {
        // An empty row costs something too, and there may be many of them.
        bytes += text.map_or(0, |text| text.size()) + 16;
        if bytes >= UNIT_BYTES {
            try_alloc::push(&mut units, start..row + 1)?;
            total += bytes;
            (start, bytes) = (row + 1, 0);
        }
    }
    try_alloc::push(&mut units, start..texts.len())?;
    Ok((units, total + bytes))
}

/// The texts of a batch, their untrusted bytes, and the recognizers that find added tokens in them.
#[derive(Clone, Copy)]
struct Rows<'a> {
    texts: &'a [Option<Source<'a>>],
    untrusted: UntrustedOfRow<'a>,
    recognizers: &'a [&'a Recognizer<'a>],
}

/// The ids of some rows, and where each ends.
struct Encoded {
    ids: Vec<TokenId>,
    offsets: Vec<i64>,
}
