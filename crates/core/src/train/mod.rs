//! Learning a vocabulary from text: byte-pair encoding, WordPiece and Unigram.
//!
//! In: documents, in batches. Out: a [`Description`] and a [`TrainingReport`].
//!
//! ```text
//! documents -> segments (special tokens cut out) -> pretokens -> table per thread
//!           -> types (distinct pretokens, sorted) -> learn (merges) -> Description
//! ```
//!
//! Reading and learning may happen apart: a [`PretokenCounter`] gives [`PretokenCounts`], which can be counted in parts,
//! kept and put together, and [`Trainer::learn_from`] learns from them.
//!
//! Only the multiset of pretokens matters (except for the first-seen tie-break), so the order of
//! documents, their grouping into batches and the number of threads never change the result. With
//! [`TrainOptions::return_ids`] there is one document, and what is learned from are its segments
//! between special tokens, in order.
//!
//! ```
//! use tokenmill_core::description::Split;
//! use tokenmill_core::train::{Target, TrainOptions, Trainer};
//! use tokenmill_core::watch::Unwatched;
//!
//! let mut trainer = Trainer::new(TrainOptions::new(Target::NumMerges(2), &Split::Whole))?;
//! trainer.feed(&["low", "lower"], &Unwatched)?;
//! let (description, report) = trainer.finish(&Unwatched)?;
//! assert_eq!(description.model.tokens().bytes(257), b"low");
//! assert_eq!(report.merge_counts, [2, 2]);
//! # Ok::<(), tokenmill_core::error::Error>(())
//! ```
mod alphabet;
mod base;
mod characters;
mod count;
mod cutter;
mod layout;
mod learn;
mod options;
mod pairs;
mod pretokens;
mod queue;
mod reading;
mod report;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod unigram;
mod whole;
mod wordpiece;

pub use base::Base;
pub use characters::CharacterOptions;
pub use options::{
    BertTemplate, BpeOptions, Dialect, MergeFilter, SpecialIds, Target, TieBreak, TrainAlphabet, TrainModel,
    TrainOptions, UnigramOptions, WordPieceOptions,
};
pub use pretokens::{CorpusFigures, PretokenCounts};
pub use reading::PretokenCounter;
pub use report::{StopReason, TrainingReport};
pub use wordpiece::Score;

use std::time::Instant;

use crate::description::Description;
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::watch::{Ticker, Watch};
use count::Counter;
use layout::Layout;
pub use layout::reserved_token;
use learn::{Learned, Learner, Left};
use types::Types;
use whole::{Specials, WholeText};

/// Counts documents as they arrive, then learns merges.
#[derive(Debug)]
pub struct Trainer {
    options: TrainOptions,
    counter: PretokenCounter,
    /// The document, if its ids are wanted.
    whole: Option<WholeText>,
}

/// What was learned: the tokenizer, the report, and the ids of the text, if they were asked for.
type Outcome = (Description, TrainingReport, Option<Vec<TokenId>>);

impl Trainer {
    /// A trainer without documents.
    ///
    /// # Errors
    /// A training error that names an option if options contradict each other; a pattern error for
    /// an invalid split; a format error for an invalid normalizer.
    pub fn new(options: TrainOptions) -> Result<Self> {
        Ok(Self { counter: PretokenCounter::new(&options)?, options, whole: None })
    }

    /// The options of this trainer.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// Counts a batch of documents. Pretokens never cross documents. Cost: linear in the text;
    /// memory grows with the distinct pretokens. Batches of some megabytes keep all threads busy.
    ///
    /// # Errors
    /// Those of the split and of the watch; a training error for a count above 64 bits. With
    /// [`TrainOptions::return_ids`] a training error for a second document, and
    /// [`Kind::MemoryEstimate`](crate::error::Kind::MemoryEstimate) for one that is too long. After an
    /// error the trainer cannot be used.
    pub fn feed(&mut self, documents: &[&str], watch: &dyn Watch) -> Result<()> {
        self.feed_weighted(documents, &[], watch)
    }

    /// As [`Self::feed`], for documents that count as often as their weights say, each at least 1: the same as so
    /// many copies. Without weights each counts once.
    ///
    /// # Errors
    /// As [`Self::feed`]; a training error for weights that are not one for each document, or below 1.
    pub fn feed_weighted(&mut self, documents: &[&str], weights: &[u64], watch: &dyn Watch) -> Result<()> {
        if !self.options.return_ids {
            return self.counter.feed_weighted(documents, weights, watch);
        }
        let (whole, options) = (&mut self.whole, &self.options);
        self.counter.read(documents, weights, |counter| {
            read_whole(whole, options, counter, (documents, weights), watch)
        })
    }

