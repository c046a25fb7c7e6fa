//! The cost of each stage for one text: the work that its own code counts, and the time of the thread.
//!
//! In: a text. Out: a cost for each stage that the text reaches. Each stage gets the output of the one before. The
//! caches of the engine's workers are never used, so that costs do not depend on earlier calls.
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
use crate::normalize::Normalizers;
use crate::pattern::Plan;
use crate::special::TextPart;
use crate::watch::{Ticker, Watch, cancelled};

use super::super::lookup::{CacheBudget, PretokenCache, key_of};
use super::super::recognizer::{RecognizedSet, Recognizer};
use super::super::{DecodeOptions, Engine, Special, Stages, UntrustedRanges};

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
    /// In the units of a [`Ticker`], about a byte each.
    pub(super) work: usize,
    /// CPU time of the thread, in the shortest of several runs.
    pub(super) time: Duration,
}

/// The caller's watch, with the moment at which the measurement of a text is stopped.
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

/// A moment in the CPU time of this thread, which does not advance while the thread waits; on systems without such
/// a time, a moment of the clock.
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

/// How carefully a stage is measured: it runs at most `runs` times, and not again once `enough` time was spent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) enough: Duration,
    pub(super) runs: usize,
}

/// The cost of each stage. `None` if the engine has no such stage, or the text did not reach it.
pub(super) type Costs = [Option<Result<Cost>>; STAGES];

/// Sends one text through all stages; each gets the output of the one before.
pub(super) struct Pass<'a> {
    engine: &'a Engine,
    text: &'a str,
    watch: &'a Limited<'a>,
    effort: Effort,
    /// The only stage to measure; `None` for all of them.
    only: Option<usize>,
    costs: Costs,
}

/// Pretokens or their ids, joined, and where each ends.
#[derive(Debug)]
struct Rows<T> {
    all: Vec<T>,
    ends: Vec<usize>,
}

/// The output of a stage. It is cleared before each run, which is not measured; its capacity stays.
trait Made: Default {
    fn clear(&mut self);
}

impl<T> Made for Vec<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

impl<T> Made for Rows<T> {
    fn clear(&mut self) {
        self.all.clear();
        self.ends.clear();
    }
}

impl Made for () {
    fn clear(&mut self) {}
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

/// Is this a request to stop, from the watch or from a hook?
fn is_stop(error: &Error) -> bool {
    matches!(error.kind, Kind::Cancelled | Kind::Raised { is_interrupt: true, .. })
}

impl<'a> Pass<'a> {
    /// The costs of a text.
    ///
    /// # Errors
    /// The request to stop of the caller's watch or of a hook; any other error is kept with the costs.
    pub(super) fn run(
        engine: &'a Engine,
        text: &'a str,
        watch: &'a Limited<'a>,
        effort: Effort,
        only: Option<usize>,
    ) -> Result<Costs> {
        let mut pass = Self { engine, text, watch, effort, only, costs: Default::default() };
        match pass.stages() {
            Err(error) if matches!(error.kind, Kind::Cancelled) && watch.is_late.load(Relaxed) => {
                Ok(pass.costs)
            }
            done => done.map(|_| pass.costs),
        }
    }

    /// `None` if a stage fails or leaves nothing for those after it.
    fn stages(&mut self) -> Result<Option<()>> {
        let Engine { stages, .. } = self.engine;
        let recognizer = self.engine.recognizer(&Special::Parse)?;
        let whole = [AlignedText::original(self.text, 0)];
        let Some(pieces) = self.find_added(&recognizer, &recognizer.in_raw, &whole)? else { return Ok(None) };
        let Some(normalized) = self.normalize(&stages.normalizers, &pieces)? else { return Ok(None) };
        let normalized: Vec<AlignedText<'_>> =
            normalized.iter().map(|(text, at)| AlignedText::original(text, *at)).collect();
        let Some(pieces) = self.find_added(&recognizer, &recognizer.in_normalized, &normalized)? else {
            return Ok(None);
        };
        let Some(pretokens) = self.split(stages, &pieces)? else { return Ok(None) };
        let Some(ids) = self.spell(stages, &pretokens)? else { return Ok(None) };
        // No later stage needs the output of the last two.
        if self.only.is_some_and(|only| only != LOOK_UP && only != DECODING) {
            return Ok(Some(()));
        }
        let Some(()) = self.look_up(&pretokens, &ids)? else { return Ok(None) };
        let engine = self.engine;
        let bytes = self.run_stage(DECODING, true, |ticker, bytes: &mut Vec<u8>| {
            engine.decode_counted(&ids.all, DecodeOptions::default(), ticker, bytes)
        })?;
        Ok(bytes.map(drop))
    }

