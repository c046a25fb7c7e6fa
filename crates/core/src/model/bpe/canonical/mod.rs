//! Canonical merges: the merges of a vocabulary over all 256 bytes, reduced to the one pair that builds each
//! token.
//!
//! In: a description, then pretokens and segments of them. Out: their ids, and where a pretoken may be cut. A
//! vocabulary for which this could give other ids than the naive rule must never be accepted.
//!
//! Of all pairs that join to a token's bytes, merging uses only one: the one that is merged last when the token's
//! bytes are merged alone. Tokens that their own bytes do not merge to never occur in a result. `docs/merging.md`
//! has the proof. So symbols are renumbered, bytes first and then products by rank: a number is both the product of
//! a merge and its priority.
//!
//! `build` makes the tables when a tokenizer is compiled; the other modules use them.
mod build;
mod byte_runs;
mod matcher;
pub(super) mod repeats;
pub(super) mod table;
pub(super) mod windows;

use std::collections::HashMap;

use tokenmill_kernels::batch_merge::{Narrow, Width};
use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MadeOnce, NO_MERGE, cpu};

use crate::description::{Merge, MergeList, Merges};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::model::output::Output;
use crate::vocabulary::Vocabulary;
use crate::watch::Ticker;

use super::scratch::BpeScratch;
use super::token_cuts::{TokenCuts, TokenCutsBuilder};
use build::{Candidates, build};
use byte_runs::ByteRuns;
pub use matcher::Matcher;
use matcher::MatcherTables;
use table::{BYTES, Built, MERGE_BATCH, NOT_BUILT, SymbolTable};

/// The canonical merges of a vocabulary.
#[derive(Debug)]
pub struct CanonicalMerges {
    pub(super) table: SymbolTable,
    /// The places across which nothing merges.
    pub cuts: TokenCuts,
    byte_runs: ByteRuns,
    matcher: MadeOnce<MatcherTables>,
}

