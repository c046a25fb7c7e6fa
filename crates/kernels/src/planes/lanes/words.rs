//! The operations on lanes, and their plain form, a `u64`, which is the word of a single block.
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::planes::layout::LANES;

/// The words of one block or of several in a row, one of each block.
pub trait Lanes:
    Copy
    + BitAnd<Output = Self>
    + BitAnd<u64, Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Is this the word of one block?
    const IS_SINGLE: bool = false;

    /// The same word for all blocks.
    fn splat(word: u64) -> Self;

    /// The sum of the words, without the carry.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// For each block the word of the block before it. `first` is that of the first one.
    #[must_use]
    fn previous(self, first: u64) -> Self;

    /// All ones for each block whose word is zero, otherwise 0.
    #[must_use]
    fn is_zero(self) -> Self;

    /// The highest bit of each word: bit `n` is that of word `n`.
    fn highest_bits(self) -> u32;

    /// The words, followed by zeros if there are fewer than [`LANES`].
    fn to_array(self) -> [u64; LANES];

    /// Lanes with these words; a single block takes the first.
    fn load(words: &[u64; LANES]) -> Self;
}

/// Code that runs on lanes.
pub trait LaneCode {
    /// What it returns.
    type Output;

    /// Runs the code. Every function that it calls with lanes must be `inline(always)`, or it takes many times as long.
    fn run<L: Lanes>(self) -> Self::Output;
}

impl Lanes for u64 {
    const IS_SINGLE: bool = true;

    #[inline]
    fn splat(word: u64) -> Self {
        word
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn previous(self, first: u64) -> Self {
        first
    }

    #[inline]
    fn is_zero(self) -> Self {
        if self == 0 { Self::MAX } else { 0 }
    }

    #[inline]
    fn highest_bits(self) -> u32 {
        (self >> 63) as u32
    }

    #[inline]
    fn to_array(self) -> [u64; LANES] {
        let mut words = [0; LANES];
        words[0] = self;
        words
    }

    #[inline]
    fn load(words: &[u64; LANES]) -> Self {
        words[0]
    }
}
