//! Islands: bytes of a text of which some token holds each one and the next side by side.
//!
//! Nothing is ever merged from one island to the next, as whatever merging makes is a token, and no token holds the two
//! bytes that stand there. Characters that a vocabulary hardly knows fall into islands of a byte or two; to spell
//! these takes less than to look further for them, and far less than to keep them.
use std::ops::Range;

use tokenmill_kernels::{MergeTable, NO_MERGE};

use crate::ids::TokenId;

/// The most bytes of an island in which there is something to merge.
const LONGEST: usize = 4;

/// Which bytes are in one island with those behind them, and which merge with these.
#[derive(Debug)]
pub(super) struct Islands {
    joined: Pairs,
    merging: Pairs,
}

/// A bit for each two bytes.
#[derive(Debug)]
struct Pairs(Box<[u64; 1 << 10]>);

impl Pairs {
    fn new() -> Self {
        Self(Box::new([0; 1 << 10]))
    }

    fn put(&mut self, left: u8, right: u8) {
        self.0[word_of(left, right)] |= 1 << (right & 63);
    }

    #[inline]
    fn holds(&self, left: u8, right: u8) -> bool {
        self.0[word_of(left, right)] >> (right & 63) & 1 == 1
    }
}

#[inline]
fn word_of(left: u8, right: u8) -> usize {
    usize::from(left) << 2 | usize::from(right >> 6)
}

impl Islands {
    /// Each byte is one.
    pub(super) fn new() -> Self {
        Self { joined: Pairs::new(), merging: Pairs::new() }
    }

    /// Puts the place where the two parts of a token meet. All other places of a token are those of its parts.
    pub(super) fn put_joined(&mut self, token: &[u8], join: usize) {
        let (left, right) = (token[join - 1], token[join]);
        self.joined.put(left, right);
        if token.len() == 2 {
            self.merging.put(left, right);
        }
    }

    /// Puts the ids of `text` into `room`, which is at least as long; says how many they are. `None` where bytes merge in an
    /// island that is too long: what `room` holds means nothing then.
    ///
    /// Cost: linear, up to that island.
    #[inline]
    pub(super) fn spell(
        &self,
        text: &[u8],
        table: &MergeTable,
        ids: &[TokenId],
        room: &mut [TokenId],
    ) -> Option<usize> {
        let (mut from, mut count) = (0, 0);
        loop {
            let island = self.next_merging(text, from)?;
            let bytes = &text[from..island.start];
            room[count..].iter_mut().zip(bytes).for_each(|(id, &byte)| *id = ids[usize::from(byte)]);
            count += bytes.len();
            if island.is_empty() {
                return Some(count);
            }
            from = island.end;
            let (row, length) = merged(&text[island], table);
            for (id, &symbol) in room[count..].iter_mut().zip(&row[..length]) {
                *id = ids[symbol as usize];
            }
            count += length;
        }
    }

    /// The first island from `from` on, where one begins, in which bytes merge; none of the text is left before it where
    /// there is no such. `None` where it is too long.
    #[inline]
    fn next_merging(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        let merges = |(&left, &right): (&u8, &u8)| self.merging.holds(left, right);
        let Some(at) = rest.iter().zip(rest.iter().skip(1)).position(merges) else {
            return Some(text.len()..text.len());
        };
        let is_end = |at: usize| match rest.get(at.wrapping_sub(1)..=at) {
            Some(&[left, right]) => !self.joined.holds(left, right),
            _ => true,
        };
        let start = (0..LONGEST - 1).map(|back| at.wrapping_sub(back)).find(|&start| is_end(start))?;
        let end = (at + 2..=start + LONGEST).find(|&end| is_end(end))?;
        Some(from + start..from + end)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.joined.0) + size_of_val(&*self.merging.0)
    }
}

/// The symbols that an island becomes, and how many they are.
#[inline]
fn merged(island: &[u8], table: &MergeTable) -> ([u32; LONGEST], usize) {
    let (mut row, mut length) = ([NO_MERGE; LONGEST], island.len().min(LONGEST));
    row.iter_mut().zip(island).for_each(|(symbol, &byte)| *symbol = u32::from(byte));
    loop {
        let (mut best, mut place) = (NO_MERGE, 0);
        for at in 1..length {
            let product = table.get(row[at - 1], row[at]);
            if product < best {
                (best, place) = (product, at);
            }
        }
        if best == NO_MERGE {
            return (row, length);
        }
        row[place - 1] = best;
        row.copy_within(place + 1..length, place);
        length -= 1;
    }
}
