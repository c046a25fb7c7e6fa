//! Text to ids: cut out added tokens, normalize and split what is between them, run the model.
use tokenmill_kernels::{OutOfMemory, Prefetcher, ReorderBuffer, pages, try_alloc};

use crate::aligned::{Origins, Piece, Rewritten};
use crate::error::{Error, Kind, Place, Result};
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::parallel;
use crate::pattern::Splitter;
use crate::pretokenize::of_split;
use crate::span::Span;
use crate::special::Segment;
use crate::watch::{Ticker, Watch};

use super::added::Recognised;
use super::worker::Worker;
use super::{Engine, Parts};

/// What is encoded: text, or bytes that need not be text.
///
/// Bytes that are not UTF-8 stand between texts: each maximal run of them is a pretoken of its
/// own, and what lies between is a text of its own.
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// UTF-8.
    Str(&'a str),
    /// Any bytes; only vocabularies over bytes can spell them.
    Bytes(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Its bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Bytes that are UTF-8 are text.
    fn known(self) -> Self {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).map_or(self, Text::Str),
            Self::Str(_) => self,
        }
    }
}

/// What the literal of a special token in the text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Special {
    /// Ordinary text: nothing can be forged.
    Text,
    /// The token.
    Parse,
    /// An error.
    Raise,
    /// The token for these literals, ordinary text for the others.
    Only(Vec<String>),
}

/// What a sink asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wants {
    /// Each pretoken with its ids: [`Sink::take`].
    Pretokens,
    /// Ids in a row: [`Sink::extend`].
    Ids,
    /// How many ids: [`Sink::count`].
    Count,
}

/// Is what was given to a sink there now?
pub(super) type Kept = std::result::Result<(), OutOfMemory>;

/// Where ids go. All that is put there may be more than memory holds.
pub(super) trait Sink {
    /// What is given to it where there is a choice. Added tokens come apart in any case.
    const WANTS: Wants = Wants::Pretokens;
    /// Is it of interest what part of a pretoken an id stands for?
    const WANTS_ENDS: bool;

    /// The ids of some pretokens.
    #[inline]
    fn extend(&mut self, _ids: &[TokenId]) -> Kept {
        Ok(())
    }

    /// How many ids some pretokens have.
    #[inline]
    fn count(&mut self, _count: usize) {}

    /// Text in which the added tokens of the first pass are not: what comes until [`Self::end`] is
    /// made from it.
    #[inline]
    fn begin(&mut self, _text: Piece<'_>) -> Kept {
        Ok(())
    }

    /// All of that text has come.
    #[inline]
    fn end(&mut self) -> Kept {
        Ok(())
    }

    /// A step of normalization, and what it left where that is another text.
    #[inline]
    fn normalized(&mut self, _step: &str, _text: &str) -> Kept {
        Ok(())
    }

    /// Spells a pretoken: what is left in `scratch` is taken next.
    #[inline]
    fn spell(
        &mut self,
        pretoken: &[u8],
        parts: &Parts,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        parts.model.encode(pretoken, &parts.vocabulary, scratch, ticker)
    }

