//! The words of a text whose sums are in single precision.
//!
//! In: the words of a text, one after the other. Out: their ids in that text. They must be those of the best path
//! through the whole text, to the last bit of its sums.
//!
//! SentencePiece takes a text as one pretoken, but in most of its models no piece reaches over the start of a word. A
//! path through the text is then a path through each word. Only rounding ties a word to what is before it: each sum is
//! rounded to 24 bits, so the sum before a word decides between two paths through the word that are nearly equal.
//!
//! A word is *settled* if its best path is ahead by more than all of these roundings together, wherever it stands: its
//! ids can be cached. Each sum is below 2^17, so it is rounded by 2^-8 at most; a path has at most one sum for each
//! character. Adding up rounded sums keeps their order, so the path that is found has the largest rounded sum, and a path
//! that is behind by more than the roundings of both has a smaller one.
//!
//! What else depends on the text: where sums start over (`best`). A word during which that could happen, or that is not
//! settled, is read again with the sum before it. For that, the sum follows the text token by token.
use tokenmill_kernels::try_alloc;

use super::best::RESTART_LIMIT;
use super::model::{UNKNOWN, Unigram};
use super::scratch::UnigramScratch;
use super::spell::PathKind;
use crate::error::{Error, Result};
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// Stands for each space in the text that the model reads. Words begin with it.
const MARK: &str = "\u{2581}";

/// The longest word, in bytes as the model reads it, that may be settled.
const LONGEST_SETTLED: u16 = 256;

/// The largest score, whatever its sign, of a model whose words are settled. With it no sum exceeds 2^17.
const MAX_SCORE: f64 = 100.0;

/// The most that one sum is rounded by.
const ROUNDING: f64 = 1.0 / 256.0;

/// Begins a word that is written with its text. It is no token.
const WITH_TEXT: TokenId = NO_ID;

/// Of a word that is written with its text: the mark, its numbers of bytes, ids and scores.
const HEADER: usize = 4;

/// What tells the words of a text apart from their sums.
#[derive(Debug)]
pub(crate) struct WordSums {
    /// By id. Not a number for those that the best path never has.
    scores: Box<[f32]>,
    /// If the sum before a word is not beyond this number or its negative, sums do not start over in the word.
    safe_sum: f64,
    largest_score: f64,
}

/// The buffers of a word that is read with the sum before it.
#[derive(Debug, Default)]
pub(crate) struct SumScratch {
    unigram: UnigramScratch,
    text: Vec<u8>,
    ids: Vec<TokenId>,
}

impl SumScratch {
    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.unigram.memory() + self.text.capacity() + 4 * self.ids.capacity()
    }
}

impl WordSums {
    /// `None` if a token reaches over the start of a word, if words are no paths of their own for another reason, or if
    /// the scores are unusual.
    pub(crate) fn new(unigram: &Unigram, vocabulary: &Vocabulary) -> Option<Self> {
        // A word that follows an unknown character begins with a token, so runs of unknown characters end there.
        let is_mark = |edge: &u32| unigram.edges[*edge as usize].length() == MARK.len();
        let spells_all =
            unigram.unk.is_some() && unigram.longest_edge(MARK.as_bytes()).is_some_and(|edge| is_mark(&edge));
        if !unigram.single_precision || !spells_all {
            return None;
        }
        let length = vocabulary.tokens().iter().map(|(id, _)| id as usize + 1).max()?;
        // Not for lists with a few tokens of large numbers.
        if length > 2 * vocabulary.tokens().iter().len() + (1 << 10) {
            return None;
        }
        let mut scores = vec![f32::NAN; length].into_boxed_slice();
        let mut largest_score = unigram.unk_score.abs();
        for (index, (id, token)) in vocabulary.tokens().iter().enumerate() {
            if unigram.longest_edge(token) != Some(to_u32(index)) {
                continue;
            }
            let token = std::str::from_utf8(token).ok()?;
            if token.trim_start_matches(MARK).contains(MARK) {
                return None;
            }
            let score = unigram.edges[index].score;
            if !score.is_finite() {
                return None;
            }
            largest_score = largest_score.max(score.abs());
            scores[id as usize] = score as f32;
        }
        // Of 256 sums in a word, and 64 in a run of tokens, each is rounded: by less than 2 in all.
        let safe_sum = RESTART_LIMIT - largest_score * f64::from(LONGEST_SETTLED) - 2.0;
        (largest_score <= MAX_SCORE).then_some(Self { scores, safe_sum, largest_score })
    }