    /// Learns the merges and builds the tokenizer. Cost: near-linear in the symbols of the distinct
    /// pretokens; see [`TrainingReport::phases`].
    ///
    /// # Errors
    /// Errors of the watch; a training error if the vocabulary size is below that of the alphabet,
    /// if the end-of-word symbol is a character of the text, or if a count or size exceeds its
    /// limit.
    pub fn finish(self, watch: &dyn Watch) -> Result<(Description, TrainingReport)> {
        let (description, report, _) = self.finish_with(&|_| Ok(true), watch)?;
        Ok((description, report))
    }

    /// As [`Self::finish`], with the ids of the document, if [`TrainOptions::return_ids`] asks for them: those of
    /// `encode`, special tokens among them. Only tokens for whose bytes `allows` is true are made: by byte-pair encoding
    /// the bytes of the token, by `WordPiece` as it is written. It is asked once for each merge that is the next one.
    ///
    /// # Errors
    /// As [`Self::finish`], and those of `allows`; a training error if ids are asked for and there is no document.
    pub fn finish_with(
        self,
        allows: &MergeFilter<'_>,
        watch: &dyn Watch,
    ) -> Result<(Description, TrainingReport, Option<Vec<TokenId>>)> {
        self.counter.check_whole()?;
        let options = self.options;
        let mut report = TrainingReport {
            phases: vec![("count", self.counter.counting)],
            ..TrainingReport::of(&self.counter.figures())
        };
        let mut ticker = Ticker::new(watch);
        let clock = Instant::now();
        let (types, specials) = if options.return_ids {
            let text = self.whole.ok_or_else(|| one_document("there is none"))?;
            report.bytes = text.bytes;
            report.pretokens = text.pretokens.len() as u64;
            report.distinct_pretokens = text.pretokens.distinct(&mut ticker)? as u64;
            (text.pretokens, Some(text.specials))
        } else {
            let types = self.counter.into_types(options.is_by_first_seen(), &mut ticker)?;
            report.distinct_pretokens = types.len() as u64;
            (types, None)
        };
        learn_from_types(options, types, specials, report, clock, allows, watch)
    }

    /// Learns from pretokens that were counted before, and builds the tokenizer: the one that training on the texts
    /// gives, if [`PretokenCounter::new`] had options that read in the same way. `figures` are for the report.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Self::finish_with`]; a training error for the first-seen tie-break and for
    /// [`TrainOptions::return_ids`], which need the text.
    pub fn learn_from(
        options: TrainOptions,
        counts: &PretokenCounts,
        figures: &CorpusFigures,
        allows: &MergeFilter<'_>,
        watch: &dyn Watch,
    ) -> Result<(Description, TrainingReport)> {
        options.check()?;
        if options.is_by_first_seen() {
            let reason = "first-seen needs the texts: counts do not say which pair was seen first; choose another rule";
            return Err(Error::training(reason).at("tie_break"));
        }
        if options.return_ids {
            let reason =
                "needs the text: counts do not say in which order pretokens come; train, and encode the text";
            return Err(Error::training(reason).at("return_ids"));
        }
        let clock = Instant::now();
        let report =
            TrainingReport { distinct_pretokens: counts.len() as u64, ..TrainingReport::of(figures) };
        let types = counts.to_types(&mut Ticker::new(watch))?;
        let (description, report, _) = learn_from_types(options, types, None, report, clock, allows, watch)?;
        Ok((description, report))
    }
}

/// Reads the one document whose ids are wanted.
fn read_whole(
    whole: &mut Option<WholeText>,
    options: &TrainOptions,
    counter: &Counter,
    (documents, weights): (&[&str], &[u64]),
    watch: &dyn Watch,
) -> Result<()> {
    let [document] = *documents else {
        return if documents.is_empty() { Ok(()) } else { Err(one_document("there are more")) };
    };
    if whole.is_some() || weights.iter().any(|&weight| weight > 1) {
        return Err(one_document("there are more"));
    }
    let text = WholeText::read(document, counter, options, &mut Ticker::new(watch))?;
    watch.progress("count", text.bytes, 0);
    *whole = Some(text);
    Ok(())
}

