//! The merges of a vocabulary over all 256 bytes, cut down to the one pair that builds each token.
//!
//! Of all pairs that could join to a token's bytes, merging ever joins one: the last one when its
//! bytes are merged alone. Tokens that their own bytes do not merge to never come up at all.
//! `docs/merging.md` has the proof. So symbols are numbered anew, bytes as they are and then
//! products by rank: a number says which of two merges comes first and what it makes.
use tokenmill_kernels::rows::{Narrow, Width};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, cpu};

use tokenmill_kernels::try_alloc;

use crate::description::{Merge, TokenList};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, to_u32};
use crate::watch::Ticker;

use super::building::{Candidates, Numbered, find};
use super::cuts::{Borders, Cuts};
use super::islands::Islands;
use super::pieces::Out;
use super::{Scratch, long};

/// The number of symbols that are bytes: products come behind.
pub(super) const BYTES: u32 = 256;

/// Short pretokens that are merged side by side.
pub const TOGETHER: usize = 8;

/// The canonical merges.
#[derive(Debug)]
pub(super) struct Canonical {
    pub(super) table: MergeTable,
    pub(super) ids: Vec<TokenId>,
    /// The bytes of each symbol; 0 for one that is not built.
    pub(super) lengths: Vec<u32>,
    pub(super) cuts: Cuts,
    islands: Islands,
}

