//! How a pretoken was merged, one merge after the other, for people who want to see it.
//!
//! The naive rule, written once more: of all pairs the one with the lowest rank, of equal ones the
//! leftmost. Fast paths do not keep what this tells.
use tokenmill_kernels::PairTable;

use crate::description::Bpe as Description;
use crate::error::{Kind, Result};
use crate::ids::TokenId;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::merge::NO_PAIR;
use super::{Bpe, Scratch, Symbols, text};

/// Pretokens of more symbols have no steps: the rule is quadratic, and nobody reads so many.
pub const MOST_SYMBOLS: usize = 1000;

/// How a pretoken became its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steps {
    /// By merging.
    Merged {
        /// The symbols it was broken into, in written form.
        symbols: Vec<String>,
        /// What merged, in order.
        merges: Vec<Step>,
    },
    /// It is a token as it stands, whatever merging would give.
    Whole,
    /// It has this many symbols, more than [`MOST_SYMBOLS`].
    TooLong(usize),
}

/// One merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The place of the left part in the row of symbols as it was then, counted from 0.
    pub at: usize,
    /// The left part in written form.
    pub left: String,
    /// The right part.
    pub right: String,
    /// What they became.
    pub result: String,
    /// The lower, the earlier.
    pub rank: u32,
}

impl Bpe {
    /// The steps that lead from a pretoken to `ids`, which is what it was encoded to.
    ///
    /// # Errors
    /// Cancellation. Cost: quadratic in the number of symbols, which has a limit.
    pub fn steps(
        &self,
        pretoken: &[u8],
        ids: &[TokenId],
        (description, vocabulary): (&Description, &Vocabulary),
        scratch: &mut Scratch,
        ticker: &mut Ticker<'_>,
    ) -> Result<Steps> {
        let pairs = self.pairs(description, vocabulary)?;
        let index = vocabulary.find_index(pretoken);
        let at_once = index.is_some_and(|index| self.may_become(index));
        let broken = match &self.symbols {
            Symbols::Pieces(pieces) => pieces.break_up(text(pretoken)?, scratch, ticker),
            _ => self.break_up(pretoken, true, scratch),
        };
        match broken {
            // What is a token as it stands need not be made of symbols.
            Err(error) if at_once && matches!(error.kind, Kind::UnknownToken { .. }) => {
                return Ok(Steps::Whole);
            }
            broken => broken?,
        }
        let count = scratch.symbols.len();
        ticker.spend(count)?;
        if count > MOST_SYMBOLS {
            return Ok(Steps::TooLong(count));
        }
        let is_pieces = matches!(self.symbols, Symbols::Pieces(_));
        let mut written: Vec<String> = Vec::with_capacity(count);
        let mut start = 0;
        for (&symbol, &bound) in scratch.symbols.iter().zip(&scratch.bounds) {
            let end = bound as usize;
            written.push(if is_pieces {
                // These have numbers of their own; they are written as they stand in the text.
                String::from_utf8_lossy(&pretoken[start..end]).into_owned()
            } else {
                vocabulary.written(symbol).unwrap_or_default()
            });
            start = end;
        }
        let symbols = written.clone();
        let merges = merge_step_by_step(pairs, &mut scratch.symbols, written, is_pieces, vocabulary, ticker)?;
        let is_one = scratch.symbols.len() == 1 && (is_pieces || scratch.symbols == ids);
        Ok(if at_once && !is_one { Steps::Whole } else { Steps::Merged { symbols, merges } })
    }
}

fn merge_step_by_step(
    table: &PairTable,
    row: &mut Vec<u32>,
    mut written: Vec<String>,
    is_pieces: bool,
    vocabulary: &Vocabulary,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Step>> {
    let mut merges = Vec::new();
    let mut pairs: Vec<u64> = row.windows(2).map(|pair| table.get_packed(pair[0], pair[1])).collect();
    loop {
        ticker.spend(row.len())?;
        let lowest = pairs.iter().enumerate().filter(|&(_, &pair)| pair != NO_PAIR);
        let Some((at, &pair)) = lowest.min_by_key(|&(at, &pair)| (pair >> 32, at)) else {
            return Ok(merges);
        };
        let right = written.remove(at + 1);
        let result = if is_pieces {
            format!("{}{right}", written[at])
        } else {
            vocabulary.written(pair as u32).unwrap_or_default()
        };
        let left = std::mem::replace(&mut written[at], result.clone());
        merges.push(Step { at, left, right, result, rank: (pair >> 32) as u32 });
        row[at] = pair as u32;
        row.remove(at + 1);
        pairs.remove(at);
        for place in at.saturating_sub(1)..=at {
            if let (Some(pair), Some(&next)) = (pairs.get_mut(place), row.get(place + 1)) {
                *pair = table.get_packed(row[place], next);
            }
        }
    }
}