    /// Heap bytes held.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.scores)
    }
}

impl Unigram {
    /// Appends the ids of a word, as it is cached: alone if it is settled and has no unknown character, else with its
    /// text, and with the scores of its path if it is settled.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub(crate) fn encode_word(
        &self,
        word: &[u8],
        vocabulary: &Vocabulary,
        scratch: &mut UnigramScratch,
        ids: &mut Vec<TokenId>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        let is_settled = word.len() <= usize::from(LONGEST_SETTLED) && self.is_settled(word, scratch)?;
        let last = &scratch.last;
        if is_settled && has_one_mark(word) && self.path(word, last).all(|edge| edge != UNKNOWN) {
            let output = Output { ids, ends: None };
            return self.spell(word, PathKind::Best, |end| last[end], vocabulary, output, ticker);
        }
        let (mut spelled, mut scores) = (Vec::new(), Vec::new());
        if is_settled {
            let output = Output { ids: &mut spelled, ends: None };
            self.spell(word, PathKind::Best, |end| last[end], vocabulary, output, ticker)?;
            scores.extend(self.path(word, last).map(|edge| (self.score(edge) as f32).to_bits()));
            scores.reverse();
        }
        let text = word.chunks(4).map(|bytes| {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(four)
        });
        try_alloc::extend(
            ids,
            &[WITH_TEXT, to_u32(word.len()), to_u32(spelled.len()), to_u32(scores.len())],
        )?;
        ids.extend(text);
        try_alloc::extend(ids, &spelled)?;
        Ok(try_alloc::extend(ids, &scores)?)
    }

    /// The edges of a path that is given backwards, the last one first.
    fn path<'a>(&'a self, word: &'a [u8], last: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let mut at = word.len();
        std::iter::from_fn(move || {
            let edge = *last.get(at).filter(|_| at > 0)?;
            at = self.start_of(word, edge, at);
            Some(edge)
        })
    }

    #[inline]
    fn score(&self, edge: u32) -> f64 {
        if edge == UNKNOWN { self.unk_score } else { self.edges[edge as usize].score }
    }

    /// Finds the best path through a word; is it so whatever is before the word?
    fn is_settled(&self, word: &[u8], scratch: &mut UnigramScratch) -> Result<bool> {
        scratch.start(word, self.automaton.longest_key(), 0.0)?;
        let UnigramScratch { last, sums, margins, .. } = scratch;
        margins.clear();
        margins.resize(word.len() + 1, f32::INFINITY);
        let mut characters = 0;
        self.for_each_place(word, |end, edges| {
            let (mut best, mut second, mut by) = (f64::NEG_INFINITY, f64::NEG_INFINITY, UNKNOWN);
            edges.for_each(|edge, start| {
                let sum = self.score(edge) + sums.get(start);
                if sum > best {
                    (second, best, by) = (best, sum, edge);
                } else {
                    second = second.max(sum);
                }
            });
            sums.set(end, best);
            last[end] = by;
            margins[end] = (best - second) as f32;
            characters += 1;
            Ok(())
        })?;
        // One sum more for what is lost of the margins themselves.
        let needed = 2.0 * ROUNDING * f64::from(characters + 1);
        let mut at = word.len();
        while at > 0 {
            if f64::from(margins[at]) <= needed {
                return Ok(false);
            }
            at = self.start_of(word, last[at], at);
        }
        Ok(true)
    }
}

/// The sum of the best path up to a word.
#[derive(Debug)]
pub(crate) struct RunningSum<'a> {
    unigram: &'a Unigram,
    vocabulary: &'a Vocabulary,
    sums: &'a WordSums,
    scratch: &'a mut SumScratch,
    sum: f32,
}