impl Canonical {
    /// The merges of a list. `None` as in [`Self::new`], or where tokens share an id.
    pub(super) fn listed(
        merges: &[Merge],
        tokens: &TokenList,
        bytes: &[TokenId; 256],
        is_special: &dyn Fn(TokenId) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(Self, Vec<bool>)>> {
        if tokens.first_shared_id().is_some() {
            return Ok(None);
        }
        let (mut indices, mut parts) = (Vec::with_capacity(merges.len()), Vec::with_capacity(merges.len()));
        for merge in merges.iter().filter(|merge| !is_special(merge.result)) {
            let Some(index) = tokens.index_of(merge.result) else { return Ok(None) };
            indices.push(to_u32(index));
            parts.push((merge.left, merge.right));
        }
        Self::new(Candidates { indices, parts: Some(parts) }, tokens, bytes, ticker)
    }

    /// Any two tokens that join to a third one, at the rank of its id. `None` as in [`Self::new`],
    /// or where tokens share an id.
    pub(super) fn by_id(
        tokens: &TokenList,
        bytes: &[TokenId; 256],
        is_special: &dyn Fn(TokenId) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(Self, Vec<bool>)>> {
        if tokens.first_shared_id().is_some() {
            return Ok(None);
        }
        let mut indices = Vec::with_capacity(tokens.len());
        let products = tokens.iter().zip(0..).filter(|&((id, bytes), _)| bytes.len() > 1 && !is_special(id));
        indices.extend(products.map(|(_, index)| index));
        Self::new(Candidates { indices, parts: None }, tokens, bytes, ticker)
    }

    /// The canonical merges, and of each token whether its bytes merge to it. `None` where a byte is
    /// no token, where two are merged from the same ones, for millions of tokens, and where no order of
    /// numbers says what ranks say.
    ///
    /// Cost: that of merging the bytes of each token.
    fn new(
        candidates: Candidates,
        tokens: &TokenList,
        bytes: &[TokenId; 256],
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<(Self, Vec<bool>)>> {
        if bytes.contains(&NO_ID) || candidates.indices.len() + BYTES as usize >= NO_MERGE as usize {
            return Ok(None);
        }
        let Some(found) = find(candidates, tokens, bytes, ticker)? else { return Ok(None) };
        let Numbered { table, parts, ids, builds } = found;
        let mut lengths = vec![1; BYTES as usize];
        lengths.reserve(parts.len());
        for &parts in &parts {
            let of = |part: u32| lengths[part as usize];
            lengths.push(if parts == NOT_BUILT { 0 } else { of(parts.0) + of(parts.1) });
        }
        let (mut borders, mut islands) = (Borders::new(), Islands::new());
        for (&id, &(left, _)) in
            ids[BYTES as usize..].iter().zip(&parts).filter(|(_, parts)| **parts != NOT_BUILT)
        {
            ticker.spend(16)?;
            let Some(index) = tokens.index_of(id) else { return Ok(None) };
            let (token, join) = (tokens.bytes(index), lengths[left as usize] as usize);
            borders.put_joined(token, join);
            islands.put_joined(token, join);
        }
        let cuts = borders.cuts();
        Ok(Some((Self { table, ids, lengths, cuts, islands }, builds)))
    }

    /// Puts the ids of a pretoken behind what is there.
    #[inline]
    pub(super) fn encode(
        &self,
        pretoken: &[u8],
        scratch: &mut Scratch,
        out: Out<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        match pretoken.len() {
            0 => {}
            1..=Narrow::LONGEST => {
                let [merged] =
                    Narrow::merge(cpu::level(), &self.table, [key_at(pretoken, 0, pretoken.len())]);
                self.put(Narrow::left(&merged), out)?;
            }
            _ => {
                long::merge_by_windows(self, pretoken, long::WORK, scratch, ticker)?;
                self.put(&scratch.symbols, out)?;
            }
        }
        Ok(())
    }

    /// As [`Islands::spell`].
    #[inline]
    pub(super) fn spell_islands(&self, text: &[u8], room: &mut [TokenId]) -> Option<usize> {
        self.islands.spell(text, &self.table, &self.ids, room)
    }

    /// Puts the ids of up to [`TOGETHER`] pretokens behind what is there, one pretoken after the other; how many of
    /// each. Several cost little more than one: they wait for memory together.
    pub(super) fn encode_together<W: Width>(
        &self,
        rows: &[W::Row],
        ids: &mut Vec<TokenId>,
    ) -> Result<[usize; TOGETHER]> {
        let mut counts = [0; TOGETHER];
        let mut put = |merged: &[W::Merged]| -> Result<()> {
            for (count, merged) in counts.iter_mut().zip(merged) {
                let row = W::left(merged);
                self.put(row, Out { ids, ends: None })?;
                *count = row.len();
            }
            Ok(())
        };
        let (level, table) = (cpu::level(), &self.table);
        let some = |at: usize| rows.get(at).copied().unwrap_or_default();
        match rows.len() {
            0 => {}
            1 => put(&W::merge(level, table, [some(0)]))?,
            2..=4 => put(&W::merge::<4>(level, table, std::array::from_fn(some)))?,
            _ => put(&W::merge::<TOGETHER>(level, table, std::array::from_fn(some)))?,
        }
        Ok(counts)
    }

    #[inline]
    fn put(&self, row: &[u32], out: Out<'_>) -> Result<()> {
        try_alloc::reserve(out.ids, row.len())?;
        out.ids.extend(row.iter().map(|&symbol| self.ids[symbol as usize]));
        if let Some(ends) = out.ends {
            let mut end = 0;
            try_alloc::reserve(ends, row.len())?;
            ends.extend(row.iter().map(|&symbol| {
                end += self.lengths[symbol as usize];
                end
            }));
        }
        Ok(())
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.table.memory()
            + 4 * (self.ids.capacity() + self.lengths.capacity())
            + self.cuts.memory()
            + self.islands.memory()
    }
}

/// In place of its parts: nothing is ever merged to this one.
pub(super) const NOT_BUILT: (u32, u32) = (NO_MERGE, NO_MERGE);

/// The symbols of a pretoken before anything merges.
pub(super) fn start<'a>(pretoken: &[u8], scratch: &'a mut Scratch) -> Result<&'a mut Scratch> {
    scratch.symbols.clear();
    try_alloc::reserve(&mut scratch.symbols, pretoken.len())?;
    scratch.symbols.extend(pretoken.iter().copied().map(u32::from));
    Ok(scratch)
}
