//! Looks pretokens up in the cache and the static table, and spells them by the model: at once by byte runs, or in
//! full.
//!
//! In: a pretoken, and the cache of a worker. Out: its ids. The tables that workers share never change.
use tokenmill_kernels::short_table::{self, INLINE, Key, SHORT};
use tokenmill_kernels::try_alloc;

use super::cache::PretokenCache;
use super::keys::{SEGMENT, is_cacheable, is_segment, is_short_enough_to_cache, key_of, key_of_long_segment};
use super::static_table::StaticTable;
use crate::aligned::{AlignedText, Origins};
use crate::engine::input::placed;
use crate::engine::raw::{RawPart, WordScratch, Words};
use crate::error::{Error, Kind, Result};
use crate::ids::TokenId;
use crate::model::bpe::CanonicalMerges;
use crate::model::unigram::{MARK, Unigram};
use crate::model::{Model, Scratch};
use crate::span::Span;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// The tables of one tokenizer that spelling needs.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Speller<'a> {
    pub(in super::super) model: &'a Model,
    pub(in super::super) vocabulary: &'a Vocabulary,
    pub(in super::super) static_table: &'a StaticTable,
    /// Set if raw parts of a text are looked up: how a miss is spelled. `None` for pretokens.
    pub(in super::super) raw: Option<RawPart<'a>>,
}

impl<'a> Speller<'a> {
    /// The canonical merges, if misses can be merged side by side.
    pub(super) fn canonical(self) -> Option<&'a CanonicalMerges> {
        self.model.as_bpe()?.canonical()
    }

    /// The canonical merges, if they give the ids of this pretoken, whole or cut into segments.
    pub(super) fn canonical_for(self, pretoken: &[u8]) -> Option<&'a CanonicalMerges> {
        self.model.as_bpe()?.canonical_for(pretoken, self.vocabulary)
    }

    /// The segments of a pretoken that is longer than a key.
    pub(super) fn segments(self, text: &'a [u8], pretoken: Span) -> Option<Segments<'a>> {
        let merges =
            if pretoken.len() > SHORT { self.canonical_for(pretoken.of(text))? } else { return None };
        let same_as_pretokens = self.model.as_bpe()?.segments_encode_as_pretokens();
        let mark = if same_as_pretokens { 0 } else { SEGMENT };
        let caches_long = same_as_pretokens && is_short_enough_to_cache(pretoken.of(text));
        let text_to_end = &text[..pretoken.end];
        Some(Segments { merges, text_to_end, text, mark, caches_long, from: pretoken.start })
    }

    /// The ids of a pretoken that is in the cache or in the static table; they may be stored in `buffer`.
    pub(in super::super) fn look_up<'c>(
        self,
        key: Key,
        hash: u64,
        pretoken: &[u8],
        cache: &'c PretokenCache,
        buffer: &'c mut [TokenId; INLINE],
    ) -> Option<&'c [TokenId]> {
        if !is_cacheable(key) {
            return None;
        }
        let value = cache.get(key, hash).or_else(|| self.static_table.get(key, hash))?;
        if value.inline_len == 0 {
            return cache.spilled_ids_of(&value, pretoken);
        }
        *buffer = value.words;
        buffer.get(..usize::from(value.inline_len))
    }

    /// Spells a pretoken into `buffer`, which has a place for each byte, if that costs less than a lookup in the
    /// static table: if bytes merge only in short runs. Gives up at once, which counts as a failure, if its first two
    /// bytes (or its only one) are ASCII. Returns the number of ids.
    #[inline(never)]
    pub(super) fn spell_byte_runs(self, pretoken: &[u8], key: Key, buffer: &mut [TokenId]) -> Option<usize> {
        if pretoken.iter().take(2).all(u8::is_ascii) {
            return None;
        }
        let merges = if is_segment(key) { self.canonical() } else { self.canonical_for(pretoken) };
        merges?.encode_byte_runs(pretoken, buffer)
    }

    /// Spells the span of a text that missed into `scratch.ids`: a pretoken, or a raw part.
    pub(super) fn spell(
        self,
        (text, span): (&str, Span),
        cache: &mut PretokenCache,
        (scratch, word_scratch): (&mut Scratch, &mut WordScratch),
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let missed = span.of(text.as_bytes());
        let word = || {
            let word = text.get(span.start..span.end);
            word.ok_or_else(|| Error::internal("a word ends inside a character"))
        };
        match self.raw {
            None => self.spell_pretoken(missed, cache, scratch, ticker),
            Some(RawPart::Segment(segments)) => {
                segments.spell(missed, (self.model, self.vocabulary), scratch, ticker)
            }
            Some(RawPart::Word(words)) if let Some((unigram, _)) = words.raw.sums(self.model) => {
                self.spell_summed((unigram, words), word()?, (scratch, word_scratch), ticker)
            }
            Some(part) => self.spell_raw((part, word()?), cache, (scratch, word_scratch), ticker),
        }
    }

    /// Spells a pretoken into `scratch.ids`. A long one that may be divided is spelled segment by segment, and the
    /// segments are cached.
    fn spell_pretoken(
        self,
        pretoken: &[u8],
        cache: &mut PretokenCache,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let segments = Speller::segments(self, pretoken, Span::new(0, pretoken.len()));
        let (Some(bpe), Some(segments)) = (self.model.as_bpe(), segments) else {
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
            bpe.encode_segment(segment, merging, ids, ticker)?;
            if is_cacheable(key) {
                cache.insert(key, hash, segment, &ids[start..]);
            }
        }
        Ok(())
    }
}

