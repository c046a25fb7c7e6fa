//! Byte runs: the longest runs of bytes in a text in which each byte occurs next to the following one in some
//! token.
//!
//! In: a segment of a pretoken. Out: its ids, unless bytes merge in a run of more than four bytes. A run must never
//! end inside a token.
//!
//! Nothing merges across the end of a run: every merge makes a token, and no token has the two bytes at that place
//! next to each other. Characters that a vocabulary hardly knows fall into runs of one or two bytes. Encoding these
//! takes less time than another lookup, and much less than caching them: without byte runs a first pass over random
//! characters of all of Unicode takes 2.4 times as long, over private use characters 2.0, over digits of all
//! scripts 1.2, over text in many languages the same.
use std::ops::Range;

use tokenmill_kernels::image::{ImageError, ImageReader, ImageWriter, InImage};
use tokenmill_kernels::{MergeTable, NO_MERGE};

use super::table::SymbolTable;
use crate::ids::TokenId;
use crate::model::bpe::byte_pairs::BytePairs;

/// The largest number of bytes of a run in which bytes merge.
const MAX_LENGTH: usize = 4;

/// The pairs of adjacent bytes that are in one run, and those that merge.
#[derive(Debug)]
pub(super) struct ByteRuns {
    joined: BytePairs,
    merging: BytePairs,
}

impl ByteRuns {
    /// Each byte is a run.
    pub(super) fn new() -> Self {
        Self { joined: BytePairs::new(), merging: BytePairs::new() }
    }

    /// Adds a token whose two parts meet at `join`. Its other pairs of bytes are inside the parts, which must be
    /// added too, unless they are single bytes.
    pub(super) fn add(&mut self, token: &[u8], join: usize) {
        let (left, right) = (token[join - 1], token[join]);
        self.joined.insert(left, right);
        if token.len() == 2 {
            self.merging.insert(left, right);
        }
    }

    /// Writes the ids of `text` to `buffer`, which is at least as long, and returns their number. `None` if bytes
    /// merge in a run that is too long; `buffer` then has no meaning.
    ///
    /// Cost: linear, up to that run.
    #[inline]
    pub(super) fn encode(&self, text: &[u8], table: &SymbolTable, buffer: &mut [TokenId]) -> Option<usize> {
        let SymbolTable { merges, ids, .. } = table;
        let (mut from, mut count) = (0, 0);
        loop {
            let run = self.next_merging(text, from)?;
            let bytes = &text[from..run.start];
            buffer[count..].iter_mut().zip(bytes).for_each(|(id, &byte)| *id = ids[usize::from(byte)]);
            count += bytes.len();
            if run.is_empty() {
                return Some(count);
            }
            from = run.end;
            let (row, length) = merged(&text[run], merges);
            for (id, &symbol) in buffer[count..].iter_mut().zip(&row[..length]) {
                *id = ids[symbol as usize];
            }
            count += length;
        }
    }

    /// The first run from `from` on in which bytes merge; an empty range at the end of the text if there is none.
    /// `None` if it is too long. A run must begin at `from`.
    #[inline]
    fn next_merging(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let rest = text.get(from..)?;
        let merges = |(&left, &right): (&u8, &u8)| self.merging.contains(left, right);
        let Some(at) = rest.iter().zip(rest.iter().skip(1)).position(merges) else {
            return Some(text.len()..text.len());
        };
        let is_end = |at: usize| match rest.get(at.wrapping_sub(1)..=at) {
            Some(&[left, right]) => !self.joined.contains(left, right),
            _ => true,
        };
        let start = (0..MAX_LENGTH - 1).map(|back| at.wrapping_sub(back)).find(|&start| is_end(start))?;
        let end = (at + 2..=start + MAX_LENGTH).find(|&end| is_end(end))?;
        Some(from + start..from + end)
    }

    /// Heap bytes held.
    pub(super) fn memory(&self) -> usize {
        self.joined.memory() + self.merging.memory()
    }
}

impl InImage for ByteRuns {
    fn write(&self, image: &mut ImageWriter) {
        self.joined.write(image);
        self.merging.write(image);
    }

    fn read(image: &mut ImageReader) -> Result<Self, ImageError> {
        Ok(Self { joined: BytePairs::read(image)?, merging: BytePairs::read(image)? })
    }
}

/// The symbols that a run merges to by the naive rule, and their number.
#[inline]
fn merged(run: &[u8], merges: &MergeTable) -> ([u32; MAX_LENGTH], usize) {
    let (mut row, mut length) = ([NO_MERGE; MAX_LENGTH], run.len().min(MAX_LENGTH));
    row.iter_mut().zip(run).for_each(|(symbol, &byte)| *symbol = u32::from(byte));
    loop {
        let (mut lowest, mut right) = (NO_MERGE, 0);
        for at in 1..length {
            let product = merges.get(row[at - 1], row[at]);
            if product < lowest {
                (lowest, right) = (product, at);
            }
        }
        if lowest == NO_MERGE {
            return (row, length);
        }
        row[right - 1] = lowest;
        row.copy_within(right + 1..length, right);
        length -= 1;
    }
}
