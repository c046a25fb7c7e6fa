//! The merges of a vocabulary over all 256 bytes, cut down to the one pair that builds each token.
//!
//! Of all pairs that could join to a token's bytes, merging ever joins one: the last one when its
//! bytes are merged alone. Tokens that their own bytes do not merge to never come up at all.
//! `docs/merging.md` has the proof. So symbols are numbered anew, bytes as they are and then
//! products by rank: a number says which of two merges comes first and what it makes.
use tokenmill_kernels::rows::{Narrow, Width};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, Trie, cpu};

use crate::description::{Merge, TokenList};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, narrow};
use crate::watch::Ticker;

use super::cuts::Cuts;
use super::pieces::Out;
use super::{Scratch, long, merge};

/// The number of symbols that are bytes: products come behind.
pub(super) const BYTES: u32 = 256;

/// Pretokens up to this many bytes are merged by looking for the lowest rank at every step, longer
/// ones by a search that is linear.
///
/// Chinese pretokens of 26 bytes take 1.7 times as long by the first way, random words of 8 bytes
/// 1.4 times as long by the second; between 8 and 16 bytes they differ little.
const SHORT: usize = Narrow::LONGEST;

/// Short pretokens that are merged side by side.
pub const TOGETHER: usize = 8;

/// The canonical merges.
#[derive(Debug)]
pub(super) struct Canonical {
    pub(super) table: MergeTable,
    /// The parts of each product, both with lower numbers than its own.
    parts: Vec<(u32, u32)>,
    pub(super) ids: Vec<TokenId>,
    pub(super) lengths: Vec<u32>,
    /// The length of the longest.
    pub(super) longest_symbol: usize,
    /// The longest symbol that a text begins with.
    pub(super) trie: Trie,
    /// The longest other symbol that each begins with, [`NO_MERGE`] where there is none.
    pub(super) shorter: Vec<u32>,
    pub(super) cuts: Cuts,
}

/// What may be a product, in order of rank.
struct Candidate {
    /// Its place in the list of tokens.
    index: usize,
    /// What it must be joined from; `None` for any two tokens.
    parts: Option<(TokenId, TokenId)>,
}

impl Canonical {
    /// The merges of a list. `None` as in [`Self::new`], or where tokens share an id.
    pub(super) fn listed(
        merges: &[Merge],
        tokens: &TokenList,
        bytes: &[TokenId; 256],
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Option<(Self, Vec<bool>)> {
        if tokens.first_shared_id().is_some() {
            return None;
        }
        let candidates = merges.iter().filter(|merge| !is_special(merge.result)).map(|merge| {
            let index = tokens.index_of(merge.result)?;
            Some(Candidate { index, parts: Some((merge.left, merge.right)) })
        });
        Self::new(candidates.collect::<Option<Vec<_>>>()?, tokens, bytes)
    }

    /// Any two tokens that join to a third one, at the rank of its id. `None` as in [`Self::new`],
    /// or where tokens share an id.
    pub(super) fn by_id(
        tokens: &TokenList,
        bytes: &[TokenId; 256],
        is_special: &dyn Fn(TokenId) -> bool,
    ) -> Option<(Self, Vec<bool>)> {
        if tokens.first_shared_id().is_some() {
            return None;
        }
        let candidates = tokens.iter().enumerate();
        let candidates = candidates.filter(|&(_, (id, bytes))| bytes.len() > 1 && !is_special(id));
        Self::new(candidates.map(|(index, _)| Candidate { index, parts: None }).collect(), tokens, bytes)
    }

    /// The canonical merges, and of each token whether its bytes merge to it. `None` where a byte is
    /// no token, where a token is merged from one of a higher rank, and for millions of tokens.
    ///
    /// Cost: that of merging the bytes of each token.
    fn new(
        candidates: Vec<Candidate>,
        tokens: &TokenList,
        bytes: &[TokenId; 256],
    ) -> Option<(Self, Vec<bool>)> {
        if bytes.contains(&NO_ID) || candidates.len() + BYTES as usize >= NO_MERGE as usize {
            return None;
        }
        let mut builds = vec![false; tokens.len()];
        let mut table = MergeTable::with_capacity(candidates.len());
        let mut parts = Vec::with_capacity(candidates.len());
        let mut ids = bytes.to_vec();
        let mut lengths = vec![1; BYTES as usize];
        let mut indices = Vec::with_capacity(candidates.len());
        let mut odd = Vec::new();
        let mut scratch = Scratch::default();
        for candidate in candidates {
            let row = merge_bytes(&table, tokens.bytes(candidate.index), &mut scratch);
            match *row {
                [left, right] if candidate.is_from(left, right, &ids) => {
                    if !table.insert(left, right, narrow(ids.len())) {
                        return None;
                    }
                    parts.push((left, right));
                    ids.push(tokens.id(candidate.index));
                    lengths.push(narrow(tokens.bytes(candidate.index).len()));
                    indices.push(candidate.index);
                    builds[candidate.index] = true;
                }
                _ => odd.push(candidate),
            }
        }
        // What the lower ranks do not build is built by nothing, unless higher ones come to it.
        for candidate in odd {
            let row = long::merge_to_two(&table, tokens.bytes(candidate.index));
            if let &[left, right] = row.as_slice()
                && candidate.is_from(left, right, &ids)
            {
                return None;
            }
        }
        for (index, (id, token)) in tokens.iter().enumerate() {
            if let &[byte] = token {
                builds[index] = bytes[usize::from(byte)] == id;
            }
        }
        let all_bytes: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        let products = indices.iter().map(|&index| tokens.bytes(index));
        let symbols = || (0..).zip(all_bytes.chunks(1).chain(products.clone()));
        let trie = Trie::new(symbols())?;
        let shorter =
            |(_, symbol): (u32, &[u8])| trie.longest(&symbol[..symbol.len() - 1]).unwrap_or(NO_MERGE);
        let shorter = symbols().map(shorter).collect();
        let cuts = Cuts::new(products.clone());
        let longest_symbol = lengths.iter().max().map_or(1, |&length| length as usize);
        Some((Self { table, parts, ids, lengths, longest_symbol, trie, shorter, cuts }, builds))
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
            1..=SHORT => self.encode_short(pretoken, out),
            _ => {
                if !long::backtrack(self, pretoken, scratch, ticker)? {
                    merge::merge_by_heap(&self.table, start(pretoken, scratch), ticker)?;
                    merge::collect_into_first(scratch);
                }
                self.put(&scratch.symbols, out);
            }
        }
        Ok(())
    }

