//! Spans of raw words, through a cache of their own.
//!
//! In: text between added tokens, whose words are looked up before they are normalized. Out: the ids, spans and numbers
//! of pretokens that all stages give. Normalizers change the length of a word, so the lengths of its tokens do not say
//! where they are in it. So a cache has for each word its ids, each with its span in the word.
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::short_table::{self, INLINE, lookup::LookupKey};
use tokenmill_kernels::try_alloc;

use super::spans::{Encoding, Spans};
use crate::aligned::{AlignedText, Origins};
use crate::engine::Stages;
use crate::engine::lookup::{PretokenCache, is_cacheable, key_of_long_word};
use crate::engine::pipeline::Run;
use crate::engine::raw::{RawWords, WordScratch, WordSpans, Words};
use crate::engine::sink::SinkResult;
use crate::engine::worker::Worker;
use crate::error::Result;
use crate::model::Scratch;
use crate::span::Span;
use crate::watch::Ticker;

/// Words whose entries are prefetched at once.
const BATCH: usize = 64;

/// What a lookup costs besides the bytes of the word, in bytes, for the ticker.
const WORK_OF_WORD: usize = 16;

/// The part of a cached word that an id stands for. It is packed into 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SpanInWord {
    start: u8,
    end: u8,
    /// The number of its pretoken less that of the id before it: 0 for a token that continues one.
    pretoken_delta: u8,
}

/// A flag in the packed first [`SpanInWord`] of a cached word, above its three numbers. It says that an id of the word
/// stands for text other than its token's, as the unknown token does. The cache does not keep that text: where it is
/// needed, the word is spelled again.
const HAS_SURFACE: u32 = 1 << 24;

/// A flag in the packed first [`SpanInWord`] of each cached word, and in no other. Words without tokens are not cached.
const BEGINS_WORD: u32 = 1 << 25;

/// Room for the numbers that are copied from the cache at once: more than [`INLINE`] for each word of a batch. A word
/// that does not fit is looked up by itself.
const NUMBERS: usize = 2 * BATCH * INLINE;

impl SpanInWord {
    /// `None` if the numbers are too large.
    fn new(start: usize, end: usize, pretoken_delta: usize) -> Option<Self> {
        let small = |number: usize| u8::try_from(number).ok();
        Some(Self { start: small(start)?, end: small(end)?, pretoken_delta: small(pretoken_delta)? })
    }

    fn packed(self) -> u32 {
        u32::from_le_bytes([self.start, self.end, self.pretoken_delta, 0])
    }

    #[inline]
    fn of(packed: u32) -> Self {
        let [start, end, pretoken_delta, _] = packed.to_le_bytes();
        Self { start, end, pretoken_delta }
    }
}

/// Encodes the raw words of a text without added tokens.
///
/// # Errors
/// Those of the stages and of the model, positioned in the caller's text.
pub(super) fn encode_words(
    spans: &mut Spans<'_>,
    raw: &RawWords,
    piece: AlignedText<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let Run { engine, worker, ticker, .. } = run;
    let Stages { normalizers, pre_tokenizers, .. } = &*engine.stages;
    let Worker { scratch, word_scratch, word_spans, .. } = &mut **worker;
    let cache = word_spans.get_or_insert_with(|| Box::new(PretokenCache::for_spans(engine.workers.budget())));
    let words = Words { raw, normalizers, pre_tokenizers };
    let (mut found, mut items, mut from, mut last_end) = (WordSpans::default(), Vec::new(), 0, 0);
    let (bytes, level) = (piece.text.as_bytes(), cpu::level());
    let (mut keys, mut numbers) = ([LookupKey::default(); BATCH], [0; NUMBERS]);
    while from < bytes.len() {
        let next = raw.finder().next((piece.text, normalizers), from, &mut found, ticker)?;
        if raw.finder().spans_cover_gaps() {
            last_end = found.cover_gaps(last_end);
        }
        let (starts, ends) = found.get();
        for (starts, ends) in starts.chunks(BATCH).zip(ends.chunks(BATCH)) {
            let keys = &mut keys[..starts.len()];
            prefetch_words(cache, level, bytes, (starts, ends), keys);
            spans.reserve(BATCH)?;
            let mut missed = 0;
            let mut at = 0;
            while at < keys.len() {
                // If numbers and surfaces of pretokens are kept, words are looked up one by one.
                if let Origins::Same(base) = piece.origins
                    && !spans.keeps_words
                {
                    at +=
                        spans.push_hits((cache, level), (&keys[at..], &starts[at..]), base, &mut numbers)?;
                }
                let (Some(&LookupKey { key, hash, end }), Some(&start)) = (keys.get(at), starts.get(at))
                else {
                    break;
                };
                at += 1;
                let value = if is_cacheable(key) { cache.get(key, hash) } else { None };
                let hit = value.as_ref().and_then(|value| cache.ids_of(value, &bytes[start..end]));
                if let Some(items) = hit
                    && !(spans.keeps_words && has_surface(items))
                {
                    spans.push_word(items, piece.origins.span(Span::new(start, end)).start)?;
                    continue;
                }
                missed += 1;
                items.clear();
                let text = piece.slice(Span::new(start, end));
                let is_known = spans.spell_word(
                    (words, text),
                    &engine.stages,
                    (scratch, word_scratch, ticker),
                    &mut items,
                )?;
                if is_known {
                    cache.insert(key, hash, text.text.as_bytes(), &items);
                }
                spans.reserve(BATCH)?;
            }
            cache.record(starts.len(), missed, 0);
        }
        ticker.spend(WORK_OF_WORD * ends.len())?;
        from = next;
    }
    Ok(())
}

