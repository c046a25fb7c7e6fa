//! Many texts at once: flat ids and the offset of each row.
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
        let parts = for_rows(texts, threads, watch, |rows, watch| {
            let mut ids = Vec::new();
            let mut ends = Vec::with_capacity(rows.len());
            for row in rows {
                if let Some(text) = texts[row] {
                    let start = ids.len();
                    self.encode_into(text, special, watch, &mut ids).map_err(|e| in_row(e, row))?;
                    self.surround(&mut ids, start, adds_special);
                }
                ends.push(ids.len());
            }
            Ok((ids, ends))
        })?;
        let mut all = Vec::with_capacity(parts.iter().map(|(ids, _)| ids.len()).sum());
        let mut row_offsets = Vec::with_capacity(texts.len() + 1);
        row_offsets.push(0);
        for (ids, ends) in parts {
            row_offsets.extend(ends.iter().map(|end| (all.len() + end) as i64));
            all.extend_from_slice(&ids);
        }
        Ok((all, row_offsets))
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
        let parts = for_rows(texts, threads, watch, |rows, watch| {
            rows.map(|row| {
                let Some(text) = texts[row] else { return Ok(0) };
                let mut counter = Counter::default();
                self.encode_into(text, special, watch, &mut counter).map_err(|e| in_row(e, row))?;
                Ok(self.surrounded_count(counter.0, adds_special) as i64)
            })
            .collect::<Result<Vec<_>>>()
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

/// Runs `work` over consecutive rows of about [`UNIT_BYTES`] of text, in order.
fn for_rows<T: Send>(
    texts: &[Option<Text<'_>>],
    threads: usize,
    watch: &dyn Watch,
    work: impl Fn(std::ops::Range<usize>, &dyn Watch) -> Result<T> + Sync,
) -> Result<Vec<T>> {
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
    let threads = parallel::threads_for(total + bytes, threads);
    parallel::run(units.len(), threads, watch, |unit, watch| {
        // Short rows alone would never make up a slice.
        watch.poll()?;
        work(units[unit].clone(), watch)
    })
}
