//! How the canonical merges of a vocabulary are found: the bytes of each token are merged by what was found for
//! shorter ones. `docs/merging.md` has the proof.
use tokenmill_kernels::rows::{Narrow, Wide, Widest, Width, wide_row, widest_row};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, cpu, prefetch};

use crate::description::TokenList;
use crate::ids::{TokenId, narrow};
use crate::watch::Ticker;

use super::canonical::{BYTES, NOT_BUILT, TOGETHER, start};
use super::order::in_order;
use super::{Scratch, merge};

/// Entries that are brought near before they are put.
const AHEAD: usize = 8;

/// What may be a product, in order of rank.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    /// Its place in the list of tokens.
    pub(super) index: u32,
    /// What it must be joined from; `None` for any two tokens.
    pub(super) parts: Option<(TokenId, TokenId)>,
}

/// A way to make a token.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The place of the candidate, which is its rank.
    place: u32,
    parts: Option<(TokenId, TokenId)>,
}

/// Merges by what they make.
pub(super) struct Numbered {
    pub(super) table: MergeTable,
    /// Of each number but those of bytes: what it is merged from.
    pub(super) parts: Vec<(u32, u32)>,
    /// Of each number.
    pub(super) ids: Vec<TokenId>,
    /// Of each token: do its bytes merge to it?
    pub(super) builds: Vec<bool>,
}

/// The canonical merges of these candidates. `None` where two are listed with the same parts, and where no numbers say in
/// which order they are made.
pub(super) fn find(
    candidates: Vec<Candidate>,
    tokens: &TokenList,
    bytes: &[TokenId; 256],
) -> Option<Numbered> {
    let is_built = |(id, token): (TokenId, &[u8])| matches!(*token, [byte] if bytes[usize::from(byte)] == id);
    let count = candidates.len();
    let of_products = candidates.iter().map(|one| tokens.id(one.index as usize));
    let ids = bytes.iter().copied().chain(of_products).collect();
    let ways = candidates.iter().zip(0..);
    let ways = ways.map(|(&Candidate { index, parts }, place)| (index as usize, Way { place, parts }));
    let (ways, ends) = grouped(ways);
    drop(candidates);
    let mut building = Building {
        tokens,
        table: MergeTable::with_capacity(count.min(tokens.len())),
        parts: vec![NOT_BUILT; count],
        builds: tokens.iter().map(is_built).collect(),
        found: Vec::new(),
        ids,
        ways,
        ends,
    };
    if (0..building.ends.len()).any(|index| is_listed_twice(building.ways_of(index))) {
        return None;
    }
    // What a token is merged from is shorter, so all of one length are merged before any is put.
    let products = (0..building.ends.len()).filter(|&index| !building.ways_of(index).is_empty());
    let (products, ends) = grouped(products.map(|index| (tokens.bytes(index).len(), narrow(index))));
    let starts = std::iter::once(0).chain(ends.iter().copied());
    for (length, (start, &end)) in starts.zip(&ends).enumerate() {
        let same = &products[start as usize..end as usize];
        if length <= Narrow::LONGEST {
            building.merge_together::<Narrow>(same, |bytes| key_at(bytes, 0, bytes.len()));
        } else if length <= Wide::LONGEST {
            building.merge_together::<Wide>(same, wide_row);
        } else if length <= Widest::LONGEST {
            building.merge_together::<Widest>(same, widest_row);
        } else {
            building.merge_long(same);
        }
        building.put()?;
    }
    if building.is_in_order() { Some(building.by_rank()) } else { building.renumbered(&products) }
}

/// Ways of which more are sorted before they are compared.
const FEW: usize = 16;

/// Has one of the ways to make a token the same parts as another one?
fn is_listed_twice(ways: &[Way]) -> bool {
    let parts = ways.iter().filter_map(|way| way.parts);
    if ways.len() <= FEW {
        return parts
            .clone()
            .enumerate()
            .any(|(at, one)| parts.clone().skip(at + 1).any(|other| one == other));
    }
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    parts.windows(2).any(|pair| pair[0] == pair[1])
}

/// Items by the small number in front of each, those of one number in order; and where those of each number end.
fn grouped<T: Copy + Default>(items: impl Iterator<Item = (usize, T)> + Clone) -> (Vec<T>, Vec<u32>) {
    let mut ends = vec![0; items.clone().map(|(number, _)| number).max().map_or(0, |most| most + 1)];
    items.clone().for_each(|(number, _)| ends[number] += 1);
    let mut before = 0;
    for end in &mut ends {
        // Where they begin, until they are put there.
        before += std::mem::replace(end, before);
    }
    let mut sorted = vec![T::default(); before as usize];
    for (number, item) in items {
        let end = &mut ends[number];
        sorted[*end as usize] = item;
        *end += 1;
    }
    (sorted, ends)
}