/// Learns a vocabulary, adds what fills it up, and completes the report. `clock` is when the types were begun.
fn learn_from_types(
    options: TrainOptions,
    types: Types,
    specials: Option<Specials>,
    report: TrainingReport,
    clock: Instant,
    allows: &MergeFilter<'_>,
    watch: &dyn Watch,
) -> Result<Outcome> {
    let multiple = options.pad_vocab_to_multiple_of;
    let (mut description, report, ids) = learn_model(options, types, specials, report, clock, allows, watch)?;
    if let Some(multiple) = multiple {
        layout::pad(&mut description, multiple)?;
    }
    Ok((description, report, ids))
}

fn learn_model(
    options: TrainOptions,
    types: Types,
    specials: Option<Specials>,
    mut report: TrainingReport,
    mut clock: Instant,
    allows: &MergeFilter<'_>,
    watch: &dyn Watch,
) -> Result<Outcome> {
    let mut ticker = Ticker::new(watch);
    let mut lap = |phase| {
        let now = Instant::now();
        (phase, now - std::mem::replace(&mut clock, now))
    };
    types.check_total()?;
    report.phases.push(lap("sort"));

    let layout = Layout::new(&options);
    let model = match options.model.clone() {
        TrainModel::Bpe(model) => model,
        TrainModel::Unigram(model) => {
            let learned = unigram::learn(&options, &model, &types, watch)?;
            report.phases.push(lap("prune"));
            report.stopped_early = learned.stopped_early;
            return Ok((layout.describe_unigram(options, &model, &learned.pieces)?, report, None));
        }
        TrainModel::WordPiece(model) => {
            let learned = wordpiece::learn(&options, &model, &types, allows, &mut ticker)?;
            report.phases.push(lap("merge"));
            report.stopped_early = learned.stopped_early;
            report.merge_counts = learned.merge_counts;
            report.wordpiece_merges = learned.merges;
            return Ok((layout.describe_wordpiece(options, model, &learned.written)?, report, None));
        }
    };
    let alphabet = alphabet::Alphabet::new(&model, &types, &mut ticker)?;
    let target = options.merges_for(alphabet.symbols.len())?;
    let mut learner = match &model.base {
        None => Learner::new(&model, &types, &alphabet, layout.first_id, &mut ticker)?,
        Some(base) => {
            // Its merges are made however rare they are here, and however long.
            let without = BpeOptions { min_frequency: 1, max_token_length: None, ..model.clone() };
            let mut learner = Learner::new(&without, &types, &alphabet, 0, &mut ticker)?;
            base.merges().iter().try_for_each(|&(left, right)| learner.make(left, right, &mut ticker))?;
            learner.limit(&model);
            learner
        }
    };
    drop(types);
    report.phases.push(lap("pairs"));

    let merges = learn(&mut learner, target, allows, &mut ticker)?;
    if merges.len() < target {
        report.stopped_early = Some(match learner.left_over() {
            Left::Nothing => StopReason::NoPairLeft,
            Left::Rare => StopReason::MinFrequency,
            Left::Refused => StopReason::MaxTokenLength,
            Left::NotAllowed => StopReason::NotAllowed,
        });
    }
    report.merge_counts = merges.iter().map(|merge| merge.count).collect();
    report.phases.push(lap("merge"));
    if let Some(base) = &model.base {
        let pairs: Vec<(u32, u32)> = merges.iter().map(|merge| (merge.left, merge.right)).collect();
        return Ok((base.with_learned(&learner.into_tokens(), &pairs)?, report, None));
    }
    let alphabet = alphabet.symbols.len();
    let (tokens, ids) = match specials {
        None => (learner.into_tokens(), None),
        Some(specials) => {
            let specials = specials.with_ids(&layout, learner.vocab_size());
            let (tokens, ids) = learner.into_tokens_and_ids(specials, &mut ticker)?;
            report.phases.push(lap("ids"));
            (tokens, Some(ids))
        }
    };
    Ok((layout.describe(options, model, alphabet, tokens, &merges)?, report, ids))
}

/// The error for anything but one document whose ids are wanted.
fn one_document(but: &str) -> Error {
    let reason = format!("needs one document, and {but}; for several, train, and encode each");
    Error::training(reason).at("return_ids")
}

/// Merges until the target is reached or nothing can merge.
fn learn(
    learner: &mut Learner,
    target: usize,
    allows: &MergeFilter<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Learned>> {
    /// Merges between two progress reports.
    const EVERY: usize = 256;
    let mut merges = Vec::new();
    while merges.len() < target {
        let Some(merge) = learner.step(allows, ticker)? else { break };
        merges.push(merge);
        if merges.len() % EVERY == 0 {
            ticker.watch().progress("merge", merges.len() as u64, target as u64);
        }
    }
    ticker.watch().progress("merge", merges.len() as u64, target as u64);
    Ok(merges)
}
