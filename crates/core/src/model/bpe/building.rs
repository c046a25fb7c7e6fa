//! How the canonical merges of a vocabulary are found: the bytes of each token are merged by what was found for
//! shorter ones. `docs/merging.md` has the proof.
use tokenmill_kernels::rows::{Narrow, Wide, Widest, Width, wide_row, widest_row};
use tokenmill_kernels::short_table::key_at;
use tokenmill_kernels::{MergeTable, NO_MERGE, cpu, prefetch};

use crate::description::TokenList;
use crate::error::Result;
use crate::ids::{TokenId, to_u32};
use crate::watch::Ticker;

use super::canonical::{BYTES, NOT_BUILT, TOGETHER, start};
use super::order::in_order;
use super::{Scratch, merge};

/// Entries that are brought near before they are put.
const AHEAD: usize = 8;

/// What may be products, in order of rank.
pub(super) struct Candidates {
    /// The place of each in the list of tokens.
    pub(super) indices: Vec<u32>,
    /// What each must be joined from; `None` for any two tokens.
    pub(super) parts: Option<Vec<(TokenId, TokenId)>>,
}

/// Candidates by the token that they make. Each has a place, which is its rank.
struct Ways {
    candidates: Candidates,
    /// The first one of each token, [`NONE`] where there is none.
    first: Vec<u32>,
    /// Behind each candidate the next one that makes the same token; nothing where no token has two.
    next: Vec<u32>,
}

/// In place of a place.
const NONE: u32 = u32::MAX;

impl Ways {
    fn new(candidates: Candidates, tokens: usize) -> Self {
        let (mut first, mut next) = (vec![NONE; tokens], Vec::new());
        for (place, &index) in candidates.indices.iter().enumerate().rev() {
            let behind = std::mem::replace(&mut first[index as usize], to_u32(place));
            if behind != NONE {
                next.resize(candidates.indices.len(), NONE);
                next[place] = behind;
            }
        }
        Self { candidates, first, next }
    }

    /// Is there a way to make this token?
    #[inline]
    fn is_made(&self, index: usize) -> bool {
        self.first[index] != NONE
    }

    /// The places of those that make this token, ascending, and what they must be joined from.
    #[inline]
    fn of(&self, index: usize) -> impl Iterator<Item = (u32, Option<(TokenId, TokenId)>)> + Clone {
        let next = |place: u32| self.next.get(place as usize).copied().filter(|&place| place != NONE);
        let first = Some(self.first[index]).filter(|&place| place != NONE);
        let places = std::iter::successors(first, move |&place| next(place));
        places.map(|place| (place, self.candidates.parts.as_ref().map(|parts| parts[place as usize])))
    }

    /// Brings near what [`Self::of`] looks at.
    #[inline]
    fn expect(&self, index: usize) {
        if let Some(parts) = &self.candidates.parts {
            prefetch(parts, self.first[index] as usize);
        }
    }

    /// Is the same token made from the same parts twice?
    fn is_listed_twice(&self) -> bool {
        // Most tokens are made in one way.
        let heads =
            self.candidates.indices.iter().zip(&self.next).enumerate().filter(|&(place, (&index, &next))| {
                next != NONE && self.first[index as usize] as usize == place
            });
        heads
            .map(|(_, (&index, _))| index)
            .any(|index| has_equal(self.of(index as usize).filter_map(|(_, parts)| parts)))
    }
}

/// Items of which more are sorted before they are compared.
const FEW: usize = 16;