impl CanonicalMerges {
    /// The canonical merges, and for each token whether its bytes merge to it. `None` if this would not be exact: a
    /// byte is no token, tokens share an id, the product of a merge is no token, a merge is listed twice, two
    /// tokens are merged from the same parts, or no order of numbers agrees with the ranks. Also `None` for more
    /// symbols than a table holds (2^21).
    ///
    /// Cost: that of merging the bytes of each token.
    pub(super) fn new(
        merges: &Merges,
        vocabulary: &Vocabulary,
        bytes: &[TokenId; 256],
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(Self, Vec<bool>)>> {
        let tokens = vocabulary.tokens();
        if tokens.first_shared_id().is_some() {
            return Ok(None);
        }
        let candidates = match merges {
            Merges::Listed(merges) => listed(merges, vocabulary),
            _ => Some(by_id(vocabulary)),
        };
        let Some(candidates) = candidates else { return Ok(None) };
        if bytes.contains(&NO_ID) || candidates.indices.len() + BYTES as usize >= NO_MERGE as usize {
            return Ok(None);
        }
        let Some((built, is_built)) = build(candidates, tokens, bytes, ticker)? else { return Ok(None) };
        let Built { merges, parts, ids } = built;
        let table = SymbolTable::new(merges, ids, &parts);
        let (mut cuts, mut byte_runs) = (TokenCutsBuilder::new(), ByteRuns::new());
        for (&id, &(left, _)) in
            table.ids[BYTES as usize..].iter().zip(&parts).filter(|(_, parts)| **parts != NOT_BUILT)
        {
            ticker.spend(16)?;
            let Some(index) = tokens.index_of(id) else { return Ok(None) };
            let (token, join) = (tokens.bytes(index), table.length(left));
            cuts.add(token, join);
            byte_runs.add(token, join);
        }
        let matcher = MadeOnce::new();
        Ok(Some((Self { table, cuts: cuts.finish(), byte_runs, matcher }, is_built)))
    }

    /// The merges, in the order in which they are made: of two that are possible in a text, the one that comes first
    /// here is made first. Each token that is made has one.
    pub fn in_order(&self) -> MergeList {
        let mut merges: Vec<(u32, Merge)> = Vec::with_capacity(self.table.merges.len());
        let id = |symbol: u32| self.table.ids[symbol as usize];
        merges.extend(self.table.merges.entries().map(|((left, right), product)| {
            (product, Merge { left: id(left), right: id(right), result: id(product) })
        }));
        merges.sort_unstable_by_key(|&(product, _)| product);
        merges.into_iter().map(|(_, merge)| merge).collect()
    }

    /// Are these the merges that texts use, in the order of their ranks?
    ///
    /// If so, a model that lists them alone gives the same ids: a merge that no text uses changes none.
    pub(super) fn are(&self, merges: &MergeList) -> bool {
        let SymbolTable { merges: table, ids, lengths } = &self.table;
        let live = || (BYTES..to_u32(ids.len())).filter(|&symbol| lengths[symbol as usize] > 0);
        let symbols: HashMap<TokenId, u32> =
            (0..BYTES).chain(live()).map(|symbol| (ids[symbol as usize], symbol)).collect();
        let is_same = |(symbol, merge): (u32, Merge)| {
            let parts = symbols.get(&merge.left).zip(symbols.get(&merge.right));
            ids[symbol as usize] == merge.result
                && parts.is_some_and(|(&left, &right)| table.get(left, right) == symbol)
        };
        live().count() == merges.len() && live().zip(merges.iter()).all(is_same)
    }

    /// Writes the ids of a pretoken.
    #[inline]
    pub(super) fn encode(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        output: Output<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        match pretoken.len() {
            0 => {}
            1..=Narrow::LONGEST => {
                let row = key_at(pretoken, 0, pretoken.len());
                let [merged] = Narrow::merge(cpu::level(), &self.table.merges, [row]);
                self.table.write(Narrow::symbols(&merged), output)?;
            }
            _ => {
                if !repeats::merge(&self.table.merges, pretoken, &mut scratch.symbols)? {
                    windows::merge_by_windows(&self.table, pretoken, windows::MAX_WORK, scratch, ticker)?;
                }
                self.table.write(&scratch.symbols, output)?;
            }
        }
        Ok(())
    }

    /// Writes the ids of a segment that falls into short [byte runs](byte_runs) to `buffer`, which is at least as
    /// long, and returns their number. `None` if bytes merge in a run of more than four bytes.
    ///
    /// Cost: linear, up to the first long run.
    pub fn encode_byte_runs(&self, text: &[u8], buffer: &mut [TokenId]) -> Option<usize> {
        self.byte_runs.encode(text, &self.table, buffer)
    }

    /// Appends the ids of a pretoken or a segment in which few bytes are [repeated often](repeats), and returns true;
    /// returns false for others.
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub fn encode_repeats(
        &self,
        bytes: &[u8],
        scratch: &mut BpeScratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<bool> {
        let is_merged = repeats::merge(&self.table.merges, bytes, &mut scratch.symbols)?;
        if is_merged {
            self.table.write(&scratch.symbols, Output { ids, ends: None })?;
        }
        Ok(is_merged)
    }

    /// Appends the ids of up to [`MERGE_BATCH`] segments that fit into rows of a width; returns the number of ids
    /// of each.
    ///
    /// # Errors
    /// Out of memory.
    pub fn merge_batch<W: Width>(
        &self,
        rows: &[W::Input],
        ids: &mut Vec<TokenId>,
    ) -> Result<[usize; MERGE_BATCH]> {
        let mut counts = [0; MERGE_BATCH];
        let mut write = |merged: &[W::Merged]| -> Result<()> {
            for (count, merged) in counts.iter_mut().zip(merged) {
                let row = W::symbols(merged);
                self.table.write(row, Output { ids, ends: None })?;
                *count = row.len();
            }
            Ok(())
        };
        let (level, merges) = (cpu::level(), &self.table.merges);
        let row_at = |at: usize| rows.get(at).copied().unwrap_or_default();
        match rows.len() {
            0 => {}
            1 => write(&W::merge(level, merges, [row_at(0)]))?,
            2..=4 => write(&W::merge::<4>(level, merges, std::array::from_fn(row_at)))?,
            5..=8 => write(&W::merge::<8>(level, merges, std::array::from_fn(row_at)))?,
            _ => write(&W::merge::<MERGE_BATCH>(level, merges, std::array::from_fn(row_at)))?,
        }
        Ok(counts)
    }

    /// What finds the tokens in a text. The first call makes its tables, in up to a tenth of a second.
    ///
    /// # Errors
    /// Those of the watch.
    pub fn matcher(&self, vocabulary: &Vocabulary, ticker: &mut Ticker<'_>) -> Result<Matcher<'_>> {
        ticker.spend(1)?;
        let tables = self.matcher.get_or_make(|| MatcherTables::new(&self.table, vocabulary));
        Ok(Matcher { table: &self.table, cuts: &self.cuts, tables })
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        let matcher = self.matcher.get().map_or(0, MatcherTables::memory);
        self.table.memory() + self.cuts.memory() + self.byte_runs.memory() + matcher
    }
}

impl InImage for CanonicalMerges {
    fn write(&self, image: &mut ImageWriter) {
        InImage::write(&self.table, image);
        self.cuts.write(image);
        self.byte_runs.write(image);
    }

    fn read(image: &mut ImageReader) -> std::result::Result<Self, ImageError> {
        let (table, cuts, byte_runs) =
            (SymbolTable::read(image)?, TokenCuts::read(image)?, ByteRuns::read(image)?);
        Ok(Self { table, cuts, byte_runs, matcher: MadeOnce::new() })
    }
}

/// The candidates of a list of merges. `None` if the product of one is no token.
fn listed(merges: &MergeList, vocabulary: &Vocabulary) -> Option<Candidates> {
    let (mut indices, mut parts) = (Vec::with_capacity(merges.len()), Vec::with_capacity(merges.len()));
    for merge in merges.iter().filter(|merge| !vocabulary.is_special(merge.result)) {
        indices.push(to_u32(vocabulary.tokens().index_of(merge.result)?));
        parts.push((merge.left, merge.right));
    }
    Some(Candidates { indices, parts: Some(parts) })
}

/// The candidates of an id-ordered vocabulary: any two tokens that join to a third one, at the rank of its id.
fn by_id(vocabulary: &Vocabulary) -> Candidates {
    let tokens = vocabulary.tokens();
    let mut indices = Vec::with_capacity(tokens.len());
    let is_product = |(id, bytes): (TokenId, &[u8])| bytes.len() > 1 && !vocabulary.is_special(id);
    let products = tokens.iter().zip(0..).filter(|&(token, _)| is_product(token));
    indices.extend(products.map(|(_, index)| index));
    Candidates { indices, parts: None }
}
