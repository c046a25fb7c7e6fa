//! Learning a Unigram vocabulary.
//!
//! In: distinct pretokens with their counts. Out: pieces with their scores, the logarithms of their probabilities.
//!
//! Training starts with far too many pieces (`seeds`). In each round, a step of expectation and maximization sets their
//! probabilities and drops those that hardly occur; then the pieces are dropped whose loss costs the likelihood of the
//! text least. Rounds end with slightly more pieces than are wanted. The naive twin in `tokenmill-reference` lists every
//! spelling of every word.
//!
//! Sums are made in the same order for any number of threads, with additions, multiplications and functions of `libm`
//! alone, so the result is the same to the last bit on every machine.
#![allow(clippy::cast_precision_loss)] // counts become numbers of double precision, which may round them

mod best;
mod digamma;
mod expectation;
mod pieces;
mod seeds;
mod segments;
mod suffixes;
#[cfg(test)]
mod tests;
mod tree_sum;
mod words;

use std::collections::HashSet;
use std::ops::Range;

use tokenmill_kernels::{sorting, try_alloc};

use self::best::Search;
use self::digamma::digamma;
use self::expectation::{Sums, expect};
use self::pieces::Pieces;
use self::segments::Segments;
use self::tree_sum::TreeSum;
use super::characters::Characters;
use super::options::{Dialect, TrainOptions, UnigramOptions};
use super::report::StopReason;
use super::types::Types;
use crate::error::{Error, Result};
use crate::ids::to_u32;
use crate::threads;
use crate::watch::{Ticker, Watch};
use words::MARK;
pub(super) use words::Words;

/// Steps of expectation and maximization at the end.
const LAST_STEPS: usize = 2;

/// A piece that is expected to occur less often than this is dropped.
const MIN_EXPECTED: f64 = 0.5;

/// The per cent of all pieces that is kept in each round. SentencePiece keeps 75, with two steps of expectation and
/// maximization between rounds: text of many languages then takes 0.7 % more tokens.
const SHRINKING_FACTOR: usize = 85;

/// Rounds end with this per cent of the pieces that are wanted; of these the most probable are kept. With a higher value
/// text takes fewer tokens and is less likely.
const CANDIDATES: usize = 115;

/// Pieces for which one unit of work computes the loss.
const PIECES_PER_UNIT: usize = 1 << 12;

/// What was learned.
#[derive(Debug)]
pub(super) struct LearnedUnigram {
    /// The pieces with their scores, the highest first, of equal ones in the order of their bytes.
    pub(super) pieces: Vec<(String, f32)>,
    /// Why there are fewer than asked for, if there are.
    pub(super) stopped_early: Option<StopReason>,
}

/// Learns the pieces of pretokens.
///
/// # Errors
/// Those of the watch; a training error if the vocabulary is smaller than the alphabet, and for sizes above the limits.
pub(super) fn learn(
    options: &TrainOptions,
    model: &UnigramOptions,
    types: &Types,
    watch: &dyn Watch,
) -> Result<LearnedUnigram> {
    let mut ticker = Ticker::new(watch);
    // A text is cut at the mark of a space, however rare it is. A model of SentencePiece has no zero character.
    let is_sentencepiece = model.dialect != Dialect::Tokenizers;
    let (mark, zero) = (is_sentencepiece.then_some(MARK), is_sentencepiece.then_some('\0'));
    let alphabet = Characters::new(&model.characters, mark, zero, types, &mut ticker)?;
    let wanted = options.pieces_for(model, alphabet.len())?;
    let segments = Segments::new(types, |char| alphabet.covers(char), &mut ticker)?;
    let mut pieces = seeds::seeds(&segments, model.max_token_length, &mut ticker)?;
    drop_reserved(&mut pieces, &segments, options, model)?;
    let threads = threads::threads_for(segments.positions(), options.num_threads);
    let mut learner = Learner { segments, pieces, longest: model.max_token_length, threads, watch };
    learner.shrink_to(share(wanted, CANDIDATES))?;
    learner.finish(wanted, &alphabet)
}

/// `percent` per cent of a count.
fn share(count: usize, percent: usize) -> usize {
    count / 100 * percent + count % 100 * percent / 100
}

