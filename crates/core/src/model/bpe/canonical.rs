//! The merges of a vocabulary over all 256 bytes, cut down to the one pair that builds each token.
//!
//! Of all pairs that could join to a token's bytes, merging ever joins one: the last one when its
//! bytes are merged alone. Tokens that their own bytes do not merge to never come up at all.
//! `docs/merging.md` has the proof. So symbols are numbered anew, bytes as they are and then
//! products by rank: a number says which of two merges comes first and what it makes.
use tokenmill_kernels::rows::{Narrow, Wide, Width, wide_row};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, cpu};

use crate::description::{Merge, TokenList};
use crate::error::Result;
use crate::ids::{NO_ID, TokenId, narrow};
use crate::watch::Ticker;

use super::cuts::Cuts;
use super::long::Search;
use super::order::in_order;
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
    /// For long pretokens, unless the tokens have too many bytes for it.
    pub(super) search: Option<Search>,
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
    /// no token, where two are merged from the same ones, for millions of tokens, and where no [order](in_order) of
    /// numbers says what ranks say.
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
        let building = Building::run(candidates, tokens, bytes)?;
        let cuts = Cuts::new(building.built().map(|place| building.bytes(place)));
        let (merges, builds) = building.finish()?;
        let mut lengths = vec![1; BYTES as usize];
        for &parts in &merges.parts {
            let of = |part: u32| lengths[part as usize];
            lengths.push(if parts == NOT_BUILT { 0 } else { of(parts.0) + of(parts.1) });
        }
        let Numbered { table, parts, ids } = merges;
        let search = Search::new(&parts, &lengths);
        Some((Self { table, parts, ids, lengths, cuts, search }, builds))
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
            + self.search.as_ref().map_or(0, Search::memory)
    }
}

/// In place of its parts: nothing is ever merged to this one.
const NOT_BUILT: (u32, u32) = (NO_MERGE, NO_MERGE);

/// Merges by what they make: of each number its parts and its id.
struct Numbered {
    table: MergeTable,
    parts: Vec<(u32, u32)>,
    ids: Vec<TokenId>,
}

/// Canonical merges while they are found.
struct Building<'a> {
    candidates: &'a [Candidate],
    tokens: &'a TokenList,
    bytes: &'a [TokenId; 256],
    /// The symbol of each candidate is its rank behind those of bytes.
    table: MergeTable,
    parts: Vec<(u32, u32)>,
    /// All candidates, the shortest first.
    by_length: Vec<usize>,
    /// Of each token: do its bytes merge to it?
    builds: Vec<bool>,
    /// Candidates whose bytes are merged to two symbols, and these.
    found: Vec<(usize, [u32; 2])>,
}

impl<'a> Building<'a> {
    fn run(candidates: &'a [Candidate], tokens: &'a TokenList, bytes: &'a [TokenId; 256]) -> Option<Self> {
        let is_built =
            |(id, token): (TokenId, &[u8])| matches!(*token, [byte] if bytes[usize::from(byte)] == id);
        let mut building = Self {
            candidates,
            tokens,
            bytes,
            table: MergeTable::with_capacity(candidates.len()),
            parts: vec![NOT_BUILT; candidates.len()],
            by_length: Vec::new(),
            builds: tokens.iter().map(is_built).collect(),
            found: Vec::new(),
        };
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
        building.by_length = places;
        Some(building)
    }

    fn bytes(&self, place: usize) -> &'a [u8] {
        self.tokens.bytes(self.candidates[place].index)
    }

    /// The token of a candidate.
    fn id(&self, place: usize) -> TokenId {
        self.tokens.id(self.candidates[place].index)
    }

    /// The token of a symbol.
    fn id_of(&self, symbol: u32) -> TokenId {
        let place = symbol.checked_sub(BYTES);
        place.map_or_else(|| self.bytes[symbol as usize], |place| self.id(place as usize))
    }

    /// Those that merging makes.
    fn built(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.parts.len()).filter(|&place| self.parts[place] != NOT_BUILT)
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

    /// Puts the merges that were found. `None` where two candidates are merged from the same parts.
    ///
    /// That of what is in the table some may rank higher than a candidate changes nothing: its own merge can only be the
    /// last one, of all that is left.
    fn put(&mut self) -> Option<()> {
        for (place, [left, right]) in std::mem::take(&mut self.found) {
            let is_from = |(a, b): (TokenId, TokenId)| (a, b) == (self.id_of(left), self.id_of(right));
            if self.candidates[place].parts.is_none_or(is_from) {
                if !self.table.insert(left, right, BYTES + narrow(place)) {
                    return None;
                }
                self.parts[place] = (left, right);
                self.builds[self.candidates[place].index] = true;
            }
        }
        Some(())
    }

    /// What was found, and of each token whether its bytes merge to it. `None` where no numbers say in which order
    /// products are made.
    fn finish(mut self) -> Option<(Numbered, Vec<bool>)> {
        let is_behind = |(product, &(left, right)): (u32, &(u32, u32))| left.max(right) < product;
        let is_built = |&(_, &parts): &(u32, &(u32, u32))| parts != NOT_BUILT;
        let bytes = self.bytes.iter().copied();
        if (BYTES..).zip(&self.parts).filter(is_built).all(is_behind) {
            let ids = bytes.chain((0..self.candidates.len()).map(|place| self.id(place))).collect();
            return Some((Numbered { table: self.table, parts: self.parts, ids }, self.builds));
        }
        let mut built = std::mem::take(&mut self.by_length);
        built.retain(|&place| self.parts[place] != NOT_BUILT);
        let places = in_order(&self.parts, built)?;
        let mut numbers: Vec<u32> = (0..BYTES).chain(self.parts.iter().map(|_| NO_MERGE)).collect();
        let mut numbered = Numbered {
            table: MergeTable::with_capacity(places.len()),
            parts: Vec::with_capacity(places.len()),
            ids: bytes.chain(places.iter().map(|&place| self.id(place))).collect(),
        };
        for (number, place) in (BYTES..).zip(places) {
            numbers[BYTES as usize + place] = number;
            let (left, right) = self.parts[place];
            let parts = (numbers[left as usize], numbers[right as usize]);
            numbered.table.insert(parts.0, parts.1, number);
            numbered.parts.push(parts);
        }
        Some((numbered, self.builds))
    }
}

/// The symbols of a pretoken before anything merges.
fn start<'a>(pretoken: &[u8], scratch: &'a mut Scratch) -> &'a mut Scratch {
    scratch.symbols.clear();
    scratch.symbols.extend(pretoken.iter().copied().map(u32::from));
    scratch
}
