//! Learning a WordPiece vocabulary.
//!
//! In: distinct words with their counts. Out: the pieces, in the order in which they were made. The naive twin in
//! `tokenmill-reference` defines the result: count everything, merge the best pair everywhere, start again.
//!
//! A piece that does not begin a word is written with a prefix. Two pieces with the same written form are one piece,
//! whichever merge made them. So the count of a pair may also rise, and an entry of the queue is no upper bound: each
//! pair has one entry, which moves whenever a count changes (`queue`). With the likelihood a merge changes the scores
//! of all pairs of its two parts and of its product.
mod pieces;
mod queue;
mod score;
#[cfg(test)]
mod tests;
mod words;

use tokenmill_kernels::try_alloc;

use self::pieces::Pieces;
use self::queue::Queue;
use self::score::Counts;
pub use self::score::Score;
use self::words::{Occurrence, Words};
use super::alphabet::{UNSEEN, see};
use super::characters::Characters;
use super::options::{MergeFilter, Target, TrainOptions, WordPieceOptions};
use super::pairs::Pairs;
use super::report::StopReason;
use super::types::{Types, text};
use crate::error::{Error, Result};
use crate::watch::Ticker;

/// Two symbols that stand side by side, or did.
#[derive(Debug)]
struct Pair {
    left: u32,
    right: u32,
    /// How often they stand side by side, weighted; overlapping occurrences count.
    count: u64,
    /// The positions of the left symbol: every occurrence, and stale positions.
    positions: Vec<u32>,
    /// Has the pair changed in this step?
    is_touched: bool,
    /// May it never be merged?
    is_refused: bool,
}

/// What was learned.
#[derive(Debug)]
pub(super) struct LearnedPieces {
    /// The alphabet, then what was merged, in written form.
    pub(super) written: Vec<String>,
    /// The parts of each merge, as they are written.
    pub(super) merges: Vec<(String, String)>,
    /// The count of each merge when it was chosen.
    pub(super) merge_counts: Vec<u64>,
    /// Why there are fewer than asked for, if there are.
    pub(super) stopped_early: Option<StopReason>,
}

/// The state between two merges.
struct Learner<'a> {
    options: &'a TrainOptions,
    model: &'a WordPieceOptions,
    pieces: Pieces,
    /// The length of each symbol in characters.
    sizes: Vec<usize>,
    /// How often each symbol occurs. Only the likelihood needs this and `pairs_of`.
    counts: Vec<u64>,
    /// The pairs that each symbol is part of; pairs that no longer occur are removed now and then.
    pairs_of: Vec<Vec<u32>>,
    words: Words,
    pairs: Pairs<Pair>,
    queue: Queue,
    /// Pairs whose counts changed in this step.
    touched: Vec<u32>,
    /// Was a pair refused because its token is too long, or is a special one?
    is_refused: bool,
    /// Was a pair refused because its token is not allowed?
    has_disallowed: bool,
}

