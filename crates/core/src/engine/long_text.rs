//! One long text on several threads.
use crate::error::Result;
use crate::span::Span;
use crate::special::TextPart;
use crate::threads;
use crate::watch::{Ticker, Watch};

use super::Engine;
use super::pipeline::{ById, Run};
use super::recognizer::Recognizer;
use super::sink::IdSink;

/// The size of a unit of work in bytes: several units a thread, so that none waits long for another, and small enough that its
/// ids are still in the processor's cache when they are joined to the others.
pub(super) fn size_of_units(length: usize, threads: usize) -> usize {
    (length / (threads * 4)).clamp(threads::BYTES_PER_THREAD / 2, 2 * threads::BYTES_PER_THREAD)
}

impl Engine {
    /// May a text be cut and its parts be encoded apart? Only where nothing but a split looks at
    /// more than one pretoken.
    pub(super) fn may_be_cut(&self) -> bool {
        self.splitter().is_some() && self.stages.added_in_raw.is_plain()
    }

    /// One long text on several threads: its ordinary segments are cut where the split certainly
    /// cuts them. Returns `done(number, sink)` of each unit, in order.
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
                let mut run = Run { engine: self, recognizer, worker, ticker: &mut ticker };
                run.encode_text(&text[span.start..span.end], span.start, &mut ById(&mut sink))
            })?;
            Ok(done(unit, sink))
        })
    }

    /// Spans of about `size` bytes that may be encoded apart: they tile the text.
    fn units(
        &self,
        text: &str,
        recognizer: &Recognizer<'_>,
        size: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Span>> {
        let Some(splitter) = self.splitter() else { return Ok(vec![Span::new(0, text.len())]) };
        let mut units = Vec::new();
        let mut start = 0;
        let ticker = &mut Ticker::new(watch);
        recognizer.for_each_part(&recognizer.in_raw, text, ticker, |segment, ticker| {
            match segment {
                // A literal may always begin a unit, and one that is long enough ends here.
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
                        let Some(cut) = splitter.safe_cut(ordinary, from - span.start) else {
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
}