/// Drops pieces that are written as another token of the vocabulary.
///
/// # Errors
/// A training error if that is a character.
fn drop_reserved(
    pieces: &mut Pieces,
    segments: &Segments,
    options: &TrainOptions,
    model: &UnigramOptions,
) -> Result<()> {
    let bytes = (0..=u8::MAX).filter(|_| model.byte_fallback).map(byte_token);
    let literals = options.literals().into_iter().map(str::to_owned);
    let reserved: HashSet<String> =
        literals.chain(model.user_defined_symbols.iter().cloned()).chain(bytes).collect();
    let mut is_kept = try_alloc::filled(true, pieces.len())?;
    for (piece, is_kept) in (0..).zip(&mut is_kept) {
        let Some(literal) =
            std::str::from_utf8(pieces.bytes(piece, segments)).ok().filter(|text| reserved.contains(*text))
        else {
            continue;
        };
        if pieces.is_char(piece) {
            let reason =
                format!("special token {literal:?} is also a character of the text, as it is normalized");
            return Err(Error::training(reason).at("special_tokens"));
        }
        *is_kept = false;
    }
    pieces.retain(&is_kept)
}

/// How the token of a byte is written.
pub(super) fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The state between two steps.
struct Learner<'w> {
    segments: Segments,
    pieces: Pieces,
    /// Maximum length of a piece in characters.
    longest: usize,
    threads: usize,
    watch: &'w dyn Watch,
}

