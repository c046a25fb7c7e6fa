//! What the stages cost for one text: the work that their own code counts, and the time it takes.
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokenmill_kernels::short_table::{self, INLINE};
use tokenmill_kernels::thread_time;

use crate::aligned::{AlignedText, Rewritten};
use crate::error::{Error, Kind, Result};
use crate::ids::TokenId;
use crate::model::Scratch;
use crate::pattern::Plan;
use crate::special::TextPart;
use crate::watch::{Ticker, Watch, cancelled};

use super::super::lookup::{CacheBudget, PretokenCache, key_of};
use super::super::recognizer::Recognizer;
use super::super::{AddedSet, DecodeOptions, Engine, Special, Stages};

/// The stages, in the order of a plan.
pub(super) const STAGES: usize = 6;
const ADDED: usize = 0;
const NORMALIZATION: usize = 1;
const SPLIT: usize = 2;
const LOOK_UP: usize = 3;
const MODEL: usize = 4;
const DECODING: usize = 5;

/// What one stage cost for one text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Bytes of the text.
    pub(super) bytes: usize,
    /// As a [`Ticker`] counts it.
    pub(super) work: usize,
    /// Of this thread, in the shortest of some runs.
    pub(super) time: Duration,
}

/// The caller's watch, and a moment at which this text has had its time.
pub(super) struct Limited<'a> {
    watch: &'a dyn Watch,
    until: Instant,
    is_late: AtomicBool,
}

impl<'a> Limited<'a> {
    pub(super) fn new(watch: &'a dyn Watch, until: Instant) -> Self {
        Self { watch, until, is_late: AtomicBool::new(false) }
    }

    pub(super) fn is_late(&self) -> bool {
        self.is_late.load(Relaxed) || Instant::now() >= self.until
    }
}

impl Watch for Limited<'_> {
    fn poll(&self) -> Result<()> {
        self.watch.poll()?;
        if Instant::now() < self.until {
            return Ok(());
        }
        self.is_late.store(true, Relaxed);
        Err(cancelled())
    }

    fn progress(&self, _phase: &'static str, _done: u64, _total: u64) {}
}

/// A moment of this thread's own time, which stands still while the machine does something else; of the
/// clock, where the system has no such time.
struct Moment {
    thread: Option<Duration>,
    clock: Instant,
}

impl Moment {
    fn now() -> Self {
        Self { thread: thread_time(), clock: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        match (self.thread, thread_time()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => self.clock.elapsed(),
        }
    }
}

/// How often a stage is run: until this long was spent, and so often at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Care {
    pub(super) enough: Duration,
    pub(super) runs: usize,
}

/// What a text did to each stage. `None`: there is no such stage, or the text did not come so far.
pub(super) type Costs = [Option<Result<Cost>>; STAGES];

/// Sends one text through all stages; each gets what the one before made of it.
pub(super) struct Pass<'a> {
    engine: &'a Engine,
    text: &'a str,
    watch: &'a Limited<'a>,
    care: Care,
    /// The one stage that is measured, where it is not all of them.
    only: Option<usize>,
    costs: Costs,
}

