//! The order of the stages: added tokens are cut out, what lies between is normalized and split, pretokens are
//! spelled.
//!
//! In: a text, and the recognizer of added tokens. Out: ids into a sink. There is one pipeline, and at its end
//! two ways to spell pretokens: [`ById`] for sinks of ids, through the cache; [`ByPretoken`] for sinks of pretokens,
//! which also need ends and origins, and the cache has neither. `offsets` takes the first way where the ids say where
//! they are, and the second elsewhere.
use tokenmill_kernels::Prefetcher;

use super::input::{Part, Text, placed, show_symbol_as_text};
use super::lookup::PretokenEncoder;
use super::raw::FirstSegment;
use super::recognizer::Recognizer;
use super::sink::{IdSink, PretokenSink, SinkResult, Spelling};
use super::summed::SummedWords;
use super::untrusted::UntrustedRanges;
use super::worker::Worker;
use super::{Engine, Raw, Stages};
use crate::aligned::{AlignedText, Origins, Rewritten};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::pattern::Splitter;
use crate::pretokenize::of_split;
use crate::span::Span;
use crate::special::TextPart;
use crate::watch::{Ticker, Watch};

/// The state of a call while it encodes on one thread.
pub(super) struct Run<'a, 'w> {
    pub(super) engine: &'a Engine,
    pub(super) recognizer: &'a Recognizer<'a>,
    /// The untrusted bytes of the caller's text.
    pub(super) untrusted: &'a UntrustedRanges,
    /// See [`Part::follows`].
    pub(super) follows: bool,
    pub(super) worker: &'a mut Worker,
    pub(super) ticker: &'a mut Ticker<'w>,
}

/// The end of the pipeline: how pretokens are spelled, and to which sink their ids go. The first four methods
/// report the stages before that.
pub(super) trait SinkAdapter {
    /// Does the sink use the origins of pretokens? If not, they are tracked only if an error may need them.
    const WANTS_ORIGINS: bool;

    /// Does the sink take ids from the cache, so that parts of a text may be looked up before they are normalized?
    const LOOKS_UP: bool = false;

    /// See [`PretokenSink::wants_ends`].
    fn wants_ends(&self) -> bool {
        false
    }

