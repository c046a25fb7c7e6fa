//! The merges of a vocabulary over all 256 bytes, cut down to the one pair that builds each token.
//!
//! Of all pairs that could join to a token's bytes, merging ever joins one: the last one when its
//! bytes are merged alone. Tokens that their own bytes do not merge to never come up at all.
//! `docs/merging.md` has the proof. So symbols are numbered anew, bytes as they are and then
//! products by rank: a number says which of two merges comes first and what it makes.
use tokenmill_kernels::rows::{Narrow, Wide, Width, wide_row};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MadeOnce, MergeTable, NO_MERGE, cpu};

use crate::description::{Merge, TokenList};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, narrow};
use crate::watch::Ticker;

use super::cuts::Cuts;
use super::long::Search;
use super::pieces::Out;
use super::{Scratch, long, merge};

/// The number of symbols that are bytes: products come behind.
pub(super) const BYTES: u32 = 256;

/// A pretoken of up to this many bytes that comes alone is merged by looking for the lowest rank at every step, a longer
/// one by a search that is linear.
///
/// Chinese pretokens of 26 bytes take 1.7 times as long by the first way, random words of 8 bytes
/// 1.4 times as long by the second; between 8 and 16 bytes they differ little. Rows that are merged side by side
/// wait for memory together, and so pay up to 31 bytes.
const SHORT: usize = Narrow::LONGEST;

/// Short pretokens that are merged side by side.
pub const TOGETHER: usize = 8;

/// The canonical merges.
#[derive(Debug)]
pub(super) struct Canonical {
    pub(super) table: MergeTable,
    /// The parts of each product, both with lower numbers than its own, or [`NOT_BUILT`].
    parts: Vec<(u32, u32)>,
    pub(super) ids: Vec<TokenId>,
    /// The bytes of each symbol; 0 for one that is not built.
    pub(super) lengths: Vec<u32>,
    pub(super) cuts: Cuts,
    /// For long pretokens; a fifth of the time that all of this takes to make, and in many texts there are none.
    pub(super) search: MadeOnce<Option<Search>>,
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
        Self::new(&candidates.collect::<Option<Vec<_>>>()?, tokens, bytes)
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
        let candidates = candidates.map(|(index, _)| Candidate { index, parts: None });
        Self::new(&candidates.collect::<Vec<_>>(), tokens, bytes)
    }

    /// The canonical merges, and of each token whether its bytes merge to it. `None` where a byte is
    /// no token, where a token is merged from one of a higher rank, where two are merged from the same ones, and for
    /// millions of tokens.
    ///
    /// Cost: that of merging the bytes of each token.
    fn new(
        candidates: &[Candidate],
        tokens: &TokenList,
        bytes: &[TokenId; 256],
    ) -> Option<(Self, Vec<bool>)> {
        if bytes.contains(&NO_ID) || candidates.len() + BYTES as usize >= NO_MERGE as usize {
            return None;
        }
        let mut building = Building::new(candidates, tokens, bytes);
        // What a token is merged from is shorter, so all of one length are merged before any is put.
        let (places, ends) = building.by_length();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for (length, (start, &end)) in starts.zip(&ends).enumerate() {
            let same = &places[start..end];
            if length <= Narrow::LONGEST {
                building.merge_together::<Narrow>(same, |bytes| key_at(bytes, 0, bytes.len()));
            } else if length <= Wide::LONGEST {
                building.merge_together::<Wide>(same, wide_row);
            } else {
                building.merge_long(same);
            }
            building.put()?;
        }
        let Building { table, parts, ids, builds, .. } = building;
        let built = candidates.iter().zip(&parts).filter(|&(_, &parts)| parts != NOT_BUILT);
        let cuts = Cuts::new(built.map(|(candidate, _)| tokens.bytes(candidate.index)));
        let mut lengths = vec![1; BYTES as usize];
        for &parts in &parts {
            let of = |part: u32| lengths[part as usize];
            let length = if parts == NOT_BUILT { 0 } else { of(parts.0) + of(parts.1) };
            lengths.push(length);
        }
        Some((Self { table, parts, ids, lengths, cuts, search: MadeOnce::default() }, builds))
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
            + 4 * (self.ids.capacity() + self.lengths.capacity())
            + self.cuts.memory()
            + self.search.get().and_then(Option::as_ref).map_or(0, Search::memory)
    }
}