/// Pretokens, or their ids, one behind the other, and where each ends.
#[derive(Debug)]
struct Rows<T> {
    all: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { all: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Copy> Rows<T> {
    fn push(&mut self, row: &[T]) {
        self.all.extend_from_slice(row);
        self.ends.push(self.all.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[T]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.all[start..end])
    }
}

/// Is this a wish to stop, whoever has it?
fn is_stop(error: &Error) -> bool {
    matches!(error.kind, Kind::Cancelled | Kind::Raised { is_interrupt: true, .. })
}

impl<'a> Pass<'a> {
    /// The costs of a text.
    ///
    /// # Errors
    /// The wish to stop of the caller's watch, or of a hook; what else goes wrong is among the costs.
    pub(super) fn run(
        engine: &'a Engine,
        text: &'a str,
        watch: &'a Limited<'a>,
        care: Care,
        only: Option<usize>,
    ) -> Result<Costs> {
        let mut pass = Self { engine, text, watch, care, only, costs: Default::default() };
        match pass.stages() {
            Err(error) if matches!(error.kind, Kind::Cancelled) && watch.is_late.load(Relaxed) => {
                Ok(pass.costs)
            }
            done => done.map(|_| pass.costs),
        }
    }

    /// `None` where those behind a stage have nothing to do, as it failed or left nothing.
    fn stages(&mut self) -> Result<Option<()>> {
        let recognizer = self.engine.recognizer(&Special::Parse)?;
        let whole = [AlignedText::original(self.text, 0)];
        let Some(pieces) = self.find_added(&recognizer, &recognizer.in_raw, &whole)? else { return Ok(None) };
        let Some(normalized) = self.normalize(&pieces)? else { return Ok(None) };
        let normalized: Vec<AlignedText<'_>> =
            normalized.iter().map(|(text, at)| AlignedText::original(text, *at)).collect();
        let Some(pieces) = self.find_added(&recognizer, &recognizer.in_normalized, &normalized)? else {
            return Ok(None);
        };
        let Some(pretokens) = self.split(&pieces)? else { return Ok(None) };
        let Some(ids) = self.spell(&pretokens)? else { return Ok(None) };
        let Some(()) = self.look_up(&pretokens, &ids)? else { return Ok(None) };
        let engine = self.engine;
        self.measure(DECODING, |ticker| {
            let mut bytes = Vec::new();
            engine.decode_counted(&ids.all, DecodeOptions::default(), ticker, &mut bytes)?;
            black_box(bytes);
            Ok(())
        })
    }

    /// The pieces between the added tokens of a set.
    fn find_added<'t>(
        &mut self,
        recognizer: &Recognizer<'_>,
        set: &AddedSet,
        pieces: &[AlignedText<'t>],
    ) -> Result<Option<Vec<AlignedText<'t>>>> {
        if set.is_empty() || pieces.is_empty() {
            return Ok(Some(pieces.to_vec()).filter(|pieces| !pieces.is_empty()));
        }
        let run = |ticker: &mut Ticker<'_>, found: &mut Vec<AlignedText<'t>>| {
            pieces.iter().try_for_each(|piece| {
                recognizer.for_each_part(set, piece.text, ticker, |segment, _| {
                    if let TextPart::Ordinary(span) = segment {
                        found.push(piece.slice(span));
                    }
                    Ok(())
                })
            })
        };
        let Some(()) = self.measure(ADDED, |ticker| run(ticker, &mut Vec::new()))? else { return Ok(None) };
        let mut found = Vec::new();
        let done = run(&mut Ticker::new(self.watch), &mut found);
        Ok(self.keep(ADDED, done.map(|()| found))?.filter(|found| !found.is_empty()))
    }

    /// Each piece as it is normalized, and where it came from.
    fn normalize(&mut self, pieces: &[AlignedText<'_>]) -> Result<Option<Vec<(String, usize)>>> {
        let normalizers = &self.engine.stages.normalizers;
        let mut buffers = <[Rewritten; 2]>::default();
        let mut run = |ticker: &mut Ticker<'_>, take: &mut dyn FnMut(&str, usize)| {
            pieces.iter().try_for_each(|&piece| {
                ticker.spend(piece.text.len())?;
                let normalized = normalizers.apply(piece, &mut buffers, ticker)?;
                take(normalized.text, piece.span().start);
                Ok(())
            })
        };
        if !normalizers.is_empty() {
            let measured = self.measure(NORMALIZATION, |ticker| {
                run(ticker, &mut |text, _| {
                    black_box(text);
                })
            })?;
            if measured.is_none() {
                return Ok(None);
            }
        }
        let mut normalized = Vec::new();
        let done = run(&mut Ticker::new(self.watch), &mut |text, at| normalized.push((text.to_owned(), at)));
        self.keep(NORMALIZATION, done.map(|()| normalized))
    }

    fn split(&mut self, pieces: &[AlignedText<'_>]) -> Result<Option<Rows<u8>>> {
        let parts = &self.engine.stages;
        let mut buffers = Vec::new();
        let is_whole = parts.splitter.as_ref().is_some_and(|splitter| splitter.plan() == Plan::Whole);
        if !is_whole {
            let measured = self.measure(SPLIT, |ticker| {
                for_each_pretoken(parts, (pieces, &mut buffers), ticker, |pretoken| {
                    black_box(pretoken);
                })
            })?;
            if measured.is_none() {
                return Ok(None);
            }
        }
        let mut pretokens = Rows::default();
        let done =
            for_each_pretoken(parts, (pieces, &mut buffers), &mut Ticker::new(self.watch), |pretoken| {
                pretokens.push(pretoken);
            });
        Ok(self.keep(SPLIT, done.map(|()| pretokens))?.filter(|pretokens| !pretokens.ends.is_empty()))
    }

    /// The ids of each pretoken, as if none was known.
    fn spell(&mut self, pretokens: &Rows<u8>) -> Result<Option<Rows<TokenId>>> {
        let parts = &self.engine.stages;
        let mut scratch = Scratch::default();
        let mut run = |ticker: &mut Ticker<'_>, take: &mut dyn FnMut(&[TokenId])| {
            pretokens.iter().try_for_each(|pretoken| {
                ticker.spend(pretoken.len())?;
                parts.model.encode(pretoken, &parts.vocabulary, &mut scratch, ticker)?;
                take(&scratch.ids);
                Ok(())
            })
        };
        let measured = self.measure(MODEL, |ticker| {
            run(ticker, &mut |ids| {
                black_box(ids);
            })
        })?;
        if measured.is_none() {
            return Ok(None);
        }
        let mut ids = Rows::default();
        let done = run(&mut Ticker::new(self.watch), &mut |row| ids.push(row));
        self.keep(MODEL, done.map(|()| ids))
    }

    /// Looks pretokens up in the tables that all workers share and in those of a new one, which caches
    /// what it does not find.
    fn look_up(&mut self, pretokens: &Rows<u8>, ids: &Rows<TokenId>) -> Result<Option<()>> {
        let engine = self.engine;
        let (limit, _) = engine.workers.budget().bytes();
        self.measure(LOOK_UP, |ticker| {
            let mut cache = PretokenCache::new(&Arc::new(CacheBudget::new(limit)));
            for (pretoken, ids) in pretokens.iter().zip(ids.iter()) {
                ticker.spend(1)?;
                let key = key_of(pretoken);
                let hash = short_table::hash(key);
                match engine.speller().look_up(key, hash, pretoken, &cache, &mut [0; INLINE]) {
                    Some(known) => _ = black_box(known),
                    None => cache.insert(key, hash, pretoken, ids),
                }
            }
            Ok(())
        })
    }

    /// Runs a stage as often as is asked for and keeps what it cost, or its error. Its buffers are kept
    /// from run to run, as a worker keeps them.
    fn measure(
        &mut self,
        stage: usize,
        run: impl FnMut(&mut Ticker<'_>) -> Result<()>,
    ) -> Result<Option<()>> {
        if self.only.is_some_and(|only| only != stage) {
            return Ok(Some(()));
        }
        let cost = self.cost_of(run);
        let Some(mut cost) = self.keep(stage, cost)? else { return Ok(None) };
        // Two searches are one stage.
        if let Some(Ok(before)) = &self.costs[stage] {
            cost.work += before.work;
            cost.time += before.time;
        }
        self.costs[stage] = Some(Ok(cost));
        Ok(Some(()))
    }

    /// What a stage made; its error is kept with its costs, but for a wish to stop.
    fn keep<T>(&mut self, stage: usize, made: Result<T>) -> Result<Option<T>> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) if is_stop(&error) => Err(error),
            Err(error) => {
                self.costs[stage] = Some(Err(error));
                Ok(None)
            }
        }
    }

    fn cost_of(&self, mut run: impl FnMut(&mut Ticker<'_>) -> Result<()>) -> Result<Cost> {
        let started = Instant::now();
        let (mut time, mut work) = (Duration::MAX, 0);
        for _ in 0..self.care.runs {
            let mut ticker = Ticker::new(self.watch);
            let start = Moment::now();
            run(&mut ticker)?;
            time = time.min(start.elapsed());
            work = ticker.spent();
            if started.elapsed() >= self.care.enough {
                break;
            }
        }
        self.watch.poll()?;
        Ok(Cost { bytes: self.text.len(), work, time })
    }
}

fn for_each_pretoken(
    parts: &Stages,
    (pieces, buffers): (&[AlignedText<'_>], &mut Vec<Rewritten>),
    ticker: &mut Ticker<'_>,
    mut take: impl FnMut(&[u8]),
) -> Result<()> {
    for &piece in pieces {
        match &parts.splitter {
            Some(splitter) => splitter.for_each(piece.text, |span| {
                ticker.spend(splitter.work(span.len()))?;
                take(span.of(piece.text.as_bytes()));
                Ok(())
            })?,
            None => parts.pre_tokenizers.for_each(piece, buffers, ticker, &mut |pretoken, ticker| {
                ticker.spend(pretoken.text.len())?;
                take(pretoken.text.as_bytes());
                Ok(())
            })?,
        }
    }
    Ok(())
}
