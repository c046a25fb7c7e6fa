//! Where raw words begin and end.
//!
//! In: a text, and what is known of its white space. Out: the spans of words. A gap between two words must be found at
//! the same place wherever the search begins.
use tokenmill_kernels::WordBits;
use tokenmill_kernels::cpu::{self, Level};
use tokenmill_kernels::planes::{ASCII_OFFSETS, bit_positions};

use super::edges::Edges;
use crate::error::Result;
use crate::normalize::{Normalizers, is_ideograph};
use crate::watch::Ticker;

/// The first ideograph is U+3400. Ideographs begin with this byte or a larger one.
const IDEOGRAPHS: u8 = 0xE3;

/// The bytes of a block, and the most words that can begin or end in one.
const BLOCK: usize = 64;
const WORDS_OF_BLOCK: usize = BLOCK / 2 + 2;

/// The bytes that are read between two reports to the watch.
const REPORTED: usize = 1 << 16;

/// What becomes of white space between words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Dropped,
    /// It has pretokens at the end of a text.
    KeptAtEnd,
}

/// Finds words between gaps.
#[derive(Debug)]
pub(in crate::engine) struct WordFinder {
    /// Is this byte white space that separates words?
    is_white: [bool; 256],
    /// The bytes for which this is so; some of them may be repeated.
    white: [u8; 4],
    /// Is each ideograph a word of its own?
    isolates_ideographs: bool,
    /// White space is a gap between words only if both of its neighbours are edges.
    edges: Edges,
    /// Is white space at the end of a text a word of its own?
    keeps_last_gap: bool,
}

impl WordFinder {
    /// A finder that knows no white space yet.
    pub(super) fn new(edges: Edges, isolates_ideographs: bool) -> Self {
        Self { is_white: [false; 256], white: [0; 4], isolates_ideographs, edges, keeps_last_gap: false }
    }

    /// Sets the bytes of white space, at most four, and what becomes of them.
    pub(super) fn set_gaps(&mut self, white: &[u8], kind: Gap) {
        self.keeps_last_gap = kind == Gap::KeptAtEnd;
        for (place, &byte) in self.white.iter_mut().zip(white.iter().cycle()) {
            *place = byte;
            self.is_white[usize::from(byte)] = true;
        }
    }

    /// Do the spans of a word cover a part of the gap before it?
    pub(in crate::engine) fn spans_cover_gaps(&self) -> bool {
        self.edges.are_beside_marks()
    }

    /// A word without the white space before it.
    pub(in crate::engine) fn without_gap<'w>(&self, word: &'w str) -> &'w str {
        let gap = word.bytes().take_while(|&byte| self.is_white[usize::from(byte)]).count();
        &word[gap..]
    }

    /// Finds the next words of a text that has not gone through these normalizers yet. A word or white space must begin
    /// at `from`. Returns where to go on.
    ///
    /// # Errors
    /// Those of the watch, which hears of the bytes of words as they are read, and of a run of white space at its end.
    pub(in crate::engine) fn next(
        &self,
        (text, normalizers): (&str, &Normalizers),
        from: usize,
        found: &mut WordSpans,
        ticker: &mut Ticker<'_>,
    ) -> Result<usize> {
        let (bytes, level) = (text.as_bytes(), cpu::level());
        let (mut at, mut reported) = (from, from);
        found.clear();
        while at < bytes.len() && !found.is_full() {
            if at - reported >= REPORTED {
                ticker.spend(at - std::mem::replace(&mut reported, at))?;
            }
            if let Some((length, bits)) = self.known_block(bytes, at, level) {
                found.push_block(level, at, length, bits.white);
                at += length;
            } else if self.is_white[usize::from(bytes[at])] {
                let (end, is_gap) = self.white_space_at((text, normalizers), at);
                if is_gap {
                    found.end(at);
                } else {
                    found.begin(at);
                }
                at = end;
            } else {
                let Some(c) = text[at..].chars().next() else { break };
                let end = at + c.len_utf8();
                if self.isolates_ideographs && is_ideograph(c) {
                    found.end(at);
                    found.begin(at);
                    found.end(end);
                } else {
                    found.begin(at);
                }
                at = end;
            }
        }
        if at == bytes.len() {
            if self.keeps_last_gap && found.open().is_none() {
                let gap = bytes.iter().rev().take_while(|&&byte| self.is_white[usize::from(byte)]).count();
                if gap > 0 {
                    found.begin(at - gap);
                }
            }
            found.end(at);
        }
        ticker.spend(at - reported)?;
        // A word whose end was not found is left to the next call.
        Ok(found.open().unwrap_or(at))
    }

    /// The masks of the block at `at`, and the number of its bytes in which white space alone tells the words. `None`
    /// if there is no such byte.
    #[inline]
    fn known_block(&self, bytes: &[u8], at: usize, level: Level) -> Option<(usize, WordBits)> {
        let rest = &bytes[at..];
        if self.isolates_ideographs && rest[0] >= IDEOGRAPHS {
            return None;
        }
        let mut padded = [0; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let (length, bits) = (rest.len().min(BLOCK), WordBits::of(level, block, self.white, IDEOGRAPHS));
        let length = self.known_length(bytes, at, length, bits);
        (length > 0).then_some((length, bits))
    }

    /// See [`Self::known_block`], for the first `length` bytes of the block.
    #[inline]
    fn known_length(&self, bytes: &[u8], at: usize, length: usize, bits: WordBits) -> usize {
        let until = |bits: u64| length.min(bits.trailing_zeros() as usize);
        match self.edges.are_all() {
            true if self.isolates_ideographs => until(bits.high),
            true => length,
            false => {
                // White space is certainly a gap between characters that certainly are edges.
                let unsure = !(bits.white | bits.graphic);
                let follows_unsure = at > 0 && !bytes[at - 1].is_ascii_graphic();
                let after_unsure = bits.white & (unsure << 1 | u64::from(follows_unsure));
                let known = until(after_unsure | (unsure & (bits.white << 1)));
                if known == 0 || at + known == bytes.len() {
                    return known;
                }
                // What follows the white space at the end is not known.
                let white_at_end = (bits.white << (BLOCK - known)).leading_ones() as usize;
                known - known.min(white_at_end)
            }
        }
    }

    /// Where the white space at `at` ends, and whether it is a gap between words. At the end of `text` it is, if an edge is
    /// before it: since no key of a map begins with white space, the text before does not depend on what follows.
    fn white_space_at(&self, (text, normalizers): (&str, &Normalizers), at: usize) -> (usize, bool) {
        let is_white = |&&byte: &&u8| self.is_white[usize::from(byte)];
        let end = at + text.as_bytes()[at..].iter().take_while(is_white).count();
        let is_gap = self.edges.may_precede_gap(&text[..at], normalizers)
            && self.edges.may_follow_gap(&text[end..], normalizers);
        (end, is_gap)
    }

    /// The first place inside a text, from a byte on, where a gap begins.
    pub(super) fn safe_cut(&self, (text, normalizers): (&str, &Normalizers), from: usize) -> Option<usize> {
        let is_white = |byte: u8| self.is_white[usize::from(byte)];
        let bytes = text.as_bytes();
        let mut at = from.max(1);
        loop {
            at += bytes.get(at..)?.iter().position(|&byte| is_white(byte))?;
            let (end, is_gap) = self.white_space_at((text, normalizers), at);
            // If the white space began before `from`, its start is no longer in question.
            if is_gap && !is_white(bytes[at - 1]) {
                return Some(at);
            }
            at = end;
        }
    }
}

