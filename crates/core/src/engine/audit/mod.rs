//! An audit: how the cost of each stage may grow with the text, and the text for which it grows fastest.
//!
//! In: an engine and a time limit. Out: for each stage its guarantee and the worst text that was found. Texts that
//! are known to slow tokenizers down (`texts`) go through the stages at doubling lengths, and the cost of each
//! stage is measured (`measure`). The report has the text with the steepest growth (`series`) and what follows from
//! the structure of the stage (`guarantee`). An audit never changes the engine.
//!
//! A slope is computed from counted work where a stage counts its work, so it is the same on every machine. If time
//! grows clearly faster than the count in two measurements, the slope of time is reported instead.
mod guarantee;
mod measure;
mod series;
#[cfg(test)]
mod tests;
mod texts;

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

pub use self::guarantee::Guarantee;
use self::measure::{Costs, Effort, Limited, Pass, STAGES};
pub use self::series::Measure;
use self::series::{Series, is_failure};
use self::texts::Hostile;
use super::Engine;
use crate::error::{Error, Result};
use crate::watch::Watch;

/// How long an audit takes, and how long its texts get.
#[derive(Debug, Clone, Copy)]
pub struct AuditOptions {
    /// Stop after about this time. A text that is being measured then is stopped when it next polls the watch.
    pub time: Duration,
    /// The most bytes of a text.
    pub max_bytes: usize,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { time: Duration::from_secs(3), max_bytes: 64 << 10 }
    }
}

/// The findings about one stage.
#[derive(Debug)]
pub struct StageAudit {
    /// What the stage does.
    pub stage: &'static str,
    /// How the stage does that in this tokenizer, as [`Engine::plan`] says.
    pub path: String,
    /// How its time grows at worst.
    pub guarantee: Guarantee,
    /// What about this tokenizer decides that.
    pub reason: String,
    /// How many texts were tried on it; 0 if the tokenizer has no such stage.
    pub texts: usize,
    /// The worst of these texts.
    pub worst: Option<Worst>,
}

/// The text with the steepest growth.
#[derive(Debug)]
pub struct Worst {
    /// What kind of text it is.
    pub kind: &'static str,
    /// The text at the greatest length that was tried.
    pub text: String,
    /// d log cost / d log length over the last two doublings; `None` if the stage failed before it could be
    /// measured.
    pub slope: Option<f64>,
    /// Whether the slope is one of work or of time.
    pub measure: Option<Measure>,
    /// Time for each byte of the longest text that was measured.
    pub nanoseconds_per_byte: Option<f64>,
    /// The error of the stage for this text, if it failed.
    pub error: Option<String>,
}

/// The shortest length that is measured: shorter texts say nothing about growth.
const SHORTEST: usize = 256;

/// The permitted values of `max_bytes`.
const MAX_BYTES: RangeInclusive<usize> = 16 * SHORTEST..=1 << 30;

/// Precise enough to compare kinds of text.
const QUICK: Effort = Effort { enough: Duration::from_millis(2), runs: 3 };
/// Precise enough to report a time.
const CAREFUL: Effort = Effort { enough: Duration::from_millis(20), runs: 9 };
/// At most this many kinds of text are measured again for each stage.
const MAX_REPEATS: usize = 32;

/// One kind of text, and its costs in each stage.
struct Tried {
    hostile: Hostile,
    series: [Series; STAGES],
    /// The greatest length that was tried.
    bytes: usize,
}

impl Engine {
    /// The guarantee of each stage, in the order of [`Engine::plan`], and the worst text that was
    /// found for it.
    ///
    /// # Errors
    /// An argument error for options under which nothing can be measured; cancellation by the watch. An error that
    /// a text causes is a finding. Cost: about the time that the options allow.
    pub fn audit(&self, options: AuditOptions, watch: &dyn Watch) -> Result<Vec<StageAudit>> {
        let AuditOptions { time, max_bytes } = options;
        if !MAX_BYTES.contains(&max_bytes) {
            let (least, most) = MAX_BYTES.into_inner();
            return Err(Error::argument(format!(
                "max_bytes is {max_bytes}; it must be from {least} to {most}, so that growth can be seen"
            )));
        }
        let start = Instant::now();
        let until = start.checked_add(time).ok_or_else(|| Error::argument("seconds are too many"))?;
        let lengths = Lengths { all: lengths(max_bytes), share: time / 24 };
        let mut all = Vec::new();
        for hostile in texts::all(self) {
            // A third of the time is left to measure the worst texts again.
            if start.elapsed() > time / 3 * 2 {
                break;
            }
            all.push(self.try_text(hostile, &lengths, until, watch)?);
        }
        let mut findings = Vec::with_capacity(STAGES);
        let promises = self.promises()?;
        for (stage, (step, (guarantee, reason))) in self.plan().into_iter().zip(promises).enumerate() {
            self.measure_worst_again(stage, &mut all, lengths.share, until, watch)?;
            let tried = || all.iter().filter(|tried| tried.series[stage].has_result());
            let worst = |doubtful: bool| {
                let tried = tried().filter(|tried| doubtful || !tried.series[stage].is_doubtful());
                tried.max_by(|a, b| a.series[stage].compare(&b.series[stage]))
            };
            let worst = worst(false).or_else(|| worst(true)).map(|tried| tried.worst(stage));
            let texts = tried().count();
            let (stage, path) = (step.stage, step.path);
            findings.push(StageAudit { stage, path, guarantee, reason, texts, worst });
        }
        Ok(findings)
    }