    /// The ids of one pretoken: its bytes, where they came from, and where the part of each id ends.
    fn take(&mut self, pretoken: &[u8], origins: Origins<'_>, ids: &[TokenId], ends: &[u32]) -> Kept;

    /// An added token, and the text that it was found as.
    fn added(&mut self, found: Piece<'_>, id: TokenId) -> Kept;
}

impl Sink for Vec<TokenId> {
    const WANTS: Wants = Wants::Ids;
    const WANTS_ENDS: bool = false;

    #[inline]
    fn extend(&mut self, ids: &[TokenId]) -> Kept {
        pages::extend(self, ids)
    }

    #[inline]
    fn take(&mut self, _pretoken: &[u8], _: Origins<'_>, ids: &[TokenId], _ends: &[u32]) -> Kept {
        try_alloc::extend(self, ids)
    }

    #[inline]
    fn added(&mut self, _found: Piece<'_>, id: TokenId) -> Kept {
        try_alloc::push(self, id)
    }
}

/// A sink that only counts.
#[derive(Default)]
pub(super) struct Counter(pub(super) usize);

impl Sink for Counter {
    const WANTS: Wants = Wants::Count;
    const WANTS_ENDS: bool = false;

    #[inline]
    fn count(&mut self, count: usize) {
        self.0 += count;
    }

    #[inline]
    fn take(&mut self, _pretoken: &[u8], _: Origins<'_>, ids: &[TokenId], _ends: &[u32]) -> Kept {
        self.0 += ids.len();
        Ok(())
    }

    #[inline]
    fn added(&mut self, _found: Piece<'_>, _id: TokenId) -> Kept {
        self.0 += 1;
        Ok(())
    }
}

/// What a call holds while it runs.
pub(super) struct Run<'a, 'w> {
    pub(super) recognised: &'a Recognised<'a>,
    pub(super) worker: &'a mut Worker,
    pub(super) ticker: &'a mut Ticker<'w>,
}

/// An error in a pretoken that came from there.
pub(super) fn placed(error: Error, origins: Origins<'_>) -> Error {
    error.placed(|place| match place {
        Place::Byte(at) => Place::Byte(origins.span(Span::new(at, at)).start),
        Place::Character(_) => place,
    })
}

impl Engine {
    /// Encodes a text into `ids`, behind what is there.
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
        let text = text.known();
        let threads = parallel::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let rows = ReorderBuffer::append_to(std::mem::take(ids));
            let (row, put) = (|| rows.spare(), |unit, row| rows.put(unit, row));
            let done = self.encode_on_threads(text, special, threads, watch, row, put);
            *ids = rows.finish()?;
            return done.map(drop);
        }
        self.encode_into(text, special, watch, ids)
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
        let text = text.known();
        let threads = parallel::threads_for(text.as_bytes().len(), threads);
        if threads > 1
            && self.may_be_cut()
            && let Text::Str(text) = text
        {
            let count = |_, counter: Counter| counter.0;
            let counts = self.encode_on_threads(text, special, threads, watch, Counter::default, count)?;
            return Ok(counts.iter().sum());
        }
        let mut counter = Counter::default();
        self.encode_into(text, special, watch, &mut counter)?;
        Ok(counter.0)
    }

    /// Encodes into any sink, on this thread.
    pub(super) fn encode_into<S: Sink>(
        &self,
        text: Text<'_>,
        special: &Special,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        self.encode_with(text, special, Prefetcher::default(), watch, sink)
    }

    /// The same; what is ahead is brought near meanwhile, as each byte of the text is worked on.
    pub(super) fn encode_with<S: Sink>(
        &self,
        text: Text<'_>,
        special: &Special,
        ahead: Prefetcher,
        watch: &dyn Watch,
        sink: &mut S,
    ) -> Result<()> {
        self.refuse_special(text.as_bytes(), special, watch)?;
        let recognised = Recognised::new(&self.parts, special)?;
        let mut ticker = Ticker::new(watch);
        self.workers.with(|worker| {
            worker.scratch.wants_ends = S::WANTS_ENDS;
            worker.chunk.expect(ahead);
            let mut run = Run { recognised: &recognised, worker, ticker: &mut ticker };
            let done = match text.known() {
                Text::Str(text) => self.encode_text(text, 0, &mut run, sink),
                Text::Bytes(bytes) => self.encode_bytes(bytes, &mut run, sink),
            };
            worker.chunk.expect(Prefetcher::default());
            done
        })
    }

    pub(super) fn encode_text<S: Sink>(
        &self,
        text: &str,
        base: usize,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let Run { recognised, worker, ticker } = run;
        recognised.for_each_segment(&recognised.first, text, ticker, |segment, ticker| match segment {
            Segment::Literal(id, span) => {
                Ok(sink.added(Piece::original(&text[span.start..span.end], base + span.start), id)?)
            }
            Segment::Ordinary(span) => {
                let piece = Piece::original(&text[span.start..span.end], base + span.start);
                sink.begin(piece)?;
                self.encode_segment(piece, &mut Run { recognised, worker, ticker }, sink)?;
                Ok(sink.end()?)
            }
        })
    }

    /// Text in which the added tokens of the first pass are not.
    fn encode_segment<S: Sink>(&self, piece: Piece<'_>, run: &mut Run<'_, '_>, sink: &mut S) -> Result<()> {
        if let Some(splitter) = self.splitter() {
            return self.encode_split(splitter, piece, run, sink);
        }
        // What normalization rewrites is read while the rest of the worker is at work.
        let mut normalized = std::mem::take(&mut run.worker.normalized);
        let done = self.encode_normalized(piece, &mut normalized, run, sink);
        run.worker.normalized = normalized;
        done
    }