impl<'a> RunningSum<'a> {
    /// At the start of a text.
    pub(crate) fn new(
        (unigram, vocabulary, sums): (&'a Unigram, &'a Vocabulary, &'a WordSums),
        scratch: &'a mut SumScratch,
    ) -> Self {
        Self { unigram, vocabulary, sums, scratch, sum: 0.0 }
    }

    /// Reads a word with the sum before it. Returns its ids.
    ///
    /// # Errors
    /// Those of [`Unigram::encode`].
    pub(crate) fn read(&mut self, word: &[u8], ticker: &mut Ticker<'_>) -> Result<&[TokenId]> {
        self.scratch.text.clear();
        self.scratch.text.extend_from_slice(word);
        self.read_text(ticker)?;
        Ok(&self.scratch.ids)
    }

    fn read_text(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let Self { unigram, vocabulary, scratch, sum, .. } = self;
        let SumScratch { unigram: buffers, text, ids } = &mut **scratch;
        ids.clear();
        *sum = unigram.encode_after(f64::from(*sum), text, vocabulary, buffers, ids, ticker)? as f32;
        Ok(())
    }

    /// Takes the ids of whole words as [`Unigram::encode_word`] writes them, and gives their ids in the text to `push`.
    ///
    /// # Errors
    /// Those of `push` and of [`Unigram::encode`].
    pub(crate) fn take(
        &mut self,
        mut words: &[TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<()> {
        while let Some(&first) = words.first() {
            debug_assert!(!self.sum.is_nan(), "a token that no path has");
            if first == WITH_TEXT {
                words = self.take_with_text(words, ticker, push)?;
                continue;
            }
            let length = words.iter().position(|&id| id == WITH_TEXT).unwrap_or(words.len());
            let (run, rest) = words.split_at(length);
            self.take_run(run, ticker, push)?;
            words = rest;
        }
        Ok(())
    }

    /// Takes settled words that are written as their ids alone.
    fn take_run(
        &mut self,
        run: &[TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<()> {
        /// Tokens after which the sum is looked at.
        const CHUNK: u8 = 64;
        let far = self.sums.safe_sum - self.sums.largest_score * f64::from(CHUNK);
        let mut at = 0;
        while at < run.len() {
            let chunk = &run[at..run.len().min(at + usize::from(CHUNK))];
            if f64::from(self.sum).abs() <= far {
                self.sum = chunk.iter().fold(self.sum, |sum, &id| sum + self.sums.scores[id as usize]);
                push(chunk)?;
                at += chunk.len();
                continue;
            }
            // Sums may start over soon: from the next word on, words are read.
            let begins_word = |&id: &TokenId| token(self.vocabulary, id).starts_with(MARK.as_bytes());
            let may_start_over = f64::from(self.sum).abs() > self.sums.safe_sum;
            let length = 1 + run[at + 1..].iter().position(begins_word).unwrap_or(run.len() - at - 1);
            let word = &run[at..at + length];
            if may_start_over && begins_word(&word[0]) {
                self.scratch.text.clear();
                for &id in word {
                    self.scratch.text.extend_from_slice(token(self.vocabulary, id));
                }
                self.read_text(ticker)?;
                push(&self.scratch.ids)?;
            } else {
                self.sum = word.iter().fold(self.sum, |sum, &id| sum + self.sums.scores[id as usize]);
                push(word)?;
            }
            at += length;
        }
        Ok(())
    }

    /// Takes one word that is written with its text, and returns what follows it.
    fn take_with_text<'w>(
        &mut self,
        words: &'w [TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<&'w [TokenId]> {
        let cut = || Error::internal("a word is cut off");
        let &[_, bytes, ids, scores] = words.first_chunk::<HEADER>().ok_or_else(cut)?;
        let [bytes, ids, scores] = [bytes, ids, scores].map(|count| count as usize);
        let rest = &words[HEADER..];
        let (text, rest) = rest.split_at_checked(bytes.div_ceil(4)).ok_or_else(cut)?;
        let (ids, rest) = rest.split_at_checked(ids).ok_or_else(cut)?;
        let (scores, rest) = rest.split_at_checked(scores).ok_or_else(cut)?;
        if !scores.is_empty() && f64::from(self.sum).abs() <= self.sums.safe_sum {
            self.sum = scores.iter().fold(self.sum, |sum, &score| sum + f32::from_bits(score));
            push(ids)?;
            return Ok(rest);
        }
        self.scratch.text.clear();
        self.scratch.text.extend(text.iter().flat_map(|four| four.to_le_bytes()));
        self.scratch.text.truncate(bytes);
        self.read_text(ticker)?;
        push(&self.scratch.ids)?;
        Ok(rest)
    }
}

/// Does a word begin with its only mark?
fn has_one_mark(word: &[u8]) -> bool {
    let word = std::str::from_utf8(word).ok().and_then(|word| word.strip_prefix(MARK));
    word.is_some_and(|rest| !rest.contains(MARK))
}

fn token(vocabulary: &Vocabulary, id: TokenId) -> &[u8] {
    let tokens = vocabulary.tokens();
    tokens.index_of(id).map_or(&[], |index| tokens.bytes(index))
}
