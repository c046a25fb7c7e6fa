//! What spells a pretoken that is not in the cache: the static table, and then the model.
//!
//! In: a pretoken and the caches it may be found in. Out: its ids. It never changes what a tokenizer shares.
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT};

use super::cache::PretokenCache;
use super::keys::{is_cached, is_segment};
use super::segments::Segments;
use super::static_table::StaticTable;
use crate::error::Result;
use crate::ids::TokenId;
use crate::model::bpe::Bpe;
use crate::model::{Model, Scratch};
use crate::span::Span;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// The tables of one tokenizer by which pretokens are spelled.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Speller<'a> {
    pub(in super::super) model: &'a Model,
    pub(in super::super) vocabulary: &'a Vocabulary,
    pub(in super::super) static_table: &'a StaticTable,
}

impl<'a> Speller<'a> {
    pub(super) fn bpe(self) -> Option<&'a Bpe> {
        self.model.as_bpe()
    }

    /// Do the ids of its segments, joined, give the ids of a pretoken?
    pub(super) fn has_segments(self, bpe: &Bpe, pretoken: &[u8]) -> bool {
        bpe.may_divide(pretoken, self.vocabulary)
    }

    /// The segments of a pretoken that is longer than a key.
    pub(super) fn segments(self, text: &'a [u8], pretoken: Span) -> Option<Segments<'a>> {
        let bpe = self.bpe().filter(|_| pretoken.len() > SHORT)?;
        self.has_segments(bpe, pretoken.of(text)).then(|| Segments::new(bpe, text, pretoken))
    }

    /// The ids of a pretoken that is cached or in the static table, perhaps in `buffer`.
    pub(in super::super) fn look_up<'c>(
        self,
        key: Key,
        hash: u64,
        pretoken: &[u8],
        cache: &'c PretokenCache,
        buffer: &'c mut [TokenId; INLINE],
    ) -> Option<&'c [TokenId]> {
        if !is_cached(key) {
            return None;
        }
        let value = cache.get(key, hash).or_else(|| self.static_table.get(key, hash))?;
        if value.inline_len == 0 {
            return cache.spilled_ids_of(&value, pretoken);
        }
        *buffer = value.words;
        buffer.get(..usize::from(value.inline_len))
    }

    /// Spells a pretoken into `buffer`, which is as long, where that costs less than to look further: it falls into short runs
    /// of bytes that do not merge with each other. Not tried where it begins with two ASCII bytes. Returns how many ids there are.
    #[inline(never)]
    pub(super) fn spell_byte_runs(self, pretoken: &[u8], key: Key, buffer: &mut [TokenId]) -> Option<usize> {
        if pretoken.iter().take(2).all(u8::is_ascii) {
            return None;
        }
        let bpe = self.bpe()?;
        let count = bpe.encode_byte_runs(pretoken, buffer)?;
        (is_segment(key) || self.has_segments(bpe, pretoken)).then_some(count)
    }

    /// Spells a pretoken into `scratch.ids`, a long one by its segments, which are cached.
    pub(super) fn spell(
        self,
        pretoken: &[u8],
        cache: &mut PretokenCache,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let segments = Speller::segments(self, pretoken, Span::new(0, pretoken.len()));
        let (Some(bpe), Some(segments)) = (self.bpe(), segments) else {
            return self.model.encode(pretoken, self.vocabulary, scratch, ticker);
        };
        let Scratch { ids, bpe: merging, .. } = scratch;
        ids.clear();
        for (key, span) in segments {
            let segment = span.of(pretoken);
            let (hash, mut buffer) = (short_table::hash(key), [0; INLINE]);
            if let Some(found) = self.look_up(key, hash, segment, cache, &mut buffer) {
                ids.extend_from_slice(found);
                continue;
            }
            let start = ids.len();
            bpe.encode_segment(segment, self.vocabulary, merging, ids, ticker)?;
            if is_cached(key) {
                cache.insert(key, hash, segment, &ids[start..]);
            }
        }
        Ok(())
    }
}