    fn encode_short(&self, pretoken: &[u8], out: Out<'_>) {
        let [merged] = Narrow::merge(cpu::level(), &self.table, [key_at(pretoken, 0, pretoken.len())]);
        self.put(Narrow::left(&merged), out);
    }

    /// Puts the ids of up to [`TOGETHER`] pretokens behind what is there, one pretoken after the other; how many of
    /// each. Several cost little more than one: they wait for memory together.
    pub(super) fn encode_together<W: Width>(
        &self,
        rows: &[W::Row],
        ids: &mut Vec<TokenId>,
    ) -> [usize; TOGETHER] {
        let mut counts = [0; TOGETHER];
        let mut put = |merged: &[W::Merged]| {
            for (count, merged) in counts.iter_mut().zip(merged) {
                let row = W::left(merged);
                self.put(row, Out { ids, ends: None });
                *count = row.len();
            }
        };
        let (level, table) = (cpu::level(), &self.table);
        let some = |at: usize| rows.get(at).copied().unwrap_or_default();
        match rows.len() {
            0 => {}
            1 => put(&W::merge(level, table, [some(0)])),
            2..=4 => put(&W::merge::<4>(level, table, std::array::from_fn(some))),
            _ => put(&W::merge::<TOGETHER>(level, table, std::array::from_fn(some))),
        }
        counts
    }

    #[inline]
    fn put(&self, row: &[u32], out: Out<'_>) {
        out.ids.extend(row.iter().map(|&symbol| self.ids[symbol as usize]));
        if let Some(ends) = out.ends {
            let mut end = 0;
            ends.extend(row.iter().map(|&symbol| {
                end += self.lengths[symbol as usize];
                end
            }));
        }
    }

    /// The two parts of a product, and of a byte nothing.
    #[inline]
    pub(super) fn parts(&self, symbol: u32) -> Option<(u32, u32)> {
        self.parts.get((symbol as usize).wrapping_sub(BYTES as usize)).copied()
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.table.memory()
            + 8 * self.parts.capacity()
            + 4 * (self.ids.capacity() + self.lengths.capacity() + self.shorter.capacity())
            + self.trie.memory()
            + self.cuts.memory()
    }
}

impl Candidate {
    fn is_from(&self, left: u32, right: u32, ids: &[TokenId]) -> bool {
        self.parts.is_none_or(|parts| parts == (ids[left as usize], ids[right as usize]))
    }
}

/// The symbols of a pretoken before anything merges.
fn start<'a>(pretoken: &[u8], scratch: &'a mut Scratch) -> &'a mut Scratch {
    scratch.symbols.clear();
    scratch.symbols.extend(pretoken.iter().copied().map(u32::from));
    scratch
}

/// What is left when all has merged.
fn merge_bytes<'a>(table: &MergeTable, bytes: &[u8], scratch: &'a mut Scratch) -> &'a [u32] {
    if bytes.len() <= SHORT {
        let [merged] = Narrow::merge(cpu::level(), table, [key_at(bytes, 0, bytes.len())]);
        scratch.symbols.clear();
        scratch.symbols.extend_from_slice(Narrow::left(&merged));
        return &scratch.symbols;
    }
    let watch = crate::watch::Unwatched;
    let scratch = start(bytes, scratch);
    // Nobody watches, so that nothing cancels.
    if merge::merge_by_heap(table, scratch, &mut Ticker::new(&watch)).is_ok() {
        merge::collect_into_first(scratch);
    }
    &scratch.symbols
}