impl Learner<'_> {
    /// Drops pieces until at most `most` are left.
    fn shrink_to(&mut self, most: usize) -> Result<()> {
        loop {
            let expected = self.expected()?;
            self.maximize(&expected)?;
            let left = self.pieces.len();
            self.watch.progress("prune", most as u64, left as u64);
            if left <= most {
                return Ok(());
            }
            self.prune(most.max(share(left, SHRINKING_FACTOR)))?;
        }
    }

    /// How often each piece is expected to occur.
    fn expected(&self) -> Result<Vec<f64>> {
        let Self { segments, pieces, longest, .. } = self;
        let mut sums = self.states(Sums::default);
        let blocks = segments.blocks();
        let total = TreeSum::new(blocks.len());
        threads::run_with(blocks.len(), &mut sums, self.watch, |block, sums, watch| {
            let mut expected = try_alloc::filled(0.0, pieces.len())?;
            let mut ticker = Ticker::new(watch);
            expect(segments, blocks[block].clone(), pieces, *longest, sums, &mut expected, &mut ticker)?;
            total.add(block, expected);
            Ok(())
        })?;
        total.finish()
    }

    /// Sets the scores to what makes the expected counts likely, and drops what hardly occurs. The digamma function in
    /// place of the logarithm favours pieces that occur often.
    fn maximize(&mut self, expected: &[f64]) -> Result<()> {
        let is_frequent = |expected: f64| expected >= MIN_EXPECTED;
        self.set_scores(expected, digamma, is_frequent);
        let is_kept =
            self.marked(|piece| is_frequent(expected[piece as usize]) || self.pieces.is_char(piece))?;
        self.pieces.retain(&is_kept)
    }

    /// For each piece, whether this holds.
    fn marked(&self, holds: impl Fn(u32) -> bool) -> Result<Vec<bool>> {
        let mut marked = try_alloc::vec(self.pieces.len())?;
        marked.extend((0..to_u32(self.pieces.len())).map(holds));
        Ok(marked)
    }

    /// Scores of expected counts; a piece that does not count gets the lowest score of the others.
    fn set_scores(&mut self, expected: &[f64], log: impl Fn(f64) -> f64, counts: impl Fn(f64) -> bool) {
        let total = log(expected.iter().filter(|&&expected| counts(expected)).sum());
        let score = |&expected: &f64| counts(expected).then(|| log(expected) - total);
        let lowest = expected.iter().filter_map(score).fold(0.0, f64::min);
        self.pieces.set_scores(expected.iter().map(|expected| score(expected).unwrap_or(lowest)));
    }

    /// Keeps characters and the other pieces without which the text loses most, `most` together.
    fn prune(&mut self, most: usize) -> Result<()> {
        let counts = self.counts()?;
        let mut losses = self.losses(&counts)?;
        losses.sort_unstable_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
        let mut is_kept = self.marked(|piece| self.pieces.is_char(piece))?;
        let chars = is_kept.iter().filter(|&&is_char| is_char).count();
        for (_, piece) in losses.into_iter().take(most.saturating_sub(chars)) {
            is_kept[piece as usize] = true;
        }
        self.pieces.retain(&is_kept)
    }

    /// How often each piece occurs in the best spellings.
    fn counts(&self) -> Result<Vec<u64>> {
        let Self { segments, pieces, .. } = self;
        let blocks = segments.blocks();
        let mut states = self.states(|| (Search::default(), Vec::new()));
        let work = |block: usize, (search, counts): &mut (Search, Vec<u64>), watch: &dyn Watch| {
            try_alloc::resize(counts, pieces.len(), 0)?;
            search.count(segments, blocks[block].clone(), pieces, counts, &mut Ticker::new(watch))
        };
        threads::run_with(blocks.len(), &mut states, self.watch, work)?;
        // Whole numbers: their order does not matter.
        let mut all = try_alloc::filled(0, pieces.len())?;
        for (_, counts) in states {
            all.iter_mut().zip(&counts).for_each(|(all, count)| *all += count);
        }
        Ok(all)
    }

    fn states<T>(&self, make: impl FnMut() -> T) -> Vec<T> {
        let mut states = Vec::new();
        states.resize_with(self.threads, make);
        states
    }

    /// What the likelihood of the text loses without each piece, approximately: as if the piece were replaced by its
    /// best other spelling wherever it occurs. Pieces that never occur, or have a better spelling, are left out.
    fn losses(&self, counts: &[u64]) -> Result<Vec<(f64, u32)>> {
        let pieces = &self.pieces;
        let total = counts.iter().sum::<u64>() as f64;
        let log_total = libm::log(total);
        let of_range = |range: Range<usize>, search: &mut Search, ticker: &mut Ticker<'_>| {
            let (mut losses, mut others) = (Vec::new(), Vec::new());
            for piece in range {
                let number = to_u32(piece);
                if pieces.is_char(number) || counts[piece] == 0 {
                    continue;
                }
                ticker.spend(64)?;
                if !search.alternative(pieces, number, &mut others)? {
                    continue;
                }
                let count = counts[piece] as f64;
                let log_all = libm::log(total + count * (others.len() as f64 - 1.0));
                let others =
                    others.iter().map(|&other| libm::log(counts[other as usize] as f64 + count) - log_all);
                let loss = count * (libm::log(count) - log_total - others.sum::<f64>());
                try_alloc::push(&mut losses, (loss, number))?;
            }
            Ok(losses)
        };
        let units = pieces.len().div_ceil(PIECES_PER_UNIT);
        let mut states = self.states(Search::default);
        let losses = threads::run_with(units, &mut states, self.watch, |unit, search, watch| {
            let start = unit * PIECES_PER_UNIT;
            of_range(start..(start + PIECES_PER_UNIT).min(pieces.len()), search, &mut Ticker::new(watch))
        })?;
        Ok(losses.concat())
    }

    /// Keeps the alphabet and the other pieces with the highest scores, `wanted` together.
    fn finish(mut self, wanted: usize, alphabet: &Characters) -> Result<LearnedUnigram> {
        let is_longer = |piece: &u32| !self.pieces.is_char(*piece);
        let mut longer: Vec<u32> = (0..to_u32(self.pieces.len())).filter(is_longer).collect();
        sorting::sort_by(&mut longer, |&a, &b| {
            self.pieces.score(b).total_cmp(&self.pieces.score(a)).then(a.cmp(&b))
        });
        let mut is_kept = try_alloc::filled(true, self.pieces.len())?;
        let free = wanted - alphabet.len();
        for &piece in longer.iter().skip(free) {
            is_kept[piece as usize] = false;
        }
        self.pieces.retain(&is_kept)?;
        for _ in 0..LAST_STEPS {
            let expected = self.expected()?;
            self.set_scores(&expected, libm::log, |expected| expected > 0.0);
        }
        let mut pieces: Vec<(String, f32)> = try_alloc::vec(wanted)?;
        let mut lowest = 0.0_f32;
        for piece in 0..to_u32(self.pieces.len()) {
            #[allow(clippy::cast_possible_truncation)] // files hold single precision
            let score = self.pieces.score(piece) as f32;
            lowest = lowest.min(score);
            let bytes = self.pieces.bytes(piece, &self.segments);
            pieces.push((String::from_utf8_lossy(bytes).into_owned(), score));
        }
        pieces.extend(alphabet.unseen().map(|char| (char.to_string(), lowest)));
        sorting::sort_by(&mut pieces, |(a, score), (b, other)| other.total_cmp(score).then_with(|| a.cmp(b)));
        let stopped_early = (pieces.len() < wanted).then_some(StopReason::NoPieceLeft);
        Ok(LearnedUnigram { pieces, stopped_early })
    }
}
