//! Text to ids: cut out added tokens, split what is between them, run the model.
use crate::error::{Error, Kind, Place, Result};
use crate::ids::TokenId;
use crate::parallel;
use crate::span::Span;
use crate::special::{LiteralMatcher, Segment};
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::worker::Worker;

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

/// Where ids go.
pub(super) trait Sink {
    /// The ids of one pretoken or added token, which stands at `span` of the text.
    fn take(&mut self, span: Span, ids: &[TokenId]);
}

impl Sink for Vec<TokenId> {
    #[inline]
    fn take(&mut self, _span: Span, ids: &[TokenId]) {
        self.extend_from_slice(ids);
    }
}

/// A sink that only counts.
#[derive(Default)]
pub(super) struct Counter(pub(super) usize);

impl Sink for Counter {
    #[inline]
    fn take(&mut self, _span: Span, ids: &[TokenId]) {
        self.0 += ids.len();
    }
}

/// The literals that a call recognises, and the ids they stand for.
pub(super) struct Literals<'a> {
    matcher: std::borrow::Cow<'a, LiteralMatcher>,
    ids: Vec<TokenId>,
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
            && let Text::Str(text) = text
        {
            let parts = self.encode_on_threads(text, special, threads, watch, Vec::new)?;
            ids.reserve_exact(parts.iter().map(Vec::len).sum());
            for part in &parts {
                ids.extend_from_slice(part);
            }
            return Ok(());
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
            && let Text::Str(text) = text
        {
            let parts = self.encode_on_threads(text, special, threads, watch, Counter::default)?;
            return Ok(parts.iter().map(|part| part.0).sum());
        }
        let mut counter = Counter::default();
        self.encode_into(text, special, watch, &mut counter)?;
        Ok(counter.0)
    }

    /// Encodes into any sink, on this thread.
    pub(super) fn encode_into(
        &self,
        text: Text<'_>,
        special: &Special,
        watch: &dyn Watch,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.refuse_special(text.as_bytes(), special, watch)?;
        let literals = self.literals(special)?;
        let mut ticker = Ticker::new(watch);
        self.workers.with(|worker| match text.known() {
            Text::Str(text) => self.encode_text(text, 0, &literals, worker, &mut ticker, sink),
            Text::Bytes(bytes) => self.encode_bytes(bytes, &literals, worker, &mut ticker, sink),
        })
    }

    fn encode_text(
        &self,
        text: &str,
        base: usize,
        literals: &Literals<'_>,
        worker: &mut Worker,
        ticker: &mut Ticker<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        literals.matcher.for_each_segment(text.as_bytes(), ticker, |segment, ticker| match segment {
            Segment::Literal(index, span) => {
                sink.take(Span::new(base + span.start, base + span.end), &[literals.ids[index]]);
                Ok(())
            }
            Segment::Ordinary(span) => {
                let ordinary = &text[span.start..span.end];
                self.encode_ordinary(ordinary, base + span.start, worker, ticker, sink)
            }
        })
    }

    /// Text without added tokens in it; `base` is where it starts in the caller's text.
    fn encode_ordinary(
        &self,
        text: &str,
        base: usize,
        worker: &mut Worker,
        ticker: &mut Ticker<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let split = self.parts.splitter.for_each(text, |span| {
            ticker.spend(self.parts.splitter.work(span.len()) - span.len())?;
            self.encode_pretoken(span.of(text.as_bytes()), base + span.start, worker, ticker, sink)
        });
        split.map_err(|error| error.of_split_at(Some(base)))
    }

    #[inline]
    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        at: usize,
        worker: &mut Worker,
        ticker: &mut Ticker<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        ticker.spend(pretoken.len())?;
        worker.scratch.ids.clear();
        self.parts.model.encode(pretoken, at, &self.parts.vocabulary, &mut worker.scratch, ticker)?;
        sink.take(Span::new(at, at + pretoken.len()), &worker.scratch.ids);
        Ok(())
    }

    fn encode_bytes(
        &self,
        bytes: &[u8],
        literals: &Literals<'_>,
        worker: &mut Worker,
        ticker: &mut Ticker<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if self.description.model.alphabet != crate::description::Alphabet::Bytes {
            let at = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            return Err(Error::argument(format!(
                "the bytes are not UTF-8 (byte {at}), and the vocabulary is made of characters; decode them first"
            )));
        }
        let mut at = 0;
        let mut invalid_from = 0;
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                if invalid_from < at {
                    self.encode_pretoken(&bytes[invalid_from..at], invalid_from, worker, ticker, sink)?;
                }
                self.encode_text(chunk.valid(), at, literals, worker, ticker, sink)?;
                at += chunk.valid().len();
                invalid_from = at;
            }
            at += chunk.invalid().len();
        }
        if invalid_from < at {
            self.encode_pretoken(&bytes[invalid_from..at], invalid_from, worker, ticker, sink)?;
        }
        Ok(())
    }

    /// One long text on several threads: its ordinary segments are cut where the split certainly
    /// cuts them, and the parts come back in order.
    fn encode_on_threads<S: Sink + Send>(
        &self,
        text: &str,
        special: &Special,
        threads: usize,
        watch: &dyn Watch,
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<S>> {
        self.refuse_special(text.as_bytes(), special, watch)?;
        let literals = self.literals(special)?;
        // Several units a thread, so that none waits long for another.
        let size = (text.len() / (threads * 4)).max(parallel::BYTES_PER_THREAD / 2);
        let units = self.units(text, &literals, size, watch)?;
        parallel::run(units.len(), threads, watch, |unit, watch| {
            let mut sink = sink();
            let mut ticker = Ticker::new(watch);
            let span = units[unit];
            self.workers.with(|worker| {
                self.encode_text(
                    &text[span.start..span.end],
                    span.start,
                    &literals,
                    worker,
                    &mut ticker,
                    &mut sink,
                )
            })?;
            Ok(sink)
        })
    }

    /// Spans of about `size` bytes that may be encoded apart: they tile the text.
    fn units(
        &self,
        text: &str,
        literals: &Literals<'_>,
        size: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Span>> {
        let mut units = Vec::new();
        let mut start = 0;
        literals.matcher.for_each_segment(text.as_bytes(), &mut Ticker::new(watch), |segment, ticker| {
            match segment {
                // A literal may always begin a unit, and one that is long enough ends here.
                Segment::Literal(_, span) => {
                    if span.start - start >= size {
                        units.push(Span::new(start, span.start));
                        start = span.start;
                    }
                }
                Segment::Ordinary(span) => {
                    let ordinary = &text[span.start..span.end];
                    let mut from = span.start.max(start + size);
                    while from < span.end {
                        let Some(cut) = self.parts.splitter.safe_cut(ordinary, from - span.start) else {
                            break;
                        };
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

    fn refuse_special(&self, text: &[u8], special: &Special, watch: &dyn Watch) -> Result<()> {
        if *special != Special::Raise {
            return Ok(());
        }
        let found = self.parts.special.find_watched(text, 0, &mut Ticker::new(watch))?;
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

    /// The literals that a call recognises under a policy. Added tokens that are not special
    /// belong to the vocabulary and are always among them.
    pub(super) fn literals(&self, special: &Special) -> Result<Literals<'_>> {
        use std::borrow::Cow;
        let added = self.vocabulary().added();
        let ids = |keep: &dyn Fn(&crate::description::AddedToken) -> bool| {
            added.iter().filter(|token| keep(token)).map(|token| token.id).collect::<Vec<_>>()
        };
        Ok(match special {
            Special::Text | Special::Raise => Literals {
                matcher: Cow::Borrowed(&self.parts.ordinary_added),
                ids: ids(&|token| !token.is_special),
            },
            Special::Parse => Literals { matcher: Cow::Borrowed(&self.parts.all_added), ids: ids(&|_| true) },
            Special::Only(allowed) => {
                let known = |content: &String| {
                    added.iter().any(|token| token.is_special && token.content == *content)
                };
                if let Some(unknown) = allowed.iter().find(|content| !known(content)) {
                    return Err(Error::special(unknown.clone(), "is not a special token of this tokenizer"));
                }
                let keep = |token: &crate::description::AddedToken| {
                    !token.is_special || allowed.contains(&token.content)
                };
                let contents = added.iter().filter(|token| keep(token)).map(|token| token.content.as_str());
                Literals { matcher: Cow::Owned(LiteralMatcher::new(contents)?), ids: ids(&keep) }
            }
        })
    }
}
