//! Documents into counted pretokens: what training does before it learns.
//!
//! In: documents, in batches. Out: [`PretokenCounts`], and figures of what was read.
use std::time::{Duration, Instant};

use super::count::Counter;
use super::cutter::Cutter;
use super::options::TrainOptions;
use super::pretokens::{CorpusFigures, PretokenCounts};
use super::types::Types;
use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::normalize::Normalizers;
use crate::special::LiteralMatcher;
use crate::watch::{Ticker, Watch};

/// Counts the pretokens of documents as they arrive.
#[derive(Debug)]
pub struct PretokenCounter {
    counter: Counter,
    num_threads: usize,
    documents: u64,
    /// Time spent so far.
    pub(super) counting: Duration,
    /// Was a batch counted only in part?
    broken: bool,
}

impl PretokenCounter {
    /// A counter that reads as training with these options does: normalizer, what cuts text, special tokens and threads
    /// matter, and what is learned does not.
    ///
    /// # Errors
    /// As [`Trainer::new`](super::Trainer::new).
    pub fn new(options: &TrainOptions) -> Result<Self> {
        options.check()?;
        let normalizers =
            Normalizers::compile(&options.normalizer, &Hooks::default()).map_err(|e| e.at("normalizer"))?;
        let cutter = Cutter::compile(options)?;
        let literals = LiteralMatcher::new(options.cut_out())?;
        Ok(Self {
            counter: Counter::new(normalizers, cutter, literals, options.is_by_first_seen()),
            num_threads: options.num_threads,
            documents: 0,
            counting: Duration::ZERO,
            broken: false,
        })
    }

    /// Adds a pretoken with any count, for tests.
    #[cfg(test)]
    pub(super) fn add(&mut self, pretoken: &str, count: u64) -> Result<()> {
        self.counter.add(pretoken, count)
    }

    /// Counts a batch of documents, as [`Trainer::feed_weighted`](super::Trainer::feed_weighted).
    ///
    /// # Errors
    /// As there.
    pub fn feed_weighted(&mut self, documents: &[&str], weights: &[u64], watch: &dyn Watch) -> Result<()> {
        let threads = self.num_threads;
        self.read(documents, weights, |counter| counter.feed(documents, weights, threads, watch))
    }

    /// Reads a batch of documents in some way.
    pub(super) fn read(
        &mut self,
        documents: &[&str],
        weights: &[u64],
        work: impl FnOnce(&mut Counter) -> Result<()>,
    ) -> Result<()> {
        self.check_whole()?;
        if !weights.is_empty() && (weights.len() != documents.len() || weights.contains(&0)) {
            return Err(Error::training("each document needs a weight of at least 1"));
        }
        let start = Instant::now();
        self.broken = true;
        work(&mut self.counter)?;
        self.broken = false;
        self.counting += start.elapsed();
        let more = if weights.is_empty() {
            documents.len() as u64
        } else {
            weights.iter().fold(0, |all: u64, &n| all.saturating_add(n))
        };
        self.documents = self.documents.saturating_add(more);
        Ok(())
    }

    /// Is no batch counted only in part?
    pub(super) fn check_whole(&self) -> Result<()> {
        if self.broken {
            return Err(Error::training("an earlier batch failed and was counted in part; start again"));
        }
        Ok(())
    }

    /// What was read so far. Documents that are left out or mended are known to the reader alone.
    pub fn figures(&self) -> CorpusFigures {
        CorpusFigures {
            documents: self.documents,
            bytes: self.counter.bytes(),
            pretokens: self.counter.pretokens(),
            ..CorpusFigures::default()
        }
    }

    /// The distinct pretokens in the order of their bytes, or of their first occurrences.
    pub(super) fn into_types(self, by_first: bool, ticker: &mut Ticker<'_>) -> Result<Types> {
        Types::from_table(&self.counter.into_table(ticker)?, by_first, ticker)
    }

    /// The counts.
    ///
    /// # Errors
    /// Errors of the watch; a training error for a sum above 64 bits, and after a batch that failed.
    pub fn finish(self, watch: &dyn Watch) -> Result<PretokenCounts> {
        self.check_whole()?;
        let mut ticker = Ticker::new(watch);
        PretokenCounts::from_types(&self.into_types(false, &mut ticker)?, &mut ticker)
    }
}
