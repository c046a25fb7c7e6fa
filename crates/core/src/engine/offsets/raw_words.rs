//! Spans of raw words, through a cache of their own.
//!
//! In: text between added tokens, whose words are looked up before they are normalized. Out: the ids, spans and numbers
//! of pretokens that all stages give. Normalizers change the length of a word, so the lengths of its tokens do not say
//! where they are in it. So a cache has for each word its ids, each with its span in the word.
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::short_table::{self, INLINE, lookup::LookupKey};

use super::cached_word::{self, Form, IdInWord};
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

/// Room for the numbers that are copied from the cache at once: more than [`INLINE`] for each word of a batch. A word
/// that does not fit is looked up by itself.
const NUMBERS: usize = 2 * BATCH * INLINE;

/// Where the words of a batch begin in the caller's text: word 0 at index 1, since a word is counted when its first id
/// comes. The size is a power of two above all indices, so that `%` is a mask and no bounds are checked.
type WordStarts = [usize; 2 * BATCH];

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
    let (mut found, mut word, mut from, mut last_end) = (WordSpans::default(), Vec::new(), 0, 0);
    let (bytes, level) = (piece.text.as_bytes(), cpu::level());
    let (mut keys, mut numbers, mut word_starts) =
        ([LookupKey::default(); BATCH], [0; NUMBERS], [0; 2 * BATCH]);
    // Hits are copied a batch at a time only where no numbers of pretokens and no surfaces are kept.
    let base = match piece.origins {
        Origins::Same(base) if !spans.keeps_words => Some(base),
        _ => None,
    };
    while from < bytes.len() {
        let next = raw.finder().next((piece.text, normalizers), from, &mut found, ticker)?;
        if raw.finder().spans_cover_gaps() {
            last_end = found.cover_gaps(last_end);
        }
        let (starts, ends) = found.get();
        for (starts, ends) in starts.chunks(BATCH).zip(ends.chunks(BATCH)) {
            let keys = &mut keys[..starts.len()];
            prefetch_words(cache, level, bytes, (starts, ends), keys);
            if let Some(base) = base {
                for (word_start, start) in word_starts[1..].iter_mut().zip(starts) {
                    *word_start = base + start;
                }
            }
            let mut missed = 0;
            let mut at = 0;
            while at < keys.len() {
                if base.is_some() {
                    at += spans.push_hits((cache, level), (keys, &word_starts), at, &mut numbers)?;
                }
                let (Some(&LookupKey { key, hash, end }), Some(&start)) = (keys.get(at), starts.get(at))
                else {
                    break;
                };
                at += 1;
                let value = if is_cacheable(key) { cache.get(key, hash) } else { None };
                let hit = value.as_ref().and_then(|value| cache.ids_of(value, &bytes[start..end]));
                if let Some(numbers) = hit
                    && !(spans.keeps_words && cached_word::has_surface(numbers))
                {
                    let at = piece.origins.span(Span::new(start, end)).start;
                    spans.push_word(Form::of_word(end - start), numbers, at)?;
                    continue;
                }
                missed += 1;
                word.clear();
                let text = piece.slice(Span::new(start, end));
                let is_known = spans.spell_word(
                    (words, text),
                    &engine.stages,
                    (scratch, word_scratch, ticker),
                    &mut word,
                )?;
                if is_known {
                    cache.insert(key, hash, text.text.as_bytes(), &word);
                }
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

impl Spans<'_> {
    /// Appends a word that was found in the cache as `numbers`. The word starts at byte `at` of the caller's text.
    fn push_word(&mut self, form: Form, numbers: &[u32], at: usize) -> SinkResult {
        if form == Form::Long && !self.keeps_words {
            return self.push_long_word(numbers, at);
        }
        self.reserve(numbers.len())?;
        for item in form.ids(numbers) {
            // The number of the pretoken is that of the one that began last.
            self.word += if self.is_pretokenized { 0 } else { u32::from(item.pretoken_delta) };
            self.push_numbered(item.id, item.span(at), self.word - u32::from(!self.is_pretokenized));
        }
        Ok(())
    }

    /// As [`Self::push_word`], for [`Form::Long`] without numbers of pretokens: all ids at once.
    fn push_long_word(&mut self, numbers: &[u32], at: usize) -> SinkResult {
        let word = Form::long_ids(numbers);
        self.reserve(word.len())?;
        let Encoding { ids, byte_offsets, .. } = &mut self.encoding;
        ids.extend(word.clone().map(|item| item.id));
        byte_offsets.extend(word.map(|item| item.span(at)));
        Ok(())
    }

    /// Appends the words of a batch from number `first` on that are in the cache, up to the first that
    /// [`ShortTable::emit_hits`] does not find; returns how many. `numbers` is a buffer.
    ///
    /// [`ShortTable::emit_hits`]: tokenmill_kernels::short_table::ShortTable::emit_hits
    fn push_hits(
        &mut self,
        (cache, level): (&PretokenCache, Level),
        (keys, starts): (&[LookupKey], &WordStarts),
        first: usize,
        numbers: &mut [u32; NUMBERS],
    ) -> Result<usize> {
        let hits = cache.table().emit_hits(level, &keys[first..], cache.spilled_ids(), numbers);
        let numbers = &numbers[..hits.ids];
        debug_assert_eq!(
            hits.keys,
            numbers.iter().filter(|&&number| cached_word::begins_word(number)).count(),
            "a word has one first id"
        );
        self.reserve(numbers.len())?;
        let Encoding { ids, byte_offsets, .. } = &mut self.encoding;
        ids.extend(numbers.iter().map(|&number| cached_word::short_id(number)));
        let mut words = first;
        byte_offsets.extend(numbers.iter().map(|&number| {
            words += usize::from(cached_word::begins_word(number));
            cached_word::short_span(number, starts[words % starts.len()])
        }));
        Ok(hits.keys)
    }

    /// Spells a word by the stages, and writes it into `numbers` as the cache has it. Returns false if it cannot be
    /// cached.
    fn spell_word(
        &mut self,
        (words, word): (Words<'_>, AlignedText<'_>),
        stages: &Stages,
        (scratch, word_scratch, ticker): (&mut Scratch, &mut WordScratch, &mut Ticker<'_>),
        numbers: &mut Vec<u32>,
    ) -> Result<bool> {
        let (at, spelled) = (word.span().start, self.surfaces_seen);
        let (form, mut pretoken_delta, mut fits) = (Form::of_word(word.text.len()), 0, true);
        let origins = Some(word.origins);
        words.for_each_pretoken((word.text, origins), word_scratch, ticker, &mut |pretoken, ticker| {
            ticker.spend(pretoken.text.len())?;
            let before = self.encoding.ids.len();
            self.spell_one(pretoken, stages, (&mut *scratch, ticker))?;
            pretoken_delta += 1;
            let Encoding { ids, byte_offsets, .. } = &self.encoding;
            for (&id, span) in ids[before..].iter().zip(&byte_offsets[before..]) {
                let delta = std::mem::take(&mut pretoken_delta);
                fits &= match IdInWord::new(id, (span.start - at, span.end - at), delta) {
                    Some(item) => form.push(item, numbers)?,
                    None => false,
                };
            }
            Ok(())
        })?;
        if self.surfaces_seen > spelled {
            cached_word::set_surface(numbers);
        }
        // A pretoken without tokens may come last.
        Ok(fits && pretoken_delta == 0)
    }
}
