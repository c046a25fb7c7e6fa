//! Text to ids, and how many ids: the entry points, which choose between one thread and several.
//!
//! In: a text and a number of threads. Out: ids into a sink. On several threads a long text is cut only where the
//! ids of its parts, joined, are certainly those of the whole.
use tokenmill_kernels::{Prefetcher, ReorderBuffer};

use super::cuts::{CutStages, Cuts, Pairs, TextCuts};
use super::input::{Part, Special, Text};
use super::pipeline::{ById, Run};
use super::recognizer::Recognizer;
use super::sink::{Counter, IdSink};
use super::untrusted::UntrustedRanges;
use super::{Engine, Raw, Stages};
use crate::aligned::AlignedText;
use crate::error::Result;
use crate::ids::TokenId;
use crate::pattern::Splitter;
use crate::span::Span;
use crate::special::TextPart;
use crate::threads;
use crate::watch::{Ticker, Watch};

/// The size of a unit of work in bytes: several units a thread, so that none waits long for another, and small
/// enough that its ids are still in the processor's cache when they are joined to the others.
pub(super) fn size_of_units(length: usize, threads: usize) -> usize {
    (length / (threads * 4)).clamp(threads::BYTES_PER_THREAD / 2, 2 * threads::BYTES_PER_THREAD)
}