/// Words that were found: where each begins and ends in the text.
#[derive(Debug)]
pub(in crate::engine) struct WordSpans {
    /// One more than `ends` if the last word has no end yet.
    starts: [usize; Self::CAPACITY],
    ends: [usize; Self::CAPACITY],
    count: usize,
    is_open: bool,
}

impl Default for WordSpans {
    fn default() -> Self {
        Self { starts: [0; _], ends: [0; _], count: 0, is_open: false }
    }
}

impl WordSpans {
    const MOST: usize = 128;
    /// The positions of a block are written to 64 places, however few they are.
    const CAPACITY: usize = Self::MOST + BLOCK;

    /// Where the words begin and where they end.
    pub(in crate::engine) fn get(&self) -> (&[usize], &[usize]) {
        (&self.starts[..self.count], &self.ends[..self.count])
    }

    /// Makes each word begin where the one before it ends, the first one at `from`. Returns where the last one ends.
    pub(in crate::engine) fn cover_gaps(&mut self, mut from: usize) -> usize {
        for (start, &end) in self.starts[..self.count].iter_mut().zip(&self.ends) {
            *start = std::mem::replace(&mut from, end);
        }
        from
    }

    fn clear(&mut self) {
        (self.count, self.is_open) = (0, false);
    }

    /// Might the words of another block not fit?
    fn is_full(&self) -> bool {
        // The white space at the end may be one more.
        self.count + WORDS_OF_BLOCK + 1 > Self::MOST
    }

    /// Where the word begins that has no end yet.
    fn open(&self) -> Option<usize> {
        self.is_open.then(|| self.starts[self.count])
    }

    /// A word begins here, unless one has begun before.
    fn begin(&mut self, at: usize) {
        if !self.is_open {
            (self.starts[self.count], self.is_open) = (at, true);
        }
    }

    /// A word ends here, if one has begun.
    fn end(&mut self, at: usize) {
        if self.is_open {
            self.ends[self.count] = at;
            (self.count, self.is_open) = (self.count + 1, false);
        }
    }

    /// Pushes the words of the first `length` bytes of a block at `at`. Bits that are set in `white` are gaps.
    #[inline]
    fn push_block(&mut self, level: Level, at: usize, length: usize, white: u64) {
        let kept = u64::MAX >> (BLOCK - length);
        let after_gap = white << 1 | u64::from(!self.is_open);
        let (begins, ends) = (!white & after_gap & kept, white & !after_gap & kept);
        let begun = self.count + usize::from(self.is_open);
        let without_lowest = |bits: u64| bits & bits.wrapping_sub(1);
        let push = |mut bits: u64, to: &mut [usize], mut count: usize| {
            // One or two, as in Chinese, are faster found one by one.
            if without_lowest(without_lowest(bits)) != 0
                && let Some(out) = to[count..].first_chunk_mut()
            {
                bit_positions(level, bits, at, &ASCII_OFFSETS, out);
                return count + bits.count_ones() as usize;
            }
            while bits != 0 {
                to[count] = at + bits.trailing_zeros() as usize;
                (count, bits) = (count + 1, without_lowest(bits));
            }
            count
        };
        let begun = push(begins, &mut self.starts, begun);
        self.count = push(ends, &mut self.ends, self.count);
        self.is_open = begun > self.count;
    }
}