    #[inline]
    fn begin(&mut self, _text: AlignedText<'_>) -> SinkResult {
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> SinkResult {
        Ok(())
    }

    #[inline]
    fn normalized(&mut self, _step: &str, _text: &str) -> SinkResult {
        Ok(())
    }

    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult;

    /// Encodes text that is cut by a single split.
    fn encode_split(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()>;

    /// Encodes text that is pre-tokenized in several steps, or by a step other than a split.
    fn encode_pretokenized(&mut self, piece: AlignedText<'_>, run: &mut Run<'_, '_>) -> Result<()>;

    /// Encodes text whose parts are looked up before they are normalized. Called only if [`Self::LOOKS_UP`].
    fn encode_raw(
        &mut self,
        _: &Raw,
        _: FirstSegment,
        _: AlignedText<'_>,
        _: &mut Run<'_, '_>,
    ) -> Result<()> {
        Err(Error::internal("this sink takes pretokens"))
    }

    /// Encodes a run of bytes that are not text, as one pretoken.
    fn encode_bytes(&mut self, bytes: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<()>;
}

/// Spells pretokens through the cache, for a sink of ids. Bytes that are not text go to the model alone.
pub(super) struct ById<'s, S>(pub(super) &'s mut S);

impl<S: IdSink> SinkAdapter for ById<'_, S> {
    const WANTS_ORIGINS: bool = false;
    const LOOKS_UP: bool = true;

    #[inline]
    fn added(&mut self, _found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.0.push_added(id)
    }

    fn encode_split(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let Run { engine, worker, ticker, .. } = run;
        let Worker { scratch, cache, batch, split_scratch, word_scratch, .. } = &mut **worker;
        let speller = engine.speller();
        let mut encoder = PretokenEncoder { speller, batch, cache, scratch, word_scratch, ticker };
        encoder.encode_split(splitter, piece, split_scratch.get_or_insert_default(), self.0)
    }

    fn encode_pretokenized(&mut self, piece: AlignedText<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        let Run { engine, worker, ticker, .. } = run;
        let Worker { scratch, cache, batch, pretokenized, word_scratch, .. } = &mut **worker;
        let emit = &mut |pretoken: AlignedText<'_>, ticker: &mut Ticker<'_>| {
            ticker.spend(pretoken.text.len())?;
            let speller = engine.speller();
            let mut encoder = PretokenEncoder { speller, batch, cache, scratch, word_scratch, ticker };
            encoder.encode_one(pretoken, self.0)
        };
        engine.stages.pre_tokenizers.for_each(piece, pretokenized, ticker, emit)
    }

    fn encode_raw(
        &mut self,
        raw: &Raw,
        first: FirstSegment,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let (spaced, piece) = match first {
            FirstSegment::Plain => (0, piece),
            FirstSegment::Spaced(end) => (end, piece),
            FirstSegment::Staged(end) => {
                run.encode_by_stages(piece.slice(Span::new(0, end)), self)?;
                (0, piece.slice(Span::new(end, piece.text.len())))
            }
        };
        let Run { engine, worker, ticker, .. } = run;
        let Worker { scratch, cache, batch, split_scratch, word_scratch, sum_scratch, .. } = &mut **worker;
        let (speller, normalizers) = (engine.raw_speller(raw), &engine.stages.normalizers);
        let mut encoder = PretokenEncoder { speller, batch, cache, scratch, word_scratch, ticker };
        match raw {
            Raw::Words(words) if let Some((unigram, sums)) = words.sums(speller.model) => {
                let tables = (unigram, speller.vocabulary, sums);
                let mut sink = SummedWords::new(tables, sum_scratch.get_or_insert_default(), self.0);
                encoder.encode_summed_words((words, normalizers), piece, &mut sink)
            }
            Raw::Segments(segments) => encoder.encode_raw_segments((segments, spaced), piece, self.0),
            Raw::Words(words) => encoder.encode_raw_words((words.finder(), normalizers), piece, self.0),
            Raw::Pieces(pieces) => {
                encoder.encode_split(pieces.splitter(), piece, split_scratch.get_or_insert_default(), self.0)
            }
        }
    }

    fn encode_bytes(&mut self, bytes: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        let (stages, scratch) = (&*run.engine.stages, &mut run.worker.scratch);
        let encoded = stages.model.encode(bytes, &stages.vocabulary, scratch, run.ticker);
        encoded.map_err(|error| placed(error, origins))?;
        Ok(self.0.push_ids(&scratch.ids)?)
    }
}

/// Spells one pretoken after the other, for a sink of pretokens.
pub(super) struct ByPretoken<'s, S: ?Sized>(pub(super) &'s mut S);

impl<S: PretokenSink + ?Sized> ByPretoken<'_, S> {
    #[inline]
    fn encode_one(&mut self, pretoken: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        let (Stages { model, vocabulary, .. }, scratch) = (&*run.engine.stages, &mut run.worker.scratch);
        let mut with = Spelling { model, vocabulary, scratch, ticker: run.ticker };
        self.0.spell(pretoken, &mut with).map_err(|error| placed(error, origins))?;
        if !run.untrusted.is_empty() && run.recognizer.finds_forged(run.untrusted, with.scratch, origins) {
            let (vocabulary, model) = run.engine.without_added_tokens(with.ticker)?;
            with = Spelling { model, vocabulary, ..with };
            self.0.spell(pretoken, &mut with).map_err(|error| placed(error, origins))?;
        }
        Ok(self.0.take(pretoken, origins, &scratch.ids, &scratch.ends)?)
    }
}