    fn try_text(
        &self,
        hostile: Hostile,
        lengths: &Lengths,
        until: Instant,
        watch: &dyn Watch,
    ) -> Result<Tried> {
        let mut tried = Tried { hostile, series: Default::default(), bytes: 0 };
        tried.grow(lengths, until, watch, |text, limited| Pass::run(self, text, limited, QUICK, None))?;
        Ok(tried)
    }

    /// Measures the worst kind of text of a stage again, as long as its slope is one of time and was measured only
    /// once.
    fn measure_worst_again(
        &self,
        stage: usize,
        all: &mut [Tried],
        share: Duration,
        until: Instant,
        watch: &dyn Watch,
    ) -> Result<()> {
        for _ in 0..MAX_REPEATS {
            let worst = all.iter_mut().max_by(|a, b| a.series[stage].compare(&b.series[stage]));
            let Some(worst) = worst.filter(|worst| worst.series[stage].is_doubtful()) else { break };
            if Instant::now() >= until {
                break;
            }
            // These lengths are known to fit into the time of one kind; many runs of them take longer.
            let lengths = Lengths { all: worst.series[stage].lengths(), share: share * 16 };
            let mut again = Tried { hostile: worst.hostile.clone(), series: Default::default(), bytes: 0 };
            again.grow(&lengths, until, watch, |text, limited| {
                Pass::run(self, text, limited, CAREFUL, Some(stage))
            })?;
            let [.., series] = &mut again.series[..=stage] else { break };
            worst.series[stage].refine(std::mem::take(series));
        }
        Ok(())
    }
}

/// The lengths at which a kind of text is tried, and how long one kind may take.
struct Lengths {
    all: Vec<usize>,
    share: Duration,
}

/// Doubling lengths up to the greatest.
fn lengths(max_bytes: usize) -> Vec<usize> {
    let halves = std::iter::successors(Some(max_bytes), |&bytes| Some(bytes / 2));
    let mut lengths: Vec<usize> = halves.take_while(|&bytes| bytes >= SHORTEST).collect();
    lengths.reverse();
    lengths
}

impl Tried {
    /// Tries a kind of text at growing lengths, until its time is up or the stage fails.
    fn grow(
        &mut self,
        lengths: &Lengths,
        until: Instant,
        watch: &dyn Watch,
        mut pass: impl FnMut(&str, &Limited<'_>) -> Result<Costs>,
    ) -> Result<()> {
        let limited = Limited::new(watch, until.min(Instant::now() + lengths.share));
        let start = Instant::now();
        for &bytes in &lengths.all {
            watch.poll()?;
            // Quadratic work takes four times as long at twice the length.
            if start.elapsed() > lengths.share / 4 {
                break;
            }
            let text = self.hostile.text(bytes);
            self.bytes = bytes;
            let costs = pass(&text, &limited)?;
            let mut has_failed = false;
            for (series, cost) in self.series.iter_mut().zip(costs) {
                match cost {
                    Some(Ok(cost)) => series.costs.push(cost),
                    Some(Err(error)) => {
                        has_failed |= is_failure(&error);
                        series.error = Some(error);
                    }
                    None => {}
                }
            }
            if has_failed || limited.is_late() {
                break;
            }
        }
        Ok(())
    }

    fn worst(&self, stage: usize) -> Worst {
        let series = &self.series[stage];
        let (slope, measure) = series.slope().unzip();
        let longest = series.costs.last().map_or(0, |cost| cost.bytes);
        let bytes = if series.error.is_some() { self.bytes } else { longest };
        Worst {
            kind: self.hostile.kind,
            text: self.hostile.text(bytes),
            slope,
            measure,
            nanoseconds_per_byte: series.nanoseconds(),
            error: series.error.as_ref().map(Error::to_string),
        }
    }
}