/// Prefetches the entries of some words, and writes their keys.
fn prefetch_words(
    cache: &PretokenCache,
    level: Level,
    text: &[u8],
    (starts, ends): (&[usize], &[usize]),
    keys: &mut [LookupKey],
) {
    let mut done = 0;
    while done < keys.len() {
        let rest = (&starts[done..], &ends[done..]);
        done += cache.table().prefetch_spans(level, text, rest, 0, &mut keys[done..]);
        if let Some(long) = keys.get_mut(done) {
            let end = ends[done];
            let key = key_of_long_word(&text[starts[done]..end]);
            *long = LookupKey { key, hash: short_table::hash(key), end };
            cache.prefetch(long.hash);
            done += 1;
        }
    }
}

/// Does a cached word have an id whose text is not in the cache?
fn has_surface(items: &[u32]) -> bool {
    items.get(1).is_some_and(|first| first & HAS_SURFACE != 0)
}

impl Spans<'_> {
    /// Appends a word that was found in the cache. The word starts at byte `at` of the caller's text. For each of its
    /// tokens, `items` has the id and the [`SpanInWord`]. Capacity for one id of each word of a batch is reserved.
    fn push_word(&mut self, items: &[u32], at: usize) -> SinkResult {
        let (pairs, _) = items.as_chunks::<2>();
        if pairs.len() > 1 {
            self.reserve(pairs.len() + BATCH)?;
        }
        let span_of = |packed: u32| {
            let SpanInWord { start, end, .. } = SpanInWord::of(packed);
            Span { start: at + usize::from(start), end: at + usize::from(end) }
        };
        for &[id, packed] in pairs {
            // The number of the pretoken is that of the one that began last.
            self.word +=
                if self.is_pretokenized { 0 } else { u32::from(SpanInWord::of(packed).pretoken_delta) };
            self.push_numbered(id, span_of(packed), self.word - u32::from(!self.is_pretokenized));
        }
        Ok(())
    }

    /// Appends words that are in the cache, up to the first that [`ShortTable::emit_hits`] does not find; returns how
    /// many. Each begins at the byte in `starts`, counted from byte `base` of the caller's text. `numbers` is a buffer.
    ///
    /// [`ShortTable::emit_hits`]: tokenmill_kernels::short_table::ShortTable::emit_hits
    fn push_hits(
        &mut self,
        (cache, level): (&PretokenCache, Level),
        (keys, starts): (&[LookupKey], &[usize]),
        base: usize,
        numbers: &mut [u32; NUMBERS],
    ) -> Result<usize> {
        let hits = cache.table().emit_hits(level, keys, cache.spilled_ids(), numbers);
        let (pairs, _) = numbers[..hits.ids].as_chunks::<2>();
        debug_assert_eq!(
            hits.keys,
            pairs.iter().filter(|[_, packed]| packed & BEGINS_WORD != 0).count(),
            "a word has one first token"
        );
        self.reserve(pairs.len() + BATCH)?;
        let Encoding { ids, byte_offsets, .. } = &mut self.encoding;
        ids.extend(pairs.iter().map(|&[id, _]| id));
        let (mut starts, mut at) = (starts.iter(), base);
        byte_offsets.extend(pairs.iter().map(|&[_, packed]| {
            if packed & BEGINS_WORD != 0 {
                at = base + starts.next().map_or(0, |start| *start);
            }
            let SpanInWord { start, end, .. } = SpanInWord::of(packed);
            Span { start: at + usize::from(start), end: at + usize::from(end) }
        }));
        Ok(hits.keys)
    }

    /// Spells a word by the stages, and writes it into `items` as the cache has it. Returns false if it cannot be
    /// cached.
    fn spell_word(
        &mut self,
        (words, word): (Words<'_>, AlignedText<'_>),
        stages: &Stages,
        (scratch, word_scratch, ticker): (&mut Scratch, &mut WordScratch, &mut Ticker<'_>),
        items: &mut Vec<u32>,
    ) -> Result<bool> {
        let (at, spelled) = (word.span().start, self.surfaces_seen);
        let (mut pretoken_delta, mut fits) = (0, true);
        let origins = Some(word.origins);
        words.for_each_pretoken((word.text, origins), word_scratch, ticker, &mut |pretoken, ticker| {
            ticker.spend(pretoken.text.len())?;
            let before = self.encoding.ids.len();
            self.spell_one(pretoken, stages, (&mut *scratch, ticker))?;
            pretoken_delta += 1;
            let Encoding { ids, byte_offsets, .. } = &self.encoding;
            for (&id, span) in ids[before..].iter().zip(&byte_offsets[before..]) {
                let span_in_word =
                    SpanInWord::new(span.start - at, span.end - at, std::mem::take(&mut pretoken_delta));
                fits &= span_in_word.is_some();
                try_alloc::extend(items, &[id, span_in_word.map_or(0, SpanInWord::packed)])?;
            }
            Ok(())
        })?;
        if let Some(first) = items.get_mut(1) {
            *first |= BEGINS_WORD | if self.surfaces_seen > spelled { HAS_SURFACE } else { 0 };
        }
        // A pretoken without tokens may come last.
        Ok(fits && pretoken_delta == 0)
    }
}