/// Are two of these equal?
fn has_equal<T: Ord>(items: impl Iterator<Item = T> + Clone) -> bool {
    if items.clone().nth(FEW).is_none() {
        let mut rest = items;
        while let Some(item) = rest.next() {
            if rest.clone().any(|other| other == item) {
                return true;
            }
        }
        return false;
    }
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.windows(2).any(|pair| pair[0] == pair[1])
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
    candidates: Candidates,
    tokens: &TokenList,
    bytes: &[TokenId; 256],
    ticker: &mut Ticker<'_>,
) -> Result<Option<Numbered>> {
    let is_built = |(id, token): (TokenId, &[u8])| matches!(*token, [byte] if bytes[usize::from(byte)] == id);
    let count = candidates.indices.len();
    let of_products = candidates.indices.iter().map(|&index| tokens.id(index as usize));
    let ids = bytes.iter().copied().chain(of_products).collect();
    let ways = Ways::new(candidates, tokens.len());
    if ways.is_listed_twice() {
        return Ok(None);
    }
    let mut building = Building {
        tokens,
        table: MergeTable::with_capacity(count.min(tokens.len())),
        parts: vec![NOT_BUILT; count],
        builds: tokens.iter().map(is_built).collect(),
        found: Vec::new(),
        ids,
        ways,
    };
    // What a token is merged from is shorter, so all of one length are merged before any is put.
    let products = (0..tokens.len()).filter(|&index| building.ways.is_made(index));
    let (products, ends) = grouped(products.map(|index| (tokens.bytes(index).len(), to_u32(index))));
    let starts = std::iter::once(0).chain(ends.iter().copied());
    for (length, (start, &end)) in starts.zip(&ends).enumerate() {
        let same = &products[start as usize..end as usize];
        if length <= Narrow::LONGEST {
            building.merge_together::<Narrow>(same, |bytes| key_at(bytes, 0, bytes.len()), ticker)?;
        } else if length <= Wide::LONGEST {
            building.merge_together::<Wide>(same, wide_row, ticker)?;
        } else if length <= Widest::LONGEST {
            building.merge_together::<Widest>(same, widest_row, ticker)?;
        } else {
            building.merge_long(same, ticker)?;
        }
        if building.put().is_none() {
            return Ok(None);
        }
    }
    ticker.watch().poll()?;
    Ok(if building.is_in_order() { Some(building.by_rank()) } else { building.renumbered(&products) })
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
    ways: Ways,
}

impl Building<'_> {
    /// Merges tokens that are no longer than rows of a width.
    fn merge_together<W: Width>(
        &mut self,
        products: &[u32],
        row: impl Fn(&[u8]) -> W::Row,
        ticker: &mut Ticker<'_>,
    ) -> Result<()> {
        for group in products.chunks(TOGETHER) {
            ticker.spend(TOGETHER * W::LONGEST)?;
            let bytes = |index: u32| self.tokens.bytes(index as usize);
            let some = |at: usize| group.get(at).map(|&index| row(bytes(index))).unwrap_or_default();
            let merged = W::merge::<TOGETHER>(cpu::level(), &self.table, std::array::from_fn(some));
            let found = group.iter().zip(&merged).filter_map(|(&index, merged)| {
                let row = W::left(merged).first_chunk().filter(|_| W::left(merged).len() == 2);
                row.map(|&row| (index, row))
            });
            self.found.extend(found);
        }
        Ok(())
    }

    fn merge_long(&mut self, products: &[u32], ticker: &mut Ticker<'_>) -> Result<()> {
        let scratch = &mut Scratch::default();
        for &index in products {
            let scratch = start(self.tokens.bytes(index as usize), scratch)?;
            merge::merge_by_heap(&self.table, scratch, ticker)?;
            merge::collect_into_first(scratch);
            if let &[left, right] = &scratch.symbols[..] {
                self.found.push((index, [left, right]));
            }
        }
        Ok(())
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
                self.ways.expect(index as usize);
            }
            let parts = (self.ids[left as usize], self.ids[right as usize]);
            let ways = self.ways.of(index as usize);
            let mut ways = ways.filter(|(_, listed)| listed.is_none_or(|listed| listed == parts));
            let Some((place, _)) = ways.next() else { continue };
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
        let ways = products.iter().flat_map(|&index| self.ways.of(index as usize));
        let places = ways.map(|(place, _)| place as usize).filter(is_made);
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
            table.insert(left, right, BYTES + to_u32(at));
        }
        let bytes = (0..BYTES as usize).chain(places.iter().map(|&place| BYTES as usize + place));
        let ids = bytes.map(|symbol| self.ids[symbol]).collect();
        Some(Numbered { table, parts, ids, builds: self.builds })
    }
}