impl Engine {
    /// Encodes a text and appends its ids.
    ///
    /// # Errors
    /// A special-token error under [`Special::Raise`], or for a literal in [`Special::Only`] that
    /// is no special token; an unknown-token error for what the vocabulary cannot spell; a
    /// pattern error when the split exceeds its limit; cancellation. Cost: n log n at worst.
    pub fn encode(
        &self,
        text: Text<'_>,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let recognizer = self.recognizer(special)?;
        let text = text.validated();
        let threads = threads::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let rows = ReorderBuffer::append_to(std::mem::take(ids));
            let (row, put) = (|| rows.spare(), |unit, row| rows.put(unit, row));
            let done = self.encode_on_threads(text, &recognizer, threads, watch, row, put);
            *ids = rows.finish()?;
            return done.map(drop);
        }
        self.encode_ids(text, &recognizer, UntrustedRanges::none(), Prefetcher::default(), watch, ids)
    }

    /// As [`Self::encode`] on one thread, for a text of which some bytes are untrusted. A literal of a special
    /// token, or of one that the recognizer [protects](Recognizer::protecting), is dropped before the longest
    /// literal is chosen if one of its bytes is untrusted; nor does the model give such a token for an untrusted
    /// byte.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_untrusted(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        self.encode_ids(text, recognizer, untrusted, Prefetcher::default(), watch, ids)
    }

    /// How many ids [`Self::encode_untrusted`] gives; none are stored.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count_untrusted(
        &self,
        text: Text<'_>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let mut counter = Counter::default();
        self.encode_ids(text, recognizer, untrusted, Prefetcher::default(), watch, &mut counter)?;
        Ok(counter.0)
    }

    /// How many ids [`Self::encode`] gives; none are stored.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn count(
        &self,
        text: Text<'_>,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let recognizer = self.recognizer(special)?;
        let text = text.validated();
        let threads = threads::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let count = |_, counter: Counter| counter.0;
            let counts =
                self.encode_on_threads(text, &recognizer, threads, watch, Counter::default, count)?;
            return Ok(counts.iter().sum());
        }
        let mut counter = Counter::default();
        self.encode_ids(
            text,
            &recognizer,
            UntrustedRanges::none(),
            Prefetcher::default(),
            watch,
            &mut counter,
        )?;
        Ok(counter.0)
    }

    /// What finds the added tokens under a policy, for all texts of a call.
    ///
    /// # Errors
    /// A special-token error for a literal in [`Special::Only`] that is no special token.
    #[inline]
    pub fn recognizer(&self, special: &Special) -> Result<Recognizer<'_>> {
        let stages = &self.stages;
        Recognizer::new(
            (&stages.added_in_raw, &stages.added_in_normalized),
            &stages.special,
            &stages.vocabulary,
            self.description.model.unk(),
            special,
        )
    }

    /// Gives the ids of a text to a sink, on this thread; `next` is prefetched at the same time.
    pub(crate) fn encode_ids<'t, S: IdSink>(
        &self,
        text: impl Into<Part<'t>>,
        recognizer: &Recognizer<'_>,
        untrusted: &UntrustedRanges,
        next: Prefetcher,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        if !untrusted.is_empty() && !recognizer.forgeable.is_empty() {
            return self.encode_ids_unforged(text.into().text, recognizer, untrusted, next, watch, sink);
        }
        self.encode_into(text, recognizer, untrusted, next, watch, &mut ById(sink))
    }

    /// May a text be cut and its parts be encoded separately? Only if nothing but a split looks at more than one
    /// pretoken, or if parts of a text are looked up before it is normalized.
    pub(crate) fn may_be_cut(&self) -> bool {
        let Stages { raw, added_in_normalized, .. } = &*self.stages;
        let cuts_raw = |raw: &Raw| !raw.looks_back() && added_in_normalized.is_empty();
        let has_cuts = self.splitter().is_some() || raw.as_ref().is_some_and(cuts_raw);
        has_cuts && self.stages.added_in_raw.is_plain()
    }

    /// The first place, from a byte on, where an ordinary text may be cut if [`Self::may_be_cut`] allows it.
    pub(super) fn safe_cut(&self, text: &str, from: usize) -> Option<usize> {
        match (&self.stages.raw, self.splitter()) {
            (Some(raw), _) => raw.safe_cut((text, &self.stages.normalizers), from),
            (None, splitter) => splitter?.safe_cut(text, from),
        }
    }

    /// What tells the cuts of texts under this policy.
    pub(crate) fn cuts(&self, special: &Special) -> Cuts<'_> {
        match self.splitter() {
            Some(splitter) if self.may_be_cut() && splitter.is_scanner() => {
                let has_literals = *special != Special::Text || !self.stages.added_in_raw.has_only_special();
                Cuts::of_split(splitter, has_literals.then(|| self.pairs()))
            }
            _ => Cuts::of_stages(self.cut_stages(), self.text_cuts(), self.pairs()),
        }
    }

    fn cut_stages(&self) -> CutStages<'_> {
        let Stages { normalizers, splitter, pre_tokenizers, model, vocabulary, .. } = &*self.stages;
        let (description, splitter) = (&self.description, splitter.as_ref());
        CutStages { description, normalizers, splitter, pre_tokenizers, model, vocabulary }
    }

    fn text_cuts(&self) -> &TextCuts {
        self.text_cuts.get_or_make(|| TextCuts::new(self.cut_stages()))
    }

    fn pairs(&self) -> &Pairs {
        self.pairs.get_or_make(|| Pairs::new(self.cut_stages()))
    }

    /// Are there cuts that [`Cuts`] finds for texts that grow?
    pub(crate) fn has_text_cuts(&self) -> bool {
        self.text_cuts().has_any() || self.pairs().has_any()
    }

    /// Are the tokens of a text its bytes, one after the other?
    pub(crate) fn has_byte_tokens(&self) -> bool {
        self.cut_stages().ids_are_bytes()
    }

    /// The bytes of the longest token, or of the longest literal of an added token.
    pub(crate) fn longest_token(&self) -> usize {
        self.pairs().longest_bytes()
    }

    /// Can the ids of a text that grows at its end be told pretoken by pretoken under this policy? If not, all of
    /// it must be encoded again.
    pub fn grows(&self, special: &Special) -> bool {
        self.takes_blocks(special) && self.splitter().is_some_and(Splitter::grows)
    }

    /// The split of a text that is split and nothing else: no normalizer changes it or a part of it, and it holds no
    /// added token. `None` if this is not so, or is not known.
    pub(crate) fn only_split(
        &self,
        text: &str,
        recognizer: &Recognizer<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<&Splitter>> {
        let Stages { splitter, normalizers, added_in_normalized, .. } = &*self.stages;
        let Some(splitter) = splitter.as_ref().and_then(|splitter| splitter.only_split(text)) else {
            return Ok(None);
        };
        if !added_in_normalized.is_empty() || !normalizers.leaves(text, ticker)? {
            return Ok(None);
        }
        let mut is_ordinary = true;
        recognizer
            .for_each_part_of(text, ticker, |part| is_ordinary &= matches!(part, TextPart::Ordinary(_)))?;
        Ok(Some(splitter).filter(|_| is_ordinary))
    }

    /// One long text on several threads: its ordinary segments are cut where that changes no id. Returns
    /// `done(number, sink)` of each unit, in order.
    pub(super) fn encode_on_threads<S: IdSink, T: Send>(
        &self,
        text: &str,
        recognizer: &Recognizer<'_>,
        threads: usize,
        watch: &dyn Watch,
        sink: impl Fn() -> S + Sync,
        done: impl Fn(usize, S) -> T + Sync,
    ) -> Result<Vec<T>> {
        recognizer.check(text.as_bytes(), watch)?;
        let units = self.units(text, recognizer, size_of_units(text.len(), threads), watch)?;
        threads::run(units.len(), threads, watch, |unit, watch| {
            let mut sink = sink();
            let mut ticker = Ticker::new(watch);
            let span = units[unit];
            self.workers.with(|worker| {
                worker.scratch.wants_ends = false;
                let untrusted = UntrustedRanges::none();
                let (follows, ticker) = (span.start > 0, &mut ticker);
                let mut run = Run { engine: self, recognizer, untrusted, follows, worker, ticker };
                run.encode_text(&text[span.start..span.end], span.start, &mut ById(&mut sink))
                    .map_err(|error| self.as_text(error, text.as_bytes()))
            })?;
            Ok(done(unit, sink))
        })
    }

    /// Spans of about `size` bytes that may be encoded separately: they tile the text.
    fn units(
        &self,
        text: &str,
        recognizer: &Recognizer<'_>,
        size: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Span>> {
        let mut units = Vec::new();
        let mut start = 0;
        let ticker = &mut Ticker::new(watch);
        let (whole, trusted) = (AlignedText::original(text, 0), UntrustedRanges::none());
        recognizer.for_each_part(&recognizer.in_raw, whole, trusted, ticker, |segment, ticker| {
            match segment {
                // A unit may always begin with a literal, so the unit before it ends here if it is long enough.
                TextPart::Literal(_, span) => {
                    if span.start - start >= size {
                        units.push(Span::new(start, span.start));
                        start = span.start;
                    }
                }
                TextPart::Ordinary(span) => {
                    let ordinary = &text[span.start..span.end];
                    let mut from = span.start.max(start + size);
                    while from < span.end {
                        let Some(cut) = self.safe_cut(ordinary, from - span.start) else { break };
                        units.push(Span::new(start, span.start + cut));
                        start = span.start + cut;
                        from = start + size;
                        ticker.spend(1 << 10)?;
                    }
                }
            }
            Ok(())
        })?;
        if start < text.len() {
            units.push(Span::new(start, text.len()));
        }
        Ok(units)
    }
}