impl Speller<'_> {
    /// Spells a word or a piece into `scratch.ids`, pretoken by pretoken.
    fn spell_raw(
        self,
        (part, word): (RawPart<'_>, &str),
        cache: &mut PretokenCache,
        (scratch, word_scratch): (&mut Scratch, &mut WordScratch),
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        // A word is cached as a whole, unless it is too long. Its pretokens are cached, too, if they are shorter than the
        // word: in code, words have many pretokens, which occur in other words again. To cache a word and its only
        // pretoken would cost 5 % (BERT, English) to 25 % (T5, many languages) of a first pass.
        let is_cached = is_short_enough_to_cache(word.as_bytes());
        let length = match part {
            RawPart::Word(words) => words.raw.finder().without_gap(word).len(),
            _ => word.len(),
        };
        let mut ids = std::mem::take(&mut word_scratch.ids);
        let mut spell = |origins: Option<Origins<'_>>, ticker: &mut Ticker<'_>| {
            ids.clear();
            // Errors have no position here: the stages run again to find it.
            let mut append = |pretoken: &str, ticker: &mut Ticker<'_>| {
                let cache = Some(&mut *cache).filter(|_| !is_cached || pretoken.len() < length);
                self.append_ids(pretoken.as_bytes(), cache, scratch, ticker, &mut ids)
            };
            let words = match part {
                RawPart::Word(words) if origins.is_none() => Some(words),
                _ => None,
            };
            if let Some(words) = words
                && let Some(pretokens) = words.plain_pretokens(word, &mut word_scratch.plain)
            {
                ticker.spend(word.len())?;
                return pretokens.iter().try_for_each(|pretoken| append(pretoken, ticker));
            }
            let mut append_placed = |pretoken: AlignedText<'_>, ticker: &mut Ticker<'_>| {
                ticker.spend(pretoken.text.len())?;
                append(pretoken.text, ticker).map_err(|error| placed(error, pretoken.origins))
            };
            match words {
                Some(words) => words.for_each_by_stages(
                    (word, Origins::Untracked),
                    word_scratch,
                    ticker,
                    &mut append_placed,
                ),
                None => part.for_each_pretoken((word, origins), word_scratch, ticker, &mut append_placed),
            }
        };
        let done = match spell(None, ticker) {
            // The origins were not tracked, so run the stages again for the position of the error.
            Err(error) if !matches!(error.kind, Kind::Cancelled) => spell(Some(Origins::Same(0)), ticker),
            done => done,
        };
        word_scratch.ids = std::mem::replace(&mut scratch.ids, ids);
        done
    }

    /// Spells a word whose ids may depend on the words before it, as it is cached.
    fn spell_summed(
        self,
        (unigram, words): (&Unigram, Words<'_>),
        text: &str,
        (scratch, word_scratch): (&mut Scratch, &mut WordScratch),
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let WordScratch { marked, normalized, .. } = word_scratch;
        let kept = words.raw.finder().without_gap(text);
        let word = if !kept.is_empty() && words.normalizers.keeps_word(kept) {
            // `Edges::beside_spaces` takes only normalizers that put a mark before each word.
            marked.clear();
            marked.extend([MARK, kept]);
            &*marked
        } else {
            let word = AlignedText { text, origins: Origins::Untracked };
            words.normalizers.apply(word, normalized, ticker)?.text
        };
        scratch.ids.clear();
        if word.is_empty() {
            return Ok(());
        }
        let Scratch { ids, unigram: buffers, .. } = scratch;
        unigram.encode_word(word.as_bytes(), self.vocabulary, buffers, ids, ticker)
    }

    /// Appends the ids of a pretoken of a word: from the static table, from the cache if there is one, or by the model.
    fn append_ids(
        self,
        pretoken: &[u8],
        cache: Option<&mut PretokenCache>,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        if let &[byte] = pretoken
            && let Some(id) = self.static_table.id_of_byte(byte)
        {
            return Ok(try_alloc::push(ids, id)?);
        }
        let key = key_of(pretoken);
        let hash = short_table::hash(key);
        if is_cacheable(key) {
            if let Some(id) = self.static_table.id(key, hash) {
                return Ok(try_alloc::push(ids, id)?);
            }
            if let Some(cache) = &cache
                && let Some(value) = cache.get(key, hash)
                && let Some(found) = cache.ids_of(&value, pretoken)
            {
                return Ok(try_alloc::extend(ids, found)?);
            }
        }
        self.model.encode(pretoken, self.vocabulary, scratch, ticker)?;
        if let Some(cache) = cache {
            cache.insert(key, hash, pretoken, &scratch.ids);
        }
        Ok(try_alloc::extend(ids, &scratch.ids)?)
    }
}

