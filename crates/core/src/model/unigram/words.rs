//! Words of a text whose sums are in single precision, as they are cached.
//!
//! In: a word, alone. Out: its ids, if they are the same after any other words; else what is needed to find them when the
//! sum before the word is known (`running_sum`).
//!
//! SentencePiece takes a text as one pretoken, but in most of its models no token reaches over the start of a word. A
//! path through the text is then a path through each word. Only rounding makes a word depend on what is before it: each
//! sum is rounded to 24 bits, so the sum before a word may decide between two nearly equal paths through the word.
//!
//! A word is *settled* if its best path beats every other one by more than all roundings of both. Each sum is below 2^17,
//! so it is rounded by 2^-8 at most; a path has at most one sum for each character. Rounding never reverses the order of
//! two sums, so the path that is found has the largest rounded sum, and no path that is so far behind can have it.
//!
//! A word that is not settled, or has unknown characters, is escaped: `[ESCAPE, b, i, s]`, its text (`b` bytes, four in a
//! number), `i` ids, and the `s` scores of its path; no ids and scores if it is not settled. Other words are their ids.
use tokenmill_kernels::try_alloc;

use super::best::RESTART_LIMIT;
use super::model::{UNKNOWN, Unigram};
use super::scratch::UnigramScratch;
use super::spell::PathKind;
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

/// Stands for each space in the text that the model reads. Words begin with it.
pub(crate) const MARK: &str = "\u{2581}";

/// The longest word, in bytes as the model reads it, that may be settled.
const LONGEST_SETTLED: u16 = 256;

/// The largest score, whatever its sign, of a model whose words are settled. With it no sum exceeds 2^17.
const MAX_SCORE: f64 = 100.0;

/// The most that one sum is rounded by.
const ROUNDING: f64 = 1.0 / 256.0;

/// Begins an escaped word. It is no token.
pub(super) const ESCAPE: TokenId = NO_ID;

/// The length of the header of an escaped word.
pub(super) const HEADER: usize = 4;

/// The scores of a model whose words may be cached.
#[derive(Debug)]
pub(crate) struct WordSums {
    /// By id. Not a number for tokens that no path has.
    pub(super) scores: Box<[f32]>,
    /// If the sum before a word is at most this far from 0, sums do not restart in the word (`best`).
    pub(super) safe_sum: f64,
    pub(super) largest_score: f64,
}

impl WordSums {
    /// `None` if a token may reach over the start of a word, if unknown characters of two words may be joined, or if the
    /// scores are so large that no word would be settled.
    pub(crate) fn new(unigram: &Unigram, vocabulary: &Vocabulary) -> Option<Self> {
        // Every word then begins with a known token, so no run of unknown characters reaches into the next word.
        let is_mark = |edge: &u32| unigram.edges[*edge as usize].length() == MARK.len();
        let spells_all =
            unigram.unk.is_some() && unigram.longest_edge(MARK.as_bytes()).is_some_and(|edge| is_mark(&edge));
        if !unigram.single_precision || !spells_all {
            return None;
        }
        let length = vocabulary.tokens().iter().map(|(id, _)| id as usize + 1).max()?;
        // Ids that are far apart would make a large table of few scores.
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
    /// Appends a word as it is cached: its ids, or the word escaped.
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
        let start = ids.len();
        try_alloc::extend(ids, &[ESCAPE, to_u32(word.len()), 0, 0])?;
        ids.extend(word.chunks(4).map(|bytes| {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(four)
        }));
        if is_settled {
            let spelled = ids.len();
            let output = Output { ids, ends: None };
            self.spell(word, PathKind::Best, |end| last[end], vocabulary, output, ticker)?;
            let scored = ids.len();
            ids.extend(self.path(word, last).map(|edge| (self.score(edge) as f32).to_bits()));
            ids[scored..].reverse();
            let counts = [scored - spelled, ids.len() - scored].map(to_u32);
            ids[start + 2..start + HEADER].copy_from_slice(&counts);
        }
        Ok(())
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

    /// Finds the best path through a word; is it the best after any other words?
    fn is_settled(&self, word: &[u8], scratch: &mut UnigramScratch) -> Result<bool> {
        scratch.start(word, self.automaton.longest_key(), 0.0)?;
        let UnigramScratch { last, sums, margins, .. } = scratch;
        margins.clear();
        margins.resize(word.len() + 1, f32::INFINITY);
        let mut characters = 0;
        self.for_each_place(word, |end, edges| {
            let (mut best, mut second, mut by) = (f64::NEG_INFINITY, f64::NEG_INFINITY, UNKNOWN);
            edges.for_each(|edge, start, score| {
                let sum = score + sums.get(start);
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
        // One character more, for the rounding of the margins themselves.
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

/// Does a word begin with its only mark?
fn has_one_mark(word: &[u8]) -> bool {
    let mark = MARK.as_bytes();
    let is_mark = |(at, &byte): (usize, &u8)| byte == mark[0] && word[at..].starts_with(mark);
    word.iter().enumerate().filter(|&place| is_mark(place)).map(|(at, _)| at).eq([0])
}
