//! The steps in which a pretoken is merged, for explanations.
//!
//! In: a pretoken, and the table of all pairs. Out: its first symbols and every merge. The steps must be those of
//! the naive rule, however the pretoken was encoded.
use tokenmill_kernels::PairTable;

use crate::error::Result;
use crate::model::bpe::scratch::BpeScratch;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::General;
use super::merge::merge_by_scan;

/// Pretokens of more symbols are not explained: it takes quadratic time, and nobody reads that many steps.
pub const MAX_EXPLAINED_SYMBOLS: usize = 1000;

/// How a pretoken became its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeSteps {
    /// By merging.
    Merged {
        /// The symbols before any merge, in written form.
        symbols: Vec<String>,
        /// The merges, in order.
        merges: Vec<MergeStep>,
    },
    /// By the rule for whole pretokens, whatever merging would give.
    Whole,
    /// It has this many symbols, more than [`MAX_EXPLAINED_SYMBOLS`].
    TooLong(usize),
}

/// One merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeStep {
    /// The index of the left part in the row of symbols before this merge.
    pub at: usize,
    /// The left part in written form.
    pub left: String,
    /// The right part.
    pub right: String,
    /// The result of the merge in written form.
    pub result: String,
    /// The rank of the merge, lower first.
    pub rank: u32,
}

/// The steps of a pretoken. The symbols that merging leaves are in `scratch.symbols`.
///
/// # Errors
/// An unknown-token error for a symbol outside the alphabet; cancellation. Cost: quadratic in the number of
/// symbols, which has a limit.
pub(in crate::model::bpe) fn merge_steps(
    general: &General,
    pairs: &PairTable,
    pretoken: &[u8],
    vocabulary: &Vocabulary,
    scratch: &mut BpeScratch,
    ticker: &mut Ticker<'_>,
) -> Result<MergeSteps> {
    general.split(pretoken, true, scratch, ticker)?;
    let BpeScratch { symbols: row, bounds, pairs: buffer, .. } = scratch;
    let count = row.len();
    ticker.spend(count)?;
    if count > MAX_EXPLAINED_SYMBOLS {
        return Ok(MergeSteps::TooLong(count));
    }
    // The symbols of pieces are not ids; they are shown as they are in the text.
    let are_ids = general.symbols_are_ids();
    let mut start = 0;
    let write = |(&symbol, &bound): (&u32, &u32)| {
        let bytes = &pretoken[std::mem::replace(&mut start, bound as usize)..bound as usize];
        if are_ids {
            vocabulary.written(symbol).unwrap_or_default()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let symbols: Vec<String> = row.iter().zip(bounds.iter()).map(write).collect();
    let (mut written, mut merges) = (symbols.clone(), Vec::new());
    merge_by_scan::<true, _>(pairs, row, buffer, |at, pair| {
        ticker.spend(written.len())?;
        let (rank, product) = ((pair >> 32) as u32, pair as u32);
        let right = written.remove(at + 1);
        let result = if are_ids {
            vocabulary.written(product).unwrap_or_default()
        } else {
            format!("{}{right}", written[at])
        };
        let left = std::mem::replace(&mut written[at], result.clone());
        merges.push(MergeStep { at, left, right, result, rank });
        Ok(())
    })?;
    Ok(MergeSteps::Merged { symbols, merges })
}