/// The segments of a pretoken that are still to come.
#[derive(Debug)]
pub(super) struct Segments<'a> {
    merges: &'a CanonicalMerges,
    /// The text up to the end of the pretoken.
    text_to_end: &'a [u8],
    /// The whole text: a key is read faster where bytes follow it.
    text: &'a [u8],
    mark: Key,
    /// May segments that are longer than a key be cached? In a pretoken that is too long to be cached itself, such as a
    /// megabyte of random letters, they hardly repeat.
    caches_long: bool,
    from: usize,
}

impl Segments<'_> {
    /// The bits that mark the keys of these segments.
    pub(super) fn mark(&self) -> Key {
        self.mark
    }

    /// The key of a segment that is longer than a key.
    pub(super) fn long_key(&self, segment: &[u8]) -> Key {
        if self.caches_long { key_of_long_segment(segment) } else { SEGMENT }
    }

    /// Takes the next segments, at most as many as `ends` has places, and returns where they end.
    #[inline]
    pub(super) fn next_ends<'e>(&mut self, ends: &'e mut [usize]) -> &'e [usize] {
        let count = self.merges.cuts.next_batch(self.text_to_end, self.from, ends);
        self.from = if count > 0 { ends[count - 1] } else { self.from };
        &ends[..count]
    }
}

/// Iterates over the key and the span of each segment.
impl Iterator for Segments<'_> {
    type Item = (Key, Span);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let from = self.from;
        if from >= self.text_to_end.len() {
            return None;
        }
        self.from = self.merges.cuts.next(self.text_to_end, from);
        let key = match self.from - from {
            length @ 0..=SHORT => short_table::key_at(self.text, from, length) | self.mark,
            _ => self.long_key(&self.text_to_end[from..self.from]),
        };
        Some((key, Span::new(from, self.from)))
    }
}
