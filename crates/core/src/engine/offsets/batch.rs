//! Many texts at once: flat ids, and the characters that each stands for.
use std::ops::Range;

use tokenmill_kernels::{Prefetcher, try_alloc};

use super::spans::{BYTES_PER_ID, Spans};
use crate::engine::Engine;
use crate::engine::batch::units;
use crate::engine::input::{Special, Text};
use crate::engine::recognizer::Recognizer;
use crate::engine::source::Source;
use crate::engine::untrusted::UntrustedRanges;
use crate::error::Result;
use crate::ids::{TokenId, row_for};
use crate::postprocess::Slot;
use crate::span::Span;
use crate::threads;
use crate::watch::Watch;

/// Rows of ids with offsets, without the numbers of pretokens.
#[derive(Debug, Default)]
pub struct FlatEncodings {
    /// The ids of all rows.
    pub ids: Vec<TokenId>,
    /// For each id, the characters of its text that it stands for; (0, 0) for what was added to a text.
    pub offsets: Vec<Span>,
    /// Row `i` is `ids[row_offsets[i]..row_offsets[i + 1]]`.
    pub row_offsets: Vec<i64>,
}

/// Turns spans of bytes into spans of characters, for the text of a row.
pub type CharactersOfRow<'a> = &'a (dyn Fn(usize, Text<'_>, &mut [Span], &dyn Watch) -> Result<()> + Sync);

impl Engine {
    /// As [`Engine::encode_batch`], with the characters of each id: as [`super::char_offsets`] has them, if
    /// `characters` is [`super::to_characters`].
    ///
    /// # Errors
    /// As [`Engine::encode_batch`]; those of `characters`.
    pub fn encode_batch_with_offsets(
        &self,
        texts: &[Option<Source<'_>>],
        characters: CharactersOfRow<'_>,
        special: &Special,
        adds_special: bool,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<FlatEncodings> {
        let rows = Rows { texts, characters, recognizer: &self.recognizer(special)?, adds_special };
        let (units, bytes) = units(texts)?;
        let threads = threads::threads_for(bytes, threads);
        if threads == 1 {
            let mut all = FlatEncodings {
                ids: row_for(bytes)?,
                offsets: try_alloc::vec(bytes / BYTES_PER_ID + 8)?,
                row_offsets: try_alloc::vec(texts.len() + 1)?,
            };
            all.row_offsets.push(0);
            for unit in units {
                all = self.encode_unit(rows, unit, all, watch)?;
            }
            return Ok(all);
        }
        let parts = threads::run(units.len(), threads, watch, |unit, watch| {
            self.encode_unit(rows, units[unit].clone(), FlatEncodings::default(), watch)
        })?;
        let count = parts.iter().map(|part| part.ids.len()).sum();
        let mut all = FlatEncodings {
            ids: try_alloc::vec(count)?,
            offsets: try_alloc::vec(count)?,
            row_offsets: try_alloc::vec(texts.len() + 1)?,
        };
        all.row_offsets.push(0);
        for part in parts {
            let before = all.ids.len() as i64;
            all.row_offsets.extend(part.row_offsets.iter().map(|end| before + end));
            all.ids.extend_from_slice(&part.ids);
            all.offsets.extend_from_slice(&part.offsets);
            watch.poll()?;
        }
        Ok(all)
    }

    /// Appends the encodings of some rows.
    fn encode_unit(
        &self,
        rows: Rows<'_>,
        unit: Range<usize>,
        all: FlatEncodings,
        watch: &dyn Watch,
    ) -> Result<FlatEncodings> {
        let FlatEncodings { ids, offsets, mut row_offsets } = all;
        // Each row has its own ticker, and a short row spends too little to poll the watch.
        watch.poll()?;
        let (mut spans, mut buffer) = (Spans::without_words(self, ids, offsets), String::new());
        for row in unit {
            if let Some(text) = rows.texts[row] {
                let ahead = text.prefetcher_for(rows.texts.get(row + 1).copied().flatten());
                let encoded = text
                    .read(&mut buffer, watch)
                    .and_then(|text| self.encode_row_with_spans((row, text), rows, ahead, watch, &mut spans));
                encoded.map_err(|error| error.at_index(row).at("texts"))?;
            }
            row_offsets.push(spans.encoding.ids.len() as i64);
        }
        let (ids, offsets) = (spans.encoding.ids, spans.encoding.byte_offsets);
        Ok(FlatEncodings { ids, offsets, row_offsets })
    }

    fn encode_row_with_spans<'a>(
        &'a self,
        (row, text): (usize, Text<'_>),
        rows: Rows<'_>,
        ahead: Prefetcher,
        watch: &dyn Watch,
        spans: &mut Spans<'a>,
    ) -> Result<()> {
        let start = spans.encoding.ids.len();
        self.encode_spans(text, rows.recognizer, UntrustedRanges::none(), ahead, watch, spans)?;
        (rows.characters)(row, text, &mut spans.encoding.byte_offsets[start..], watch)?;
        self.add_special_tokens(&mut spans.encoding.ids, start, rows.adds_special)?;
        let of_special = |_: &Slot| Span::new(0, 0);
        self.add_for_special_tokens(&mut spans.encoding.byte_offsets, start, rows.adds_special, of_special)
    }
}

/// The texts of a batch, and what is done with each.
#[derive(Clone, Copy)]
struct Rows<'a> {
    texts: &'a [Option<Source<'a>>],
    characters: CharactersOfRow<'a>,
    recognizer: &'a Recognizer<'a>,
    adds_special: bool,
}