impl<S: PretokenSink + ?Sized> SinkAdapter for ByPretoken<'_, S> {
    const WANTS_ORIGINS: bool = true;

    #[inline]
    fn wants_ends(&self) -> bool {
        self.0.wants_ends()
    }

    #[inline]
    fn begin(&mut self, text: AlignedText<'_>) -> SinkResult {
        self.0.begin(text)
    }

    #[inline]
    fn end(&mut self) -> SinkResult {
        self.0.end()
    }

    #[inline]
    fn normalized(&mut self, step: &str, text: &str) -> SinkResult {
        self.0.normalized(step, text)
    }

    #[inline]
    fn added(&mut self, found: AlignedText<'_>, id: TokenId) -> SinkResult {
        self.0.added(found, id)
    }

    fn encode_split(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        splitter.for_each(piece.text, |span| {
            run.ticker.spend(splitter.work(span.len()))?;
            let pretoken = piece.slice(span);
            self.encode_one(pretoken.text.as_bytes(), pretoken.origins, run)
        })
    }

    fn encode_pretokenized(&mut self, piece: AlignedText<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        let Run { engine, recognizer, untrusted, follows, worker, ticker } = run;
        // Taken out, as the rest of the worker is borrowed meanwhile.
        let mut pretokenized = std::mem::take(&mut worker.pretokenized);
        let emit = &mut |pretoken: AlignedText<'_>, ticker: &mut Ticker<'_>| {
            ticker.spend(pretoken.text.len())?;
            let follows = *follows;
            let run = &mut Run { engine, recognizer, untrusted, follows, worker, ticker };
            self.encode_one(pretoken.text.as_bytes(), pretoken.origins, run)
        };
        let done = engine.stages.pre_tokenizers.for_each(piece, &mut pretokenized, ticker, emit);
        worker.pretokenized = pretokenized;
        done
    }

    fn encode_bytes(&mut self, bytes: &[u8], origins: Origins<'_>, run: &mut Run<'_, '_>) -> Result<()> {
        self.encode_one(bytes, origins, run)
    }
}

impl Engine {
    /// Encodes a text into `adapter`, on this thread. `next` is prefetched at the same time, at its own pace.
    pub(super) fn encode_into<'t, A: SinkAdapter>(
        &self,
        text: impl Into<Part<'t>>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        next: Prefetcher,
        watch: &dyn Watch,
        adapter: &mut A,
    ) -> Result<()> {
        let Part { text, follows } = text.into();
        recognizer.check(text.as_bytes(), watch)?;
        let mut ticker = Ticker::new(watch);
        self.workers.with(|worker| {
            worker.scratch.wants_ends = adapter.wants_ends();
            worker.batch.set_prefetch(next);
            let ticker = &mut ticker;
            let mut run = Run { engine: self, recognizer, untrusted, follows, worker, ticker };
            let done = match text.validated() {
                Text::Str(text) => run.encode_text(text, 0, adapter),
                Text::Bytes(bytes) => run.encode_mixed(bytes, adapter),
            };
            worker.batch.set_prefetch(Prefetcher::default());
            done.map_err(|error| self.as_text(error, text.as_bytes()))
        })
    }

    /// An error of a text: an unknown symbol is shown as it is in the text.
    pub(super) fn as_text(&self, error: Error, text: &[u8]) -> Error {
        if self.description.writes_letters() { show_symbol_as_text(error, text) } else { error }
    }
}

impl Run<'_, '_> {
    /// Encodes text that begins at byte `base` of the caller's text.
    pub(super) fn encode_text<A: SinkAdapter>(
        &mut self,
        text: &str,
        base: usize,
        adapter: &mut A,
    ) -> Result<()> {
        let Run { engine, recognizer, untrusted, follows, worker, ticker } = self;
        let whole = AlignedText::original(text, base);
        recognizer.for_each_part(
            &recognizer.in_raw,
            whole,
            untrusted,
            ticker,
            |segment, ticker| match segment {
                TextPart::Literal(id, span) => Ok(adapter
                    .added(AlignedText::original(&text[span.start..span.end], base + span.start), id)?),
                TextPart::Ordinary(span) => {
                    let piece = AlignedText::original(&text[span.start..span.end], base + span.start);
                    adapter.begin(piece)?;
                    let follows = *follows && span.start == 0;
                    Run { engine, recognizer, untrusted, follows, worker, ticker }
                        .encode_ordinary(piece, adapter)?;
                    Ok(adapter.end()?)
                }
            },
        )
    }

