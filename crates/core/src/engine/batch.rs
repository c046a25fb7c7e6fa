//! Many texts at once: flat ids and the offset of each row.
use std::ops::Range;

use tokenmill_kernels::huge;

use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::parallel;
use crate::watch::{Ticker, Watch};

use super::encode::{Counter, Special, Text};
use super::{DecodeOptions, Engine};

/// Rows per unit of work are chosen so that a unit has about this much text, in bytes.
const UNIT_BYTES: usize = 64 << 10;

impl Engine {
    /// Encodes every text, with what a post-processor puts around it where `adds_special`; row `i`
    /// is `ids[row_offsets[i]..row_offsets[i + 1]]`. Where there is no text the row is empty.
    ///
    /// # Errors
    /// As [`Engine::encode`], with the row at fault as the field.
    pub fn encode_batch(
        &self,
        texts: &[Option<Text<'_>>],
        special: &Special,
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<(Vec<TokenId>, Vec<i64>)> {
        let (units, bytes) = units(texts);
        let threads = parallel::threads_for(bytes, threads);
        let encode = |rows: &mut Rows, unit: Range<usize>, watch: &dyn Watch| -> Result<()> {
            // Short rows alone would never make up a slice.
            watch.poll()?;
            for row in unit {
                if let Some(text) = texts[row] {
                    let start = rows.ids.len();
                    self.encode_into(text, special, watch, &mut rows.ids).map_err(|e| in_row(e, row))?;
                    self.surround(&mut rows.ids, start, adds_special);
                }
                rows.offsets.push(rows.ids.len() as i64);
            }
            Ok(())
        };
        if threads == 1 {
            let mut rows = Rows::with_room(bytes, texts.len());
            rows.offsets.push(0);
            units.into_iter().try_for_each(|unit| encode(&mut rows, unit, watch))?;
            return Ok((rows.ids, rows.offsets));
        }
        let parts = parallel::run(units.len(), threads, watch, |unit, watch| {
            let mut rows = Rows::with_room(UNIT_BYTES, units[unit].len());
            encode(&mut rows, units[unit].clone(), watch)?;
            Ok(rows)
        })?;
        let mut ids = huge::with_capacity(parts.iter().map(|part| part.ids.len()).sum());
        let mut row_offsets = Vec::with_capacity(texts.len() + 1);
        row_offsets.push(0);
        for part in parts {
            row_offsets.extend(part.offsets.iter().map(|end| ids.len() as i64 + end));
            ids.extend_from_slice(&part.ids);
        }
        Ok((ids, row_offsets))
    }

    /// The number of ids of every text; 0 where there is none.
    ///
    /// # Errors
    /// As [`Engine::encode_batch`].
    pub fn count_batch(
        &self,
        texts: &[Option<Text<'_>>],
        special: &Special,
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<i64>> {
        let (units, bytes) = units(texts);
        let threads = parallel::threads_for(bytes, threads);
        let parts = parallel::run(units.len(), threads, watch, |unit, watch| {
            watch.poll()?;
            let rows = units[unit].clone().map(|row| {
                let Some(text) = texts[row] else { return Ok(0) };
                let mut counter = Counter::default();
                self.encode_into(text, special, watch, &mut counter).map_err(|e| in_row(e, row))?;
                Ok(self.surrounded_count(counter.0, adds_special) as i64)
            });
            rows.collect::<Result<Vec<_>>>()
        })?;
        Ok(parts.concat())
    }

    /// Decodes every row of ids to bytes.
    ///
    /// # Errors
    /// As [`Engine::decode`], with the row at fault as the field.
    pub fn decode_batch(
        &self,
        rows: &[&[TokenId]],
        options: DecodeOptions,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes = rows.iter().map(|row| row.len() * 4).sum();
        let unit = rows.len().div_ceil(parallel::threads_for(bytes, threads) * 4).max(1);
        let parts = parallel::run(
            rows.len().div_ceil(unit),
            parallel::threads_for(bytes, threads),
            watch,
            |i, watch| {
                let mut ticker = Ticker::new(watch);
                (i * unit..((i + 1) * unit).min(rows.len()))
                    .map(|row| {
                        ticker.spend(rows[row].len() + 16)?;
                        self.decode(rows[row], options, watch).map_err(|e| e.at_index(row).at("batch"))
                    })
                    .collect::<Result<Vec<_>>>()
            },
        )?;
        Ok(parts.into_iter().flatten().collect())
    }
}

fn in_row(error: Error, row: usize) -> Error {
    error.at_index(row).at("texts")
}

/// Consecutive rows with about [`UNIT_BYTES`] of text in each range, and what all are worth in bytes.
fn units(texts: &[Option<Text<'_>>]) -> (Vec<Range<usize>>, usize) {
    let mut units = Vec::new();
    let (mut start, mut bytes, mut total) = (0, 0, 0);
    for (row, text) in texts.iter().enumerate() {
        // A row counts for something even when it is empty: many rows are work, too.
        bytes += text.map_or(0, |text| text.as_bytes().len()) + 16;
        if bytes >= UNIT_BYTES {
            units.push(start..row + 1);
            total += bytes;
            (start, bytes) = (row + 1, 0);
        }
    }
    units.push(start..texts.len());
    (units, total + bytes)
}

/// The ids of some rows, and where each ends.
struct Rows {
    ids: Vec<TokenId>,
    offsets: Vec<i64>,
}

impl Rows {
    /// There is room for what so many bytes usually become; what is never written to takes no memory.
    fn with_room(bytes: usize, rows: usize) -> Self {
        Self { ids: huge::with_capacity(bytes / 3), offsets: Vec::with_capacity(rows + 1) }
    }
}