    fn encode_normalized<S: Sink>(
        &self,
        piece: Piece<'_>,
        normalized: &mut [Rewritten; 2],
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let Run { recognised, worker, ticker } = run;
        ticker.spend(piece.text.len())?;
        let asks_for_origins = matches!(S::WANTS, Wants::Pretokens) || !self.parts.spells_everything;
        let piece = if asks_for_origins { piece } else { Piece { origins: Origins::Untracked, ..piece } };
        let normalizers = &self.parts.normalizers;
        let piece = normalizers
            .apply_telling(piece, normalized, ticker, &mut |step, text| Ok(sink.normalized(step, text)?))?;
        recognised.for_each_segment(&recognised.second, piece.text, ticker, |segment, ticker| match segment {
            Segment::Literal(id, span) => Ok(sink.added(piece.slice(span), id)?),
            Segment::Ordinary(span) => {
                let run = &mut Run { recognised, worker, ticker };
                match &self.parts.splitter {
                    Some(splitter) => self.encode_split(splitter, piece.slice(span), run, sink),
                    None => self.encode_pretokenized(piece.slice(span), run, sink),
                }
            }
        })
    }

    /// Text that is split in one step.
    fn encode_split<S: Sink>(
        &self,
        splitter: &Splitter,
        piece: Piece<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        match S::WANTS {
            Wants::Ids | Wants::Count => self.encode_by_chunks(splitter, piece, run, sink),
            Wants::Pretokens => splitter.for_each(piece.text, |span| {
                run.ticker.spend(splitter.work(span.len()))?;
                self.encode_pretoken(piece.slice(span), &mut run.worker.scratch, run.ticker, sink)
            }),
        }
        .map_err(|error| of_split(error, piece))
    }

    /// Text that is split in several steps, or in other ways.
    fn encode_pretokenized<S: Sink>(
        &self,
        piece: Piece<'_>,
        run: &mut Run<'_, '_>,
        sink: &mut S,
    ) -> Result<()> {
        let Worker { scratch, learnt, pretokenized, .. } = &mut *run.worker;
        let emit = &mut |pretoken: Piece<'_>, ticker: &mut Ticker<'_>| {
            ticker.spend(pretoken.text.len())?;
            match S::WANTS {
                Wants::Ids | Wants::Count => self.encode_known(pretoken, learnt, scratch, ticker, sink),
                Wants::Pretokens => self.encode_pretoken(pretoken, scratch, ticker, sink),
            }
        };
        self.parts.pre_tokenizers.for_each(piece, pretokenized, run.ticker, emit)
    }

    #[inline]
    fn encode_pretoken<S: Sink>(
        &self,
        pretoken: Piece<'_>,
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
        sink: &mut S,
    ) -> Result<()> {
        self.encode_one((pretoken.text.as_bytes(), pretoken.origins), scratch, ticker, sink)
    }

    /// A pretoken, which need not be text, and where it came from.
    #[inline]
    fn encode_one<S: Sink>(
        &self,
        (pretoken, origins): (&[u8], Origins<'_>),
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
        sink: &mut S,
    ) -> Result<()> {
        sink.spell(pretoken, &self.parts, scratch, ticker).map_err(|error| placed(error, origins))?;
        Ok(sink.take(pretoken, origins, &scratch.ids, &scratch.ends)?)
    }

    fn encode_bytes<S: Sink>(&self, bytes: &[u8], run: &mut Run<'_, '_>, sink: &mut S) -> Result<()> {
        if !self.description.is_byte_level() {
            let at = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            return Err(Error::argument(format!(
                "the bytes are not UTF-8 (byte {at}), and the vocabulary is made of characters; decode them first"
            )));
        }
        let mut at = 0;
        let mut invalid_from = 0;
        let invalid = |from: usize, to: usize, run: &mut Run<'_, '_>, sink: &mut S| {
            run.ticker.spend(to - from)?;
            let pretoken = (&bytes[from..to], Origins::Same(from));
            self.encode_one(pretoken, &mut run.worker.scratch, run.ticker, sink)
        };
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                if invalid_from < at {
                    invalid(invalid_from, at, run, sink)?;
                }
                self.encode_text(chunk.valid(), at, run, sink)?;
                at += chunk.valid().len();
                invalid_from = at;
            }
            at += chunk.invalid().len();
        }
        if invalid_from < at {
            invalid(invalid_from, at, run, sink)?;
        }
        Ok(())
    }

    pub(super) fn refuse_special(&self, text: &[u8], special: &Special, watch: &dyn Watch) -> Result<()> {
        if *special != Special::Raise {
            return Ok(());
        }
        let found = self.parts.special.search(text).next(0, &mut Ticker::new(watch))?;
        let Some((index, span)) = found else { return Ok(()) };
        let token = self.vocabulary().added().iter().filter(|token| token.is_special).nth(index);
        Err(Kind::SpecialToken {
            token: token.map(|token| token.content.clone()).unwrap_or_default(),
            position: Some(Place::Byte(span.start)),
            reason:
                "text may not hold special tokens here; pass special=\"text\" to read it as plain text, or \
                     special=\"parse\" to recognise it"
                    .to_owned(),
        }
        .into())
    }
}