/// In place of its parts: nothing is ever merged to this one.
const NOT_BUILT: (u32, u32) = (NO_MERGE, NO_MERGE);

/// Canonical merges while they are found. A candidate has the number of its rank, whether it is built or not.
struct Building<'a> {
    candidates: &'a [Candidate],
    tokens: &'a TokenList,
    table: MergeTable,
    parts: Vec<(u32, u32)>,
    ids: Vec<TokenId>,
    builds: Vec<bool>,
    /// Candidates whose bytes are merged to two symbols, and these.
    found: Vec<(usize, [u32; 2])>,
}

impl<'a> Building<'a> {
    fn new(candidates: &'a [Candidate], tokens: &'a TokenList, bytes: &[TokenId; 256]) -> Self {
        let products = candidates.iter().map(|candidate| tokens.id(candidate.index));
        let is_built =
            |(id, token): (TokenId, &[u8])| matches!(*token, [byte] if bytes[usize::from(byte)] == id);
        Self {
            candidates,
            tokens,
            table: MergeTable::with_capacity(candidates.len()),
            parts: vec![NOT_BUILT; candidates.len()],
            ids: bytes.iter().copied().chain(products).collect(),
            builds: tokens.iter().map(is_built).collect(),
            found: Vec::new(),
        }
    }

    fn bytes(&self, place: usize) -> &'a [u8] {
        self.tokens.bytes(self.candidates[place].index)
    }

    /// All candidates, the shortest first, and where those of each length end.
    fn by_length(&self) -> (Vec<usize>, Vec<usize>) {
        let length = |place: usize| self.bytes(place).len();
        let all = 0..self.candidates.len();
        let mut ends = vec![0; all.clone().map(length).max().map_or(0, |longest| longest + 1)];
        all.clone().for_each(|place| ends[length(place)] += 1);
        let mut before = 0;
        for end in &mut ends {
            // Where they begin, until they are put there.
            before += std::mem::replace(end, before);
        }
        let mut places = vec![0; all.len()];
        for place in all {
            let end = &mut ends[length(place)];
            places[*end] = place;
            *end += 1;
        }
        (places, ends)
    }

    /// Merges candidates that are no longer than rows of a width.
    fn merge_together<W: Width>(&mut self, places: &[usize], row: impl Fn(&[u8]) -> W::Row) {
        for group in places.chunks(TOGETHER) {
            let some = |at: usize| group.get(at).map(|&place| row(self.bytes(place))).unwrap_or_default();
            let merged = W::merge::<TOGETHER>(cpu::level(), &self.table, std::array::from_fn(some));
            let found = group.iter().zip(&merged).filter_map(|(&place, merged)| {
                let row = W::left(merged).first_chunk().filter(|_| W::left(merged).len() == 2);
                row.map(|&row| (place, row))
            });
            self.found.extend(found);
        }
    }

    fn merge_long(&mut self, places: &[usize]) {
        let (scratch, watch) = (&mut Scratch::default(), crate::watch::Unwatched);
        for &place in places {
            let scratch = start(self.bytes(place), scratch);
            // Nobody watches, so that nothing cancels.
            if merge::merge_by_heap(&self.table, scratch, &mut Ticker::new(&watch)).is_ok() {
                merge::collect_into_first(scratch);
            }
            if let &[left, right] = &scratch.symbols[..] {
                self.found.push((place, [left, right]));
            }
        }
    }

    /// Puts the merges that were found. `None` where one of two parts ranks above what is made of them, or something
    /// else is made of them already.
    ///
    /// That of what is in the table some may rank higher than a candidate changes nothing: the lowest comes first, so
    /// those are made only when no lower one is left, and then one of the two parts is above the candidate.
    fn put(&mut self) -> Option<()> {
        for (place, [left, right]) in self.found.drain(..) {
            let (candidate, number) = (&self.candidates[place], BYTES + narrow(place));
            if candidate.is_from(left, right, &self.ids) {
                if left.max(right) > number || !self.table.insert(left, right, number) {
                    return None;
                }
                self.parts[place] = (left, right);
                self.builds[candidate.index] = true;
            }
        }
        Some(())
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