/// Merges while they are found. A candidate is given by its place, which is its rank.
struct Building<'a> {
    tokens: &'a TokenList,
    /// The symbol of each candidate is its rank behind those of bytes.
    table: MergeTable,
    /// Of each candidate.
    parts: Vec<(u32, u32)>,
    /// Of each token: do its bytes merge to it?
    builds: Vec<bool>,
    /// Tokens whose bytes are merged to two symbols, and these.
    found: Vec<(u32, [u32; 2])>,
    /// The token of each symbol.
    ids: Vec<TokenId>,
    /// Those of each token in order of rank, and where they end.
    ways: Vec<Way>,
    ends: Vec<u32>,
}

impl Building<'_> {
    /// Where the ways to make a token start.
    #[inline]
    fn start_of(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.ends[before]) as usize
    }

    /// The ways to make a token.
    #[inline]
    fn ways_of(&self, index: usize) -> &[Way] {
        &self.ways[self.start_of(index)..self.ends[index] as usize]
    }

    /// Merges tokens that are no longer than rows of a width.
    fn merge_together<W: Width>(&mut self, products: &[u32], row: impl Fn(&[u8]) -> W::Row) {
        for group in products.chunks(TOGETHER) {
            let bytes = |index: u32| self.tokens.bytes(index as usize);
            let some = |at: usize| group.get(at).map(|&index| row(bytes(index))).unwrap_or_default();
            let merged = W::merge::<TOGETHER>(cpu::level(), &self.table, std::array::from_fn(some));
            let found = group.iter().zip(&merged).filter_map(|(&index, merged)| {
                let row = W::left(merged).first_chunk().filter(|_| W::left(merged).len() == 2);
                row.map(|&row| (index, row))
            });
            self.found.extend(found);
        }
    }

    fn merge_long(&mut self, products: &[u32]) {
        let (scratch, watch) = (&mut Scratch::default(), crate::watch::Unwatched);
        for &index in products {
            let scratch = start(self.tokens.bytes(index as usize), scratch);
            // Nobody watches, so that nothing cancels.
            if merge::merge_by_heap(&self.table, scratch, &mut Ticker::new(&watch)).is_ok() {
                merge::collect_into_first(scratch);
            }
            if let &[left, right] = &scratch.symbols[..] {
                self.found.push((index, [left, right]));
            }
        }
    }

    /// Puts the merges that were found. `None` where two candidates are merged from the same parts.
    ///
    /// That of what is in the table some may rank higher than a candidate changes nothing: its own merge can only be the
    /// last one, of all that is left.
    fn put(&mut self) -> Option<()> {
        let found = std::mem::take(&mut self.found);
        for (at, &(index, [left, right])) in found.iter().enumerate() {
            if let Some(&(index, [left, right])) = found.get(at + AHEAD) {
                self.table.expect(left, right);
                prefetch(&self.ways, self.start_of(index as usize));
            }
            let parts = (self.ids[left as usize], self.ids[right as usize]);
            let is_from = |way: &&Way| way.parts.is_none_or(|listed| listed == parts);
            let mut ways = self.ways_of(index as usize).iter().filter(is_from);
            let Some(&Way { place, .. }) = ways.next() else { continue };
            if ways.next().is_some() || !self.table.insert(left, right, BYTES + place) {
                return None;
            }
            self.parts[place as usize] = (left, right);
            self.builds[index as usize] = true;
        }
        Some(())
    }

    /// Do ranks increase from parts to products?
    fn is_in_order(&self) -> bool {
        let is_behind = |(product, &(left, right)): (u32, &(u32, u32))| left.max(right) < product;
        (BYTES..).zip(&self.parts).filter(|&(_, &parts)| parts != NOT_BUILT).all(is_behind)
    }

    /// With the symbols that they have.
    fn by_rank(self) -> Numbered {
        Numbered { table: self.table, parts: self.parts, ids: self.ids, builds: self.builds }
    }

    /// With numbers of their own. `products` are tokens, parts before what is made of them.
    fn renumbered(self, products: &[u32]) -> Option<Numbered> {
        let is_made = |&place: &usize| self.parts[place] != NOT_BUILT;
        let ways = products.iter().flat_map(|&index| self.ways_of(index as usize));
        let places = ways.map(|way| way.place as usize).filter(is_made);
        let places = in_order(&self.parts, &places.collect::<Vec<_>>())?;
        let mut numbers: Vec<u32> = (0..BYTES).chain(self.parts.iter().map(|_| NO_MERGE)).collect();
        for (number, &place) in (BYTES..).zip(&places) {
            numbers[BYTES as usize + place] = number;
        }
        let renumbered = |&place: &usize| {
            let (left, right) = self.parts[place];
            (numbers[left as usize], numbers[right as usize])
        };
        let parts: Vec<(u32, u32)> = places.iter().map(renumbered).collect();
        let mut table = MergeTable::with_capacity(parts.len());
        for (at, &(left, right)) in parts.iter().enumerate() {
            if let Some(&(left, right)) = parts.get(at + AHEAD) {
                table.expect(left, right);
            }
            table.insert(left, right, BYTES + narrow(at));
        }
        let bytes = (0..BYTES as usize).chain(places.iter().map(|&place| BYTES as usize + place));
        let ids = bytes.map(|symbol| self.ids[symbol]).collect();
        Some(Numbered { table, parts, ids, builds: self.builds })
    }
}
