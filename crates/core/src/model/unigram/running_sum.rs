//! Ids of cached words that depend on the words before them.
//!
//! In: the words of a text as they are cached, in order. Out: their ids, which must be those of the best path through the
//! whole text, to the last bit of its sums.
//!
//! The sum before a word is needed for words that are not settled, so it is added up token by token, rounded as the whole
//! text would be. A word in which sums may restart (`best`) is encoded again, too, since restarts round otherwise.
use super::model::Unigram;
use super::scratch::UnigramScratch;
use super::words::{ESCAPE, HEADER, MARK, WordSums};
use crate::error::{Error, Result};
use crate::ids::TokenId;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// The buffers of a word that is encoded after the words before it.
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

/// The rounded sum of the best path up to a word.
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

    /// The ids of a word that is not cached, after the words before it.
    ///
    /// # Errors
    /// Those of [`Unigram::encode`].
    pub(crate) fn encode(&mut self, word: &[u8], ticker: &mut Ticker<'_>) -> Result<&[TokenId]> {
        self.scratch.text.clear();
        self.scratch.text.extend_from_slice(word);
        self.encode_text(ticker)?;
        Ok(&self.scratch.ids)
    }

    /// Encodes the text of the scratch.
    fn encode_text(&mut self, ticker: &mut Ticker<'_>) -> Result<()> {
        let Self { unigram, vocabulary, scratch, sum, .. } = self;
        let SumScratch { unigram: buffers, text, ids } = &mut **scratch;
        ids.clear();
        *sum = unigram.encode_after(f64::from(*sum), text, vocabulary, buffers, ids, ticker)? as f32;
        Ok(())
    }

    /// Passes the ids of whole words, given as they are cached ([`Unigram::encode_word`]), to `push`.
    ///
    /// # Errors
    /// Those of `push` and of [`Unigram::encode`].
    pub(crate) fn replay(
        &mut self,
        mut words: &[TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<()> {
        while let Some(&first) = words.first() {
            debug_assert!(!self.sum.is_nan(), "a token that no path has");
            if first == ESCAPE {
                words = self.replay_escaped(words, ticker, push)?;
                continue;
            }
            let length = words.iter().position(|&id| id == ESCAPE).unwrap_or(words.len());
            let (run, rest) = words.split_at(length);
            self.replay_run(run, ticker, push)?;
            words = rest;
        }
        Ok(())
    }

    /// Replays words that are cached as their ids alone.
    fn replay_run(
        &mut self,
        run: &[TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<()> {
        /// The sum is checked once for this many tokens.
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
            // Sums may restart soon, so from the next word on, words are encoded again.
            let begins_word = |&id: &TokenId| token(self.vocabulary, id).starts_with(MARK.as_bytes());
            let may_restart = f64::from(self.sum).abs() > self.sums.safe_sum;
            let length = 1 + run[at + 1..].iter().position(begins_word).unwrap_or(run.len() - at - 1);
            let word = &run[at..at + length];
            if may_restart && begins_word(&word[0]) {
                self.scratch.text.clear();
                for &id in word {
                    self.scratch.text.extend_from_slice(token(self.vocabulary, id));
                }
                self.encode_text(ticker)?;
                push(&self.scratch.ids)?;
            } else {
                self.sum = word.iter().fold(self.sum, |sum, &id| sum + self.sums.scores[id as usize]);
                push(word)?;
            }
            at += length;
        }
        Ok(())
    }

    /// Replays the escaped word at the start of `words`, and returns the words after it.
    fn replay_escaped<'w>(
        &mut self,
        words: &'w [TokenId],
        ticker: &mut Ticker<'_>,
        push: &mut impl FnMut(&[TokenId]) -> Result<()>,
    ) -> Result<&'w [TokenId]> {
        let cut = || Error::internal("an escaped word is cut off");
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
        self.encode_text(ticker)?;
        push(&self.scratch.ids)?;
        Ok(rest)
    }
}

fn token(vocabulary: &Vocabulary, id: TokenId) -> &[u8] {
    let tokens = vocabulary.tokens();
    tokens.index_of(id).map_or(&[], |index| tokens.bytes(index))
}