    /// The pieces between the added tokens of a set.
    fn find_added<'t>(
        &mut self,
        recognizer: &Recognizer<'_>,
        recognized: &RecognizedSet<'_>,
        pieces: &[AlignedText<'t>],
    ) -> Result<Option<Vec<AlignedText<'t>>>> {
        let found = if recognized.set().is_empty() {
            Some(pieces.to_vec())
        } else {
            self.run_stage(ADDED, true, |ticker, found: &mut Vec<AlignedText<'t>>| {
                pieces.iter().try_for_each(|piece| {
                    recognizer.for_each_part(
                        recognized,
                        *piece,
                        UntrustedRanges::none(),
                        ticker,
                        |part, _| {
                            if let TextPart::Ordinary(span) = part {
                                found.push(piece.slice(span));
                            }
                            Ok(())
                        },
                    )
                })
            })?
        };
        Ok(found.filter(|found| !found.is_empty()))
    }

    /// Each piece as it is normalized, and where it came from.
    fn normalize(
        &mut self,
        normalizers: &Normalizers,
        pieces: &[AlignedText<'_>],
    ) -> Result<Option<Vec<(String, usize)>>> {
        let mut buffers = <[Rewritten; 2]>::default();
        let has_steps = !normalizers.is_empty();
        self.run_stage(NORMALIZATION, has_steps, |ticker, normalized: &mut Vec<(String, usize)>| {
            pieces.iter().try_for_each(|&piece| {
                ticker.spend(piece.text.len())?;
                let text = normalizers.apply(piece, &mut buffers, ticker)?.text.to_owned();
                normalized.push((text, piece.span().start));
                Ok(())
            })
        })
    }

    fn split(&mut self, stages: &Stages, pieces: &[AlignedText<'_>]) -> Result<Option<Rows<u8>>> {
        let mut buffers = Vec::new();
        let is_whole = stages.splitter.as_ref().is_some_and(|splitter| splitter.plan() == Plan::Whole);
        let pretokens = self.run_stage(SPLIT, !is_whole, |ticker, pretokens: &mut Rows<u8>| {
            pieces.iter().try_for_each(|&piece| match &stages.splitter {
                Some(splitter) => splitter.for_each(piece.text, |span| {
                    ticker.spend(splitter.work(span.len()))?;
                    pretokens.push(span.of(piece.text.as_bytes()));
                    Ok(())
                }),
                None => {
                    stages.pre_tokenizers.for_each(piece, &mut buffers, ticker, &mut |pretoken, ticker| {
                        ticker.spend(pretoken.text.len())?;
                        pretokens.push(pretoken.text.as_bytes());
                        Ok(())
                    })
                }
            })
        })?;
        Ok(pretokens.filter(|pretokens| !pretokens.ends.is_empty()))
    }

    /// The ids of each pretoken, spelled by the model without a cache.
    fn spell(&mut self, stages: &Stages, pretokens: &Rows<u8>) -> Result<Option<Rows<TokenId>>> {
        let mut scratch = Scratch::default();
        self.run_stage(MODEL, true, |ticker, ids: &mut Rows<TokenId>| {
            pretokens.iter().try_for_each(|pretoken| {
                ticker.spend(pretoken.len())?;
                stages.model.encode(pretoken, &stages.vocabulary, &mut scratch, ticker)?;
                ids.push(&scratch.ids);
                Ok(())
            })
        })
    }

    /// Looks pretokens up in the static table and in an empty cache, which admits what it does not find.
    fn look_up(&mut self, pretokens: &Rows<u8>, ids: &Rows<TokenId>) -> Result<Option<()>> {
        let engine = self.engine;
        let (limit, _) = engine.workers.budget().bytes();
        self.run_stage(LOOK_UP, true, |ticker, (): &mut ()| {
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

    /// Runs a stage and returns its output; `None` if it failed. A stage that is measured runs several times, and
    /// its cost or its error is kept.
    fn run_stage<T: Made>(
        &mut self,
        stage: usize,
        is_measured: bool,
        mut run: impl FnMut(&mut Ticker<'_>, &mut T) -> Result<()>,
    ) -> Result<Option<T>> {
        let mut made = T::default();
        if !is_measured || self.only.is_some_and(|only| only != stage) {
            let done = run(&mut Ticker::new(self.watch), &mut made);
            return Ok(self.keep(stage, done)?.map(|()| made));
        }
        let cost = self.cost_of(&mut made, run);
        let Some(mut cost) = self.keep(stage, cost)? else { return Ok(None) };
        // The two searches for added tokens count as one stage.
        if let Some(Ok(before)) = &self.costs[stage] {
            cost.work += before.work;
            cost.time += before.time;
        }
        self.costs[stage] = Some(Ok(cost));
        Ok(Some(made))
    }

    /// The output of a stage. Its error is kept with the costs, unless it is a request to stop.
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

    fn cost_of<T: Made>(
        &self,
        made: &mut T,
        mut run: impl FnMut(&mut Ticker<'_>, &mut T) -> Result<()>,
    ) -> Result<Cost> {
        let started = Instant::now();
        let (mut time, mut work) = (Duration::MAX, 0);
        for _ in 0..self.effort.runs {
            let mut ticker = Ticker::new(self.watch);
            made.clear();
            let start = Moment::now();
            run(&mut ticker, made)?;
            time = time.min(start.elapsed());
            work = ticker.spent();
            if started.elapsed() >= self.effort.enough {
                break;
            }
        }
        self.watch.poll()?;
        Ok(Cost { bytes: self.text.len(), work, time })
    }
}