/// Learns the pieces of words.
///
/// # Errors
/// Those of the watch; a training error if the vocabulary is smaller than the alphabet, and for sizes above the limits.
pub(super) fn learn(
    options: &TrainOptions,
    model: &WordPieceOptions,
    types: &Types,
    allows: &MergeFilter<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<LearnedPieces> {
    let mut learner = Learner {
        options,
        model,
        pieces: Pieces::new(model.continuing_prefix.clone()),
        sizes: Vec::new(),
        counts: Vec::new(),
        pairs_of: Vec::new(),
        words: Words::default(),
        pairs: Pairs::default(),
        queue: Queue::new(model.score),
        touched: Vec::new(),
        is_refused: false,
        has_disallowed: false,
    };
    let characters = Characters::new(&model.characters, None, None, types, ticker)?;
    learner.lay_out(types, &characters, ticker)?;
    if let Some(literal) =
        options.literals().into_iter().find(|literal| learner.pieces.find(literal).is_some())
    {
        let reason = format!("special token {literal:?} is also a character of the text, as it is written");
        return Err(Error::training(reason).at("special_tokens"));
    }
    let target = options.merges_for(learner.pieces.len())?;
    learner.count_pairs(ticker)?;
    learner.merge(target, allows, ticker)
}

impl Learner<'_> {
    /// Numbers the alphabet (all characters, sorted; then, with the prefix, those that continue a word) and spells the
    /// words in it.
    fn lay_out(&mut self, types: &Types, characters: &Characters, ticker: &mut Ticker<'_>) -> Result<()> {
        let (mut all, mut continuing) = (Vec::new(), Vec::new());
        for char in characters.unseen() {
            see(&mut all, char);
            see(&mut continuing, char);
        }
        // A word with a character that is not covered is unknown as a whole.
        let is_covered = |word: &str| word.chars().all(|char| characters.covers(char));
        for (bytes, _) in types.iter() {
            ticker.spend(bytes.len())?;
            let word = text(bytes)?;
            if !is_covered(word) {
                // Its other characters are known all the same.
                for char in word.chars().filter(|&char| characters.covers(char)) {
                    see(&mut all, char);
                }
                continue;
            }
            for (i, char) in word.chars().enumerate() {
                see(&mut all, char);
                if i > 0 {
                    see(&mut continuing, char);
                }
            }
        }
        self.number(&mut all, true)?;
        self.number(&mut continuing, false)?;
        let mut symbols = Vec::new();
        for (bytes, count) in types.iter() {
            ticker.spend(4 * bytes.len() + 4)?;
            symbols.clear();
            let word = text(bytes)?;
            if !is_covered(word) {
                continue;
            }
            for (i, char) in word.chars().enumerate() {
                let numbers = if i == 0 { &all } else { &continuing };
                let symbol = numbers[char as usize];
                try_alloc::push(&mut symbols, symbol)?;
                self.count_symbol(symbol, count);
            }
            self.words.push(&symbols, count)?;
        }
        Ok(())
    }

    /// Numbers the characters that were seen, by code point.
    fn number(&mut self, seen: &mut [u32], begins: bool) -> Result<()> {
        for (at, number) in seen.iter_mut().enumerate().filter(|(_, number)| **number != UNSEEN) {
            let char = char::from_u32(at as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            *number = self.add(&self.pieces.of_char(char, begins), 1)?;
        }
        Ok(())
    }

    /// The symbol of a written form, which may be new.
    fn add(&mut self, written: &str, size: usize) -> Result<u32> {
        let symbol = self.pieces.add(written)?;
        if symbol as usize == self.sizes.len() {
            try_alloc::push(&mut self.sizes, size)?;
            if self.model.score == Score::Likelihood {
                try_alloc::push(&mut self.counts, 0)?;
                try_alloc::push(&mut self.pairs_of, Vec::new())?;
            }
        }
        Ok(symbol)
    }

    fn count_symbol(&mut self, symbol: u32, count: u64) {
        if let Some(all) = self.counts.get_mut(symbol as usize) {
            *all += count;
        }
    }

    fn count_pairs(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        for at in 0..self.words.len() as u32 {
            ticker.spend(8)?;
            if let Some((left, right, count)) = self.words.pair_at(at) {
                self.add_occurrence((left, right), count, at)?;
            }
        }
        self.queue_touched(ticker)
    }

    /// Counts an occurrence of a pair at a position.
    fn add_occurrence(&mut self, (left, right): (u32, u32), count: u64, at: u32) -> Result<()> {
        let number = if let Some(number) = self.pairs.find(left, right) {
            number
        } else {
            let positions = Vec::new();
            let pair = Pair { left, right, count: 0, positions, is_touched: false, is_refused: false };
            self.pairs.add((left, right), pair)?
        };
        if self.model.score == Score::Likelihood && self.pairs.get(number).count == 0 {
            try_alloc::push(&mut self.pairs_of[left as usize], number)?;
            if left != right {
                try_alloc::push(&mut self.pairs_of[right as usize], number)?;
            }
        }
        let pair = self.pairs.get_mut(number);
        pair.count += count;
        try_alloc::push(&mut pair.positions, at)?;
        self.touch(number)
    }

    /// Removes an occurrence of a pair; its position stays in the list and is ignored.
    fn remove_occurrence(&mut self, (left, right): (u32, u32), count: u64) -> Result<()> {
        let Some(number) = self.pairs.find(left, right) else {
            return Err(Error::internal("a pair that was not counted"));
        };
        self.pairs.get_mut(number).count -= count;
        self.touch(number)
    }

    fn touch(&mut self, number: u32) -> Result<()> {
        if !std::mem::replace(&mut self.pairs.get_mut(number).is_touched, true) {
            try_alloc::push(&mut self.touched, number)?;
        }
        Ok(())
    }

    /// Updates the queue entry of every pair that changed.
    fn queue_touched(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let touched = std::mem::take(&mut self.touched);
        for &number in &touched {
            ticker.spend(16)?;
            let pair = self.pairs.get_mut(number);
            pair.is_touched = false;
            let (left, right, count) = (pair.left, pair.right, pair.count);
            if count == 0 {
                pair.positions = Vec::new();
            }
            if count < self.model.min_frequency || pair.is_refused {
                self.queue.remove(number);
                continue;
            }
            let of = |symbol: u32| self.counts.get(symbol as usize).copied().unwrap_or(0);
            let counts = Counts { pair: count, left: of(left), right: of(right) };
            self.queue.put(number, (left, right), counts)?;
        }
        self.touched = touched;
        self.touched.clear();
        Ok(())
    }

    /// Merges until the target is reached or no pair is left.
    fn merge(
        mut self,
        target: usize,
        allows: &MergeFilter<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<LearnedPieces> {
        /// Merges between two progress reports.
        const EVERY: usize = 256;
        let (mut merges, mut merge_counts) = (Vec::new(), Vec::new());
        let alphabet = self.pieces.len();
        let is_by_size = matches!(self.options.target, Target::VocabSize(_));
        let mut stopped_early = None;
        loop {
            let done = if is_by_size { self.pieces.len() - alphabet } else { merge_counts.len() };
            if done % EVERY == 0 || done >= target {
                ticker.watch().progress("merge", done as u64, target as u64);
            }
            if done >= target {
                break;
            }
            let Some(best) = self.queue.first() else {
                stopped_early = Some(self.reason());
                break;
            };
            ticker.spend(64)?;
            let pair = self.pairs.get(best);
            let (left, right, count) = (pair.left, pair.right, pair.count);
            let size = self.sizes[left as usize] + self.sizes[right as usize];
            let written = self.pieces.joined(left, right);
            let is_special = self.options.literals().contains(&written.as_str());
            let is_refused = is_special || self.model.max_token_length.is_some_and(|most| size > most);
            let is_allowed = is_refused || allows(written.as_bytes())?;
            if is_refused || !is_allowed {
                self.queue.remove(best);
                self.pairs.get_mut(best).is_refused = true;
                self.is_refused |= is_refused;
                self.has_disallowed |= !is_allowed;
                continue;
            }
            let symbol = self.add(&written, size)?;
            self.replace(best, symbol, ticker)?;
            self.queue_touched(ticker)?;
            try_alloc::push(&mut merge_counts, count)?;
            let parts = (self.pieces.get(left).to_owned(), self.pieces.get(right).to_owned());
            try_alloc::push(&mut merges, parts)?;
        }
        let written =
            (0..self.pieces.len() as u32).map(|symbol| self.pieces.get(symbol).to_owned()).collect();
        Ok(LearnedPieces { written, merges, merge_counts, stopped_early })
    }

    /// Repositions every occurrence of a pair, from the left and without overlap.
    fn replace(&mut self, number: u32, symbol: u32, ticker: &mut Ticker<'_>) -> Result<()> {
        let pair = self.pairs.get_mut(number);
        let (left, right) = (pair.left, pair.right);
        let mut positions = std::mem::take(&mut pair.positions);
        // A pair that comes back gets its positions in several steps.
        if !positions.is_sorted() {
            positions.sort_unstable();
        }
        for at in positions {
            ticker.spend(16)?;
            let Some(found) = self.words.replace(at, (left, right), symbol) else { continue };
            let Occurrence { before, after, count } = found;
            self.remove_occurrence((left, right), count)?;
            if let Some((position, before)) = before {
                self.remove_occurrence((before, left), count)?;
                self.add_occurrence((before, symbol), count, position)?;
            }
            if let Some(after) = after {
                self.remove_occurrence((right, after), count)?;
                self.add_occurrence((symbol, after), count, at)?;
            }
            if self.model.score == Score::Likelihood {
                self.counts[left as usize] -= count;
                self.counts[right as usize] -= count;
                self.counts[symbol as usize] += count;
            }
        }
        if self.model.score == Score::Likelihood {
            for changed in [left, right, symbol] {
                self.touch_pairs_of(changed, ticker)?;
            }
        }
        Ok(())
    }

    /// Marks all pairs of a symbol as changed.
    fn touch_pairs_of(&mut self, symbol: u32, ticker: &mut Ticker<'_>) -> Result<()> {
        let mut numbers = std::mem::take(&mut self.pairs_of[symbol as usize]);
        ticker.spend(4 * numbers.len())?;
        for &number in &numbers {
            self.touch(number)?;
        }
        // `add_occurrence` adds a pair again when it occurs again.
        numbers.retain(|&number| self.pairs.get(number).count > 0);
        self.pairs_of[symbol as usize] = numbers;
        Ok(())
    }

    /// Why no pair is left.
    fn reason(&self) -> StopReason {
        let is_left = self.pairs.iter().any(|pair| pair.count > 0);
        match (is_left, self.is_refused) {
            (false, _) => StopReason::NoPairLeft,
            _ if self.has_disallowed => StopReason::NotAllowed,
            (true, true) => StopReason::MaxTokenLength,
            (true, false) => StopReason::MinFrequency,
        }
    }
}