    /// Encodes text between the added tokens of the first pass.
    fn encode_ordinary<A: SinkAdapter>(&mut self, piece: AlignedText<'_>, adapter: &mut A) -> Result<()> {
        if A::LOOKS_UP
            && let Some(raw) = &self.engine.stages.raw
            && !self.recognizer.searches_normalized()
            && raw.takes(piece.text, self.follows)
        {
            let first = if self.follows { FirstSegment::Plain } else { raw.first(piece) };
            return adapter.encode_raw(raw, first, piece, self);
        }
        self.encode_by_stages(piece, adapter)
    }

    /// Encodes text between the added tokens of the first pass, stage by stage.
    pub(super) fn encode_by_stages<A: SinkAdapter>(
        &mut self,
        piece: AlignedText<'_>,
        adapter: &mut A,
    ) -> Result<()> {
        if let Some(splitter) = self.engine.splitter() {
            return self.encode_split(splitter, piece, adapter);
        }
        // Taken out, as the rest of the worker is borrowed meanwhile.
        let mut normalized = std::mem::take(&mut self.worker.normalized);
        let done = self.encode_normalized(piece, &mut normalized, adapter);
        self.worker.normalized = normalized;
        done
    }

    fn encode_normalized<A: SinkAdapter>(
        &mut self,
        piece: AlignedText<'_>,
        normalized: &mut [Rewritten; 2],
        adapter: &mut A,
    ) -> Result<()> {
        let Run { engine, recognizer, untrusted, follows, worker, ticker } = self;
        let follows = *follows;
        ticker.spend(piece.text.len())?;
        let is_touched = !untrusted.is_empty() && untrusted.overlaps(piece.span());
        let untrusted = if is_touched { untrusted } else { UntrustedRanges::none() };
        let tracks_origins = A::WANTS_ORIGINS
            || !engine.stages.spells_everything
            || (is_touched && recognizer.guards_normalized());
        let piece = if tracks_origins { piece } else { AlignedText { origins: Origins::Untracked, ..piece } };
        let normalizers = &engine.stages.normalizers;
        let piece = normalizers.apply_telling(piece, normalized, ticker, &mut |step, text| {
            Ok(adapter.normalized(step, text)?)
        })?;
        recognizer.for_each_part(&recognizer.in_normalized, piece, untrusted, ticker, |segment, ticker| {
            match segment {
                TextPart::Literal(id, span) => Ok(adapter.added(piece.slice(span), id)?),
                TextPart::Ordinary(span) => {
                    let run = &mut Run { engine, recognizer, untrusted, follows, worker, ticker };
                    match &engine.stages.splitter {
                        Some(splitter) => run.encode_split(splitter, piece.slice(span), adapter),
                        None => adapter.encode_pretokenized(piece.slice(span), run),
                    }
                }
            }
        })
    }

    fn encode_split<A: SinkAdapter>(
        &mut self,
        splitter: &Splitter,
        piece: AlignedText<'_>,
        adapter: &mut A,
    ) -> Result<()> {
        adapter.encode_split(splitter, piece, self).map_err(|error| of_split(error, piece))
    }

    /// Encodes bytes of which some are not text.
    fn encode_mixed<A: SinkAdapter>(&mut self, bytes: &[u8], adapter: &mut A) -> Result<()> {
        if !self.engine.description.is_byte_level() {
            let at = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            return Err(Error::argument(format!(
                "the bytes are not UTF-8 (byte {at}), and the vocabulary is made of characters; decode them first"
            )));
        }
        let (mut at, mut invalid_from) = (0, 0);
        let invalid = |from: usize, to: usize, run: &mut Self, adapter: &mut A| {
            run.ticker.spend(to - from)?;
            adapter.encode_bytes(&bytes[from..to], Origins::Same(from), run)
        };
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                if invalid_from < at {
                    invalid(invalid_from, at, self, adapter)?;
                }
                self.encode_text(chunk.valid(), at, adapter)?;
                at += chunk.valid().len();
                invalid_from = at;
            }
            at += chunk.invalid().len();
        }
        if invalid_from < at {
            invalid(invalid_from, at, self, adapter)?;
        }
        Ok(())
    }
}
